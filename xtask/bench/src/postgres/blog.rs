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
