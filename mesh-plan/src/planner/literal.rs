//! Literals of queries and ids of paths as values of fields.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use mesh_ql::Literal;
use mesh_schema::{FieldType, TimeForm};
use uuid::Uuid;

use crate::plan::Column;
use crate::value::canonical::{EXACT_DIGITS, is_decimal};
use crate::value::is_special_decimal;
use crate::value::key::decode;
use crate::value::number::number_text;
use crate::value::time::{self, Time, extended};
use crate::{Key, RecordId, Value};

/// Converts a literal to a value of that type. An error contains the values that the field takes and the value that was found
/// instead. `SPEC §3.7`
pub(crate) fn value(
    ty: Option<FieldType>,
    form: Option<TimeForm>,
    literal: &Literal,
) -> Result<Value, (&'static str, String)> {
    let Some(ty) = ty else { return Ok(as_written(literal)) };
    let is_mixed = matches!(form, Some(TimeForm::Mixed { .. }));
    let value = match ty {
        FieldType::String => text(literal).map(Value::from),
        FieldType::Integer => integer(literal).map(Value::Integer),
        FieldType::Bigint => {
            let value = integer(literal).or_else(|| text(literal)?.parse().ok()).map(Value::Integer);
            value.or_else(|| large(literal))
        }
        FieldType::Unsigned => integer(literal).map(Value::Integer).or_else(|| large(literal)),
        FieldType::Number => match literal {
            Literal::Integer(value) => Some(Value::Real(*value as f64)),
            Literal::Unsigned(value) => Some(Value::Real(*value as f64)),
            Literal::Number(value) => Some(Value::Real(*value)),
            _ => None,
        },
        FieldType::Decimal => match literal {
            Literal::Integer(value) => Some(Value::Integer(*value)),
            Literal::Unsigned(value) => Some(Value::Text(value.to_string())),
            Literal::Number(value) => Some(Value::Real(*value)),
            Literal::Text(text) => decimal(text),
            Literal::Boolean(_) => None,
        },
        FieldType::Boolean => match literal {
            Literal::Boolean(value) => Some(Value::Boolean(*value)),
            _ => None,
        },
        FieldType::Datetime => text(literal).and_then(|text| {
            let far = || (form == Some(TimeForm::Extended) && extended::is_time(text)).then(|| text.into());
            datetime(form, text).or_else(far)
        }),
        FieldType::Date => text(literal).and_then(|text| {
            let date = time::parse_date(text).map(|date| time::stored_date(date, form));
            let far = || (form == Some(TimeForm::Extended) && extended::is_date(text)).then(|| text.into());
            date.or_else(far)
        }),
        FieldType::Uuid => {
            let is_uuid = |text: &&str| text.len() == 36 && Uuid::try_parse(text).is_ok();
            text(literal).filter(is_uuid).map(|text| uuid(form, text))
        }
        // Operators on these types take no value.
        FieldType::Json | FieldType::Binary => None,
    };
    let value = match literal {
        // A column of several types has other values, which are found as they are read.
        Literal::Integer(value) if is_mixed && ty == FieldType::Number => Some(Value::Integer(*value)),
        Literal::Boolean(_) => value,
        _ if is_mixed => value.or_else(|| Some(as_written(literal))),
        _ => value,
    };
    value.ok_or_else(|| (takes(Some(ty)), describe(literal)))
}

/// Converts the id of a request to the values of the id columns; `None` if no record can have it. `SPEC §2.9`, `SPEC §15`
pub(crate) fn key(columns: &[Column], id: RecordId<'_>) -> Option<Key> {
    let value = |column: &Column, text: &str| self::id(column.ty, column.time_form, text);
    if let [column] = columns {
        let value = match id {
            RecordId::Text(text) => value(column, text),
            RecordId::Segment(text) => value(column, &decode(text)?),
            RecordId::Parts([text]) => value(column, text),
            RecordId::Parts(_) => None,
        };
        return value.map(Key::from);
    }
    let texts: Vec<Cow<'_, str>> = match id {
        RecordId::Text(text) | RecordId::Segment(text) => {
            text.split(',').map(decode).collect::<Option<_>>()?
        }
        RecordId::Parts(parts) => parts.iter().map(Cow::from).collect(),
    };
    let is_complete = texts.len() == columns.len();
    is_complete.then(|| columns.iter().zip(&texts))?.map(|(column, text)| value(column, text)).collect()
}

