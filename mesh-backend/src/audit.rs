//! A table of the database that the audit log is written to.

use std::error::Error;
use std::fmt;

use mesh_plan::Value;
use serde_json::Value as Json;

use crate::tables::{Cells, Tables};

/// The columns of the table.
const COLUMNS: [&str; 3] = ["time", "event", "entry"];

/// A table of audit entries. Its columns `time`, `event` and `entry` get the members `time` and `event` of each entry, and the
/// entry itself.
pub struct AuditTable {
    tables: Box<dyn Tables>,
    insert: String,
}

impl AuditTable {
    /// Opens a table, whose name is also given as it is quoted. `has_column` compares its columns with a name; `types` are the
    /// types of the columns that a table needs, and `params` parameters of these types.
    ///
    /// # Errors
    /// The table or some of its columns are missing.
    pub fn open(
        tables: impl Tables,
        (name, quoted): (&str, &str),
        has_column: impl Fn(&str) -> bool,
        types: [&str; 3],
        params: [&str; 3],
    ) -> Result<Self, String> {
        if COLUMNS.iter().any(|column| !has_column(column)) {
            let [time, event, entry] = types;
            return Err(format!(
                "the audit log needs the table '{name}' with the columns time, event and entry; create it with\n  \
                 CREATE TABLE {quoted} (time {time} NOT NULL, event {event} NOT NULL, entry {entry} NOT NULL);"
            ));
        }
        let params = params.join(", ");
        let insert = format!("INSERT INTO {quoted} ({}) VALUES ({params})", COLUMNS.join(", "));
        Ok(Self { tables: Box::new(tables), insert })
    }

    /// Inserts the objects of a JSON array, all or none.
    ///
    /// # Errors
    /// The database cannot be reached, or does not accept an entry.
    pub async fn append(&self, entries: &str) -> Result<(), Box<dyn Error + Send + Sync>> {
        let entries: Vec<Json> = serde_json::from_str(entries)?;
        let cells = |entry: &Json| -> Cells {
            let member = |name| entry.get(name).and_then(Json::as_str);
            vec![member("time").into(), member("event").into(), Value::Text(entry.to_string())]
        };
        let rows: Vec<Cells> = entries.iter().map(cells).collect();
        self.tables.write(&self.insert, &rows).await?;
        Ok(())
    }
}

impl fmt::Debug for AuditTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AuditTable").field("insert", &self.insert).finish_non_exhaustive()
    }
}
