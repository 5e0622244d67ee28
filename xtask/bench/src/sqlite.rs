//! The workloads over rusqlite: hard-coded SQL, statements prepared once, and JSON written from SQLite's memory.

mod blog;
mod others;
mod relations;
mod writes;

use std::path::Path;

use bytes::Bytes;
use rusqlite::{Connection, OpenFlags, Row, Statement};

use relations::Count;
pub use writes::Group;

use crate::json::Cells;
use crate::{Ask, Error};

/// A workload with its prepared statements. Appends the response.
pub type Answer = Box<dyn FnMut(Ask<'_>, &mut Vec<u8>) -> Result<(), Error>>;

/// Opens a connection tuned for a server.
pub fn open(path: &Path, flags: OpenFlags) -> rusqlite::Result<Connection> {
    let connection = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    connection.pragma_update(None, "mmap_size", 1i64 << 40)?;
    // Otherwise SQLite prepares statements again when bound values change.
    connection.set_db_config(rusqlite::config::DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(connection)
}

/// Prepares a workload.
pub fn prepare(path: &Path, workload: &str, variant: &str) -> Result<Answer, Error> {
    let writes = matches!(workload, "update" | "create" | "bulk");
    let flags = if writes { OpenFlags::SQLITE_OPEN_READ_WRITE } else { OpenFlags::SQLITE_OPEN_READ_ONLY };
    let connection: &'static Connection = Box::leak(Box::new(open(path, flags)?));
    if let Some(first) = workload.strip_prefix("rows") {
        return others::rows(connection, first.parse()?);
    }
    let answer = match (workload, variant) {
        ("w1", "joined") => blog::scalars(connection)?,
        ("w1", "json") => blog::json_post(connection, blog::JSON_SCALARS)?,
        ("w2", "nested") => in_transaction(connection, blog::nested_post(connection)?)?,
        ("w2", "joined") => in_transaction(connection, blog::joined_post(connection)?)?,
        ("w2", "rows") => blog::post_rows(connection)?,
        ("w2", "json") => blog::json_post(connection, blog::JSON_NESTED)?,
        ("w3", "nested") => in_transaction(connection, blog::nested_newest(connection, false)?)?,
        ("w3", "joined") => blog::joined_newest(connection)?,
        ("w3", "json") => blog::json_newest(connection, blog::JSON_NEWEST)?,
        ("w4", "nested") => in_transaction(connection, blog::nested_newest(connection, true)?)?,
        ("w4", "joined") => in_transaction(connection, blog::joined_deep(connection)?)?,
        ("w4", "levels") => in_transaction(connection, blog::deep_levels(connection)?)?,
        ("w4", "rows") => blog::deep_rows(connection)?,
        ("w4", "json") => blog::json_newest(connection, blog::JSON_DEEP)?,
        ("tags", "joined") => in_transaction(connection, others::tags(connection)?)?,
        ("tags", "levels") => in_transaction(connection, others::tag_levels(connection)?)?,
        ("tags", "json") => blog::json_newest(connection, others::JSON_TAGS)?,
        ("tree", "nested") => in_transaction(connection, others::nested_tree(connection)?)?,
        ("tree", "joined") => in_transaction(connection, others::joined_tree(connection)?)?,
        ("tree", "rows") => in_transaction(connection, others::tree_rows(connection)?)?,
        ("tree", "json") => blog::json_post(connection, others::JSON_TREE)?,
        ("wide", "joined") => others::wide(connection)?,
        ("wide", "json") => others::json_wide(connection)?,
        ("export", "joined") => others::export(connection)?,
        ("groups", "joined") => others::groups(connection)?,
        ("groups", "json") => others::json_groups(connection)?,
        ("some", "joined") => relations::posts(connection, relations::SOME)?,
        ("some", "nested") => relations::posts(connection, relations::EXISTS)?,
        ("every", "nested") => relations::every(connection)?,
        ("busiest", "nested") => relations::posts(connection, relations::BUSIEST)?,
        ("busiest", "joined") => relations::posts(connection, relations::BUSIEST_GROUPED)?,
        ("total", "nested") => in_transaction(connection, relations::total(connection, Count::Statement)?)?,
        ("total", "joined") => relations::total(connection, Count::Window)?,
        ("path", "nested") => relations::path(connection, relations::PATH_NESTED)?,
        ("path", "joined") => relations::path(connection, relations::PATH_JOINED)?,
        ("path", "levels") => relations::path(connection, relations::PATH_LEVELS)?,
        ("backward", "nested") => relations::backward(connection, relations::BACKWARD_SORTED, false)?,
        ("backward", "joined") => relations::backward(connection, relations::BACKWARD, true)?,
        ("param", "joined") => relations::one(connection)?,
        ("search", "joined") => relations::search(connection)?,
        ("buckets", "joined") => others::buckets(connection)?,
        ("batch5", "joined") => in_transaction(connection, relations::batch(connection)?)?,
        ("batch5", "rows") => relations::batch_rows(connection)?,
        ("update", "joined") => writes::update(connection)?,
        ("create", "joined") => in_transaction(connection, writes::create(connection)?)?,
        ("bulk", "joined") => in_transaction(connection, writes::users(connection)?)?,
        ("bulk", "rows") => in_transaction(connection, writes::users_by_rows(connection)?)?,
        ("bulk", "json") => in_transaction(connection, writes::users_by_json(connection)?)?,
        _ => return Err(format!("there is no variant '{variant}' of '{workload}'").into()),
    };
    Ok(answer)
}

/// Returns the response to a request.
pub fn body(answer: &mut Answer, ask: Ask<'_>) -> Result<Bytes, Error> {
    let mut out = Vec::with_capacity(1_024);
    answer(ask, &mut out)?;
    Ok(out.into())
}

/// Runs a workload of several statements in a transaction.
fn in_transaction(connection: &'static Connection, mut answer: Answer) -> Result<Answer, Error> {
    let (mut begin, mut commit) = (connection.prepare("BEGIN")?, connection.prepare("COMMIT")?);
    Ok(Box::new(move |ask, out| {
        begin.raw_execute()?;
        let answered = answer(ask, out);
        commit.raw_execute()?;
        answered
    }))
}

/// Calls a function for each row of a statement.
#[inline]
fn each(
    statement: &mut Statement<'_>,
    mut row: impl FnMut(&Row<'_>) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut rows = statement.raw_query();
    while let Some(next) = rows.next()? {
        row(next)?;
    }
    Ok(())
}

impl Cells for Row<'_> {
    #[inline]
    fn integer(&self, column: usize) -> Result<Option<i64>, Error> {
        Ok(self.get_ref(column)?.as_i64_or_null()?)
    }

    #[inline]
    fn real(&self, column: usize) -> Result<Option<f64>, Error> {
        Ok(self.get_ref(column)?.as_f64_or_null()?)
    }

    #[inline]
    fn flag(&self, column: usize) -> Result<Option<bool>, Error> {
        Ok(self.integer(column)?.map(|value| value != 0))
    }

    #[inline]
    fn text(&self, column: usize) -> Result<Option<&str>, Error> {
        Ok(self.get_ref(column)?.as_str_or_null()?)
    }

    #[inline]
    fn moment(&self, out: &mut Vec<u8>, column: usize) -> Result<bool, Error> {
        let text = self.text(column)?;
        out.extend_from_slice(text.unwrap_or_default().as_bytes());
        Ok(text.is_some())
    }
}

/// Returns an integer that cannot be NULL.
fn id(row: &Row<'_>, column: usize) -> Result<i64, Error> {
    Ok(row.get_ref(column)?.as_i64()?)
}
