//! The catalog: tables and views, read into a [`Catalog`].
//!
//! The system tables are read without prepared statements, which also works through a pooler. Tables that the account may
//! not read are left out.

mod sample;
mod types;

use std::collections::{HashMap, HashSet};

use mesh_plan::sql::postgres::Features;
use mesh_schema::{Catalog, Column, ForeignKey, Table, TableName};
use tokio_postgres::{Client, Error, Row};

use self::types::Types;
use crate::sql::{TextParam, query};

/// The schema of the tables of [`State`](crate::State).
const MESH_SCHEMA: &str = "mesh";

/// Detects optional features of a database.
pub(super) async fn features(client: &Client) -> Result<Features, Error> {
    let sql = "SELECT 1 FROM pg_catalog.pg_database AS d WHERE d.datname = current_database() \
               AND d.datctype IN ('C', 'POSIX') \
               AND EXISTS (SELECT 1 FROM pg_catalog.pg_collation AS c WHERE c.collname = 'und-x-icu')";
    Ok(Features { icu_folds: !query(client, sql, &[]).await?.is_empty() })
}

/// Returns the schemas of the search path except `mesh`, and whether `mesh` is or can become one of them: the default path
/// begins with the schema of the account's name, which may not exist yet.
pub(super) async fn search_path(client: &Client) -> Result<(Vec<String>, bool), Error> {
    let sql = "SELECT array_to_json(current_schemas(false))::text, current_user = $1::text";
    let rows = query(client, sql, &[TextParam::text(MESH_SCHEMA)]).await?;
    let Some(row) = rows.first() else { return Ok((Vec::new(), false)) };
    let all = names(row, 0);
    let others: Vec<String> = all.iter().filter(|schema| *schema != MESH_SCHEMA).cloned().collect();
    let has_mesh_schema = others.len() < all.len() || row.get(1);
    Ok((others, has_mesh_schema))
}

/// Reads the tables of schemas, or of the default schema if there are none, and returns them with notes for the log.
/// `times` names tables and columns that hold times although their types do not say so.
pub(super) async fn read(
    client: &Client,
    schemas: &[String],
    times: &[(String, String)],
) -> Result<(Catalog, Vec<String>), Error> {
    let mut notes = Vec::new();
    let default = query(client, "SELECT current_schema()::text", &[]).await?;
    let default: Option<String> = default.first().and_then(|row| row.get(0));
    let wanted: Vec<String> = match (schemas, &default) {
        ([], default) => default.iter().cloned().collect(),
        (schemas, _) => schemas.to_vec(),
    };
    for missing in missing_schemas(client, &wanted).await? {
        notes.push(format!("Schema '{missing}' does not exist or may not be used"));
    }
    let sources = sources(client, &wanted, &mut notes).await?;
    let ids: Vec<String> = sources.iter().map(|source| source.id.to_string()).collect();
    // An array of object ids.
    let ids = ["{", &ids.join(","), "}"].concat();
    let types = Types::read(client, &ids).await?;
    let mut columns = columns(client, &ids, &types).await?;
    let mut keys = keys(client, &ids).await?;
    let namespace = |schema: String| (Some(&schema) != default.as_ref()).then_some(schema);
    let mut foreign_keys = foreign_keys(client, &ids, &namespace).await?;
    let mut tables = Vec::with_capacity(sources.len());
    for source in sources {
        let columns = columns.remove(&source.id).unwrap_or_default();
        if columns.is_empty() {
            notes.push(format!("{} '{}' is left out: it has no columns to read", source.noun(), source.name));
            continue;
        }
        let readable = |name: &String| columns.iter().any(|column| column.name == *name);
        let (primary_key, mut unique) = keys.remove(&source.id).unwrap_or_default();
        unique.retain(|set| set.iter().all(readable));
        let mut foreign_keys = foreign_keys.remove(&source.id).unwrap_or_default();
        foreign_keys.retain(|key| key.columns.iter().all(readable));
        // Rows without a primary key are identified by their physical location, which changes when they are updated.
        let keyless = primary_key.is_empty() && matches!(source.kind.as_str(), "r" | "m");
        tables.push(Table {
            row_id: keyless.then(|| "ctid".to_owned()),
            schema: namespace(source.schema),
            name: source.name,
            primary_key: if primary_key.iter().all(readable) { primary_key } else { Vec::new() },
            columns,
            unique,
            foreign_keys,
            description: source.description,
            has_heirs: source.has_heirs,
        });
    }
    sample::detect_time_forms(client, &mut tables, times, &mut notes).await?;
    Ok((Catalog { tables }, notes))
}

