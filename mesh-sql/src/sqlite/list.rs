//! Lists of values in one parameter. SQLite has no parameters for lists, but reads JSON arrays. JSON has no bytes, so the elements
//! are texts with a letter for their type, except for numbers.

use std::ops::Deref;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use mesh_plan::{Value, ValueRef};

/// Returns a list as a JSON array.
pub(super) fn array(values: impl Iterator<Item = impl Deref<Target = Value>>) -> Value {
    let values = values.map(|value| match &*value {
        Value::Null => serde_json::Value::Null,
        Value::Boolean(value) => serde_json::Value::from(i64::from(*value)),
        Value::Integer(value) => (*value).into(),
        Value::Real(value) => (*value).into(),
        // SQLite ends texts of JSON at the character NUL.
        Value::Text(text) if !text.contains('\0') => format!("t{text}").into(),
        Value::Text(text) => format!("r{}", STANDARD.encode(text)).into(),
        Value::InvalidText(text) => format!("r{}", STANDARD.encode(text)).into(),
        Value::Bytes(bytes) => format!("b{}", STANDARD.encode(bytes)).into(),
    });
    serde_json::Value::Array(values.collect()).to_string().into()
}

/// Returns the value of an element. Back ends call this in the function [`super::functions::ELEMENT`].
pub fn element(element: ValueRef<'_>) -> Value {
    let ValueRef::Text(text) = element else { return element.to_value() };
    match text.split_first() {
        Some((b't', text)) => ValueRef::Text(text).to_value(),
        Some((b'r', text)) => ValueRef::Text(&STANDARD.decode(text).unwrap_or_default()).to_value(),
        Some((_, bytes)) => Value::Bytes(STANDARD.decode(bytes).unwrap_or_default()),
        None => Value::Null,
    }
}

/// Returns the values of a list, which is the JSON array of a parameter.
pub fn elements(array: &str) -> Vec<Value> {
    let elements: Vec<serde_json::Value> = serde_json::from_str(array).unwrap_or_default();
    let values = elements.into_iter().map(|value| match value {
        serde_json::Value::String(text) => element(ValueRef::Text(text.as_bytes())),
        serde_json::Value::Number(number) => match number.as_i64() {
            Some(value) => Value::Integer(value),
            None => number.as_f64().map_or(Value::Null, Value::Real),
        },
        _ => Value::Null,
    });
    values.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_the_values_of_their_list() {
        let values = [
            Value::Null,
            i64::MAX.into(),
            0.5.into(),
            "".into(),
            "t \" é".into(),
            "a\0b".into(),
            Value::InvalidText(vec![b'a', 0xe9]),
            vec![0u8, 255].into(),
        ];
        let Value::Text(array) = array(values.iter()) else { panic!() };
        assert_eq!(elements(&array), values);
    }
}