/// Converts the text of an id field to a value of that type; `None` if no record can have it. Integers
/// are accepted in canonical form only, so that a record has one address. `SPEC §2.9`
pub(crate) fn id(ty: Option<FieldType>, form: Option<TimeForm>, text: &str) -> Option<Value> {
    let canonical =
        |text: &str| text.parse::<i64>().ok().filter(|value| itoa::Buffer::new().format(*value) == text);
    if let Some(TimeForm::Mixed { .. }) = form {
        // An id without a type is compared as text.
        let of_type = || id(ty, None, text);
        let number = || text.parse().ok().filter(|value| number_text(*value) == text).map(Value::Real);
        let found = ty.and_then(|_| of_type().or_else(number));
        return found.or_else(|| Some(text.into()));
    }
    match ty {
        None => Some(canonical(text).map_or_else(|| Value::Text(text.to_owned()), Value::Integer)),
        Some(FieldType::Integer) => canonical(text).map(Value::Integer),
        Some(FieldType::Bigint | FieldType::Unsigned) => {
            canonical(text).map(Value::Integer).or_else(|| large_text(text))
        }
        Some(FieldType::Number) => {
            let value = text.parse().ok().filter(|value| number_text(*value) == text);
            value.map(Value::Real)
        }
        Some(FieldType::Boolean) => text.parse().ok().map(Value::Boolean),
        Some(FieldType::Binary) => {
            let bytes = STANDARD.decode(text).ok();
            bytes.filter(|bytes| STANDARD.encode(bytes) == text).map(Value::Bytes)
        }
        Some(FieldType::Json) => None,
        Some(ty) => value(Some(ty), form, &Literal::Text(text.to_owned())).ok(),
    }
}

/// Returns a time in the form of its column. A column of several forms keeps the text, so that the same text is read again.
fn datetime(form: Option<TimeForm>, text: &str) -> Option<Value> {
    let time = Time::parse(text)?;
    match (form, text.get(..10), text.get(11..)) {
        (Some(TimeForm::Mixed { separator }), Some(day), Some(time)) => {
            Some(format!("{day}{separator}{time}").into())
        }
        (Some(TimeForm::Mixed { .. }), ..) => Some(text.into()),
        _ => Some(time.stored(form)),
    }
}

/// Returns a UUID in the form of its column.
fn uuid(form: Option<TimeForm>, text: &str) -> Value {
    match (form, Uuid::try_parse(text)) {
        (Some(TimeForm::UuidBytes), Ok(uuid)) => uuid.as_bytes().to_vec().into(),
        _ => text.into(),
    }
}

/// Returns the value of a literal whose type decides the comparison.
pub(super) fn as_written(literal: &Literal) -> Value {
    match literal {
        Literal::Boolean(value) => Value::Boolean(*value),
        Literal::Integer(value) => Value::Integer(*value),
        Literal::Unsigned(value) => Value::Real(*value as f64),
        Literal::Number(value) => Value::Real(*value),
        Literal::Text(value) => Value::Text(value.clone()),
    }
}

fn text(literal: &Literal) -> Option<&str> {
    match literal {
        Literal::Text(text) => Some(text),
        _ => None,
    }
}

/// Returns the value of a whole number that fits 64 bits, such as `1` or `1.0`. A float that [`is_exact`] does not accept may
/// have been rounded from another number.
fn integer(literal: &Literal) -> Option<i64> {
    match literal {
        Literal::Integer(value) => Some(*value),
        Literal::Number(value) => (value.fract() == 0.0 && is_exact(*value)).then_some(*value as i64),
        _ => None,
    }
}

/// Returns whether a number is so small that no other whole number has the same float.
pub(crate) fn is_exact(number: f64) -> bool {
    number.abs() < 2f64.powi(53)
}

/// Returns a number from 2⁶³ to 2⁶⁴−1 as text. The value of a column is such a text, too.
fn large(literal: &Literal) -> Option<Value> {
    match literal {
        Literal::Unsigned(value) => Some(Value::Text(value.to_string())),
        Literal::Text(text) => large_text(text),
        _ => None,
    }
}

fn large_text(text: &str) -> Option<Value> {
    let value = text.parse::<u64>().ok().filter(|value| i64::try_from(*value).is_err())?;
    (value.to_string() == text).then(|| text.into())
}

/// Converts numeric text to a number if that is exact, and to text otherwise.
fn decimal(text: &str) -> Option<Value> {
    if is_special_decimal(text) {
        return Some(text.into());
    }
    if !is_decimal(text) {
        return None;
    }
    if let Ok(value) = text.parse() {
        return Some(Value::Integer(value));
    }
    let is_exact = text.bytes().filter(u8::is_ascii_digit).count() <= EXACT_DIGITS;
    let real = text.parse().ok().filter(|_| is_exact).map(Value::Real);
    Some(real.unwrap_or_else(|| text.into()))
}

/// Describes the values that a field of that type takes.
pub(super) fn takes(ty: Option<FieldType>) -> &'static str {
    let Some(ty) = ty else { return "a scalar" };
    match ty {
        FieldType::String => "text",
        FieldType::Integer => "a 64-bit integer",
        FieldType::Bigint => "a 64-bit integer, as a number or as text",
        FieldType::Unsigned => "a 64-bit integer without a sign; beyond 2^63-1 as a number or as text",
        FieldType::Number => "a number",
        FieldType::Boolean => "true or false",
        FieldType::Datetime => "a time such as \"2024-05-01T12:30:00Z\"",
        FieldType::Date => "a day such as \"2024-05-01\"",
        FieldType::Uuid => "a UUID such as \"f81d4fae-7dec-11d0-a765-00a0c91e6bf6\"",
        FieldType::Decimal => "a decimal number, as a number or as text",
        FieldType::Json | FieldType::Binary => "no value",
    }
}

