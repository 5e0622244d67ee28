//! An update of one row, and a row that is created with a link to another.

use rusqlite::Connection;

use super::{Answer, each};
use crate::Error;
use crate::json;
use crate::json::Kind::{Integer, Text};

type Database = &'static Connection;

#[derive(serde::Deserialize)]
struct Views {
    views: i64,
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct Comment<'a> {
    body: &'a str,
    author_id: i64,
    created_at: &'a str,
}

/// Updates a row and returns it, in a transaction of its own.
pub(super) fn update(connection: Database) -> Result<Answer, Error> {
    let mut update = connection.prepare("UPDATE posts SET views = ? WHERE id = ? RETURNING id, views")?;
    Ok(Box::new(move |ask, out| {
        let Views { views } = serde_json::from_slice(ask.body)?;
        update.raw_bind_parameter(1, views)?;
        update.raw_bind_parameter(2, ask.id)?;
        each(&mut update, |row| {
            json::members(out, row, 0, [("{\"id\":", Integer), (",\"views\":", Integer)])?;
            out.push(b'}');
            Ok(())
        })
    }))
}

/// Creates a comment of a post.
pub(super) fn create(connection: Database) -> Result<Answer, Error> {
    let mut post = connection.prepare("SELECT 1 FROM posts WHERE id = ?")?;
    let mut insert = connection.prepare(
        "INSERT INTO comments (post_id, author_id, body, created_at) VALUES (?, ?, ?, ?) \
         RETURNING body",
    )?;
    Ok(Box::new(move |ask, out| {
        let comment: Comment<'_> = serde_json::from_slice(ask.body)?;
        post.raw_bind_parameter(1, ask.id)?;
        let mut found = false;
        each(&mut post, |_| {
            found = true;
            Ok(())
        })?;
        if !found {
            return Err("no such post".into());
        }
        insert.raw_bind_parameter(1, ask.id)?;
        insert.raw_bind_parameter(2, comment.author_id)?;
        insert.raw_bind_parameter(3, comment.body)?;
        insert.raw_bind_parameter(4, comment.created_at)?;
        each(&mut insert, |row| {
            json::members(out, row, 0, [("{\"body\":", Text)])?;
            out.push(b'}');
            Ok(())
        })
    }))
}
