//! Posts with authors and comments.

use tokio_postgres::Row;

use crate::Error;
use crate::json::Kind::{Flag, Integer, Moment, Text};
use crate::json::{self, Cells, Level, PAGE, Page};

pub(super) const SCALARS: &str =
    "SELECT id, title, body, published, views, published_at FROM posts WHERE id = $1";
/// One row per comment, with the columns of its post.
pub(super) const POST_ROWS: &str = "SELECT p.title, u.name, c.id, c.body, a.name \
    FROM posts p JOIN users u ON u.id = p.author_id LEFT JOIN comments c ON c.post_id = p.id \
    LEFT JOIN users a ON a.id = c.author_id WHERE p.id = $1 ORDER BY c.id";
pub(super) const POST: &str =
    "SELECT p.title, u.name FROM posts p JOIN users u ON u.id = p.author_id WHERE p.id = $1";
pub(super) const COMMENTS: &str = "SELECT c.body, a.name FROM comments c JOIN users a ON a.id = c.author_id \
    WHERE c.post_id = $1 ORDER BY c.id";
pub(super) const NEWEST: &str = "SELECT p.id, p.title, p.published_at, u.name \
    FROM posts p JOIN users u ON u.id = p.author_id \
    WHERE p.published ORDER BY p.published_at DESC, p.id DESC LIMIT 21";
pub(super) const DEEP_ROWS: &str = "SELECT p.id, p.title, p.published_at, u.name, c.id, c.body, a.name \
    FROM (SELECT * FROM posts WHERE published ORDER BY published_at DESC, id DESC LIMIT 21) p \
    JOIN users u ON u.id = p.author_id LEFT JOIN comments c ON c.post_id = p.id \
    LEFT JOIN users a ON a.id = c.author_id ORDER BY p.published_at DESC, p.id DESC, c.id";
pub(super) const COMMENTS_OF_MANY: &str = "SELECT c.post_id, c.body, a.name \
    FROM comments c JOIN users a ON a.id = c.author_id WHERE c.post_id = ANY($1) ORDER BY c.post_id, c.id";

pub(super) const JSON_SCALARS: &str = "SELECT json_build_object('id', id, 'title', title, 'body', body, \
    'published', published, 'views', views, \
    'publishedAt', to_char(published_at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"'))::text \
    FROM posts WHERE id = $1";
pub(super) const JSON_NESTED: &str = "SELECT json_build_object('title', p.title, \
    'author', json_build_object('name', u.name), 'comments', (SELECT coalesce(json_agg(json_build_object( \
        'body', c.body, 'author', json_build_object('name', a.name)) ORDER BY c.id), '[]') \
        FROM comments c JOIN users a ON a.id = c.author_id WHERE c.post_id = p.id))::text \
    FROM posts p JOIN users u ON u.id = p.author_id WHERE p.id = $1";
pub(super) const JSON_NEWEST: &str = "SELECT json_build_object('id', p.id, 'title', p.title, \
    'publishedAt', to_char(p.published_at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"'), \
    'author', json_build_object('name', u.name))::text \
    FROM posts p JOIN users u ON u.id = p.author_id \
    WHERE p.published ORDER BY p.published_at DESC, p.id DESC LIMIT 21";
pub(super) const JSON_DEEP: &str = "SELECT json_build_object('id', p.id, 'title', p.title, \
    'publishedAt', to_char(p.published_at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"'), \
    'author', json_build_object('name', u.name), 'comments', (SELECT coalesce(json_agg(json_build_object( \
        'body', c.body, 'author', json_build_object('name', a.name)) ORDER BY c.id), '[]') \
        FROM comments c JOIN users a ON a.id = c.author_id WHERE c.post_id = p.id))::text \
    FROM posts p JOIN users u ON u.id = p.author_id \
    WHERE p.published ORDER BY p.published_at DESC, p.id DESC LIMIT 21";

/// The statement that PostgREST sends for a source: its head and tail are the same for every read.
macro_rules! postgrest {
    ($source:expr) => {
        concat!(
            "WITH pgrst_source AS (",
            $source,
            ") SELECT coalesce(json_agg(_postgrest_t), '[]')::text AS body, null::bigint AS total_result_set, \
             pg_catalog.count(_postgrest_t) AS page_total, \
             nullif(current_setting('response.headers', true), '') AS response_headers, \
             nullif(current_setting('response.status', true), '') AS response_status \
             FROM (SELECT * FROM pgrst_source) _postgrest_t"
        )
    };
}

/// Lateral joins of the author and of the comments with their authors.
macro_rules! author {
    () => {
        " LEFT JOIN LATERAL (SELECT users_1.name FROM users AS users_1 WHERE users_1.id = posts.author_id) \
         AS posts_author_1 ON TRUE"
    };
}
macro_rules! comments {
    () => {
        " LEFT JOIN LATERAL (SELECT json_agg(posts_comments_1) AS posts_comments_1 FROM \
         (SELECT comments_1.body, row_to_json(comments_author_2.*) AS author FROM comments AS comments_1 \
         LEFT JOIN LATERAL (SELECT users_2.name FROM users AS users_2 WHERE users_2.id = comments_1.author_id) \
         AS comments_author_2 ON TRUE WHERE comments_1.post_id = posts.id) AS posts_comments_1) \
         AS posts_comments_1 ON TRUE"
    };
}

pub(super) const POSTGREST_SCALARS: &str =
    postgrest!("SELECT id, title, body, published, views, published_at FROM posts WHERE posts.id = $1");
