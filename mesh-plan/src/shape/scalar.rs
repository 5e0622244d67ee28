//! Text of scalars in responses. `SPEC §5.5`
//!
//! A cell that does not fit its field's type, which SQLite allows, is written by the type of the cell.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use mesh_schema::{FieldType, TimeForm};
use uuid::Uuid;

use super::json;
use crate::value::json::JsonPointer;
use crate::value::number::without_fraction;
use crate::value::time;
use crate::{Value, ValueRef};

/// Writes a cell as JSON. The most frequent types are tested first.
#[inline]
pub(super) fn write(out: &mut Vec<u8>, ty: Option<FieldType>, form: Option<TimeForm>, cell: ValueRef<'_>) {
    match (ty, cell) {
        (_, ValueRef::Text(text)) => write_text_cell(out, ty, text),
        (Some(FieldType::Integer | FieldType::Unsigned), ValueRef::Integer(value)) => {
            out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
        }
        _ => write_other(out, ty, form, cell),
    }
}

/// Writes the value at a location in the JSON document of a cell; `null` if there is none. `SPEC §22.1`
pub(super) fn write_part(out: &mut Vec<u8>, cell: ValueRef<'_>, at: &JsonPointer) {
    match cell {
        ValueRef::Text(text) => out.extend_from_slice(at.part(text).unwrap_or("null").as_bytes()),
        cell if at.tokens().is_empty() => write_other(out, Some(FieldType::Json), None, cell),
        _ => out.extend_from_slice(b"null"),
    }
}

/// Returns the text of a cell if it is written unchanged as a JSON string.
pub(super) fn plain_text(ty: Option<FieldType>, cell: ValueRef<'_>) -> Option<&[u8]> {
    use FieldType::{Binary, Boolean, Date, Datetime, Json};
    match cell {
        ValueRef::Text(text) if !matches!(ty, Some(Json | Datetime | Date | Boolean | Binary)) => Some(text),
        _ => None,
    }
}

fn write_text_cell(out: &mut Vec<u8>, ty: Option<FieldType>, text: &[u8]) {
    match ty {
        Some(FieldType::Json) if is_json(text) => out.extend_from_slice(text),
        Some(FieldType::Datetime | FieldType::Date) => write_time(out, text),
        Some(FieldType::Boolean) => match text {
            b"1" | b"true" => write_boolean(out, true),
            b"0" | b"false" => write_boolean(out, false),
            _ => json::write_bytes(out, text),
        },
        Some(FieldType::Binary) => json::write_str(out, &STANDARD.encode(text)),
        _ => json::write_bytes(out, text),
    }
}

fn write_other(out: &mut Vec<u8>, ty: Option<FieldType>, form: Option<TimeForm>, cell: ValueRef<'_>) {
    match cell {
        ValueRef::Null => out.extend_from_slice(b"null"),
        ValueRef::Boolean(value) => write_boolean(out, value),
        ValueRef::Integer(value @ (0 | 1)) if ty == Some(FieldType::Boolean) => {
            write_boolean(out, value == 1);
        }
        ValueRef::Integer(value) => {
            write_number(out, ty, form, value as f64, itoa::Buffer::new().format(value));
        }
        ValueRef::Real(value) if ty == Some(FieldType::Boolean) && [0.0, 1.0].contains(&value) => {
            write_boolean(out, value == 1.0);
        }
        ValueRef::Real(value) if value.is_finite() => {
            let mut buffer = zmij::Buffer::new();
            write_number(out, ty, form, value, without_fraction(buffer.format(value)));
        }
        ValueRef::Real(_) => out.extend_from_slice(b"null"),
        ValueRef::Bytes(bytes) => match Uuid::from_slice(bytes) {
            Ok(uuid) if ty == Some(FieldType::Uuid) => json::write_str(out, &uuid.to_string()),
            _ => json::write_str(out, &STANDARD.encode(bytes)),
        },
        ValueRef::Text(text) => write_text_cell(out, ty, text),
    }
}

/// Writes a number. `text` is the shortest text that parses to it.
fn write_number(out: &mut Vec<u8>, ty: Option<FieldType>, form: Option<TimeForm>, value: f64, text: &str) {
    use FieldType::{Bigint, Date, Datetime, Decimal, String, Uuid};
    let quoted = match ty {
        Some(Datetime) => time::from_number(form, value).map(Cow::Owned),
        Some(Date) => time::day_from_number(form, value).map(Cow::Owned),
        // Conditions take decimals without an exponent.
        Some(Decimal) if text.contains('e') => Some(Cow::Owned(value.to_string())),
        Some(Bigint | Decimal | String | Uuid) => Some(Cow::Borrowed(text)),
        _ => None,
    };
    match quoted {
        Some(text) => json::write_str(out, &text),
        None => out.extend_from_slice(text.as_bytes()),
    }
}

/// Writes a cell as plain text without quotes. NULL is written as empty text.
pub(crate) fn write_text(
    out: &mut Vec<u8>,
    ty: Option<FieldType>,
    form: Option<TimeForm>,
    cell: ValueRef<'_>,
) {
    match cell {
        ValueRef::Null => {}
        ValueRef::Text(text)
            if !matches!(
                ty,
                Some(FieldType::Boolean | FieldType::Datetime | FieldType::Date | FieldType::Binary)
            ) =>
        {
            out.extend_from_slice(text);
        }
        _ => {
            let start = out.len();
            write(out, ty, form, cell);
            if out.get(start) == Some(&b'"') {
                out.remove(start);
                out.pop();
            }
        }
    }
}

