//! Conditions on relations, orders by related records, the number of all records, pages from the end, searches and batches.

use rusqlite::{Connection, Row};

use super::blog::{SCALARS, newest_head, newest_page, post_object};
use super::{Answer, each, id};
use crate::Error;
use crate::json::Kind::{Integer, Moment, Text};
use crate::json::{self, PAGE, Page};

type Database = &'static Connection;

/// The newest published posts with a comment by a user.
pub(super) const SOME: &str = "SELECT p.id, p.title, p.published_at FROM posts p WHERE p.published = 1 \
    AND p.id IN (SELECT c.post_id FROM comments c WHERE c.author_id = ?) \
    ORDER BY p.published_at DESC, p.id DESC LIMIT 21";
pub(super) const EXISTS: &str = "SELECT p.id, p.title, p.published_at FROM posts p WHERE p.published = 1 \
    AND EXISTS (SELECT 1 FROM comments c WHERE c.post_id = p.id AND c.author_id = ?) \
    ORDER BY p.published_at DESC, p.id DESC LIMIT 21";
/// The posts of a user, most commented first.
pub(super) const BUSIEST: &str = "SELECT p.id, p.title, p.published_at, \
    (SELECT count(*) FROM comments c WHERE c.post_id = p.id) AS n FROM posts p WHERE p.author_id = ? \
    ORDER BY n DESC, p.id DESC LIMIT 21";
pub(super) const BUSIEST_GROUPED: &str = "SELECT p.id, p.title, p.published_at, count(c.post_id) AS n \
    FROM posts p LEFT JOIN comments c ON c.post_id = p.id WHERE p.author_id = ? \
    GROUP BY p.id ORDER BY n DESC, p.id DESC LIMIT 21";

/// Posts that a statement finds for a record.
pub(super) fn posts(connection: Database, sql: &str) -> Result<Answer, Error> {
    let mut posts = connection.prepare(sql)?;
    Ok(Box::new(move |ask, out| {
        posts.raw_bind_parameter(1, ask.id)?;
        let mut page = Page::open(out, PAGE);
        each(&mut posts, |row| {
            if newest_head(out, &mut page, row)? {
                out.push(b'}');
            }
            Ok(())
        })?;
        page.close(out);
        Ok(())
    }))
}

/// The users all of whose posts have at least a given number of views.
pub(super) fn every(connection: Database) -> Result<Answer, Error> {
    let mut users = connection.prepare(
        "SELECT u.id, u.name FROM users u \
         WHERE NOT EXISTS (SELECT 1 FROM posts p WHERE p.author_id = u.id AND p.views < ?) ORDER BY u.id LIMIT 21",
    )?;
    Ok(Box::new(move |ask, out| {
        users.raw_bind_parameter(1, ask.id * 1_000)?;
        let mut page = Page::open(out, PAGE);
        each(&mut users, |row| {
            if page.item(out) {
                json::members(out, row, 0, [("{\"id\":", Integer), (",\"name\":", Text)])?;
                out.push(b'}');
                page.cursor(|cursor| {
                    json::integer(cursor, id(row, 0)?);
                    Ok(())
                })?;
            }
            Ok(())
        })?;
        page.close(out);
        Ok(())
    }))
}

/// The newest comments of a user.
const RECENT: &str =
    "SELECT id, body, created_at FROM comments WHERE author_id = ? ORDER BY created_at DESC, id DESC";

/// How the total number of comments is obtained.
#[derive(Clone, Copy)]
pub(super) enum Count {
    /// With a separate statement.
    Statement,
    /// With a window function over the comments.
    Window,
}