/// Returns the tables of all schemas that can have triggers. Those of the default schema have no schema.
pub(super) async fn tables(client: &Client) -> Result<HashSet<TableName>, Error> {
    let sql = "SELECT CASE WHEN n.nspname = current_schema() THEN NULL ELSE n.nspname::text END, c.relname \
               FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace \
               WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition";
    let rows = query(client, sql, &[]).await?;
    Ok(rows.iter().map(|row| TableName { schema: row.get(0), name: row.get(1) }).collect())
}

/// Parses names that a statement returns as a JSON array.
fn names(row: &Row, column: usize) -> Vec<String> {
    serde_json::from_str(row.get(column)).unwrap_or_default()
}

/// Returns names as the JSON array that statements take as a parameter.
fn list(names: &[String]) -> TextParam<'static> {
    TextParam(Some(serde_json::json!(names).to_string().into()))
}

/// Returns the schemas that do not exist or may not be used.
async fn missing_schemas(client: &Client, schemas: &[String]) -> Result<Vec<String>, Error> {
    let sql = "SELECT n.nspname FROM pg_catalog.pg_namespace AS n \
               WHERE n.nspname IN (SELECT jsonb_array_elements_text($1::jsonb)) \
               AND has_schema_privilege(n.oid, 'USAGE')";
    let found = query(client, sql, &[list(schemas)]).await?;
    let found: HashSet<String> = found.iter().map(|row| row.get(0)).collect();
    Ok(schemas.iter().filter(|schema| !found.contains(*schema)).cloned().collect())
}

/// A table, or a relation that is read like one.
struct Source {
    id: u32,
    schema: String,
    name: String,
    kind: String,
    description: Option<String>,
    /// Whether other tables than partitions inherit from it.
    has_heirs: bool,
}

impl Source {
    fn noun(&self) -> &'static str {
        match self.kind.as_str() {
            "v" => "View",
            "m" => "Materialized view",
            "f" => "Foreign table",
            _ => "Table",
        }
    }
}

/// Returns tables, partitioned tables without their partitions, views, materialized views and foreign tables in the order
/// of their creation, without those that belong to extensions.
async fn sources(client: &Client, schemas: &[String], notes: &mut Vec<String>) -> Result<Vec<Source>, Error> {
    let sql = "SELECT c.oid, n.nspname, c.relname, c.relkind::text, obj_description(c.oid, 'pg_class'), \
                 has_any_column_privilege(c.oid, 'SELECT'), c.relkind = 'r' AND c.relhassubclass \
               FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace \
               WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition \
                 AND n.nspname IN (SELECT jsonb_array_elements_text($1::jsonb)) \
                 AND NOT EXISTS (SELECT 1 FROM pg_catalog.pg_depend AS d WHERE d.objid = c.oid \
                   AND d.deptype = 'e' AND d.classid = 'pg_catalog.pg_class'::regclass) \
               ORDER BY c.oid";
    let mut sources = Vec::new();
    for row in query(client, sql, &[list(schemas)]).await? {
        let source = Source {
            id: row.get(0),
            schema: row.get(1),
            name: row.get(2),
            kind: row.get(3),
            description: row.get(4),
            has_heirs: row.get(6),
        };
        if row.get(5) {
            sources.push(source);
        } else {
            notes.push(format!("{} '{}' is left out: it may not be read", source.noun(), source.name));
        }
    }
    Ok(sources)
}

