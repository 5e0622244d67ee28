//! To-one relations in the statement of their parent.

use mesh_plan::{Context, Mesh, Request};
use mesh_ql::Format;
use mesh_schema::Document;
use mesh_sql::sqlite::Statements;

use super::File;

/// Posts without an author, and posts whose author has no values besides the id. The keys of `notes` differ in type
/// from the keys that they refer to, and `twins` is a view with two rows for each user.
const BLOG: &str = "PRAGMA foreign_keys = off;
    CREATE TABLE companies (id INTEGER PRIMARY KEY, name TEXT);
    CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT, company_id INTEGER REFERENCES companies (id),
        boss_id INTEGER REFERENCES users (id));
    CREATE TABLE posts (id INTEGER PRIMARY KEY, title TEXT, views INTEGER NOT NULL, author_id INTEGER REFERENCES users (id));
    CREATE TABLE comments (id INTEGER PRIMARY KEY, post_id INTEGER REFERENCES posts (id),
        author_id INTEGER REFERENCES users (id));
    CREATE TABLE profiles (user_id INTEGER NOT NULL UNIQUE REFERENCES users (id), motto TEXT);
    CREATE TABLE codes (code TEXT PRIMARY KEY, name TEXT);
    CREATE TABLE notes (id INTEGER PRIMARY KEY, code_id INTEGER REFERENCES codes (code));
    CREATE INDEX comments_post ON comments (post_id);
    CREATE INDEX posts_author ON posts (author_id);
    INSERT INTO companies VALUES (1, 'Acme');
    INSERT INTO users VALUES (1, 'Ada', 1, NULL), (2, NULL, NULL, 1), (3, 'Cy', 1, 2);
    INSERT INTO posts VALUES (1, 'One', 30, 1), (2, 'Two', 20, 2), (3, 'Three', 10, NULL), (4, 'Four', 5, 9);
    INSERT INTO comments VALUES (1, 1, 2), (2, 1, 3), (3, 2, NULL);
    INSERT INTO profiles VALUES (1, 'Onward');
    INSERT INTO codes VALUES ('7', 'seven'), ('07', 'none');
    INSERT INTO notes VALUES (1, 7);";

async fn read(mesh: &Mesh, text: &str) -> String {
    let plan = mesh.plan(&Request::collection(Format::Ql, text)).unwrap();
    let body = mesh.read(&plan, &Context::new("test")).await.unwrap();
    let body = String::from_utf8_lossy(&body.bytes).into_owned();
    body.split(r#","pageInfo""#).next().unwrap().replacen(r#"{"items":"#, "", 1)
}

/// Returns the response to a query in JSON.
async fn page(mesh: &Mesh, text: &str) -> serde_json::Value {
    let plan = mesh.plan(&Request::collection(Format::Json, text)).unwrap();
    let body = mesh.read(&plan, &Context::new("test")).await.unwrap();
    serde_json::from_slice(&body.bytes).unwrap()
}

/// Returns the number of statements of a query.
fn statements(mesh: &Mesh, format: Format, text: &str) -> usize {
    let plan = mesh.plan(&Request::collection(format, text)).unwrap();
    Statements::from_plan(&plan).iter().count()
}

#[tokio::test]
async fn a_record_is_told_from_null_columns() {
    let file = File::new(BLOG);
    let mesh = file.mesh();
    let posts = "{ post id author { name company { name } } }";
    assert_eq!(
        read(&mesh, posts).await,
        r#"[{"id":1,"author":{"name":"Ada","company":{"name":"Acme"}}},{"id":2,"author":{"name":null,"company":null}},{"id":3,"author":null},{"id":4,"author":null}]"#
    );
    assert_eq!(statements(&mesh, Format::Ql, posts), 1);
    let nested = "{ post id comments { id author { id boss { name company { name } } } } author { id } }";
    assert_eq!(
        read(&mesh, nested).await,
        r#"[{"id":1,"comments":[{"id":1,"author":{"id":2,"boss":{"name":"Ada","company":{"name":"Acme"}}}},{"id":2,"author":{"id":3,"boss":{"name":null,"company":null}}}],"author":{"id":1}},{"id":2,"comments":[{"id":3,"author":null}],"author":{"id":2}},{"id":3,"comments":[],"author":null},{"id":4,"comments":[],"author":null}]"#
    );
    assert_eq!(statements(&mesh, Format::Ql, nested), 2);
}

#[tokio::test]
async fn a_key_keeps_its_value_if_anything_but_its_relation_uses_it() {
    let file = File::new(BLOG);
    let mesh = file.mesh();
    assert_eq!(
        read(&mesh, "{ post author { name } authorId }").await,
        r#"[{"author":{"name":"Ada"},"authorId":1},{"author":{"name":null},"authorId":2},{"author":null,"authorId":null},{"author":null,"authorId":9}]"#
    );
    let twice = r#"{"post":{"$select":{"author":{"$select":{"name":true}},
        "writer":{"$relation":"author","$select":{"boss":{"$select":{"id":true}}}}}}}"#;
    assert_eq!(
        page(&mesh, twice).await["items"].to_string(),
        r#"[{"author":{"name":"Ada"},"writer":{"boss":null}},{"author":{"name":null},"writer":{"boss":{"id":1}}},{"author":null,"writer":null},{"author":null,"writer":null}]"#
    );
}