/// The newest comments of a user, and how many there are.
pub(super) fn total(connection: Database, by: Count) -> Result<Answer, Error> {
    let rows = match by {
        Count::Statement => format!("{RECENT} LIMIT 21"),
        Count::Window => {
            format!("{} LIMIT 21", RECENT.replace("created_at FROM", "created_at, count(*) OVER () FROM"))
        }
    };
    let mut comments = connection.prepare(&rows)?;
    let mut count = connection.prepare("SELECT count(*) FROM comments WHERE author_id = ?")?;
    Ok(Box::new(move |ask, out| {
        comments.raw_bind_parameter(1, ask.id)?;
        let (mut page, mut total) = (Page::open(out, PAGE), 0);
        each(&mut comments, |row| {
            if let Count::Window = by {
                total = id(row, 3)?;
            }
            comment(out, &mut page, row, 2)
        })?;
        if let Count::Statement = by {
            count.raw_bind_parameter(1, ask.id)?;
            each(&mut count, |row| {
                total = id(row, 0)?;
                Ok(())
            })?;
        }
        page.close_with(out, |out| {
            out.extend_from_slice(b",\"totalCount\":");
            json::integer(out, total);
        });
        Ok(())
    }))
}

/// A comment of a page. Its cursor has a text and the id.
fn comment(out: &mut Vec<u8>, page: &mut Page, row: &Row<'_>, sorted: usize) -> Result<(), Error> {
    if page.item(out) {
        json::members(out, row, 0, [("{\"id\":", Integer), (",\"body\":", Text)])?;
        out.push(b'}');
        page.cursor(|cursor| {
            cursor.extend_from_slice(row.get_ref(sorted)?.as_bytes()?);
            json::integer(cursor, id(row, 0)?);
            Ok(())
        })?;
    }
    Ok(())
}

/// The comments of a user, ordered by the titles of their posts. The posts are joined, the titles are subqueries, or the ids
/// are sorted before the comments are read.
pub(super) const PATH_JOINED: &str = "SELECT c.id, c.body, p.title FROM comments c LEFT JOIN posts p ON p.id = c.post_id \
    WHERE c.author_id = ? ORDER BY p.title, c.id LIMIT 21";
pub(super) const PATH_NESTED: &str = "SELECT c.id, c.body, (SELECT p.title FROM posts p WHERE p.id = c.post_id) AS t \
    FROM comments c WHERE c.author_id = ? ORDER BY t, c.id LIMIT 21";
pub(super) const PATH_LEVELS: &str = "SELECT s.id, c.body, s.title FROM \
    (SELECT c.id, p.title FROM comments c LEFT JOIN posts p ON p.id = c.post_id WHERE c.author_id = ? \
     ORDER BY p.title, c.id LIMIT 21) s CROSS JOIN comments c ON c.id = s.id ORDER BY s.title, s.id";

pub(super) fn path(connection: Database, sql: &str) -> Result<Answer, Error> {
    let mut comments = connection.prepare(sql)?;
    Ok(Box::new(move |ask, out| {
        comments.raw_bind_parameter(1, ask.id)?;
        let mut page = Page::open(out, PAGE);
        each(&mut comments, |row| comment(out, &mut page, row, 2))?;
        page.close(out);
        Ok(())
    }))
}

/// The last page of the newest posts, in reverse order.
pub(super) const BACKWARD: &str = "SELECT id, title, published_at FROM posts WHERE published = 1 \
    ORDER BY published_at, id LIMIT 21";
/// The last page of the newest posts, which the database sorts into the order of the response.
pub(super) const BACKWARD_SORTED: &str = "SELECT * FROM (SELECT id, title, published_at FROM posts WHERE published = 1 \
    ORDER BY published_at, id LIMIT 21) ORDER BY published_at DESC, id DESC";

