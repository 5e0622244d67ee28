//! Statements on tables that Mesh uses itself.
//!
//! The file is opened for each statement, because it may have been replaced. Opening it takes a thousandth of the time of
//! hashing a password. Statements run on a thread that may block, because the tables may be large and have no index.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use mesh_backend::own_table::{ApiKeyDialect, OwnTable, TableDialect};
use mesh_backend::tables::{Cells, TableError, Tables, quoted};
use mesh_backend::transaction::{Failure, Ran};
use mesh_plan::{BoxFuture, Value};
use rusqlite::{Connection, OpenFlags};

use crate::cells::{bind, rows};
use crate::database::Database;
use crate::pool::{OPEN_TIMEOUT, connect_waiting};

/// The SQL for tables that Mesh uses itself.
const DIALECT: TableDialect = TableDialect {
    is_same: str::eq_ignore_ascii_case,
    api_keys: ApiKeyDialect {
        types: None,
        new_types: ["text"; 2],
        // A time is a text that SQLite's date functions read, in UTC unless the text states otherwise, or seconds or milliseconds
        // since 1970. A time that cannot be read has passed.
        selected: "hash, owner, role, CASE typeof(expires) WHEN 'null' THEN NULL WHEN 'real' THEN expires \
            WHEN 'integer' THEN CASE WHEN expires > 100000000000 THEN expires / 1000 ELSE expires END \
            ELSE coalesce(unixepoch(expires), 0) END",
        equals: "=",
        params: ["?1", "?2", "?3", "?4"],
    },
    audit_types: ["text"; 3],
    audit_params: ["?1", "?2", "?3"],
};

/// The tables of the file that is at a path.
struct FileTables {
    path: PathBuf,
}

impl Database {
    pub(crate) fn tables(&self) -> Arc<dyn Tables> {
        Arc::new(FileTables { path: self.path() })
    }
}

/// Opens a file for writing.
pub(crate) fn open_for_writing(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(OPEN_TIMEOUT)?;
    Ok(connection)
}

/// Finds a table that Mesh uses itself.
pub(crate) fn own_table(database: &Database, name: &str) -> rusqlite::Result<OwnTable> {
    let connection = connect_waiting(&database.path())?;
    let mut statement = connection.prepare("SELECT name, type FROM pragma_table_info(?1)")?;
    let columns =
        statement.query_map([name], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<Result<_, _>>()?;
    let (name, quoted, tables) = (name.to_owned(), quoted(name, '"'), database.tables());
    Ok(OwnTable { name, quoted, columns, reads: Arc::clone(&tables), writes: tables, dialect: &DIALECT })
}

impl Tables for FileTables {
    fn read<'a>(
        &'a self,
        sql: &'a str,
        params: &'a [Value],
    ) -> BoxFuture<'a, Result<Vec<Cells>, TableError>> {
        let (path, sql, params) = (self.path.clone(), sql.to_owned(), params.to_vec());
        Box::pin(run(move || {
            let connection = connect_waiting(&path)?;
            let mut statement = connection.prepare(&sql)?;
            bind(&mut statement, params.iter().map(Some))?;
            rows(&mut statement)
        }))
    }

    fn transact<'a>(
        &'a self,
        statements: &'a [(&'a str, Cells)],
        _: bool,
    ) -> BoxFuture<'a, Result<Vec<Ran<Cells>>, Failure<TableError>>> {
        let statements = statements.iter().map(|(sql, params)| ((*sql).to_owned(), params.clone()));
        let (path, statements) = (self.path.clone(), statements.collect::<Vec<_>>());
        let running = run(move || {
            let mut connection = open_for_writing(&path)?;
            let change = connection.transaction()?;
            let mut all = Vec::new();
            for (sql, params) in &statements {
                let mut statement = change.prepare_cached(sql)?;
                bind(&mut statement, params.iter().map(Some))?;
                let rows: Vec<Cells> = rows(&mut statement)?;
                let count = if rows.is_empty() { change.changes() } else { rows.len() as u64 };
                all.push(Ran { rows, count });
            }
            change.commit()?;
            Ok(all)
        });
        Box::pin(async { Ok(running.await?) })
    }
}

async fn run<T: Send + 'static>(
    work: impl FnOnce() -> rusqlite::Result<T> + Send + 'static,
) -> Result<T, TableError> {
    let done = tokio::task::spawn_blocking(work).await.map_err(|error| TableError::Failed(error.into()))?;
    done.map_err(|error| TableError::Failed(error.into()))
}
