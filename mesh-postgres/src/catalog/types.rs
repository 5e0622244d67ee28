//! Field types of column types. A domain has the type it is based on; unknown types are text.

use std::collections::HashMap;

use mesh_schema::{FieldType, NativeKind, NativeType};
use tokio_postgres::{Client, Error};

use super::{names, rows, text, truth};

/// The types that some tables use, by their ids.
pub(super) struct Types {
    by_id: HashMap<String, Raw>,
}

struct Raw {
    /// Its name without a namespace.
    name: String,
    /// As statements write it.
    quoted: String,
    /// `b`ase, `d`omain, `e`num, `c`omposite, `r`ange and `m`ultirange.
    sort: String,
    is_array: bool,
    never_null: bool,
    /// What a domain is made of.
    base: String,
    is_built_in: bool,
    labels: Vec<String>,
}

/// What is known of a type.
pub(super) struct Found {
    pub(super) ty: FieldType,
    /// Whether a domain forbids NULL.
    pub(super) never_null: bool,
    pub(super) native: NativeType,
}

impl Types {
    /// Reads the types of these tables' columns, and those that domains among them are made of.
    pub(super) async fn read(client: &Client, tables: &str) -> Result<Self, Error> {
        let sql = format!(
            "WITH RECURSIVE used (id) AS ( \
               SELECT a.atttypid FROM pg_catalog.pg_attribute AS a \
               WHERE a.attrelid IN ({tables}) AND a.attnum > 0 AND NOT a.attisdropped \
               UNION SELECT t.typbasetype FROM used JOIN pg_catalog.pg_type AS t ON t.oid = used.id \
               WHERE t.typtype = 'd') \
             SELECT t.oid, t.typname, quote_ident(n.nspname) || '.' || quote_ident(t.typname), t.typtype, \
               t.typcategory = 'A', t.typnotnull, t.typbasetype, n.nspname = 'pg_catalog', \
               array_to_json(ARRAY(SELECT e.enumlabel FROM pg_catalog.pg_enum AS e \
                 WHERE e.enumtypid = t.oid ORDER BY e.enumsortorder)) \
             FROM used JOIN pg_catalog.pg_type AS t ON t.oid = used.id \
             JOIN pg_catalog.pg_namespace AS n ON n.oid = t.typnamespace"
        );
        let rows = rows(client, &sql).await?;
        let types = rows.iter().map(|row| {
            let raw = Raw {
                name: text(row, 1),
                quoted: text(row, 2),
                sort: text(row, 3),
                is_array: truth(row, 4),
                never_null: truth(row, 5),
                base: text(row, 6),
                is_built_in: truth(row, 7),
                labels: names(row, 8),
            };
            (text(row, 0), raw)
        });
        Ok(Self { by_id: types.collect() })
    }

    /// The type of that id. A domain may be made of another one, but not without end.
    pub(super) fn find(&self, id: &str) -> Option<Found> {
        let mut raw = self.by_id.get(id)?;
        let mut never_null = false;
        for _ in 0..self.by_id.len() {
            if raw.sort != "d" {
                break;
            }
            never_null |= raw.never_null;
            raw = self.by_id.get(&raw.base)?;
        }
        let kind = match raw.sort.as_str() {
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