/// Returns a cell as a function of the application reads it, which does not depend on how a database stores it.
pub(super) fn to_input(ty: Option<FieldType>, form: Option<TimeForm>, cell: ValueRef<'_>) -> Value {
    let shown = || {
        let mut text = Vec::new();
        write_text(&mut text, ty, form, cell);
        text
    };
    match (ty, cell) {
        (_, ValueRef::Null) => Value::Null,
        (Some(FieldType::Boolean), _) => match &shown()[..] {
            b"true" => Value::Boolean(true),
            b"false" => Value::Boolean(false),
            _ => cell.to_value(),
        },
        (Some(FieldType::Datetime | FieldType::Date), _) => Value::from_text(shown()),
        _ => cell.to_value(),
    }
}

fn write_boolean(out: &mut Vec<u8>, value: bool) {
    out.extend_from_slice(if value { b"true" } else { b"false" });
}

/// Writes a stored time, with `T` instead of a space between date and time.
fn write_time(out: &mut Vec<u8>, text: &[u8]) {
    const SEPARATOR: usize = 10;
    if text.get(SEPARATOR) != Some(&b' ') {
        return json::write_bytes(out, text);
    }
    let start = out.len() + 1;
    json::write_bytes(out, text);
    // A date has no escapes. If a character was escaped, the text is not a time.
    if let Some(byte) = out.get_mut(start + SEPARATOR).filter(|byte| **byte == b' ') {
        *byte = b'T';
    }
}

fn is_json(text: &[u8]) -> bool {
    serde_json::from_slice::<serde::de::IgnoredAny>(text).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(ty: FieldType, cell: ValueRef<'_>, expected: &str) {
        let mut out = Vec::new();
        write(&mut out, Some(ty), None, cell);
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn functions_read_the_same_value_from_each_storage() {
        let input = |ty, cell| to_input(Some(ty), None, cell);
        for stored in [ValueRef::Integer(1), ValueRef::Boolean(true), ValueRef::Text(b"true")] {
            assert_eq!(input(FieldType::Boolean, stored), Value::Boolean(true));
        }
        assert_eq!(input(FieldType::Boolean, ValueRef::Integer(7)), Value::Integer(7));
        assert_eq!(input(FieldType::Boolean, ValueRef::Null), Value::Null);
        for stored in [&b"2024-05-01 10:00:00"[..], b"2024-05-01T10:00:00"] {
            let text = Value::Text("2024-05-01T10:00:00".to_owned());
            assert_eq!(input(FieldType::Datetime, ValueRef::Text(stored)), text);
        }
        assert_eq!(input(FieldType::Date, ValueRef::Integer(-1)), Value::Text("1969-12-31".to_owned()));
    }

    #[test]
    fn scalars_are_written_by_the_type_of_their_field() {
        check(FieldType::Boolean, ValueRef::Integer(1), "true");
        check(FieldType::Boolean, ValueRef::Integer(7), "7");
        check(FieldType::Boolean, ValueRef::Real(1.0), "true");
        check(FieldType::Boolean, ValueRef::Real(-0.0), "false");
        check(FieldType::Boolean, ValueRef::Real(0.5), "0.5");
        check(FieldType::Boolean, ValueRef::Text(b"0"), "false");
        check(FieldType::Boolean, ValueRef::Text(b"true"), "true");
        check(FieldType::Boolean, ValueRef::Text(b"maybe"), r#""maybe""#);
        check(FieldType::Date, ValueRef::Integer(86_399), r#""1970-01-01""#);
        check(FieldType::Date, ValueRef::Integer(-1), r#""1969-12-31""#);
        check(FieldType::Date, ValueRef::Real(1_714_566_600_250.0), r#""2024-05-01""#);
        check(FieldType::Bigint, ValueRef::Integer(i64::MAX), r#""9223372036854775807""#);
        check(FieldType::Integer, ValueRef::Integer(i64::MIN), "-9223372036854775808");
        check(FieldType::Number, ValueRef::Real(1.0), "1");
        check(FieldType::Number, ValueRef::Real(0.1), "0.1");
        check(FieldType::Number, ValueRef::Real(-0.0), "-0");
        check(FieldType::Number, ValueRef::Real(f64::NAN), "null");
        check(FieldType::Number, ValueRef::Real(f64::INFINITY), "null");
        check(FieldType::Number, ValueRef::Text(b"n/a"), r#""n/a""#);
        check(FieldType::Decimal, ValueRef::Real(0.99), r#""0.99""#);
        check(FieldType::Datetime, ValueRef::Text(b"2024-05-01 10:00:00"), r#""2024-05-01T10:00:00""#);
        check(FieldType::Datetime, ValueRef::Integer(86_400), r#""1970-01-02T00:00:00Z""#);
        check(FieldType::Json, ValueRef::Text(br#"{"a": [1]}"#), r#"{"a": [1]}"#);
        check(FieldType::Json, ValueRef::Text(b"{broken"), r#""{broken""#);
        check(FieldType::Binary, ValueRef::Bytes(&[0, 255]), r#""AP8=""#);
        check(FieldType::String, ValueRef::Text(b"a\"\\\n\x01\xc3\xa9"), r#""a\"\\\n\u0001é""#);
        check(FieldType::String, ValueRef::Text(b"\xff"), "\"\u{fffd}\"");
        check(FieldType::Uuid, ValueRef::Bytes(&[0xab; 16]), r#""abababab-abab-abab-abab-abababababab""#);
    }
}