/// Returns the columns of each table that may be read, in the order of the table.
async fn columns(client: &Client, ids: &str, types: &Types) -> Result<HashMap<u32, Vec<Column>>, Error> {
    let sql = "SELECT a.attrelid, a.attname, a.atttypid, a.attnotnull, col_description(a.attrelid, a.attnum) \
               FROM pg_catalog.pg_attribute AS a WHERE a.attrelid = ANY($1::oid[]) AND a.attnum > 0 \
                 AND NOT a.attisdropped AND has_column_privilege(a.attrelid, a.attnum, 'SELECT') \
               ORDER BY a.attrelid, a.attnum";
    let mut columns: HashMap<u32, Vec<Column>> = HashMap::new();
    for row in query(client, sql, &[TextParam::text(ids)]).await? {
        let found = types.find(row.get(2));
        let not_null: bool = row.get(3);
        columns.entry(row.get(0)).or_default().push(Column {
            name: row.get(1),
            ty: found.as_ref().map(|found| found.ty),
            nullable: !not_null && !found.as_ref().is_some_and(|found| found.never_null),
            description: row.get(4),
            native: found.map(|found| found.native),
            ..Column::default()
        });
    }
    Ok(columns)
}

/// Primary key and unique sets.
type Keys = (Vec<String>, Vec<Vec<String>>);

/// Returns the unique indexes over all rows that consist of columns only, with or without a constraint: a materialized
/// view cannot have constraints.
async fn keys(client: &Client, ids: &str) -> Result<HashMap<u32, Keys>, Error> {
    let sql = "SELECT i.indrelid, i.indisprimary, array_to_json(ARRAY( \
                   SELECT a.attname FROM unnest(i.indkey::int2[]) WITH ORDINALITY AS k (number, place) \
                   JOIN pg_catalog.pg_attribute AS a ON a.attrelid = i.indrelid AND a.attnum = k.number \
                   WHERE k.place <= i.indnkeyatts ORDER BY k.place))::text \
               FROM pg_catalog.pg_index AS i WHERE i.indrelid = ANY($1::oid[]) AND i.indisunique \
                 AND i.indisvalid AND i.indpred IS NULL AND i.indexprs IS NULL AND i.indimmediate \
               ORDER BY i.indexrelid";
    let mut keys: HashMap<u32, Keys> = HashMap::new();
    for row in query(client, sql, &[TextParam::text(ids)]).await? {
        let (primary, unique) = keys.entry(row.get(0)).or_default();
        let columns = names(&row, 2);
        if row.get(1) { *primary = columns } else { unique.push(columns) }
    }
    Ok(keys)
}

/// Returns the foreign keys of each table in the order of their declaration.
async fn foreign_keys(
    client: &Client,
    ids: &str,
    namespace: &impl Fn(String) -> Option<String>,
) -> Result<HashMap<u32, Vec<ForeignKey>>, Error> {
    let sql = "SELECT f.conrelid, array_to_json(ARRAY( \
                   SELECT a.attname FROM unnest(f.conkey) WITH ORDINALITY AS k (number, place) \
                   JOIN pg_catalog.pg_attribute AS a ON a.attrelid = f.conrelid AND a.attnum = k.number \
                   ORDER BY k.place))::text, \
                 n.nspname, t.relname, array_to_json(ARRAY( \
                   SELECT a.attname FROM unnest(f.confkey) WITH ORDINALITY AS k (number, place) \
                   JOIN pg_catalog.pg_attribute AS a ON a.attrelid = f.confrelid AND a.attnum = k.number \
                   ORDER BY k.place))::text \
               FROM pg_catalog.pg_constraint AS f \
               JOIN pg_catalog.pg_class AS t ON t.oid = f.confrelid \
               JOIN pg_catalog.pg_namespace AS n ON n.oid = t.relnamespace \
               WHERE f.contype = 'f' AND f.conparentid = 0 AND f.conrelid = ANY($1::oid[]) ORDER BY f.oid";
    let mut keys: HashMap<u32, Vec<ForeignKey>> = HashMap::new();
    for row in query(client, sql, &[TextParam::text(ids)]).await? {
        keys.entry(row.get(0)).or_default().push(ForeignKey {
            columns: names(&row, 1),
            target_schema: namespace(row.get(2)),
            target: row.get(3),
            target_columns: names(&row, 4),
        });
    }
    Ok(keys)
}
