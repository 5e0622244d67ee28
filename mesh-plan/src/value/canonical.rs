//! One form for values that are the same in responses: the law that what was read is found again, for columns that hold values
//! in several forms or of several types.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use mesh_schema::FieldType;
use uuid::Uuid;

use super::time::{self, Time};
use super::{Value, ValueRef};
use crate::value::number::number_text;

/// The number of decimal digits that a 64-bit float holds exactly.
pub(crate) const EXACT_DIGITS: usize = 15;
/// The number of digits of a decimal before its point, in PostgreSQL. Other databases take fewer.
const WHOLE_DIGITS_MAX: usize = 131_072;
/// The number of digits of a decimal after its point, in PostgreSQL. Other databases take fewer.
const FRACTION_DIGITS_MAX: usize = 16_383;

/// Returns a value of a field of type `ty` in a form that is the same for all values with the same meaning. Two values that
/// are written in the same way in a response, or that are different texts for the same time, number or UUID, become equal.
/// The form of a form is itself.
pub fn canonical(ty: Option<FieldType>, value: ValueRef<'_>) -> Value {
    use FieldType::{Bigint, Binary, Boolean, Date, Datetime, Decimal, Json, String, Uuid};
    match (ty, value) {
        (_, ValueRef::Null) => Value::Null,
        (_, ValueRef::Boolean(value)) => Value::Integer(value.into()),
        (Some(Binary), ValueRef::Text(bytes) | ValueRef::Bytes(bytes)) => Value::Bytes(bytes.to_vec()),
        (Some(Uuid), ValueRef::Bytes(bytes)) => match <[u8; 16]>::try_from(bytes) {
            Ok(bytes) => uuid::Uuid::from_bytes(bytes).to_string().into(),
            Err(_) => STANDARD.encode(bytes).into(),
        },
        (_, ValueRef::Bytes(bytes)) => STANDARD.encode(bytes).into(),
        (_, ValueRef::Text(text)) => of_text(ty, std::string::String::from_utf8_lossy(text)),
        (Some(String | Uuid), ValueRef::Integer(value)) => value.to_string().into(),
        (Some(String | Uuid), ValueRef::Real(value)) => number_text(value).into(),
        (Some(Bigint | Decimal | Json | Boolean), ValueRef::Real(value)) => whole(value),
        (Some(Datetime), ValueRef::Integer(_) | ValueRef::Real(_)) => {
            let text = time::from_number(None, number(value));
            text.map_or_else(|| value.to_value(), |text| of_text(ty, text.into()))
        }
        (Some(Date), ValueRef::Integer(_) | ValueRef::Real(_)) => {
            time::day_from_number(None, number(value)).map_or_else(|| value.to_value(), Value::from)
        }
        (_, value) => value.to_value(),
    }
}

fn number(value: ValueRef<'_>) -> f64 {
    match value {
        ValueRef::Integer(value) => value as f64,
        ValueRef::Real(value) => value,
        _ => f64::NAN,
    }
}

/// Returns a whole number as an integer if that is exact.
pub(crate) fn whole(value: f64) -> Value {
    let fits = value.fract() == 0.0 && (-(2f64.powi(63))..2f64.powi(63)).contains(&value);
    if fits { Value::Integer(value as i64) } else { Value::Real(value) }
}

fn of_text(ty: Option<FieldType>, text: Cow<'_, str>) -> Value {
    let other = match ty {
        Some(FieldType::Datetime) => {
            Time::parse(&text).map(Time::canonical).or_else(|| with_separator(&text))
        }
        Some(FieldType::Date) => with_separator(&text),
        Some(FieldType::Uuid) if text.len() == 36 => {
            Uuid::try_parse(&text).ok().map(|uuid| uuid.to_string().into())
        }
        Some(FieldType::Boolean) => match &*text {
            "0" | "false" => Some(Value::Integer(0)),
            "1" | "true" => Some(Value::Integer(1)),
            _ => None,
        },
        Some(FieldType::Bigint) => text.parse().ok().map(Value::Integer),
        Some(FieldType::Decimal) => decimal(&text),
        _ => None,
    };
    other.unwrap_or_else(|| Value::Text(text.into_owned()))
}

