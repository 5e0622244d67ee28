//! Triggers on served tables, which notify the channel `mesh_changes`.

use std::collections::HashSet;

use mesh_schema::{Link, Schema, TableName};

use crate::catalog;
use crate::database::Database;
use crate::error::OpenError;
use crate::pool::PoolError;
use crate::sql;

/// The SQL that creates the trigger function, whose arguments are the key of the entity and the column of its id. The
/// notification is a JSON array of the key and the id. The array has only the key if the id is too long for a
/// notification or a whole table has changed, and is empty if anything may have changed.
const FUNCTION: &str = "\
CREATE SCHEMA IF NOT EXISTS mesh;
CREATE OR REPLACE FUNCTION mesh.notify_change() RETURNS trigger LANGUAGE plpgsql
  SET search_path = pg_catalog, pg_temp AS $body$
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
    /// Returns the statements that create triggers on the tables of a schema. The triggers notify of changes. The
    /// statements can be run repeatedly. Views are left out, because they cannot have such triggers.
    ///
    /// # Errors
    /// The database cannot be reached or read.
    pub async fn trigger_statements(&self, schema: &Schema) -> Result<String, OpenError> {
        let reading =
            async { Ok(catalog::tables(&*self.pool.take(false).await?, self.default_schema()).await?) };
        let tables = reading.await.map_err(|error: PoolError| self.open_error(error))?;
        Ok(statements(schema, &tables, self.default_schema()))
    }

    /// Runs the statements of [`Self::trigger_statements`] in one transaction.
    ///
    /// # Errors
    /// The database cannot be reached, or the account may not create triggers.
    pub async fn install_triggers(&self, schema: &Schema) -> Result<(), OpenError> {
        let sql = self.trigger_statements(schema).await?;
        self.writes.execute(&sql).await.map_err(|error| self.open_error(error))
    }
}

/// Returns the SQL of the function and the triggers. A table of several entities has only the triggers of the first
/// one, because these entities change together. A change of a junction table that is not an entity counts as a change
/// of anything.
fn statements(schema: &Schema, tables: &HashSet<TableName>, default: Option<&String>) -> String {
    let mut sql = FUNCTION.to_owned();
    let mut seen = HashSet::new();
    let mut add = |table: &TableName, key: Option<&str>, id: Option<&str>| {
        if tables.contains(table) && seen.insert(table.clone()) {
            push_triggers(&mut sql, &sql::qualified(table, default), key, id);
        }
    };
    for (_, entity) in schema.entities() {
        // A key of several columns does not fit the trigger's function: any record of the entity may have changed.
        let id = match entity.id.as_slice() {
            [id] => Some(entity.field(*id).column.as_str()),
            _ => None,
        };
        add(&entity.table, Some(&entity.key), id);
    }
    for (_, entity) in schema.entities() {
        for relation in &entity.relations {
            if let Link::Through { table, .. } = &relation.link {
                add(table, None, None);
            }
        }
    }
    sql
}

fn push_triggers(sql: &mut String, table: &TableName, key: Option<&str>, id: Option<&str>) {
    let table = sql::table(table);
    let arguments: Vec<String> = key.into_iter().chain(id).map(sql::literal).collect();
    let (key, arguments) = (key.map(sql::literal).unwrap_or_default(), arguments.join(", "));
    let level = if id.is_some() { "ROW" } else { "STATEMENT" };
    let triggers = [
        ("mesh_changes", "INSERT OR UPDATE OR DELETE", level, &arguments),
        ("mesh_truncated", "TRUNCATE", "STATEMENT", &key),
    ];
    for (name, events, level, arguments) in triggers {
        sql.extend(["DROP TRIGGER IF EXISTS ", name, " ON ", &table, ";\n"]);
        sql.extend(["CREATE TRIGGER ", name, " AFTER ", events, " ON ", &table, "\n  FOR EACH ", level]);
        sql.extend([" EXECUTE FUNCTION mesh.notify_change(", arguments, ");\n"]);
    }
}
