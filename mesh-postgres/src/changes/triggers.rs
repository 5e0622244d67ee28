//! Triggers on served tables, which notify the channel `mesh_changes`.

use std::collections::{HashMap, HashSet};

use mesh_schema::{Link, Schema, TableName};
use tokio_postgres::Error;

use super::coverage::Coverage;
use crate::database::Database;
use crate::error::BoxError;
use crate::pool::connection::Connection;
use crate::sql::{self, TextParam};

/// The SQL that creates the trigger function, whose arguments are the key of the entity and the column of its id. The
/// notification is a JSON array of the key and the id. The array has only the key if the id is too long for a
/// notification or a whole table has changed, and is empty if anything may have changed. Triggers of earlier versions call
/// `mesh.notify_change()`, which has not always reported the end of a long id.
const FUNCTION: &str = "\
CREATE SCHEMA IF NOT EXISTS mesh;
CREATE OR REPLACE FUNCTION mesh.report_change() RETURNS trigger LANGUAGE plpgsql
  SET search_path = pg_catalog, pg_temp AS $body$
DECLARE
  ids text[] := '{}';
  id text;
  notice text;
BEGIN
  IF TG_LEVEL = 'ROW' AND TG_NARGS > 1 THEN
    IF TG_OP <> 'INSERT' THEN
      ids := ids || (to_jsonb(OLD) ->> TG_ARGV[1]);
    END IF;
    IF TG_OP <> 'DELETE' THEN
      ids := ids || (to_jsonb(NEW) ->> TG_ARGV[1]);
    END IF;
  END IF;
  IF ids = '{}' THEN
    ids := ARRAY[NULL];
  END IF;
  FOREACH id IN ARRAY ids LOOP
    notice := json_build_array(TG_ARGV[0], id)::text;
    IF id IS NULL OR octet_length(notice) >= 8000 THEN
      notice := json_build_array(TG_ARGV[0])::text;
    END IF;
    IF TG_NARGS = 0 OR octet_length(notice) >= 8000 THEN
      notice := '[]';
    END IF;
    PERFORM pg_notify('mesh_changes', notice);
  END LOOP;
  RETURN NULL;
END
$body$;
";

/// Tables that can have triggers which report all their changes, with their partitions.
type Partitions = HashMap<TableName, Vec<TableName>>;

/// Returns the statements that create triggers on the tables of a schema. The triggers notify of changes. The statements can
/// be run repeatedly. Views and tables from which others inherit are left out, because triggers on them do not report all
/// changes.
pub(crate) async fn statements(database: &Database, schema: &Schema) -> Result<String, BoxError> {
    let default = database.default_schema();
    let tables = tables(&*database.pool.take(false).await?, default).await?;
    Ok(create_triggers(schema, &tables, default))
}

/// Returns a note about the tables of a schema whose triggers are missing, outdated or disabled, if other tables have
/// triggers.
pub(crate) async fn note(database: &Database, schema: &Schema) -> Result<Option<String>, BoxError> {
    let (connection, default) = (database.pool.take(false).await?, database.default_schema());
    if connection.query_once(FIND_TRIGGERS, &[]).await?.is_empty() {
        return Ok(None);
    }
    let (tables, covered) =
        (tables(&connection, default).await?, Coverage::read(&connection, default).await?);
    let entities = schema.entities().map(|(_, entity)| &entity.table);
    let is_polled = |table: &&TableName| tables.contains_key(table) && !covered.tables.contains(table);
    let mut polled: Vec<&TableName> = entities.filter(is_polled).collect();
    polled.dedup();
    let Some(first) = polled.first() else { return Ok(None) };
    let others = match polled.len() {
        1 => String::new(),
        count => format!(" and {} more", count - 1),
    };
    Ok(Some(format!(
        "Changes of table '{first}'{others} are polled, because its triggers are missing, outdated or disabled; run 'check \
         --install-triggers run' again"
    )))
}

const FIND_TRIGGERS: &str = "SELECT 1 FROM pg_catalog.pg_trigger WHERE tgname = 'mesh_changes' LIMIT 1";