/// Returns text that begins like a time with a blank as responses have it.
fn with_separator(text: &str) -> Option<Value> {
    let (day, time) = text.split_at_checked(10)?;
    time.strip_prefix(' ').map(|time| format!("{day}T{time}").into())
}

/// Returns the number of a decimal text if a number holds it exactly, or if it is the text of the number in responses. Other
/// decimals lose the zeros at their ends.
fn decimal(text: &str) -> Option<Value> {
    if !is_decimal(text) {
        return None;
    }
    let plain = match text.split_once('.') {
        Some((integer, fraction)) => match fraction.trim_end_matches('0') {
            "" => Cow::Borrowed(integer),
            fraction => Cow::Owned(format!("{integer}.{fraction}")),
        },
        None => Cow::Borrowed(text),
    };
    if let Ok(value) = plain.parse() {
        return Some(Value::Integer(value));
    }
    let is_exact = |value: &f64| {
        plain.bytes().filter(u8::is_ascii_digit).count() <= EXACT_DIGITS || value.to_string() == plain
    };
    let real = plain.parse().ok().filter(is_exact).map(whole);
    Some(real.unwrap_or_else(|| Value::Text(plain.into_owned())))
}

/// Returns whether a text is a number without exponent, with no more digits than any database takes.
pub(crate) fn is_decimal(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
    [(whole, WHOLE_DIGITS_MAX), (fraction, FRACTION_DIGITS_MAX)]
        .iter()
        .all(|(part, max)| (1..=*max).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn same(ty: FieldType, values: &[Value]) {
        for value in values {
            let form = canonical(Some(ty), value.as_ref());
            assert_eq!(form, canonical(Some(ty), values[0].as_ref()), "{ty:?} {value:?}");
            assert_eq!(canonical(Some(ty), form.as_ref()), form, "{ty:?} {value:?}: the form of the form");
        }
    }

    #[test]
    fn values_with_the_same_meaning_have_the_same_form() {
        same(
            FieldType::Datetime,
            &[
                "2024-05-01T12:30:00Z".into(),
                "2024-05-01 12:30:00.000000".into(),
                "2024-05-01 14:30+02:00".into(),
                1_714_566_600.into(),
                1_714_566_600_000_i64.into(),
                1_714_566_600.0.into(),
            ],
        );
        same(FieldType::Date, &["2024-05-01".into(), 1_714_566_600.into()]);
        let uuid = "f47ac10b-58cc-4372-a567-0e02b2c3d479";
        let bytes = Uuid::try_parse(uuid).unwrap().as_bytes().to_vec();
        same(FieldType::Uuid, &[uuid.into(), uuid.to_uppercase().into(), bytes.into()]);
        same(FieldType::Boolean, &[true.into(), 1.into(), 1.0.into(), "1".into(), "true".into()]);
        same(FieldType::Decimal, &[1.5.into(), "1.5".into(), "1.50".into()]);
        same(FieldType::Decimal, &[2.into(), 2.0.into(), "2.00".into()]);
        same(FieldType::Decimal, &["12345678901234567890.10".into(), "12345678901234567890.1".into()]);
        same(FieldType::Decimal, &[(0.1 + 0.2).into(), (0.1f64 + 0.2).to_string().into()]);
        same(FieldType::Bigint, &[7.into(), 7.0.into(), "7".into()]);
        same(FieldType::String, &[7.into(), "7".into()]);
        same(FieldType::String, &["YQ==".into(), vec![b'a'].into()]);
        same(FieldType::Integer, &["n/a".into(), "n/a".into()]);
        let invalid = ValueRef::Text(b"caf\xe9");
        assert_eq!(canonical(Some(FieldType::String), invalid), "caf\u{fffd}".into());
    }
}
