//! The catalog: tables and views, read into a [`Catalog`].
//!
//! Everything is read from the system tables, by statements that prepare nothing, so that it works through a pooler too.
//! Tables that the account may not read are left out.

mod sample;
mod types;

use std::collections::{HashMap, HashSet};

use mesh_plan::sql::postgres::Features;
use mesh_schema::{Catalog, Column, ForeignKey, Table, TableName};
use tokio_postgres::{Client, Error, SimpleQueryMessage, SimpleQueryRow};

use self::types::Types;
use crate::quote::literal;

/// The namespace of the server's own tables.
const OWN: &str = "mesh";

/// Finds out what a database can do beyond what all of them can.
pub(super) async fn features(client: &Client) -> Result<Features, Error> {
    let rows = rows(
        client,
        "SELECT 1 FROM pg_catalog.pg_database AS d WHERE d.datname = current_database() \
         AND d.datctype IN ('C', 'POSIX') \
         AND EXISTS (SELECT 1 FROM pg_catalog.pg_collation AS c WHERE c.collname = 'und-x-icu')",
    )
    .await?;
    Ok(Features { icu_folds: !rows.is_empty() })
}

/// The namespaces in which names without one are looked for, but for the server's own: an account of its name
/// would have that among them, before all others.
pub(super) async fn search_path(client: &Client) -> Result<(Vec<String>, bool), Error> {
    let sql = format!("SELECT array_to_json(current_schemas(false)), current_user = {}", literal(OWN));
    let rows = rows(client, &sql).await?;
    let all = rows.first().map(|row| names(row, 0)).unwrap_or_default();
    let others: Vec<String> = all.iter().filter(|schema| *schema != OWN).cloned().collect();
    // It may not be there yet.
    let has_own = others.len() < all.len() || rows.first().is_some_and(|row| truth(row, 1));
    Ok((others, has_own))
}

/// Reads what the namespaces of a database contain; none named is the default one. The texts beside it are notes
/// for the log. `times` are tables and columns that hold times though their types do not say so.
pub(super) async fn read(
    client: &Client,
    schemas: &[String],
    times: &[(String, String)],
) -> Result<(Catalog, Vec<String>), Error> {
    let mut notes = Vec::new();
    let default = rows(client, "SELECT current_schema()").await?;
    let default = default.first().and_then(|row| row.get(0)).map(str::to_owned);
    let wanted: Vec<String> = match (schemas, &default) {
        ([], default) => default.iter().cloned().collect(),
        (schemas, _) => schemas.to_vec(),
    };
    for missing in missing_schemas(client, &wanted).await? {
        notes.push(format!("Schema '{missing}' does not exist, or nothing in it may be read"));
    }
    let sources = sources(client, &wanted, &mut notes).await?;
    let ids: Vec<&str> = sources.iter().map(|source| source.id.as_str()).collect();
    let ids = if ids.is_empty() { "0".to_owned() } else { ids.join(", ") };
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
        // Where nothing else tells rows apart there is the place of a row in its table, which stays as long as
        // the row is not updated.
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
    sample::fill_time_forms(client, &mut tables, times, &mut notes).await?;
    Ok((Catalog { tables }, notes))
}

/// The tables of all namespaces that triggers can stand on, as schemas name them.
pub(super) async fn tables(client: &Client) -> Result<HashSet<TableName>, Error> {
    let sql = "SELECT CASE WHEN n.nspname = current_schema() THEN NULL ELSE n.nspname END, c.relname \
               FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace \
               WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition";
    let rows = rows(client, sql).await?;
    Ok(rows
        .iter()
        .map(|row| TableName { schema: row.get(0).map(str::to_owned), name: text(row, 1) })
        .collect())
}

/// The rows of statements without parameters.
pub(super) async fn rows(client: &Client, sql: &str) -> Result<Vec<SimpleQueryRow>, Error> {
    let messages = client.simple_query(sql).await?;
    let rows = messages.into_iter().filter_map(|message| match message {
        SimpleQueryMessage::Row(row) => Some(row),
        _ => None,
    });
    Ok(rows.collect())
}

fn list(names: &[String]) -> String {
    let names: Vec<_> = names.iter().map(|name| literal(name)).collect();
    if names.is_empty() { "NULL".to_owned() } else { names.join(", ") }
}

fn text(row: &SimpleQueryRow, column: usize) -> String {
    row.get(column).unwrap_or_default().to_owned()
}

fn truth(row: &SimpleQueryRow, column: usize) -> bool {
    row.get(column) == Some("t")
}

/// Names that the database hands over as a JSON array.
fn names(row: &SimpleQueryRow, column: usize) -> Vec<String> {
    serde_json::from_str(row.get(column).unwrap_or("[]")).unwrap_or_default()
}

async fn missing_schemas(client: &Client, wanted: &[String]) -> Result<Vec<String>, Error> {
    let sql = format!(
        "SELECT n.nspname FROM pg_catalog.pg_namespace AS n WHERE n.nspname IN ({}) \
         AND has_schema_privilege(n.oid, 'USAGE')",
        list(wanted)
    );
    let found: HashSet<String> = rows(client, &sql).await?.iter().map(|row| text(row, 0)).collect();
    Ok(wanted.iter().filter(|schema| !found.contains(*schema)).cloned().collect())
}

