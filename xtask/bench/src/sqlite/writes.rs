//! Writes: updating a row, creating a row that refers to another one, and creating a thousand rows with one request.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};

use bytes::Bytes;
use rusqlite::{Connection, OpenFlags, Statement};
use tokio::sync::oneshot;

use super::{Answer, body, each, open};
use crate::json;
use crate::json::Kind::{Integer, Text};
use crate::written::{Comment, Views};
use crate::{Ask, Error};

type Database = &'static Connection;

/// Updates a row and returns it, in its own transaction.
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

#[derive(serde::Deserialize)]
struct User<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    email: Cow<'a, str>,
    #[serde(borrow)]
    bio: Option<Cow<'a, str>>,
}

impl User<'_> {
    /// Binds the values of a user as the parameters from `index` on.
    fn bind(&self, statement: &mut Statement<'_>, index: usize) -> Result<(), Error> {
        statement.raw_bind_parameter(index, &*self.name)?;
        statement.raw_bind_parameter(index + 1, &*self.email)?;
        statement.raw_bind_parameter(index + 2, self.bio.as_deref())?;
        Ok(())
    }
}

/// Creates users with one execution of a statement per user.
pub(super) fn users(connection: Database) -> Result<Answer, Error> {
    user_rows(connection, 1)
}

/// Rows per statement. It divides a thousand evenly.
const ROWS: usize = 50;

/// Creates users with one execution of a statement per `ROWS` users.
pub(super) fn users_by_rows(connection: Database) -> Result<Answer, Error> {
    user_rows(connection, ROWS)
}

fn user_rows(connection: Database, rows: usize) -> Result<Answer, Error> {
    let values = vec!["(?, ?, ?)"; rows].join(", ");
    let insert = format!("INSERT INTO users (name, email, bio) VALUES {values} RETURNING id");
    let mut insert = connection.prepare(&insert)?;
    Ok(Box::new(move |ask, out| {
        let users: Vec<User<'_>> = serde_json::from_slice(ask.body)?;
        let (users, rest) = (users.chunks_exact(rows), users.len() % rows);
        if rest > 0 {
            return Err("another number of rows than that of the bench".into());
        }
        let mut begin = "[{\"id\":";
        for chunk in users {
            for (place, user) in chunk.iter().enumerate() {
                user.bind(&mut insert, 1 + 3 * place)?;
            }
            created(out, &mut insert, &mut begin)?;
        }
        out.push(b']');
        Ok(())
    }))
}

/// Creates users from the JSON text, which SQLite parses.
pub(super) fn users_by_json(connection: Database) -> Result<Answer, Error> {
    let mut insert = connection.prepare(
        "INSERT INTO users (name, email, bio) SELECT value ->> 'name', value ->> 'email', value ->> 'bio' \
         FROM json_each(?) RETURNING id",
    )?;
    Ok(Box::new(move |ask, out| {
        insert.raw_bind_parameter(1, std::str::from_utf8(ask.body)?)?;
        created(out, &mut insert, &mut "[{\"id\":")?;
        out.push(b']');
        Ok(())
    }))
}

/// Runs a statement, and writes objects with the ids that it returns.
fn created(out: &mut Vec<u8>, insert: &mut Statement<'_>, begin: &mut &str) -> Result<(), Error> {
    each(insert, |row| {
        json::members(out, row, 0, [(*begin, Integer)])?;
        *begin = ",{\"id\":";
        out.push(b'}');
        Ok(())
    })
}

/// Maximum number of writes per transaction.
const GROUP: usize = 64;

/// A thread that commits all writes that have arrived in one transaction. The thread that serves connections does not wait
/// for the disk, so reads would not wait for commits.
pub struct Group(Sender<Waiting>);

struct Waiting {
    id: i64,
    body: Bytes,
    done: oneshot::Sender<Result<Bytes, String>>,
}

impl Group {
    pub fn start(path: PathBuf, workload: String) -> Self {
        let (sender, waiting) = channel();
        std::thread::spawn(move || {
            if let Err(error) = serve(&path, &workload, &waiting) {
                eprintln!("error: {error}");
                std::process::exit(1);
            }
        });
        Self(sender)
    }

    pub async fn run(&self, ask: Ask<'_>) -> Result<Bytes, Error> {
        let (done, written) = oneshot::channel();
        self.0.send(Waiting { id: ask.id, body: Bytes::copy_from_slice(ask.body), done })?;
        Ok(written.await??)
    }
}

fn serve(path: &Path, workload: &str, waiting: &Receiver<Waiting>) -> Result<(), Error> {
    let connection: Database = Box::leak(Box::new(open(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?));
    let mut answer = statement(connection, workload)?;
    let (mut begin, mut commit) = (connection.prepare("BEGIN IMMEDIATE")?, connection.prepare("COMMIT")?);
    let (mut savepoint, mut release) =
        (connection.prepare("SAVEPOINT one")?, connection.prepare("RELEASE one")?);
    let mut undo = connection.prepare("ROLLBACK TO one")?;
    let mut group = Vec::with_capacity(GROUP);
    while let Ok(first) = waiting.recv() {
        begin.raw_execute()?;
        for Waiting { id, body: sent, done } in std::iter::once(first).chain(waiting.try_iter()).take(GROUP) {
            savepoint.raw_execute()?;
            let written = body(&mut answer, Ask { id, body: &sent }).map_err(|error| error.to_string());
            if written.is_err() {
                undo.raw_execute()?;
            }
            release.raw_execute()?;
            group.push((done, written));
        }
        commit.raw_execute()?;
        for (done, written) in group.drain(..) {
            let _ = done.send(written);
        }
    }
    Ok(())
}

/// Prepares a write.
fn statement(connection: Database, workload: &str) -> Result<Answer, Error> {
    match workload {
        "update" => update(connection),
        "create" => create(connection),
        "bulk" => users_by_rows(connection),
        other => Err(format!("'{other}' is no write").into()),
    }
}
