//! The catalog: tables and views, read into a [`Catalog`].
//!
//! The system tables are read without prepared statements, which also works through a pooler. Tables that the account may
//! not read are left out.

mod constraints;
pub(crate) mod indexes;
mod text_indexes;
mod types;

use std::collections::{HashMap, HashSet};

use mesh_backend::Contents;
use mesh_backend::catalog::{sample, set_time_form, undeclared_times};
use mesh_schema::{Catalog, Column, FieldType, ForeignKey, NativeKind, NativeType, Table, TextSearch};
use mesh_sql::postgres::{Charset, Postgres};
use sea_query::PostgresQueryBuilder;
use tokio_postgres::Error;

use self::types::ColumnType;
use crate::pool::connection::Connection;
use crate::sql::{self, SYSTEM_SCHEMA, TextParam};

/// The schema of the tables of [`State`](crate::State).
const MESH_SCHEMA: &str = "mesh";

/// Detects the dialect of a database: its optional features.
pub(super) async fn dialect(connection: &Connection, schemas: &[String]) -> Result<Postgres, Error> {
    let sql = "SELECT 1 FROM pg_catalog.pg_database AS d WHERE d.datname = current_database() \
               AND d.datctype IN ('C', 'POSIX') \
               AND EXISTS (SELECT 1 FROM pg_catalog.pg_collation AS c WHERE c.collname = 'und-x-icu')";
    let icu_folds = !connection.query_once(sql, &[]).await?.is_empty();
    // `IS JSON` exists from PostgreSQL 16 on.
    let sql = "SELECT 1 WHERE current_setting('server_version_num')::int >= 160000";
    let is_json = !connection.query_once(sql, &[]).await?.is_empty();
    let charset = charset(connection).await?;
    Ok(Postgres { icu_folds, is_json, charset, default_schema: schemas.first().cloned() })
}

/// Returns the characters of the database's encoding. Encodings with several bytes for a character are taken to have all.
async fn charset(connection: &Connection) -> Result<Charset, Error> {
    let sql = "SELECT pg_catalog.getdatabaseencoding()::text WHERE pg_catalog.getdatabaseencoding() <> 'SQL_ASCII' \
               AND pg_catalog.pg_encoding_max_length(pg_catalog.pg_char_to_encoding(pg_catalog.getdatabaseencoding())) = 1";
    let rows = connection.query_once(sql, &[]).await?;
    let Some(encoding) = rows.first().map(|row| row.get::<_, String>(0)) else {
        return Ok(Charset::default());
    };
    let mut chars = Vec::new();
    for byte in 0x80_u8..=0xFF {
        let sql = "SELECT pg_catalog.convert_from(pg_catalog.decode($1::text, 'hex'), $2::text::name)";
        let params = [format!("{byte:02x}"), encoding.clone()].map(|text| TextParam(Some(text.into())));
        // An encoding may have no character for a byte.
        if let Ok(rows) = connection.query_once(sql, &params).await {
            chars.extend(rows.iter().flat_map(|row| row.get::<_, String>(0).chars().collect::<Vec<_>>()));
        }
    }
    Ok(chars.into_iter().collect())
}

/// Returns whether sessions of the account do not check foreign keys. Only a superuser could change that for a session.
pub(super) async fn skips_constraints(connection: &Connection) -> Result<bool, Error> {
    let sql = "SELECT 1 WHERE pg_catalog.current_setting('session_replication_role') = 'replica'";
    Ok(!connection.query_once(sql, &[]).await?.is_empty())
}

/// Returns the existing schemas of the database's search path, except `mesh`. Unqualified names of the schema document
/// refer to the first one; triggers of served tables resolve their names in all of them.
pub(super) async fn search_path(connection: &Connection) -> Result<Vec<String>, Error> {
    let rows = connection.query_once("SELECT pg_catalog.current_schemas(false)", &[]).await?;
    let all: Vec<String> = rows.first().map(|row| row.get(0)).unwrap_or_default();
    Ok(all.into_iter().filter(|schema| schema != MESH_SCHEMA && schema != SYSTEM_SCHEMA).collect())
}