/// A table or whatever else is read like one.
struct Source {
    id: String,
    schema: String,
    name: String,
    kind: String,
    description: Option<String>,
    /// Whether tables inherit from it that are not its partitions.
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

/// Tables, partitioned ones as a whole, views, materialized views and foreign tables, in the order of their
/// creation, but for what extensions brought with them.
async fn sources(client: &Client, schemas: &[String], notes: &mut Vec<String>) -> Result<Vec<Source>, Error> {
    let sql = format!(
        "SELECT c.oid, n.nspname, c.relname, c.relkind, obj_description(c.oid, 'pg_class'), \
           has_any_column_privilege(c.oid, 'SELECT'), c.relkind = 'r' AND c.relhassubclass \
         FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace \
         WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition AND n.nspname IN ({}) \
           AND NOT EXISTS (SELECT 1 FROM pg_catalog.pg_depend AS d WHERE d.objid = c.oid AND d.deptype = 'e' \
             AND d.classid = 'pg_catalog.pg_class'::regclass) \
         ORDER BY c.oid",
        list(schemas)
    );
    let mut sources = Vec::new();
    for row in rows(client, &sql).await? {
        let source = Source {
            id: text(&row, 0),
            schema: text(&row, 1),
            name: text(&row, 2),
            kind: text(&row, 3),
            description: row.get(4).map(str::to_owned),
            has_heirs: truth(&row, 6),
        };
        if truth(&row, 5) {
            sources.push(source);
        } else {
            notes.push(format!("{} '{}' is left out: it may not be read", source.noun(), source.name));
        }
    }
    Ok(sources)
}

/// The columns of each table that may be read, in its order.
async fn columns(client: &Client, ids: &str, types: &Types) -> Result<HashMap<String, Vec<Column>>, Error> {
    let sql = format!(
        "SELECT a.attrelid, a.attname, a.atttypid, a.attnotnull, col_description(a.attrelid, a.attnum) \
         FROM pg_catalog.pg_attribute AS a WHERE a.attrelid IN ({ids}) AND a.attnum > 0 \
           AND NOT a.attisdropped AND has_column_privilege(a.attrelid, a.attnum, 'SELECT') \
         ORDER BY a.attrelid, a.attnum"
    );
    let mut columns: HashMap<String, Vec<Column>> = HashMap::new();
    for row in rows(client, &sql).await? {
        let found = types.find(row.get(2).unwrap_or_default());
        columns.entry(text(&row, 0)).or_default().push(Column {
            name: text(&row, 1),
            ty: found.as_ref().map(|found| found.ty),
            nullable: !truth(&row, 3) && !found.as_ref().is_some_and(|found| found.never_null),
            description: row.get(4).map(str::to_owned),
            native: found.map(|found| found.native),
            ..Column::default()
        });
    }
    Ok(columns)
}

/// Primary key and unique sets.
type Keys = (Vec<String>, Vec<Vec<String>>);

/// Unique indexes that hold for all rows and consist of nothing but columns, whether a constraint made them or
/// not: a materialized view can have no other.
async fn keys(client: &Client, ids: &str) -> Result<HashMap<String, Keys>, Error> {
    let sql = format!(
        "SELECT i.indrelid, i.indisprimary, array_to_json(ARRAY( \
             SELECT a.attname FROM unnest(i.indkey::int2[]) WITH ORDINALITY AS k (number, place) \
             JOIN pg_catalog.pg_attribute AS a ON a.attrelid = i.indrelid AND a.attnum = k.number \
             WHERE k.place <= i.indnkeyatts ORDER BY k.place)) \
         FROM pg_catalog.pg_index AS i WHERE i.indrelid IN ({ids}) AND i.indisunique AND i.indisvalid \
           AND i.indpred IS NULL AND i.indexprs IS NULL AND i.indimmediate \
         ORDER BY i.indexrelid"
    );
    let mut keys: HashMap<String, Keys> = HashMap::new();
    for row in rows(client, &sql).await? {
        let (primary, unique) = keys.entry(text(&row, 0)).or_default();
        let columns = names(&row, 2);
        if truth(&row, 1) { *primary = columns } else { unique.push(columns) }
    }
    Ok(keys)
}

/// Foreign keys in the order of their declaration.
async fn foreign_keys(
    client: &Client,
    ids: &str,
    namespace: &impl Fn(String) -> Option<String>,
) -> Result<HashMap<String, Vec<ForeignKey>>, Error> {
    let columns = |keys: &str, table: &str| {
        format!(
            "array_to_json(ARRAY(SELECT a.attname FROM unnest({keys}) WITH ORDINALITY AS k (number, place) \
             JOIN pg_catalog.pg_attribute AS a ON a.attrelid = {table} AND a.attnum = k.number ORDER BY k.place))"
        )
    };
    let sql = format!(
        "SELECT f.conrelid, {}, n.nspname, t.relname, {} FROM pg_catalog.pg_constraint AS f \
         JOIN pg_catalog.pg_class AS t ON t.oid = f.confrelid \
         JOIN pg_catalog.pg_namespace AS n ON n.oid = t.relnamespace \
         WHERE f.contype = 'f' AND f.conparentid = 0 AND f.conrelid IN ({ids}) ORDER BY f.oid",
        columns("f.conkey", "f.conrelid"),
        columns("f.confkey", "f.confrelid"),
    );
    let mut keys: HashMap<String, Vec<ForeignKey>> = HashMap::new();
    for row in rows(client, &sql).await? {
        keys.entry(text(&row, 0)).or_default().push(ForeignKey {
            columns: names(&row, 1),
            target_schema: namespace(text(&row, 2)),
            target: text(&row, 3),
            target_columns: names(&row, 4),
        });
    }
    Ok(keys)
}