#[tokio::test]
async fn another_relation_has_the_key_of_a_record_that_does_not_exist() {
    let file = File::new(BLOG);
    file.write("PRAGMA foreign_keys = off; INSERT INTO comments VALUES (4, 4, 9)");
    let document = Document::parse(
        r#"{
            "entities": {
                "user": {"table": "users", "fields": ["id", "name"]},
                "post": {"table": "posts", "fields": ["id", "title"]},
                "comment": {"table": "comments", "fields": ["id"]}
            },
            "joins": {
                "comment.author": {"entity": "user", "type": "one", "on": "comments.author_id = users.id"},
                "comment.postsOfAuthor": {"entity": "post", "type": "many", "on": "comments.author_id = posts.author_id"},
                "comment.post": {"entity": "post", "type": "one", "on": "comments.post_id = posts.id"}
            }
        }"#,
    );
    let database = file.database();
    let catalog = database.contents(&[]).unwrap().catalog;
    let schema = document.unwrap().load(Some(&catalog)).unwrap();
    let mesh = Mesh::builder(schema)
        .default_resolver(database.clone())
        .computed("user.constant", [], |_| 1)
        .build()
        .unwrap();
    let comments = "{ comment author { name } postsOfAuthor { id } }";
    assert_eq!(
        read(&mesh, comments).await,
        r#"[{"author":{"name":null},"postsOfAuthor":[{"id":2}]},{"author":{"name":"Cy"},"postsOfAuthor":[]},{"author":null,"postsOfAuthor":[]},{"author":null,"postsOfAuthor":[{"id":4}]}]"#
    );
    assert_eq!(statements(&mesh, Format::Ql, comments), 2);
    // An author without columns of its own, beside a post.
    assert_eq!(
        read(&mesh, "{ comment author { constant } post { title } }").await,
        r#"[{"author":{"constant":1},"post":{"title":"One"}},{"author":{"constant":1},"post":{"title":"One"}},{"author":null,"post":{"title":"Two"}},{"author":null,"post":{"title":"Four"}}]"#
    );
}

#[tokio::test]
async fn a_cursor_has_the_key_of_a_record_that_does_not_exist() {
    let file = File::new(BLOG);
    let mesh = file.mesh();
    let by_key = |page: &str| {
        format!(
            r#"{{"post":{{"$select":{{"author":{{"$select":{{"name":true}}}}}},
                "$orderBy":[{{"field":"authorId","direction":"desc"}}],"$page":{{{page}}}}}}}"#
        )
    };
    assert_eq!(statements(&mesh, Format::Json, &by_key("")), 1);
    let first = page(&mesh, &by_key(r#""first":1"#)).await;
    assert_eq!(first["items"].to_string(), r#"[{"author":null}]"#);
    let after = format!(r#""after":{}"#, first["pageInfo"]["endCursor"]);
    let rest = page(&mesh, &by_key(&after)).await;
    assert_eq!(
        rest["items"].to_string(),
        r#"[{"author":{"name":null}},{"author":{"name":"Ada"}},{"author":null}]"#
    );
}

#[tokio::test]
async fn keys_of_another_type_are_compared_like_parameters() {
    let file = File::new(BLOG);
    let mesh = file.mesh();
    // As numbers, both codes equal 7.
    let note = r#"[{"id":1,"code":{"code":"7","name":"seven"}}]"#;
    assert_eq!(read(&mesh, "{ note id code { code name } }").await, note);
}
