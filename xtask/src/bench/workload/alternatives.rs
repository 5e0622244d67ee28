//! The requests for the four reads to alternative servers.

use mesh_tests::Request;
use serde_json::json;

use super::read::Read;

/// Returns the request to async-graphql.
pub(crate) fn graphql(read: Read, id: u32) -> Request {
    let comments = "comments { body author { name } }";
    let page = |select: &str| {
        let info = "pageInfo { hasNextPage startCursor endCursor }";
        format!("{{ posts(first: 20) {{ items {{ {select} }} {info} }} }}")
    };
    let query = match read {
        Read::Scalars => format!("{{ post(id: {id}) {{ id title body published views publishedAt }} }}"),
        Read::Nested => format!("{{ post(id: {id}) {{ title author {{ name }} {comments} }} }}"),
        Read::Newest => page("id title publishedAt author { name }"),
        Read::Deep => page(&format!("id title publishedAt author {{ name }} {comments}")),
        _ => String::new(),
    };
    Request::post("/", &json!({ "query": query }).to_string())
}

/// Returns the request to PostGraphile.
pub(crate) fn postgraphile(read: Read, id: u32) -> Request {
    let author = "userByAuthorId { name }";
    let comments = "commentsByPostId { nodes { body userByAuthorId { name } } }";
    let page = |select: &str| {
        format!(
            "{{ allPosts(condition: {{published: true}}, orderBy: [PUBLISHED_AT_DESC, ROW_ID_DESC], first: 20) \
             {{ nodes {{ {select} }} pageInfo {{ hasNextPage startCursor endCursor }} }} }}"
        )
    };
    let query = match read {
        Read::Scalars => {
            "query($id: Int!) { postByRowId(rowId: $id) { rowId title body published views publishedAt } }"
                .to_owned()
        }
        Read::Nested => {
            format!("query($id: Int!) {{ postByRowId(rowId: $id) {{ title {author} {comments} }} }}")
        }
        Read::Newest => page(&format!("rowId title publishedAt {author}")),
        Read::Deep => page(&format!("rowId title publishedAt {author} {comments}")),
        _ => String::new(),
    };
    // PostGraphile caches plans by the text of the query.
    Request::post("/", &json!({ "query": query, "variables": { "id": id } }).to_string())
}

/// Returns the request to Datasette: a row, or SQL that builds JSON, since rows have no relations.
pub(crate) fn datasette(read: Read, id: u32) -> Request {
    const COMMENTS: &str = "(SELECT json_group_array(json_object('body', c.body, 'author', json_object('name', a.name))) \
        FROM comments c JOIN users a ON a.id = c.author_id WHERE c.post_id = p.id) AS comments";
    const AUTHOR: &str = "json_object('name', u.name) AS author";
    const POSTS: &str = "FROM posts p JOIN users u ON u.id = p.author_id";
    const NEWEST: &str = "WHERE p.published = 1 ORDER BY p.published_at DESC, p.id DESC LIMIT 20";
    let sql = match read {
        Read::Nested => format!("SELECT p.title, {AUTHOR}, {COMMENTS} {POSTS} WHERE p.id = :id"),
        Read::Newest => format!("SELECT p.id, p.title, p.published_at, {AUTHOR} {POSTS} {NEWEST}"),
        Read::Deep => format!("SELECT p.id, p.title, p.published_at, {AUTHOR}, {COMMENTS} {POSTS} {NEWEST}"),
        _ => return Request::new("GET", &format!("/{DATABASE}/posts/{id}.json?_shape=array")),
    };
    let encoded: String = sql.bytes().map(encoded).collect();
    Request::new("GET", &format!("/{DATABASE}.json?_shape=array&id={id}&sql={encoded}"))
}

/// The name of the sample in Datasette, which is the name of its file.
pub(crate) const DATABASE: &str = "blog";

fn encoded(byte: u8) -> String {
    if byte.is_ascii_alphanumeric() { char::from(byte).to_string() } else { format!("%{byte:02X}") }
}
