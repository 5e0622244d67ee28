//! A table of the database that the audit log is written to.

use std::error::Error;
use std::fmt;

use mesh_plan::Value;
use sea_query::{ColumnDef, Expr, Query, QueryBuilder, SchemaBuilder, Table, TableRef};
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
    /// Opens a table with these columns. `is_column` compares a column of the table with a name, `types` sets the types of the
    /// columns that a table needs, and `values` converts parameters to them.
    ///
    /// # Errors
    /// The table or some of its columns are missing.
    pub fn open<B: QueryBuilder + SchemaBuilder + Default>(
        tables: impl Tables,
        (name, table): (&str, TableRef),
        has_column: impl Fn(&str) -> bool,
        types: [fn(&mut ColumnDef) -> &mut ColumnDef; 3],
        values: [Expr; 3],
    ) -> Result<Self, String> {
        if COLUMNS.iter().any(|column| !has_column(column)) {
            let mut create = Table::create().table(table).take();
            for (column, set_type) in COLUMNS.into_iter().zip(types) {
                create.col(set_type(&mut ColumnDef::new(column)).not_null());
            }
            let create = create.to_string(B::default());
            return Err(format!(
                "'audit.table' needs the table '{name}' with the columns time, event and entry; create it with\n  {create};"
            ));
        }
        let insert = Query::insert().into_table(table).columns(COLUMNS).values_panic(values).take();
        Ok(Self { tables: Box::new(tables), insert: insert.to_string(B::default()) })
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
