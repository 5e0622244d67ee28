//! Conditions on relations, and an order by the number of related records.

use rusqlite::Connection;

use super::blog::newest_head;
use super::{Answer, each, id};
use crate::Error;
use crate::json::Kind::{Integer, Text};
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

/// Users of whose posts every one has been viewed so often.
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
