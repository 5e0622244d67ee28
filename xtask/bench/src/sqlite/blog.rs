//! Posts with authors and comments.

use rusqlite::{Connection, Row, Statement};

use super::{Answer, each, id};
use crate::Error;
use crate::json::Kind::{Flag, Integer, Moment, Text};
use crate::json::{self, Level, PAGE, Page};

type Database = &'static Connection;

pub(super) const SCALARS: &str =
    "SELECT id, title, body, published, views, published_at FROM posts WHERE id = ?";

pub(super) fn scalars(connection: Database) -> Result<Answer, Error> {
    let mut post = connection.prepare(SCALARS)?;
    Ok(Box::new(move |ask, out| {
        post.raw_bind_parameter(1, ask.id)?;
        each(&mut post, |row| post_object(out, row))
    }))
}

#[inline]
pub(super) fn post_object(out: &mut Vec<u8>, row: &Row<'_>) -> Result<(), Error> {
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

/// One statement per relation and parent.
pub(super) fn nested_post(connection: Database) -> Result<Answer, Error> {
    let mut post = connection.prepare("SELECT title, author_id FROM posts WHERE id = ?")?;
    let mut below = connection.prepare(COMMENTS)?;
    let mut user = connection.prepare(USER)?;
    Ok(Box::new(move |ask, out| {
        post.raw_bind_parameter(1, ask.id)?;
        each(&mut post, |row| {
            json::members(out, row, 0, [("{\"title\":", Text)])?;
            author(out, &mut user, id(row, 1)?)?;
            nested_comments(out, &mut below, &mut user, ask.id)?;
            out.push(b'}');
            Ok(())
        })
    }))
}

const USER: &str = "SELECT name FROM users WHERE id = ?";
const COMMENTS: &str = "SELECT body, author_id FROM comments WHERE post_id = ? ORDER BY id";
const COMMENTS_WITH_AUTHORS: &str = "SELECT c.body, u.name FROM comments c LEFT JOIN users u ON u.id = c.author_id \
    WHERE c.post_id = ? ORDER BY c.id";

fn author(out: &mut Vec<u8>, user: &mut Statement<'_>, number: i64) -> Result<(), Error> {
    user.raw_bind_parameter(1, number)?;
    let mut rows = user.raw_query();
    match rows.next()? {
        Some(row) => joined_author(out, row, 0),
        None => {
            out.extend_from_slice(b",\"author\":null");
            Ok(())
        }
    }
}

/// Appends an author whose name is a column of the parent's row.
#[inline]
fn joined_author(out: &mut Vec<u8>, row: &Row<'_>, column: usize) -> Result<(), Error> {
    json::members(out, row, column, [(",\"author\":{\"name\":", Text)])?;
    out.push(b'}');
    Ok(())
}

fn nested_comments(
    out: &mut Vec<u8>,
    comments: &mut Statement<'_>,
    user: &mut Statement<'_>,
    post: i64,
) -> Result<(), Error> {
    comments.raw_bind_parameter(1, post)?;
    out.extend_from_slice(b",\"comments\":[");
    let mut begin = "{\"body\":";
    each(comments, |row| {
        json::members(out, row, 0, [(begin, Text)])?;
        begin = ",{\"body\":";
        author(out, user, id(row, 1)?)?;
        out.push(b'}');
        Ok(())
    })?;
    out.push(b']');
    Ok(())
}

#[inline]
fn joined_comments(out: &mut Vec<u8>, comments: &mut Statement<'_>, post: i64) -> Result<(), Error> {
    comments.raw_bind_parameter(1, post)?;
    out.extend_from_slice(b",\"comments\":[");
    let mut begin = "{\"body\":";
    each(comments, |row| {
        json::members(out, row, 0, [(begin, Text), (",\"author\":{\"name\":", Text)])?;
        begin = ",{\"body\":";
        out.extend_from_slice(b"}}");
        Ok(())
    })?;
    out.push(b']');
    Ok(())
}

/// To-one relations are joined into the statement of their parent.
pub(super) fn joined_post(connection: Database) -> Result<Answer, Error> {
    let mut post = connection.prepare(
        "SELECT p.title, u.name FROM posts p LEFT JOIN users u ON u.id = p.author_id WHERE p.id = ?",
    )?;
    let mut below = connection.prepare(COMMENTS_WITH_AUTHORS)?;
    Ok(Box::new(move |ask, out| {
        post.raw_bind_parameter(1, ask.id)?;
        each(&mut post, |row| {
            json::members(out, row, 0, [("{\"title\":", Text)])?;
            joined_author(out, row, 1)?;
            joined_comments(out, &mut below, ask.id)?;
            out.push(b'}');
            Ok(())
        })
    }))
}

/// One row per comment, with the columns of its post.
pub(super) fn post_rows(connection: Database) -> Result<Answer, Error> {
    let mut post = connection.prepare(
        "SELECT p.title, u.name, c.id, c.body, a.name FROM posts p LEFT JOIN users u ON u.id = p.author_id \
         LEFT JOIN comments c ON c.post_id = p.id LEFT JOIN users a ON a.id = c.author_id \
         WHERE p.id = ? ORDER BY c.id",
    )?;
    Ok(Box::new(move |ask, out| {
        post.raw_bind_parameter(1, ask.id)?;
        let mut begin = "{\"body\":";
        each(&mut post, |row| {
            if out.is_empty() {
                json::members(out, row, 0, [("{\"title\":", Text)])?;
                joined_author(out, row, 1)?;
                out.extend_from_slice(b",\"comments\":[");
            }
            comment_of_row(out, row, 2, &mut begin)
        })?;
        out.extend_from_slice(b"]}");
        Ok(())
    }))
}

/// Appends a comment from id, text and author of a row, unless the row has none.
#[inline]
fn comment_of_row(
    out: &mut Vec<u8>,
    row: &Row<'_>,
    column: usize,
    begin: &mut &'static str,
) -> Result<(), Error> {
    if row.get_ref(column)?.as_i64_or_null()?.is_none() {
        return Ok(());
    }
    json::members(out, row, column + 1, [(*begin, Text), (",\"author\":{\"name\":", Text)])?;
    out.extend_from_slice(b"}}");
    *begin = ",{\"body\":";
    Ok(())
}

/// The head of a post in a page: id, title and time, from the first three columns.
#[inline]
pub(super) fn newest_head(out: &mut Vec<u8>, page: &mut Page, row: &Row<'_>) -> Result<bool, Error> {
    if !page.item(out) {
        return Ok(false);
    }
    let members = [("{\"id\":", Integer), (",\"title\":", Text), (",\"publishedAt\":", Moment)];
    json::members(out, row, 0, members)?;
    page.cursor(|cursor| {
        cursor.extend_from_slice(row.get_ref(2)?.as_bytes()?);
        cursor.push(b' ');
        json::integer(cursor, id(row, 0)?);
        Ok(())
    })?;
    Ok(true)
}

/// Writes a page of posts. The function completes each object.
pub(super) fn newest_page(
    out: &mut Vec<u8>,
    posts: &mut Statement<'_>,
    mut rest: impl FnMut(&mut Vec<u8>, &Row<'_>) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut page = Page::open(out, PAGE);
    each(posts, |row| {
        if newest_head(out, &mut page, row)? {
            rest(out, row)?;
            out.push(b'}');
        }
        Ok(())
    })?;
    page.close(out);
    Ok(())
}

pub(super) fn nested_newest(connection: Database, with_comments: bool) -> Result<Answer, Error> {
    let mut newest = connection.prepare(
        "SELECT id, title, published_at, author_id FROM posts WHERE published = 1 \
         ORDER BY published_at DESC, id DESC LIMIT 21",
    )?;
    let mut below = connection.prepare(COMMENTS)?;
    let mut user = connection.prepare(USER)?;
    Ok(Box::new(move |_, out| {
        newest_page(out, &mut newest, |out, row| {
            author(out, &mut user, id(row, 3)?)?;
            if with_comments {
                nested_comments(out, &mut below, &mut user, id(row, 0)?)?;
            }
            Ok(())
        })
    }))
}

const NEWEST: &str = "SELECT p.id, p.title, p.published_at, u.name FROM posts p LEFT JOIN users u ON u.id = p.author_id \
    WHERE p.published = 1 ORDER BY p.published_at DESC, p.id DESC LIMIT 21";

pub(super) fn joined_newest(connection: Database) -> Result<Answer, Error> {
    let mut newest = connection.prepare(NEWEST)?;
    Ok(Box::new(move |_, out| newest_page(out, &mut newest, |out, row| joined_author(out, row, 3))))
}

pub(super) fn joined_deep(connection: Database) -> Result<Answer, Error> {
    let mut newest = connection.prepare(NEWEST)?;
    let mut below = connection.prepare(COMMENTS_WITH_AUTHORS)?;
    Ok(Box::new(move |_, out| {
        newest_page(out, &mut newest, |out, row| {
            joined_author(out, row, 3)?;
            joined_comments(out, &mut below, id(row, 0)?)
        })
    }))
}

/// Twenty parameters for the keys of a page.
pub(super) const KEYS: &str = "?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?";

/// One statement for the posts and one for all their comments.
pub(super) fn deep_levels(connection: Database) -> Result<Answer, Error> {
    let comments = format!(
        "SELECT c.post_id, c.body, u.name FROM comments c LEFT JOIN users u ON u.id = c.author_id \
         WHERE c.post_id IN ({KEYS}) ORDER BY c.post_id, c.id"
    );
    let comments = connection.prepare(&comments)?;
    let members = [("{\"body\":", Text), (",\"author\":{\"name\":", Text)];
    two_levels(connection.prepare(NEWEST)?, comments, "comments", members, "}}", true)
}

/// Reads the posts first, then the objects of a relation of all of them.
pub(super) fn two_levels<const N: usize>(
    mut newest: Statement<'static>,
    mut below: Statement<'static>,
    relation: &'static str,
    members: [(&'static str, json::Kind); N],
    end: &'static str,
    with_author: bool,
) -> Result<Answer, Error> {
    let relation = format!(",\"{relation}\":[");
    Ok(Box::new(move |_, out| {
        let (mut heads, mut ends) = (Vec::with_capacity(4_096), Vec::with_capacity(PAGE));
        let mut page = Page::open(out, PAGE);
        each(&mut newest, |row| {
            if !page.item(&mut heads) {
                return Ok(());
            }
            let head = [("{\"id\":", Integer), (",\"title\":", Text), (",\"publishedAt\":", Moment)];
            json::members(&mut heads, row, 0, head)?;
            if with_author {
                joined_author(&mut heads, row, 3)?;
            }
            page.cursor(|cursor| {
                cursor.extend_from_slice(row.get_ref(2)?.as_bytes()?);
                Ok(())
            })?;
            ends.push((id(row, 0)?, heads.len()));
            Ok(())
        })?;
        for place in 0..PAGE {
            below.raw_bind_parameter(place + 1, ends.get(place).map(|(id, _)| *id))?;
        }
        let mut level = Level::default();
        each(&mut below, |row| {
            let bytes = level.object(id(row, 0)?);
            json::members(bytes, row, 1, members)?;
            bytes.extend_from_slice(end.as_bytes());
            level.end();
            Ok(())
        })?;
        let mut start = 0;
        for (post, end) in ends {
            out.extend_from_slice(&heads[start..end]);
            out.extend_from_slice(relation.as_bytes());
            out.extend_from_slice(level.of(post));
            out.extend_from_slice(b"]}");
            start = end;
        }
        page.close(out);
        Ok(())
    }))
}

/// One row per comment of the page.
pub(super) fn deep_rows(connection: Database) -> Result<Answer, Error> {
    let mut newest = connection.prepare(
        "SELECT p.id, p.title, p.published_at, u.name, c.id, c.body, a.name \
         FROM (SELECT * FROM posts WHERE published = 1 ORDER BY published_at DESC, id DESC LIMIT 21) p \
         LEFT JOIN users u ON u.id = p.author_id LEFT JOIN comments c ON c.post_id = p.id \
         LEFT JOIN users a ON a.id = c.author_id ORDER BY p.published_at DESC, p.id DESC, c.id",
    )?;
    Ok(Box::new(move |_, out| {
        let mut page = Page::open(out, PAGE);
        let (mut current, mut begin, mut full) = (None, "", false);
        each(&mut newest, |row| {
            let post = id(row, 0)?;
            if current != Some(post) {
                if current.is_some() && !full {
                    out.extend_from_slice(b"]}");
                }
                current = Some(post);
                full = !newest_head(out, &mut page, row)?;
                if !full {
                    joined_author(out, row, 3)?;
                    out.extend_from_slice(b",\"comments\":[");
                    begin = "{\"body\":";
                }
            }
            if full { Ok(()) } else { comment_of_row(out, row, 4, &mut begin) }
        })?;
        if current.is_some() && !full {
            out.extend_from_slice(b"]}");
        }
        page.close(out);
        Ok(())
    }))
}

/// The object of one record, built by SQLite.
pub(super) fn json_post(connection: Database, sql: &str) -> Result<Answer, Error> {
    let mut post = connection.prepare(sql)?;
    Ok(Box::new(move |ask, out| {
        post.raw_bind_parameter(1, ask.id)?;
        each(&mut post, |row| {
            out.extend_from_slice(row.get_ref(0)?.as_bytes()?);
            Ok(())
        })
    }))
}

/// The objects of a page, built by SQLite, after their cursors.
pub(super) fn json_newest(connection: Database, sql: &str) -> Result<Answer, Error> {
    let mut newest = connection.prepare(sql)?;
    Ok(Box::new(move |_, out| {
        let mut page = Page::open(out, PAGE);
        each(&mut newest, |row| {
            if page.item(out) {
                out.extend_from_slice(row.get_ref(1)?.as_bytes()?);
                page.cursor(|cursor| {
                    cursor.extend_from_slice(row.get_ref(0)?.as_bytes()?);
                    Ok(())
                })?;
            }
            Ok(())
        })?;
        page.close(out);
        Ok(())
    }))
}

pub(super) const JSON_SCALARS: &str = "SELECT json_object('id', id, 'title', title, 'body', body, \
    'published', json(iif(published, 'true', 'false')), 'views', views, 'publishedAt', published_at) \
    FROM posts WHERE id = ?";

/// The comments of a post. The result of a subquery is a text, unless `json` says otherwise.
macro_rules! json_comments {
    () => {
        "json((SELECT json_group_array(json_object('body', body, 'author', json_object('name', name))) \
         FROM (SELECT c.body, a.name FROM comments c JOIN users a ON a.id = c.author_id \
         WHERE c.post_id = p.id ORDER BY c.id)))"
    };
}

/// Posts of a page; more members may follow.
macro_rules! json_newest {
    ($members:expr) => {
        concat!(
            "SELECT p.published_at, json_object('id', p.id, 'title', p.title, 'publishedAt', p.published_at, \
             'author', json_object('name', u.name)",
            $members,
            ") FROM posts p JOIN users u ON u.id = p.author_id WHERE p.published = 1 \
             ORDER BY p.published_at DESC, p.id DESC LIMIT 21"
        )
    };
}

pub(super) const JSON_NESTED: &str = concat!(
    "SELECT json_object('title', p.title, 'author', json_object('name', u.name), 'comments', ",
    json_comments!(),
    ") FROM posts p JOIN users u ON u.id = p.author_id WHERE p.id = ?"
);
pub(super) const JSON_NEWEST: &str = json_newest!("");
pub(super) const JSON_DEEP: &str = json_newest!(concat!(", 'comments', ", json_comments!()));
