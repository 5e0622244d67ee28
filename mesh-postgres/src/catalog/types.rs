//! Field types of column types. A domain has the type it is based on; unknown types are text.

use std::collections::HashMap;

use mesh_schema::{FieldType, NativeKind, NativeType, Operators, Size, TimeForm};
use tokio_postgres::{Error, Row};

use crate::pool::connection::Connection;
use crate::sql::{SYSTEM_SCHEMA, TextParam};

/// The type of a column.
pub(super) struct ColumnType {
    pub(super) ty: FieldType,
    /// Whether a domain forbids NULL.
    pub(super) never_null: bool,
    pub(super) native: NativeType,
}

/// Reads the types of the columns of `tables`, an SQL array of table ids, and returns them by the ids of the types.
pub(super) async fn read(connection: &Connection, tables: &str) -> Result<HashMap<u32, ColumnType>, Error> {
    let sql = "WITH RECURSIVE used (id, base, never_null) AS ( \
                 SELECT a.atttypid, a.atttypid, false FROM pg_catalog.pg_attribute AS a \
                 WHERE a.attrelid = ANY($1::oid[]) AND a.attnum > 0 AND NOT a.attisdropped \
                 UNION SELECT used.id, t.typbasetype, used.never_null OR t.typnotnull \
                 FROM used JOIN pg_catalog.pg_type AS t ON t.oid = used.base WHERE t.typtype = 'd') \
               SELECT used.id, used.never_null, t.typname, \
                 pg_catalog.quote_ident(n.nspname) || '.' || pg_catalog.quote_ident(t.typname), t.typtype::text, \
                 t.typcategory = 'A', n.nspname = 'pg_catalog', ARRAY( \
                   SELECT e.enumlabel::text FROM pg_catalog.pg_enum AS e \
                   WHERE e.enumtypid = t.oid ORDER BY e.enumsortorder), \
                 COALESCE((SELECT pg_catalog.concat(e.typname, '[]') FROM pg_catalog.pg_type AS e \
                   WHERE e.oid = t.typelem AND t.typcategory = 'A'), t.typname::text), ( \
                 SELECT pg_catalog.quote_ident(n.nspname) FROM pg_catalog.pg_opclass AS c \
                 JOIN pg_catalog.pg_am AS m ON m.oid = c.opcmethod AND m.amname = 'btree' \
                 JOIN pg_catalog.pg_amop AS o ON o.amopfamily = c.opcfamily AND o.amopstrategy = 3 \
                   AND o.amoplefttype = c.opcintype AND o.amoprighttype = c.opcintype \
                 JOIN pg_catalog.pg_operator AS p ON p.oid = o.amopopr \
                 JOIN pg_catalog.pg_namespace AS n ON n.oid = p.oprnamespace \
                 WHERE c.opcdefault AND (c.opcintype = t.oid OR c.opcintype = CASE t.typtype \
                     WHEN 'e' THEN 'anyenum' WHEN 'r' THEN 'anyrange' WHEN 'm' THEN 'anymultirange' END::regtype \
                   OR c.opcintype IN (SELECT k.casttarget FROM pg_catalog.pg_cast AS k \
                     WHERE k.castsource = t.oid AND k.castmethod = 'b' AND k.castcontext = 'i')) \
                 ORDER BY c.opcintype <> t.oid LIMIT 1) \
               FROM used JOIN pg_catalog.pg_type AS t ON t.oid = used.base \
               JOIN pg_catalog.pg_namespace AS n ON n.oid = t.typnamespace WHERE t.typtype <> 'd'";
    let rows = connection.query_once(sql, &[TextParam::text(tables)]).await?;
    Ok(rows.iter().map(|row| (row.get(0), column_type(row))).collect())
}

fn column_type(row: &Row) -> ColumnType {
    let (name, is_array, is_built_in): (String, bool, bool) = (row.get(2), row.get(5), row.get(6));
    // The kind of the type: `b`ase, `e`num, `c`omposite, `r`ange or `m`ultirange.
    let kind = match row.get(4) {
        "e" => NativeKind::Enum,
        "c" => NativeKind::Composite,
        _ if is_array => NativeKind::Composite,
        "b" if is_built_in => NativeKind::BuiltIn,
        _ => NativeKind::Other,
    };
    let ty = match kind {
        NativeKind::Composite => FieldType::Json,
        NativeKind::BuiltIn => field_type(&name),
        _ => FieldType::String,
    };
    let name = if kind == NativeKind::BuiltIn { name } else { row.get(3) };
    let native = NativeType {
        name,
        shown: row.get(8),
        kind,
        labels: row.get(7),
        unique: false,
        has_nondeterministic_collation: false,
        size: None,
        operators: match row.get::<_, Option<String>>(9) {
            // Arrays and composite types are read as JSON, which takes no comparison.
            _ if kind == NativeKind::Composite || ty == FieldType::Json => Operators::BuiltIn,
            None => Operators::None,
            Some(schema) if schema == SYSTEM_SCHEMA => Operators::BuiltIn,
            Some(schema) => Operators::InSchema(schema),
        },
    };
    ColumnType { ty, never_null: row.get(1), native }
}

/// The maximum length of a value of the type `name`, in bytes.
const NAME_BYTES: u32 = 63;

/// Returns the size that a PostgreSQL type modifier represents. For most types, the modifier is the size plus the size
/// of a header.
pub(super) fn size(native: &NativeType, modifier: i32) -> Option<Size> {
    let digits = u32::try_from(modifier).ok();
    let modifier = u32::try_from(modifier.checked_sub(4)?).ok();
    match native.name.as_str() {
        "varchar" | "bpchar" if native.kind == NativeKind::BuiltIn => modifier.map(Size::Chars),
        "name" if native.kind == NativeKind::BuiltIn => Some(Size::Bytes(NAME_BYTES)),
        "bit" if native.kind == NativeKind::BuiltIn => digits.map(Size::Bits),
        "numeric" if native.kind == NativeKind::BuiltIn => {
            let modifier = modifier?;
            // The scale is a signed number of 11 bits.
            let scale = i64::from((modifier & 0x7ff) ^ 0x400) - 0x400;
            u32::try_from(i64::from(modifier >> 16) - scale).ok().map(Size::Digits)
        }
        _ => None,
    }
}

/// Returns the time form of a type.
pub(super) fn time_form(native: &NativeType) -> Option<TimeForm> {
    let is_time = matches!(native.name.as_str(), "date" | "timestamp" | "timestamptz");
    (is_time && native.kind == NativeKind::BuiltIn).then_some(TimeForm::Extended)
}

/// Returns the field type of a built-in type.
fn field_type(name: &str) -> FieldType {
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
