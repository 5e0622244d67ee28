//! A table of the database that the audit log is written to.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};
use sea_query::{Alias, ColumnDef, Expr, Func, Query, SqliteQueryBuilder, Table};

use crate::database::Database;
use crate::error::OpenError;
use crate::pool::connect;

/// The columns of the table.
const COLUMNS: [&str; 3] = ["time", "event", "entry"];
/// The time limit for waiting for a writer.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// A table of audit entries.
pub struct AuditTable {
    path: PathBuf,
    insert: String,
}

impl Database {
    /// Returns the table of audit entries. Its columns `time`, `event` and `entry` get the members `time` and `event` of each
    /// entry, and the entry itself.
    ///
    /// # Errors
    /// The table or some of its columns are missing, or the file cannot be read.
    pub fn audit_table(&self, table: &str) -> Result<AuditTable, OpenError> {
        let path = self.path();
        let columns = connect(&path).and_then(|connection| {
            connection.busy_timeout(BUSY_TIMEOUT)?;
            let mut statement = connection.prepare("SELECT name FROM pragma_table_info(?1)")?;
            statement.query_map([table], |row| row.get(0))?.collect::<rusqlite::Result<Vec<String>>>()
        });
        let columns = columns.map_err(|error| OpenError::new(&path, error))?;
        let is_missing = |name: &&str| !columns.iter().any(|column| column.eq_ignore_ascii_case(name));
        if COLUMNS.iter().any(is_missing) {
            let fault = format!(
                "'audit.table' needs the table '{table}' with the columns time, event and entry; create it with\n  {};",
                create_table(table)
            );
            return Err(OpenError::new(&path, fault));
        }
        Ok(AuditTable { path, insert: insert(table) })
    }
}

fn create_table(table: &str) -> String {
    let mut create = Table::create();
    create.table(table.to_owned());
    for name in COLUMNS {
        create.col(ColumnDef::new(name).text().not_null());
    }
    create.to_string(SqliteQueryBuilder)
}

/// Returns the statement that inserts the elements of a JSON array.
fn insert(table: &str) -> String {
    let extract =
        |path: &'static str| Func::cust("json_extract").arg(Expr::col(("e", "value"))).arg(Expr::val(path));
    let select = Query::select()
        .expr(extract("$.time"))
        .expr(extract("$.event"))
        .expr(Expr::col(("e", "value")))
        .from_function(Func::cust("json_each").arg(Expr::cust("?1")), Alias::new("e"))
        .take();
    let mut insert = Query::insert();
    insert.into_table(table.to_owned()).columns(COLUMNS);
    // This cannot fail, because the numbers of columns agree.
    let _ = insert.select_from(select);
    insert.to_string(SqliteQueryBuilder)
}

impl AuditTable {
    /// Inserts the objects of a JSON array, all or none.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn append(&self, entries: &str) -> Result<(), OpenError> {
        // The file is opened each time, because it may have been replaced.
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let inserted = Connection::open_with_flags(&self.path, flags).and_then(|connection| {
            connection.busy_timeout(BUSY_TIMEOUT)?;
            connection.execute(&self.insert, [entries])
        });
        inserted.map(drop).map_err(|error| OpenError::new(&self.path, error))
    }
}

impl fmt::Debug for AuditTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AuditTable").field("insert", &self.insert).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use crate::tests::File;

    #[test]
    fn entries_are_inserted_with_their_time_and_event() {
        let file = File::new("");
        let missing = file.database().audit_table("my audit").unwrap_err().to_string();
        let (_, create) = missing.split_once("create it with").unwrap();
        file.write(create);
        let table = file.database().audit_table("my audit").unwrap();
        table
            .append(r#"[{"time":"t1","event":"write","user":"it's"},{"time":"t2","event":"login"}]"#)
            .unwrap();
        assert!(
            table.append("[{\"time\":\"t3\",\"event\":\"a\"},{\"time\":\"t4\"}]").is_err(),
            "an event is missing"
        );
        let rows = file.connect();
        let mut rows = rows.prepare("SELECT time || ' ' || event || ' ' || entry FROM \"my audit\"").unwrap();
        let rows: Vec<String> = rows.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
        assert_eq!(
            rows,
            [
                r#"t1 write {"time":"t1","event":"write","user":"it's"}"#,
                r#"t2 login {"time":"t2","event":"login"}"#
            ]
        );
        file.write("DROP TABLE \"my audit\"");
        assert!(table.append("[]").is_err());
    }
}
