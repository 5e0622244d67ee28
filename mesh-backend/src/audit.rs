//! A table of the database that the audit log is written to.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use mesh_plan::Value;
use serde_json::Value as Json;

use crate::own_table::OwnTable;
use crate::tables::{Cells, Tables};

/// The columns of the table.
const COLUMNS: [&str; 3] = ["time", "event", "entry"];

/// A table of audit entries. Its columns `time`, `event` and `entry` get the members `time` and `event` of each entry, and the
/// entry itself.
pub struct AuditTable {
    tables: Arc<dyn Tables>,
    insert: String,
}

impl AuditTable {
    /// Opens a table.
    ///
    /// # Errors
    /// The table or some of its columns are missing.
    pub fn open(table: OwnTable) -> Result<Self, String> {
        let is_missing = |column: &&str| table.column_type(column).is_none();
        let OwnTable { name, quoted, dialect, .. } = &table;
        if COLUMNS.iter().any(is_missing) {
            let [time, event, entry] = dialect.audit_types;
            return Err(format!(
                "the audit log needs the table '{name}' with the columns time, event and entry; create it with\n  \
                 CREATE TABLE {quoted} (time {time} NOT NULL, event {event} NOT NULL, entry {entry} NOT NULL);"
            ));
        }
        let params = dialect.audit_params.join(", ");
        let insert = format!("INSERT INTO {quoted} ({}) VALUES ({params})", COLUMNS.join(", "));
        Ok(Self { tables: table.writes, insert })
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