pub(super) const POSTGREST_NESTED: &str = postgrest!(concat!(
    "SELECT posts.title, row_to_json(posts_author_1.*) AS author, \
     coalesce(posts_comments_1.posts_comments_1, '[]') AS comments FROM posts",
    author!(),
    comments!(),
    " WHERE posts.id = $1"
));
pub(super) const POSTGREST_NEWEST: &str = postgrest!(concat!(
    "SELECT posts.id, posts.title, posts.published_at, row_to_json(posts_author_1.*) AS author FROM posts",
    author!(),
    " WHERE posts.published ORDER BY posts.published_at DESC, posts.id DESC LIMIT 20"
));
pub(super) const POSTGREST_DEEP: &str = postgrest!(concat!(
    "SELECT posts.id, posts.title, posts.published_at, row_to_json(posts_author_1.*) AS author, \
     coalesce(posts_comments_1.posts_comments_1, '[]') AS comments FROM posts",
    author!(),
    comments!(),
    " WHERE posts.published ORDER BY posts.published_at DESC, posts.id DESC LIMIT 20"
));

pub(super) fn scalars(out: &mut Vec<u8>, row: &Row) -> Result<(), Error> {
    let members = [
        ("{\"id\":", Integer),
        (",\"title\":", Text),
        (",\"body\":", Text),
        (",\"published\":", Flag),
        (",\"views\":", Integer),
        (",\"publishedAt\":", Moment),
    ];
    json::members(out, row, 0, members)?;
    out.push(b'}');
    Ok(())
}

fn post_head(out: &mut Vec<u8>, row: &Row) -> Result<(), Error> {
    json::members(out, row, 0, [("{\"title\":", Text), (",\"author\":{\"name\":", Text)])?;
    out.extend_from_slice(b"},\"comments\":[");
    Ok(())
}

/// Appends a comment from two columns.
fn comment(out: &mut Vec<u8>, row: &Row, column: usize, is_first: bool) -> Result<(), Error> {
    let begin = if is_first { "{\"body\":" } else { ",{\"body\":" };
    json::members(out, row, column, [(begin, Text), (",\"author\":{\"name\":", Text)])?;
    out.extend_from_slice(b"}}");
    Ok(())
}

/// Appends the comments of rows with the same post, whose ids are in a column.
fn comments(out: &mut Vec<u8>, rows: &[Row], column: usize) -> Result<(), Error> {
    for (place, row) in rows.iter().enumerate() {
        if row.integer(column)?.is_some() {
            comment(out, row, column + 1, place == 0)?;
        }
    }
    Ok(())
}

pub(super) fn post_rows(out: &mut Vec<u8>, rows: &[Row]) -> Result<(), Error> {
    post_head(out, rows.first().ok_or("no such post")?)?;
    comments(out, rows, 2)?;
    out.extend_from_slice(b"]}");
    Ok(())
}

pub(super) fn post_levels(out: &mut Vec<u8>, post: &Row, comments: &[Row]) -> Result<(), Error> {
    post_head(out, post)?;
    for (place, row) in comments.iter().enumerate() {
        comment(out, row, 0, place == 0)?;
    }
    out.extend_from_slice(b"]}");
    Ok(())
}

/// Writes a page of posts from the first row of each. The function completes each object.
fn page<'r>(
    out: &mut Vec<u8>,
    posts: impl Iterator<Item = &'r [Row]>,
    mut rest: impl FnMut(&mut Vec<u8>, &'r [Row]) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut page = Page::open(out, PAGE);
    for rows in posts {
        let Some(row) = rows.first() else { continue };
        if !page.item(out) {
            break;
        }
        json::members(
            out,
            row,
            0,
            [("{\"id\":", Integer), (",\"title\":", Text), (",\"publishedAt\":", Moment)],
        )?;
        page.cursor(|cursor| {
            row.moment(cursor, 2)?;
            json::integer(cursor, row.integer(0)?.unwrap_or_default());
            Ok(())
        })?;
        json::members(out, row, 3, [(",\"author\":{\"name\":", Text)])?;
        out.push(b'}');
        rest(out, rows)?;
        out.push(b'}');
    }
    page.close(out);
    Ok(())
}

pub(super) fn newest(out: &mut Vec<u8>, rows: &[Row]) -> Result<(), Error> {
    page(out, rows.chunks(1), |_, _| Ok(()))
}

pub(super) fn deep_rows(out: &mut Vec<u8>, rows: &[Row]) -> Result<(), Error> {
    let id = |row: &Row| row.integer(0).unwrap_or_default();
    page(out, rows.chunk_by(|one, other| id(one) == id(other)), |out, rows| {
        out.extend_from_slice(b",\"comments\":[");
        comments(out, rows, 4)?;
        out.push(b']');
        Ok(())
    })
}

pub(super) fn deep_levels(out: &mut Vec<u8>, posts: &[Row], comments: &[Row]) -> Result<(), Error> {
    let mut level = Level::default();
    for row in comments {
        let bytes = level.object(row.integer(0)?.unwrap_or_default());
        comment(bytes, row, 1, true)?;
        level.end();
    }
    page(out, posts.chunks(1), |out, rows| {
        out.extend_from_slice(b",\"comments\":[");
        let id = rows.first().map(|row| row.integer(0)).transpose()?.flatten();
        out.extend_from_slice(level.of(id.unwrap_or_default()));
        out.push(b']');
        Ok(())
    })
}

/// Writes a page of objects that PostgreSQL has built.
pub(super) fn json_newest(out: &mut Vec<u8>, rows: &[Row]) -> Result<(), Error> {
    let mut page = Page::open(out, PAGE);
    for row in rows {
        if page.item(out) {
            let object: &str = row.try_get(0)?;
            out.extend_from_slice(object.as_bytes());
            page.cursor(|cursor| {
                cursor.extend_from_slice(object.as_bytes().get(..24).unwrap_or_default());
                Ok(())
            })?;
        }
    }
    page.close(out);
    Ok(())
}
