//! Triggers on served tables, which notify a channel of changes.

use std::collections::HashSet;

use mesh_schema::{Link, Schema, TableName};

use crate::catalog;
use crate::database::Database;
use crate::error::OpenError;
use crate::quote::{self, literal};

/// The channel on which changes are told.
pub(crate) const CHANNEL: &str = "mesh_changes";

/// What the triggers call: with the entity's key and the column of its id. A notice is a JSON array of the two,
/// or of the key alone where many records have changed or the id is too long for a notice.
const FUNCTION: &str = "\
CREATE SCHEMA IF NOT EXISTS mesh;
CREATE OR REPLACE FUNCTION mesh.notify_change() RETURNS trigger LANGUAGE plpgsql AS $body$
DECLARE
  id text;
  before text;
BEGIN
  IF TG_LEVEL = 'ROW' AND TG_NARGS > 1 THEN
    IF TG_OP <> 'DELETE' THEN
      id := to_jsonb(NEW) ->> TG_ARGV[1];
    END IF;
    IF TG_OP <> 'INSERT' THEN
      before := to_jsonb(OLD) ->> TG_ARGV[1];
    END IF;
    IF before IS NOT NULL AND before IS DISTINCT FROM id AND length(before) < 1000 THEN
      PERFORM pg_notify('mesh_changes', json_build_array(TG_ARGV[0], before)::text);
    END IF;
    IF id IS NOT NULL AND length(id) < 1000 THEN
      PERFORM pg_notify('mesh_changes', json_build_array(TG_ARGV[0], id)::text);
    ELSIF id IS NOT NULL THEN
      PERFORM pg_notify('mesh_changes', json_build_array(TG_ARGV[0])::text);
    END IF;
  ELSIF TG_NARGS > 0 THEN
    PERFORM pg_notify('mesh_changes', json_build_array(TG_ARGV[0])::text);
  ELSE
    PERFORM pg_notify('mesh_changes', '[]');
  END IF;
  RETURN NULL;
END
$body$;
";

impl Database {
    /// The statements that make the database tell of changes to the tables of a schema. They can be run again.
    /// Views cannot tell, and are left out.
    ///
    /// # Errors
    /// When the database cannot be asked which are tables.
    pub async fn trigger_statements(&self, schema: &Schema) -> Result<String, OpenError> {
        let failed = |cause| OpenError { database: self.pool.name().to_owned(), cause };
        let mut lease = self.pool.take(false).await.map_err(|error| failed(error.into()))?;
        let tables = catalog::tables(lease.begin().client()).await;
        let tables = tables.map_err(|error| failed(error.into()))?;
        lease.done();
        Ok(statements(schema, &tables))
    }

    /// Runs those statements, all or none.
    ///
    /// # Errors
    /// When the account may not make triggers.
    pub async fn install_triggers(&self, schema: &Schema) -> Result<(), OpenError> {
        let failed = |cause| OpenError { database: self.pool.name().to_owned(), cause };
        let sql = format!("BEGIN;\n{}COMMIT;", self.trigger_statements(schema).await?);
        let mut lease = self.writes.take(false).await.map_err(|error| failed(error.into()))?;
        let link = lease.begin();
        if let Err(error) = link.client().batch_execute(&sql).await {
            let _ = link.client().batch_execute("ROLLBACK").await;
            return Err(failed(error.into()));
        }
        lease.done();
        Ok(())
    }
}

/// Entities over one table change together, so the first of them speaks for all. A junction that is no entity
/// tells that anything may have changed.
fn statements(schema: &Schema, tables: &HashSet<TableName>) -> String {
    let mut sql = FUNCTION.to_owned();
    let mut seen = HashSet::new();
    let mut add = |table: &TableName, arguments: &str, id: &str| {
        if tables.contains(table) && seen.insert(table.clone()) {
            push_triggers(&mut sql, table, arguments, id);
        }
    };
    for (_, entity) in schema.entities() {
        let id = entity.id.map(|id| format!(", {}", literal(&entity.field(id).column)));
        add(&entity.table, &literal(&entity.key), &id.unwrap_or_default());
    }
    for (_, entity) in schema.entities() {
        for relation in &entity.relations {
            if let Link::Through { table, .. } = &relation.link {
                add(table, "", "");
            }
        }
    }
    sql
}

fn push_triggers(sql: &mut String, table: &TableName, key: &str, id: &str) {
    let table = quote::table(table);
    let level = if id.is_empty() { "STATEMENT" } else { "ROW" };
    sql.push_str(&format!(
        "DROP TRIGGER IF EXISTS mesh_changes ON {table};\n\
         CREATE TRIGGER mesh_changes AFTER INSERT OR UPDATE OR DELETE ON {table}\n  \
         FOR EACH {level} EXECUTE FUNCTION mesh.notify_change({key}{id});\n\
         DROP TRIGGER IF EXISTS mesh_truncated ON {table};\n\
         CREATE TRIGGER mesh_truncated AFTER TRUNCATE ON {table}\n  \
         FOR EACH STATEMENT EXECUTE FUNCTION mesh.notify_change({key});\n"
    ));
}