/// Returns the schemas in which other accounts may create objects: accounts except this one, the schema's owner and
/// superusers.
pub(super) async fn open_schemas(connection: &Connection, schemas: &[String]) -> Result<Vec<String>, Error> {
    let sql = "SELECT n.nspname FROM pg_catalog.pg_namespace AS n \
               WHERE n.nspname IN (SELECT pg_catalog.jsonb_array_elements_text($1::jsonb)) AND EXISTS ( \
                 SELECT 1 FROM pg_catalog.aclexplode(coalesce(n.nspacl, pg_catalog.acldefault('n', n.nspowner))) AS a \
                 LEFT JOIN pg_catalog.pg_roles AS r ON r.oid = a.grantee \
                 WHERE a.privilege_type = 'CREATE' AND a.grantee <> n.nspowner \
                   AND r.rolsuper IS NOT TRUE AND r.rolname IS DISTINCT FROM current_user) \
               ORDER BY n.nspname";
    Ok(connection.query_once(sql, &[list(schemas)]).await?.iter().map(|row| row.get(0)).collect())
}

/// Reads the tables of the given schemas, or of the default schema if none are given, and returns them with notes for
/// the log. `times` names tables and columns that hold times although their types do not show it.
pub(super) async fn read(
    connection: &Connection,
    (schemas, default): (&[String], Option<&String>),
    times: &[(String, String)],
) -> Result<Contents, Error> {
    let mut notes = Vec::new();
    let wanted =
        if schemas.is_empty() { default.map(std::slice::from_ref).unwrap_or_default() } else { schemas };
    for missing in missing_schemas(connection, wanted).await? {
        notes.push(format!("Schema '{missing}' does not exist, or this account may not use it"));
    }
    let namespace = |schema: String| (Some(&schema) != default).then_some(schema);
    let objects = schema_objects(connection, wanted, &namespace, &mut notes).await?;
    let ids: Vec<String> = objects.iter().map(|object| object.id.to_string()).collect();
    // An array of object ids.
    let ids = ["{", &ids.join(","), "}"].concat();
    let mut columns = columns(connection, &ids, &types::read(connection, &ids).await?).await?;
    let mut keys = keys(connection, &ids).await?;
    let mut foreign_keys = foreign_keys(connection, &ids, &namespace).await?;
    let mut constraints = constraints::read(connection, &ids).await?;
    let mut text_indexes = text_indexes::read(connection, &ids).await?;
    let unseen = tables_with_unseen_changes(connection, &ids).await?;
    let mut tables = Vec::with_capacity(objects.len());
    for SchemaObject { id, kind, mut table } in objects {
        table.columns = columns.remove(&id).unwrap_or_default();
        if table.columns.is_empty() {
            notes.push(format!("{} '{}' is left out: it has no columns to read", noun(&kind), table.name));
            continue;
        }
        table.has_unseen_changes = unseen.contains(&id);
        (table.primary_key, table.unique) = keys.remove(&id).unwrap_or_default();
        table.foreign_keys = foreign_keys.remove(&id).unwrap_or_default();
        table.text_indexes = text_indexes.remove(&id).unwrap_or_default();
        let names = table.columns.iter().map(|column| column.name.as_str());
        table.constraints = constraints
            .remove(&id)
            .into_iter()
            .flatten()
            .map(|it| it.into_constraint(names.clone()))
            .collect();
        table.takes_no_index = matches!(kind.as_str(), "v" | "f");
        // Rows without a primary key are identified by their physical location, which changes when they are updated.
        let is_keyless = table.primary_key.is_empty() && matches!(kind.as_str(), "r" | "m");
        table.row_id = is_keyless.then(|| "ctid".to_owned());
        let is_readable = |name: &String| table.columns.iter().any(|column| column.name == *name);
        if !table.primary_key.iter().all(is_readable) {
            table.primary_key.clear();
        }
        table.unique.retain(|set| set.iter().all(is_readable));
        table.foreign_keys.retain(|key| key.columns.iter().all(is_readable));
        table.text_indexes.retain(|index| index.columns.iter().all(is_readable));
        tables.push(table);
    }
    row_security(connection, &ids, &mut notes).await?;
    for (table, column) in undeclared_times(&mut tables, times) {
        let qualified = sql::table_ref(&sql::qualified(&table, default));
        let sql = sample::<PostgresQueryBuilder>(qualified, column, "text");
        let rows = connection.query_once(&sql, &[]).await?;
        set_time_form(column, &table, rows.iter().map(|row| row.get(0)), &mut notes);
    }
    let text_search = TextSearch::Configurations(text_indexes::configurations(connection).await?);
    Ok(Contents { catalog: Catalog { tables, text_search }, notes })
}

/// Returns names as the JSON array that statements take as a parameter.
fn list(names: &[String]) -> TextParam<'static> {
    TextParam(Some(serde_json::json!(names).to_string().into()))
}

