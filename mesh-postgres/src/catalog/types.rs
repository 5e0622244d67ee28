//! Field types of column types. A domain has the type it is based on; unknown types are text.

use std::collections::HashMap;

use mesh_schema::{FieldType, NativeKind, NativeType};
use tokio_postgres::{Client, Error};

use super::names;
use crate::sql::{TextParam, query};

/// The types that tables use, by their ids.
pub(super) struct Types {
    by_id: HashMap<u32, Raw>,
}

struct Raw {
    /// The name without a schema.
    name: String,
    /// The name with its schema, quoted for statements.
    quoted: String,
    /// The kind: `b`ase, `d`omain, `e`num, `c`omposite, `r`ange or `m`ultirange.
    kind: String,
    is_array: bool,
    never_null: bool,
    /// The base type of a domain.
    base: u32,
    is_built_in: bool,
    labels: Vec<String>,
}

/// A type of columns.
pub(super) struct Found {
    pub(super) ty: FieldType,
    /// Whether a domain forbids NULL.
    pub(super) never_null: bool,
    pub(super) native: NativeType,
}

impl Types {
    /// Reads the types of the columns of tables, whose ids are an array in SQL text, and the base types of domains.
    pub(super) async fn read(client: &Client, tables: &str) -> Result<Self, Error> {
        let sql = "WITH RECURSIVE used (id) AS ( \
                     SELECT a.atttypid FROM pg_catalog.pg_attribute AS a \
                     WHERE a.attrelid = ANY($1::oid[]) AND a.attnum > 0 AND NOT a.attisdropped \
                     UNION SELECT t.typbasetype FROM used JOIN pg_catalog.pg_type AS t ON t.oid = used.id \
                     WHERE t.typtype = 'd') \
                   SELECT t.oid, t.typname, quote_ident(n.nspname) || '.' || quote_ident(t.typname), \
                     t.typtype::text, t.typcategory = 'A', t.typnotnull, t.typbasetype, \
                     n.nspname = 'pg_catalog', array_to_json(ARRAY( \
                       SELECT e.enumlabel FROM pg_catalog.pg_enum AS e \
                       WHERE e.enumtypid = t.oid ORDER BY e.enumsortorder))::text \
                   FROM used JOIN pg_catalog.pg_type AS t ON t.oid = used.id \
                   JOIN pg_catalog.pg_namespace AS n ON n.oid = t.typnamespace";
        let rows = query(client, sql, &[TextParam::text(tables)]).await?;
        let types = rows.iter().map(|row| {
            let raw = Raw {
                name: row.get(1),
                quoted: row.get(2),
                kind: row.get(3),
                is_array: row.get(4),
                never_null: row.get(5),
                base: row.get(6),
                is_built_in: row.get(7),
                labels: names(row, 8),
            };
            (row.get(0), raw)
        });
        Ok(Self { by_id: types.collect() })
    }

    /// Returns the type with an id; for a domain, which may be based on another domain, the type at its base.
    pub(super) fn find(&self, id: u32) -> Option<Found> {
        let mut raw = self.by_id.get(&id)?;
        let mut never_null = false;
        for _ in 0..self.by_id.len() {
            if raw.kind != "d" {
                break;
            }
            never_null |= raw.never_null;
            raw = self.by_id.get(&raw.base)?;
        }
        let kind = match raw.kind.as_str() {
            "e" => NativeKind::Enum,
            "c" => NativeKind::Composite,
            _ if raw.is_array => NativeKind::Composite,
            "b" if raw.is_built_in => NativeKind::BuiltIn,
            _ => NativeKind::Other,
        };
        let ty = if kind == NativeKind::Composite { FieldType::Json } else { field_type(&raw.name, kind) };
        let name = if kind == NativeKind::BuiltIn { raw.name.clone() } else { raw.quoted.clone() };
        Some(Found {
            ty,
            never_null,
            native: NativeType { name, kind, labels: raw.labels.clone(), unique: false },
        })
    }
}

fn field_type(name: &str, kind: NativeKind) -> FieldType {
    if kind != NativeKind::BuiltIn {
        return FieldType::String;
    }
    match name {
        "bool" => FieldType::Boolean,
        "int2" | "int4" | "int8" => FieldType::Integer,
        "float4" | "float8" => FieldType::Number,
        "numeric" => FieldType::Decimal,
        "uuid" => FieldType::Uuid,
        "date" => FieldType::Date,
        "timestamp" | "timestamptz" => FieldType::Datetime,
        "bytea" => FieldType::Binary,
        "json" | "jsonb" => FieldType::Json,
        _ => FieldType::String,
    }
}