/// The last page of the newest posts.
pub(super) fn backward(connection: Database, sql: &str, is_reversed: bool) -> Result<Answer, Error> {
    let mut posts = connection.prepare(sql)?;
    Ok(Box::new(move |_, out| {
        // The objects and their cursors.
        let (mut objects, mut cursors) = (Vec::with_capacity(4_096), Vec::with_capacity(1_024));
        let mut ends = [(0, 0); PAGE + 2];
        let mut count = 0;
        each(&mut posts, |row| {
            let members = [("{\"id\":", Integer), (",\"title\":", Text), (",\"publishedAt\":", Moment)];
            json::members(&mut objects, row, 0, members)?;
            objects.push(b'}');
            cursors.extend_from_slice(row.get_ref(2)?.as_bytes()?);
            json::integer(&mut cursors, id(row, 0)?);
            count += 1;
            ends[count] = (objects.len(), cursors.len());
            Ok(())
        })?;
        let has_more = count > PAGE;
        let (first, last) = match (has_more, is_reversed) {
            (true, false) => (1, count),
            (true, true) => (0, PAGE),
            (false, _) => (0, count),
        };
        let mut page = Page::open(out, PAGE);
        for place in first..last {
            let place = if is_reversed { last - 1 - place } else { place };
            let ((start, cursor), (end, cursor_end)) = (ends[place], ends[place + 1]);
            page.item(out);
            out.extend_from_slice(&objects[start..end]);
            page.cursor(|out| {
                out.extend_from_slice(&cursors[cursor..cursor_end]);
                Ok(())
            })?;
        }
        page.close_with(out, |out| {
            out.extend_from_slice(b",\"hasPreviousPage\":");
            out.extend_from_slice(if has_more { b"true" } else { b"false" });
        });
        Ok(())
    }))
}

/// A page with only the post that has the requested id.
pub(super) fn one(connection: Database) -> Result<Answer, Error> {
    let mut posts = connection.prepare(
        "SELECT id, title, body, published, views, published_at FROM posts WHERE id = ? ORDER BY id LIMIT 21",
    )?;
    Ok(Box::new(move |ask, out| {
        posts.raw_bind_parameter(1, ask.id)?;
        let mut page = Page::open(out, PAGE);
        each(&mut posts, |row| {
            if page.item(out) {
                post_object(out, row)?;
                page.cursor(|cursor| {
                    json::integer(cursor, id(row, 0)?);
                    Ok(())
                })?;
            }
            Ok(())
        })?;
        page.close(out);
        Ok(())
    }))
}

/// The posts whose ids are in the body, with a statement for each.
pub(super) fn batch(connection: Database) -> Result<Answer, Error> {
    let mut post = connection.prepare(SCALARS)?;
    Ok(Box::new(move |ask, out| {
        let mut begin = RESULTS;
        for id in serde_json::from_slice::<Vec<i64>>(ask.body)? {
            post.raw_bind_parameter(1, id)?;
            each(&mut post, |row| result(out, &mut begin, row))?;
        }
        out.extend_from_slice(b"]}");
        Ok(())
    }))
}

/// The posts whose ids are in the body, which the database reads.
pub(super) fn batch_rows(connection: Database) -> Result<Answer, Error> {
    let mut posts = connection.prepare(
        "SELECT p.id, p.title, p.body, p.published, p.views, p.published_at \
         FROM json_each(?) ids CROSS JOIN posts p ON p.id = ids.value",
    )?;
    Ok(Box::new(move |ask, out| {
        posts.raw_bind_parameter(1, str::from_utf8(ask.body)?)?;
        let mut begin = RESULTS;
        each(&mut posts, |row| result(out, &mut begin, row))?;
        out.extend_from_slice(b"]}");
        Ok(())
    }))
}

/// The text before the first result of a batch.
const RESULTS: &str = "{\"results\":[{\"status\":200,\"body\":";

fn result(out: &mut Vec<u8>, begin: &mut &'static str, row: &Row<'_>) -> Result<(), Error> {
    out.extend_from_slice(begin.as_bytes());
    *begin = ",{\"status\":200,\"body\":";
    post_object(out, row)?;
    out.push(b'}');
    Ok(())
}

/// The first posts whose title has a word. The index finds them in the order of their ids.
pub(super) fn search(connection: Database) -> Result<Answer, Error> {
    let mut posts = connection.prepare(
        "SELECT p.id, p.title, p.published_at FROM posts_search s CROSS JOIN posts p ON p.id = s.rowid \
         WHERE posts_search MATCH 'granite' ORDER BY s.rowid LIMIT 21",
    )?;
    Ok(Box::new(move |_, out| newest_page(out, &mut posts, |_, _| Ok(()))))
}