/// Returns the schemas that do not exist or may not be used.
async fn missing_schemas(connection: &Connection, schemas: &[String]) -> Result<Vec<String>, Error> {
    let sql = "SELECT name FROM pg_catalog.jsonb_array_elements_text($1::jsonb) AS name WHERE NOT EXISTS ( \
                 SELECT 1 FROM pg_catalog.pg_namespace AS n \
                 WHERE n.nspname = name AND pg_catalog.has_schema_privilege(n.oid, 'USAGE'))";
    Ok(connection.query_once(sql, &[list(schemas)]).await?.iter().map(|row| row.get(0)).collect())
}

/// Adds notes for tables whose row-level security the account bypasses, and for views that bypass the row-level
/// security of the tables they read. Such views have the rights of their owner, regardless of the account.
async fn row_security(connection: &Connection, ids: &str, notes: &mut Vec<String>) -> Result<(), Error> {
    let sql = "WITH RECURSIVE source AS ( \
                 SELECT c.oid AS root, c.oid, c.relkind, false AS by_owner \
                 FROM pg_catalog.pg_class AS c WHERE c.oid = ANY($1::oid[]) \
                 UNION \
                 SELECT s.root, c.oid, c.relkind, s.by_owner OR s.relkind = 'm' OR coalesce(( \
                     SELECT NOT o.option_value::boolean FROM pg_catalog.pg_class AS v, \
                       LATERAL pg_catalog.pg_options_to_table(v.reloptions) AS o \
                     WHERE v.oid = s.oid AND o.option_name = 'security_invoker'), true) \
                 FROM source AS s JOIN pg_catalog.pg_rewrite AS w ON w.ev_class = s.oid \
                   JOIN pg_catalog.pg_depend AS d ON d.objid = w.oid \
                     AND d.classid = 'pg_catalog.pg_rewrite'::regclass::oid \
                     AND d.refclassid = 'pg_catalog.pg_class'::regclass::oid AND d.refobjid <> s.oid \
                   JOIN pg_catalog.pg_class AS c ON c.oid = d.refobjid \
                 WHERE s.relkind IN ('v', 'm')) \
               SELECT DISTINCT r.relkind::text, r.relname FROM source AS s \
                 JOIN pg_catalog.pg_class AS r ON r.oid = s.root JOIN pg_catalog.pg_class AS t ON t.oid = s.oid \
               WHERE t.relrowsecurity \
                 AND (s.by_owner OR s.oid = s.root AND NOT pg_catalog.row_security_active(s.oid)) \
               ORDER BY 1, 2";
    for row in connection.query_once(sql, &[TextParam::text(ids)]).await? {
        let (kind, name): (String, String) = (row.get(0), row.get(1));
        notes.push(match kind.as_str() {
            "m" => format!("Materialized view '{name}' contains rows of tables with row-level security"),
            "v" => format!(
                "View '{name}' reads tables with row-level security with the rights of its owner: set 'security_invoker'"
            ),
            _ => format!("Row-level security of table '{name}' does not apply to this account"),
        });
    }
    Ok(())
}

/// Returns those of the tables and views that read foreign tables, whose rows other databases can change. A materialized view
/// has rows of its own.
async fn tables_with_unseen_changes(connection: &Connection, ids: &str) -> Result<HashSet<u32>, Error> {
    let sql = "WITH RECURSIVE source AS ( \
                 SELECT c.oid AS root, c.oid, c.relkind FROM pg_catalog.pg_class AS c WHERE c.oid = ANY($1::oid[]) \
                 UNION \
                 SELECT s.root, c.oid, c.relkind FROM source AS s CROSS JOIN LATERAL ( \
                     SELECT i.inhrelid AS oid FROM pg_catalog.pg_inherits AS i WHERE i.inhparent = s.oid \
                     UNION ALL SELECT d.refobjid FROM pg_catalog.pg_rewrite AS w JOIN pg_catalog.pg_depend AS d \
                       ON d.objid = w.oid AND d.classid = 'pg_catalog.pg_rewrite'::regclass::oid \
                         AND d.refclassid = 'pg_catalog.pg_class'::regclass::oid \
                     WHERE w.ev_class = s.oid AND s.relkind = 'v') AS below \
                   JOIN pg_catalog.pg_class AS c ON c.oid = below.oid) \
               SELECT DISTINCT s.root FROM source AS s WHERE s.relkind = 'f'";
    Ok(connection.query_once(sql, &[TextParam::text(ids)]).await?.iter().map(|row| row.get(0)).collect())
}

