//! JSON values of request bodies as values of fields.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use mesh_ql::Literal;
use mesh_schema::{Field, FieldType};
use serde_json::value::RawValue;

use super::super::{literal, stored_values};
use crate::Value;
use crate::mutation::JsonId;
use crate::value::canonical::is_decimal;

/// Accepts any padding, and any spare bits of the last character.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// Converts a JSON text to a value of the field. An error contains the values that the field takes and the value that was
/// found instead. `null` is NULL in every field: whether a column may be NULL is a rule of the storage.
pub(super) fn parse(field: &Field, text: &str) -> Result<Value, (&'static str, String)> {
    if text == "null" {
        return Ok(Value::Null);
    }
    match field.ty {
        // serde_json bounds the nesting, which protects later readers.
        Some(FieldType::Json) => match serde_json::from_str::<serde_json::Value>(text) {
            Ok(_) => Ok(Value::Text(text.to_owned())),
            Err(_) => Err(("JSON that is nested less than 128 deep", "more".to_owned())),
        },
        Some(FieldType::Binary) => {
            let bytes = serde_json::from_str::<String>(text).ok().and_then(|it| BASE64.decode(it).ok());
            bytes.map(Value::Bytes).ok_or_else(|| ("base64 text", describe(text)))
        }
        ty => {
            if ty == Some(FieldType::Decimal)
                && let Some(exact) = exact(text)
            {
                return Ok(Value::Text(exact));
            }
            let value = match literal_of(text) {
                None => return Err((literal::takes(ty), describe(text))),
                Some(literal) => literal::value(ty, field.time_form, &literal)?,
            };
            // Only columns without a sign hold larger numbers. Some databases would store others rounded, or negative ones as
            // large ones.
            let is_unfit = match (field.ty, field.stored, &value) {
                (Some(FieldType::Bigint), stored, Value::Text(_)) => stored != Some(FieldType::Unsigned),
                (_, Some(FieldType::Unsigned), Value::Integer(value)) => *value < 0,
                _ => false,
            };
            if is_unfit {
                return Err((literal::takes(ty), describe(text)));
            }
            Ok(stored_values::encode(field, value))
        }
    }
}

impl JsonId {
    /// Parses the JSON text of an id; `None` if the text is not an id. `SPEC §15`
    pub fn parse(json: &str) -> Option<Self> {
        if !json.starts_with('[') {
            return id_text(json).map(Self::Text);
        }
        let parts: Vec<&RawValue> = serde_json::from_str(json).ok()?;
        let part = |part: &&RawValue| match part.get() {
            truth @ ("true" | "false") => Some(truth.to_owned()),
            json => id_text(json),
        };
        parts.iter().map(part).collect::<Option<_>>().map(Self::Parts)
    }
}

/// Returns the text of an id or of a part of one, which is a string or a number.
fn id_text(text: &str) -> Option<String> {
    match literal_of(text)? {
        Literal::Text(text) => Some(text),
        Literal::Integer(value) => Some(value.to_string()),
        Literal::Unsigned(value) => Some(value.to_string()),
        Literal::Number(value) if value.fract() == 0.0 && literal::is_exact(value) => {
            Some((value as i64).to_string())
        }
        Literal::Number(_) => Some(text.to_owned()),
        Literal::Boolean(_) => None,
    }
}

/// Describes a JSON value for messages.
pub(super) fn describe(text: &str) -> String {
    match (literal_of(text), text.as_bytes().first()) {
        (Some(literal), _) => literal::describe(&literal),
        (None, Some(b'{')) => "an object".to_owned(),
        (None, Some(b'[')) => "a list".to_owned(),
        _ => "null".to_owned(),
    }
}

/// Returns the text of a number without exponent, which decimals store exactly, including trailing zeros.
fn exact(text: &str) -> Option<String> {
    let text = serde_json::from_str::<String>(text).unwrap_or_else(|_| text.to_owned());
    Some(text).filter(|text| is_decimal(text))
}

fn literal_of(text: &str) -> Option<Literal> {
    match serde_json::from_str(text).ok()? {
        serde_json::Value::Bool(value) => Some(Literal::Boolean(value)),
        serde_json::Value::String(value) => Some(Literal::Text(value)),
        serde_json::Value::Number(number) => {
            let integer = number.as_i64().map(Literal::Integer);
            let integer = integer.or_else(|| number.as_u64().map(Literal::Unsigned));
            integer.or_else(|| number.as_f64().map(Literal::Number))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_are_what_a_parser_reads() {
        for text in [
            r#""""#,
            r#""é b""#,
            r#""a\"b""#,
            r#""a\u0062""#,
            r#"""#,
            r#""a"b""#,
            "\"a\nb\"",
            "7",
            "a",
            "\"\u{7f}\"",
        ] {
            let parsed = serde_json::from_str::<String>(text).ok().map(Literal::Text);
            let number = serde_json::from_str(text).ok().map(Literal::Integer);
            assert_eq!(literal_of(text), parsed.or(number), "{text}");
        }
    }

    #[test]
    fn ids_are_texts_or_numbers() {
        let id = |text| id_text(text).unwrap_or_else(|| "refused".to_owned());
        assert_eq!(id("\"a,b\""), "a,b");
        assert_eq!(id("-7"), "-7");
        assert_eq!([id("7.0"), id("7e2")], ["7", "700"]);
        assert_eq!([id("7.5"), id("9e15"), id("9e18")], ["7.5", "9000000000000000", "9e18"]);
        assert_eq!([id("true"), id("null"), id("[7]")], ["refused"; 3]);
        let parts = |text| match JsonId::parse(text) {
            Some(JsonId::Parts(parts)) => parts.join(" | "),
            other => format!("{other:?}"),
        };
        assert_eq!(parts(r#"[7, "a,b", true]"#), "7 | a,b | true");
        assert_eq!([parts("[null]"), parts("[[7]]")], ["None"; 2]);
    }
}
