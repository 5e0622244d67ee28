//! Lookup of claims by name.

use serde_json::{Map, Value};

/// Returns the claim with a name. The name is that of a member, dots included. Without such a member, it is a path of
/// members, such as `realm_access.roles`; of several possible paths, the one with the longest first member is used.
pub(super) fn find<'v>(members: &'v Map<String, Value>, name: &str) -> Option<&'v Value> {
    if let Some(value) = members.get(name) {
        return Some(value);
    }
    name.rmatch_indices('.').find_map(|(at, _)| {
        let (first, rest) = (name.get(..at)?, name.get(at + 1..)?);
        find(members.get(first)?.as_object()?, rest)
    })
}

/// Returns a claim as text, if it is a non-empty text or a whole number.
pub(super) fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Number(number) if number.is_i64() || number.is_u64() => Some(number.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_are_members_or_paths() {
        let claims = json!({
            "role": "a",
            "realm_access": {"roles": ["b"]},
            "https://example.com/role": "c",
            "https://example.com/app": {"role": "d", "x.y": {"z": "e"}},
            "a.b": {"c": "f"}, "a": {"b.c": "g", "b": {"c": "h", "d": "i"}},
        });
        let find = |name| find(claims.as_object().unwrap(), name).cloned();
        for (name, expected) in [
            ("role", json!("a")),
            ("realm_access.roles", json!(["b"])),
            ("https://example.com/role", json!("c")),
            ("https://example.com/app.role", json!("d")),
            ("https://example.com/app.x.y.z", json!("e")),
            ("a.b.c", json!("f")),
            ("a.b.d", json!("i")),
        ] {
            assert_eq!(find(name), Some(expected), "{name}");
        }
        for name in
            ["roles", "role.x", "realm_access", "", ".", "realm_access.", ".role", "realm_access..roles"]
        {
            assert_eq!(find(name).filter(|value| !value.is_object()), None, "{name}");
        }
    }

    #[test]
    fn texts_and_whole_numbers_are_texts() {
        assert_eq!(text(&json!("x")).as_deref(), Some("x"));
        assert_eq!(text(&json!(u64::MAX)).as_deref(), Some("18446744073709551615"));
        for value in [json!(""), json!(1.5), json!(true), json!(null), json!(["x"]), json!({})] {
            assert_eq!(text(&value), None, "{value}");
        }
    }
}