/// A table, or a relation that is read like one, without columns and keys.
struct SchemaObject {
    id: u32,
    kind: String,
    table: Table,
}

/// Returns the name of a kind of relation.
fn noun(kind: &str) -> &'static str {
    match kind {
        "v" => "View",
        "m" => "Materialized view",
        "f" => "Foreign table",
        _ => "Table",
    }
}

/// Returns tables, partitioned tables without their partitions, views, materialized views and foreign tables in the order
/// of their creation, without those that belong to extensions.
async fn schema_objects(
    connection: &Connection,
    schemas: &[String],
    namespace: &impl Fn(String) -> Option<String>,
    notes: &mut Vec<String>,
) -> Result<Vec<SchemaObject>, Error> {
    let sql = "SELECT c.oid, n.nspname, c.relname, c.relkind::text, pg_catalog.obj_description(c.oid, 'pg_class'), \
                 pg_catalog.has_any_column_privilege(c.oid, 'SELECT'), c.relkind = 'r' AND c.relhassubclass \
               FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace \
               WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition \
                 AND n.nspname IN (SELECT pg_catalog.jsonb_array_elements_text($1::jsonb)) \
                 AND NOT EXISTS (SELECT 1 FROM pg_catalog.pg_depend AS d WHERE d.objid = c.oid \
                   AND d.deptype = 'e' AND d.classid = 'pg_catalog.pg_class'::regclass::oid) \
               ORDER BY c.oid";
    let mut objects = Vec::new();
    for row in connection.query_once(sql, &[list(schemas)]).await? {
        let table = Table {
            schema: namespace(row.get(1)),
            name: row.get(2),
            description: row.get(4),
            has_inheriting_tables: row.get(6),
            ..Table::default()
        };
        let (id, kind): (_, String) = (row.get(0), row.get(3));
        if row.get(5) {
            objects.push(SchemaObject { id, kind, table });
        } else {
            notes.push(format!("{} '{}' is left out: it may not be read", noun(&kind), table.name));
        }
    }
    Ok(objects)
}

/// Returns the columns of each table that may be read, in the order of the table.
async fn columns(
    connection: &Connection,
    ids: &str,
    types: &HashMap<u32, ColumnType>,
) -> Result<HashMap<u32, Vec<Column>>, Error> {
    // A trigger that runs before an insert may provide values. `tgtype` has bits for rows, BEFORE and INSERT.
    // A column of a view that is an expression cannot be written either, unless a trigger or a rule of the view does.
    let sql = "SELECT a.attrelid, a.attname, a.atttypid, a.attnotnull, pg_catalog.col_description(a.attrelid, a.attnum), \
                 a.atthasdef OR a.attidentity <> '' OR EXISTS ( \
                   SELECT 1 FROM pg_catalog.pg_type AS t WHERE t.oid = a.atttypid AND t.typdefault IS NOT NULL) \
                 OR EXISTS (SELECT 1 FROM pg_catalog.pg_trigger AS g WHERE g.tgrelid = a.attrelid \
                   AND g.tgtype::integer & 7 = 7 AND g.tgenabled <> 'D'), \
                 EXISTS (SELECT 1 FROM pg_catalog.pg_collation AS l \
                   WHERE l.oid = a.attcollation AND NOT l.collisdeterministic), \
                 a.attgenerated <> '' OR a.attidentity = 'a' OR EXISTS ( \
                   SELECT 1 FROM pg_catalog.pg_class AS c WHERE c.oid = a.attrelid AND c.relkind IN ('v', 'm') \
                     AND NOT pg_catalog.pg_column_is_updatable(c.oid, a.attnum, false) \
                     AND NOT EXISTS (SELECT 1 FROM pg_catalog.pg_trigger AS g WHERE g.tgrelid = c.oid) \
                     AND NOT EXISTS (SELECT 1 FROM pg_catalog.pg_rewrite AS w \
                       WHERE w.ev_class = c.oid AND w.ev_type <> '1')), \
                 CASE WHEN a.atttypmod >= 0 THEN a.atttypmod ELSE ( \
                   SELECT t.typtypmod FROM pg_catalog.pg_type AS t WHERE t.oid = a.atttypid) END \
               FROM pg_catalog.pg_attribute AS a WHERE a.attrelid = ANY($1::oid[]) AND a.attnum > 0 \
                 AND NOT a.attisdropped AND pg_catalog.has_column_privilege(a.attrelid, a.attnum, 'SELECT') \
               ORDER BY a.attrelid, a.attnum";
    let mut columns: HashMap<u32, Vec<Column>> = HashMap::new();
    for row in connection.query_once(sql, &[TextParam::text(ids)]).await? {
        let found = types.get(&row.get::<_, u32>(2));
        // Vectors belong to full-text indexes.
        if found
            .is_some_and(|found| found.native.kind == NativeKind::BuiltIn && found.native.name == "tsvector")
        {
            continue;
        }
        let not_null: bool = row.get(3);
        let nullable = !not_null && !found.is_some_and(|found| found.never_null);
        let provided: bool = row.get(5);
        columns.entry(row.get(0)).or_default().push(Column {
            name: row.get(1),
            ty: found.map(|found| found.ty),
            nullable,
            required: !nullable && !provided,
            description: row.get(4),
            generated: row.get(7),
            not_finite: found.is_some_and(|found| found.ty == FieldType::Number),
            time_form: found.and_then(|found| types::time_form(&found.native)),
            native: found.map(|found| NativeType {
                has_nondeterministic_collation: row.get(6),
                size: types::size(&found.native, row.get(8)),
                ..found.native.clone()
            }),
            ..Column::default()
        });
    }
    Ok(columns)
}