/// Describes a literal for messages, shortened.
pub(crate) fn describe(literal: &Literal) -> String {
    const MAX_CHARS: usize = 40;
    match literal {
        Literal::Boolean(value) => value.to_string(),
        Literal::Integer(value) => value.to_string(),
        Literal::Unsigned(value) => value.to_string(),
        Literal::Number(value) => serde_json::Value::from(*value).to_string(),
        Literal::Text(text) if text.chars().count() > MAX_CHARS => {
            format!("the text {:?}…", text.chars().take(MAX_CHARS).collect::<String>())
        }
        Literal::Text(text) => format!("the text {text:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(ty: FieldType, literal: impl Into<serde_json::Value>, expected: Option<Value>) {
        let literal = match literal.into() {
            serde_json::Value::Bool(value) => Literal::Boolean(value),
            serde_json::Value::String(value) => Literal::Text(value),
            number => {
                number.as_i64().map_or_else(|| Literal::Number(number.as_f64().unwrap()), Literal::Integer)
            }
        };
        assert_eq!(value(Some(ty), None, &literal).ok(), expected);
    }

    #[test]
    fn literals_convert_to_the_type_of_the_field() {
        check(FieldType::Integer, 1.0, Some(Value::Integer(1)));
        check(FieldType::Integer, 1.5, None);
        check(FieldType::Integer, "1", None);
        check(FieldType::Integer, 1e19, None);
        check(FieldType::Integer, -9_007_199_254_740_991.0, Some(Value::Integer(-9_007_199_254_740_991)));
        for rounded in
            ["9007199254740992.0", "9007199254740993.0", "-9007199254740993e0", "90071992547409930e-1"]
        {
            let number: serde_json::Value = serde_json::from_str(rounded).unwrap();
            check(FieldType::Integer, number.clone(), None);
            check(FieldType::Bigint, number, None);
        }
        check(FieldType::Bigint, "9007199254740993", Some(Value::Integer(9_007_199_254_740_993)));
        check(FieldType::Bigint, "x", None);
        check(FieldType::Decimal, "0.99", Some(Value::Real(0.99)));
        check(FieldType::Decimal, "1e5", None);
        let fraction = |digits| format!("0.{}", "1".repeat(digits));
        check(FieldType::Decimal, fraction(16_383), Some(fraction(16_383).into()));
        check(FieldType::Decimal, fraction(16_384), None);
        check(FieldType::Decimal, "1".repeat(131_073), None);
        check(FieldType::Decimal, "-Infinity", Some("-Infinity".into()));
        check(FieldType::Decimal, "nan", None);
        check(FieldType::Decimal, "123456789012345678901.5", Some("123456789012345678901.5".into()));
        check(FieldType::Number, 3, Some(Value::Real(3.0)));
        check(FieldType::Boolean, 1, None);
        check(FieldType::String, 1, None);
        check(FieldType::Date, "2024-02-30", None);
        check(FieldType::Datetime, "2024-02-29T10:00:00Z", Some("2024-02-29T10:00:00Z".into()));
        check(FieldType::Uuid, "f81d4fae-7dec-11d0-a765-00a0c91e6bf6x", None);
    }

    #[test]
    fn types_of_the_database_have_infinite_times_and_years_of_any_length() {
        let of = |ty, form, text: &str| value(Some(ty), form, &Literal::Text(text.to_owned())).is_ok();
        for date in ["infinity", "-infinity", "-000043-03-15", "+010000-02-29", "0000-12-31"] {
            assert!(of(FieldType::Date, Some(TimeForm::Extended), date), "{date}");
            assert!(!of(FieldType::Date, None, date) || date == "0000-12-31", "{date}");
        }
        assert!(of(FieldType::Datetime, Some(TimeForm::Extended), "+010000-01-01T00:00:00Z"));
        for none in ["+010001-02-29", "10000-01-01", "now", "Infinity", "+1-01-01"] {
            assert!(!of(FieldType::Date, Some(TimeForm::Extended), none), "{none}");
        }
    }

    #[test]
    fn ids_are_accepted_in_canonical_form_only() {
        let integer = Some(FieldType::Integer);
        assert_eq!(id(integer, None, "7"), Some(Value::Integer(7)));
        for text in ["07", "+7", " 7", "7.0", "seven", "", "9223372036854775808"] {
            assert_eq!(id(integer, None, text), None, "{text}");
        }
        assert_eq!(id(None, None, "7"), Some(Value::Integer(7)));
        assert_eq!(id(None, None, "x7"), Some("x7".into()));
        let binary = Some(FieldType::Binary);
        assert_eq!(id(binary, None, "AP8="), Some(vec![0u8, 255].into()));
        assert_eq!(id(binary, None, "AP8"), None, "only the form of responses is accepted");
    }
}
