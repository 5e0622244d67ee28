//! Field types of column types.

use mesh_schema::{FieldType, NativeKind, NativeType, Operators, Size};
use mysql_async::Row;

use super::size;
use crate::cells::{optional_text, text};

/// Returns the type of a column of `information_schema.COLUMNS`; `None` for types that have no text form.
pub(super) fn column_type(row: &Row, is_document: bool) -> Option<(FieldType, NativeType)> {
    let (data_type, declared) = (text(row, 2).to_ascii_lowercase(), text(row, 3));
    let lower = declared.to_ascii_lowercase();
    let unsigned = if lower.contains("unsigned") { " unsigned" } else { "" };
    let collation = optional_text(row, 8);
    let mut native = NativeType {
        name: data_type.clone(),
        kind: NativeKind::BuiltIn,
        shown: declared.clone(),
        labels: Vec::new(),
        unique: false,
        has_nondeterministic_collation: collation
            .as_ref()
            .is_some_and(|collation| !collation.ends_with("_bin")),
        size: None,
        operators: Operators::BuiltIn,
    };
    let ty = match data_type.as_str() {
        "tinyint" if lower.starts_with("tinyint(1)") => {
            "boolean".clone_into(&mut native.name);
            FieldType::Boolean
        }
        "tinyint" | "smallint" | "mediumint" | "int" | "bigint" => {
            native.name.push_str(unsigned);
            if native.name == "bigint unsigned" { FieldType::Unsigned } else { FieldType::Integer }
        }
        "year" => FieldType::Integer,
        "bit" if lower == "bit(1)" => FieldType::Boolean,
        "bit" if lower == "bit(64)" => FieldType::Unsigned,
        "bit" => FieldType::Integer,
        "float" | "double" => FieldType::Number,
        "decimal" => {
            let scale = size(row, 11).unwrap_or_default();
            native.size = size(row, 10).and_then(|digits| digits.checked_sub(scale)).map(Size::Digits);
            FieldType::Decimal
        }
        "char" | "varchar" | "tinytext" | "text" | "mediumtext" | "longtext" => {
            native.name = collation.map_or_else(|| "text".to_owned(), |name| format!("text COLLATE {name}"));
            if matches!(data_type.as_str(), "char" | "varchar") {
                native.size = size(row, 9).map(Size::Chars);
            }
            if is_document { FieldType::Json } else { FieldType::String }
        }
        "enum" => {
            native.kind = NativeKind::Enum;
            native.labels = labels(&declared);
            FieldType::String
        }
        "date" => FieldType::Date,
        "datetime" | "timestamp" => FieldType::Datetime,
        "binary" | "varbinary" | "tinyblob" | "blob" | "mediumblob" | "longblob" => {
            "binary".clone_into(&mut native.name);
            FieldType::Binary
        }
        "json" => FieldType::Json,
        "uuid" => FieldType::Uuid,
        "set" | "time" | "inet4" | "inet6" => {
            native.kind = NativeKind::Other;
            FieldType::String
        }
        _ => return None,
    };
    Some((ty, native))
}

/// Returns the labels of an enumeration, as in `enum('a','it''s')`.
fn labels(declared: &str) -> Vec<String> {
    let tokens = mesh_sql::text::tokens(declared);
    let labels = tokens.into_iter().filter_map(|token| match token {
        mesh_sql::text::Token::Text(label) => Some(label),
        _ => None,
    });
    labels.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_read_from_the_declaration() {
        assert_eq!(labels("enum('a','it''s','b,c')"), ["a", "it's", "b,c"]);
    }
}
