//! Can a field hold the value that a client gives it? JSON text, turned into a value as the storage has it.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use mesh_ql::Literal;
use mesh_schema::{Field, FieldType};

use super::super::literal;
use crate::Value;

/// Padding and the last character's spare bits are the client's business.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// The value of a JSON text, or what the field takes and what was found instead. `null` is NULL in every
/// field: whether a column may be empty is the storage's rule.
pub(super) fn of(field: &Field, text: &str) -> Result<Value, (&'static str, String)> {
    if text == "null" {
        return Ok(Value::Null);
    }
    match field.ty {
        // Whoever reads it later may not bear it if it is nested without bound, which reading it here does
        // not.
        Some(FieldType::Json) => match serde_json::from_str::<serde_json::Value>(text) {
            Ok(_) => Ok(Value::Text(text.to_owned())),
            Err(_) => Err(("JSON that is nested less than 128 deep", "more".to_owned())),
        },
        Some(FieldType::Binary) => {
            let bytes = serde_json::from_str::<String>(text).ok().and_then(|it| BASE64.decode(it).ok());
            bytes.map(Value::Bytes).ok_or_else(|| ("base64 text", described(text)))
        }
        Some(FieldType::Decimal) if exact(text).is_some() => Ok(Value::Text(exact(text).unwrap_or_default())),
        ty => {
            let literal = literal_of(text).ok_or_else(|| (literal::takes_of(ty), described(text)))?;
            literal::value(ty, field.time_form, &literal)
        }
    }
}

/// The text of `entityId`: of a string, or of a number, which keeps the text it was written as.
pub(super) fn id_text(text: &str) -> Option<String> {
    match literal_of(text)? {
        Literal::Text(text) => Some(text),
        Literal::Integer(value) => Some(value.to_string()),
        Literal::Number(value) if value.fract() == 0.0 && value.abs() < 9e15 => {
            Some((value as i64).to_string())
        }
        Literal::Number(_) => Some(text.to_owned()),
        Literal::Boolean(_) => None,
    }
}

/// A JSON text as error messages name it.
pub(super) fn described(text: &str) -> String {
    match (literal_of(text), text.as_bytes().first()) {
        (Some(literal), _) => literal::found(&literal),
        (None, Some(b'{')) => "an object".to_owned(),
        (None, Some(b'[')) => "a list".to_owned(),
        _ => "null".to_owned(),
    }
}

/// Digits with at most one point, as text or as a number: what a decimal keeps exactly, trailing zeros and
/// all.
fn exact(text: &str) -> Option<String> {
    let text = serde_json::from_str::<String>(text).unwrap_or_else(|_| text.to_owned());
    let digits = text.strip_prefix('-').unwrap_or(&text);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
    let all_digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    (all_digits(whole) && all_digits(fraction)).then_some(text)
}

fn literal_of(text: &str) -> Option<Literal> {
    match serde_json::from_str(text).ok()? {
        serde_json::Value::Bool(value) => Some(Literal::Boolean(value)),
        serde_json::Value::String(value) => Some(Literal::Text(value)),
        serde_json::Value::Number(number) => {
            number.as_i64().map(Literal::Integer).or_else(|| number.as_f64().map(Literal::Number))
        }
        _ => None,
    }
}