/// Returns the tables of all schemas that can have triggers which report every change, with their partitions. Tables of the
/// default schema are unqualified.
async fn tables(connection: &Connection, default: Option<&String>) -> Result<Partitions, Error> {
    let sql = "WITH RECURSIVE tree AS ( \
                 SELECT c.oid AS root, c.oid, c.relkind FROM pg_catalog.pg_class AS c \
                 WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition \
                 UNION ALL SELECT tree.root, c.oid, c.relkind FROM tree \
                   JOIN pg_catalog.pg_inherits AS i ON i.inhparent = tree.oid \
                   JOIN pg_catalog.pg_class AS c ON c.oid = i.inhrelid) \
               SELECT CASE WHEN n.nspname = $1::text THEN NULL ELSE n.nspname::text END, r.relname, \
                 pg_catalog.array_agg(m.nspname::text ORDER BY tree.oid) FILTER (WHERE tree.oid <> r.oid), \
                 pg_catalog.array_agg(p.relname::text ORDER BY tree.oid) FILTER (WHERE tree.oid <> r.oid) \
               FROM tree JOIN pg_catalog.pg_class AS r ON r.oid = tree.root \
                 JOIN pg_catalog.pg_namespace AS n ON n.oid = r.relnamespace \
                 JOIN pg_catalog.pg_class AS p ON p.oid = tree.oid \
                 JOIN pg_catalog.pg_namespace AS m ON m.oid = p.relnamespace \
               GROUP BY r.oid, n.nspname, r.relname, r.relkind \
               HAVING pg_catalog.bool_and(tree.relkind IN ('r', 'p')) AND (r.relkind = 'p' OR count(*) = 1)";
    let default = default.map_or(TextParam(None), |default| TextParam::text(default));
    let rows = connection.query_once(sql, &[default]).await?;
    let table = |row: &tokio_postgres::Row| {
        let schemas: Vec<String> = row.get::<_, Option<_>>(2).unwrap_or_default();
        let names: Vec<String> = row.get::<_, Option<_>>(3).unwrap_or_default();
        let partitions = schemas.into_iter().zip(names);
        let partitions = partitions.map(|(schema, name)| TableName { schema: Some(schema), name });
        (TableName { schema: row.get(0), name: row.get(1) }, partitions.collect())
    };
    Ok(rows.iter().map(table).collect())
}

/// Returns the SQL of the function and the triggers. A table of several entities has only the triggers of the first
/// one, because these entities change together. A change of a junction table that is not an entity counts as a change
/// of anything.
fn create_triggers(schema: &Schema, tables: &Partitions, default: Option<&String>) -> String {
    let mut sql = FUNCTION.to_owned();
    let mut seen = HashSet::new();
    let mut add = |table: &TableName, key: Option<&str>, id: Option<&str>| {
        if let Some(partitions) = tables.get(table)
            && seen.insert(table.clone())
        {
            push_triggers(&mut sql, &sql::qualified(table, default), partitions, (key, id));
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

/// Adds the triggers of a table. They are triggers of rows, because writes of a partition and those that are replicated
/// cause no other ones. Partitions get a copy of them, but need a trigger for TRUNCATE of their own. `ALWAYS` triggers are
/// also executed for replicated writes.
fn push_triggers(
    sql: &mut String,
    table: &TableName,
    partitions: &[TableName],
    (key, id): (Option<&str>, Option<&str>),
) {
    let arguments: Vec<String> = key.into_iter().chain(id).map(sql::literal).collect();
    let key = key.map(sql::literal).unwrap_or_default();
    let mut add = |table: &TableName, name: &str, events: &str, level: &str, arguments: &str| {
        let table = sql::table(table);
        sql.extend(["DROP TRIGGER IF EXISTS ", name, " ON ", &table, ";\n"]);
        sql.extend(["CREATE TRIGGER ", name, " AFTER ", events, " ON ", &table, "\n  FOR EACH ", level]);
        sql.extend([" EXECUTE FUNCTION mesh.report_change(", arguments, ");\n"]);
        sql.extend(["ALTER TABLE ", &table, " ENABLE ALWAYS TRIGGER ", name, ";\n"]);
    };
    add(table, "mesh_changes", "INSERT OR UPDATE OR DELETE", "ROW", &arguments.join(", "));
    for table in [table].into_iter().chain(partitions) {
        add(table, "mesh_truncated", "TRUNCATE", "STATEMENT", &key);
    }
}
