//! Field types of the declared types of columns.

use mesh_schema::FieldType;

/// Returns the field type for a declared type. SQLite accepts any text as a type. Type names of other databases are
/// tried first; then SQLite's affinity rules apply.
pub(super) fn field_type(declared: &str) -> Option<FieldType> {
    let name = declared.split('(').next().unwrap_or_default().trim().to_ascii_uppercase();
    by_name(&name).or_else(|| by_affinity(&name))
}

fn by_name(name: &str) -> Option<FieldType> {
    let begins = |prefixes: &[&str]| prefixes.iter().any(|prefix| name.starts_with(prefix));
    match name {
        "DATE" => Some(FieldType::Date),
        "UUID" | "GUID" | "UNIQUEIDENTIFIER" => Some(FieldType::Uuid),
        "MONEY" => Some(FieldType::Decimal),
        _ if begins(&["BOOL"]) => Some(FieldType::Boolean),
        _ if begins(&["DATETIME", "TIMESTAMP"]) => Some(FieldType::Datetime),
        _ if begins(&["JSON"]) => Some(FieldType::Json),
        _ if begins(&["DECIMAL", "NUMERIC"]) => Some(FieldType::Decimal),
        _ => None,
    }
}

/// Applies SQLite's affinity rules in their order.
fn by_affinity(name: &str) -> Option<FieldType> {
    let holds = |parts: &[&str]| parts.iter().any(|part| name.contains(part));
    if holds(&["INT"]) {
        Some(FieldType::Integer)
    } else if holds(&["CHAR", "CLOB", "TEXT"]) {
        Some(FieldType::String)
    } else if holds(&["BLOB"]) {
        Some(FieldType::Binary)
    } else if holds(&["REAL", "FLOA", "DOUB"]) {
        Some(FieldType::Number)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::field_type;
    use mesh_schema::FieldType::{self, *};

    #[test]
    fn declared_types_map_to_field_types() {
        let cases: &[(&[&str], Option<FieldType>)] = &[
            (&["BOOL", "boolean", "Boolean"], Some(Boolean)),
            (
                &["DATETIME", "datetime(3)", "TIMESTAMP", "timestamptz", "Timestamp With Time Zone"],
                Some(Datetime),
            ),
            (&["DATE", "date", " DATE "], Some(Date)),
            (&["JSON", "jsonb", "JSON_TEXT"], Some(Json)),
            (&["UUID", "guid", "UniqueIdentifier"], Some(Uuid)),
            (&["DECIMAL", "decimal(10,2)", "DECIMAL (10, 2)", "NUMERIC(10,2)", "MONEY"], Some(Decimal)),
            (
                &["INT", "BIGINT", "INTEGER", "tinyint(1)", "UNSIGNED BIG INT", "INT8", "CHARINT"],
                Some(Integer),
            ),
            (&["TEXT", "VARCHAR(255)", "NVARCHAR(160)", "CLOB", "character varying(20)"], Some(String)),
            (&["BLOB", "LONGBLOB"], Some(Binary)),
            (&["REAL", "FLOAT", "double precision"], Some(Number)),
            (&["", "TIME", "time with time zone", "ANY", "STRING", "NUM", "(5)", "größe"], None),
        ];
        for (names, ty) in cases {
            for name in *names {
                assert_eq!(field_type(name), *ty, "{name}");
            }
        }
    }
}