/// Primary key and unique sets.
type Keys = (Vec<String>, Vec<Vec<String>>);

/// Returns the unique indexes over all rows that consist of columns only, with or without a constraint: a materialized
/// view cannot have constraints.
async fn keys(connection: &Connection, ids: &str) -> Result<HashMap<u32, Keys>, Error> {
    let sql = "SELECT i.indrelid, i.indisprimary, ARRAY( \
                   SELECT a.attname FROM pg_catalog.unnest(i.indkey::int2[]) WITH ORDINALITY AS k (number, place) \
                   JOIN pg_catalog.pg_attribute AS a ON a.attrelid = i.indrelid AND a.attnum = k.number \
                   WHERE k.place <= i.indnkeyatts ORDER BY k.place) \
               FROM pg_catalog.pg_index AS i WHERE i.indrelid = ANY($1::oid[]) AND i.indisunique \
                 AND i.indisvalid AND i.indpred IS NULL AND i.indexprs IS NULL AND i.indimmediate \
               ORDER BY i.indexrelid";
    let mut keys: HashMap<u32, Keys> = HashMap::new();
    for row in connection.query_once(sql, &[TextParam::text(ids)]).await? {
        let (primary, unique) = keys.entry(row.get(0)).or_default();
        let columns = row.get(2);
        if row.get(1) { *primary = columns } else { unique.push(columns) }
    }
    Ok(keys)
}

/// Returns the foreign keys of each table in the order of their declaration.
async fn foreign_keys(
    connection: &Connection,
    ids: &str,
    namespace: &impl Fn(String) -> Option<String>,
) -> Result<HashMap<u32, Vec<ForeignKey>>, Error> {
    let sql = "SELECT f.conrelid, ARRAY( \
                   SELECT a.attname FROM pg_catalog.unnest(f.conkey) WITH ORDINALITY AS k (number, place) \
                   JOIN pg_catalog.pg_attribute AS a ON a.attrelid = f.conrelid AND a.attnum = k.number \
                   ORDER BY k.place), \
                 n.nspname, t.relname, ARRAY( \
                   SELECT a.attname FROM pg_catalog.unnest(f.confkey) WITH ORDINALITY AS k (number, place) \
                   JOIN pg_catalog.pg_attribute AS a ON a.attrelid = f.confrelid AND a.attnum = k.number \
                   ORDER BY k.place) \
               FROM pg_catalog.pg_constraint AS f \
               JOIN pg_catalog.pg_class AS t ON t.oid = f.confrelid \
               JOIN pg_catalog.pg_namespace AS n ON n.oid = t.relnamespace \
               WHERE f.contype = 'f' AND f.conparentid = 0::oid AND f.conrelid = ANY($1::oid[]) ORDER BY f.oid";
    let mut keys: HashMap<u32, Vec<ForeignKey>> = HashMap::new();
    for row in connection.query_once(sql, &[TextParam::text(ids)]).await? {
        keys.entry(row.get(0)).or_default().push(ForeignKey {
            columns: row.get(1),
            target_schema: namespace(row.get(2)),
            target: row.get(3),
            target_columns: row.get(4),
        });
    }
    Ok(keys)
}
