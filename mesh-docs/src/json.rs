//! Helpers that set members of JSON objects.

use serde_json::Value;

/// Sets a member of an object.
pub(crate) fn set(object: &mut Value, name: &str, value: impl Into<Value>) {
    if let Some(members) = object.as_object_mut() {
        members.insert(name.to_owned(), value.into());
    }
}

/// Sets a member of an object if there is a value.
pub(crate) fn set_some(object: &mut Value, name: &str, value: Option<impl Into<Value>>) {
    if let Some(value) = value {
        set(object, name, value);
    }
}
