//! Comparison of values with the matchers of cases, which yields a list of differences with their paths.
//!
//! JSON matches itself: numbers by value, objects regardless of the order of their members. An object whose only key
//! begins with `@` is a matcher of another kind; [`KINDS`] names them.

use serde_json::Value;

/// The kinds of matchers with their descriptions.
pub const KINDS: &[(&str, &str)] = &[
    ("@any", "any value"),
    (
        "@type",
        "a value of the given type: string, number, integer, boolean, array, object, null; or of one type of a list",
    ),
    ("@subset", "an object with at least these members"),
    ("@absent", "no value: the member or header must be absent"),
    ("@anyOf", "one of these matchers"),
    ("@allOf", "all of these matchers"),
    ("@not", "any value that does not match the argument"),
    ("@each", "a list whose items all match the argument"),
    ("@length", "a list or text of the given length"),
    ("@atLeast", "a number of at least the argument"),
    ("@unordered", "a list with these items in any order"),
    ("@keys", "an object with these members in this order"),
    (
        "@contains",
        "a text that contains the argument, or each text of a list, ignoring case; alternatives are separated by |",
    ),
    ("@lacks", "a text that contains none of these, ignoring case"),
    ("@prefix", "a text that begins with the argument"),
    ("@list", "a comma-separated list with at least these members, ignoring case"),
    (
        "@form",
        "a text of the named form: cursor, etag, hex64, queryId, requestId, seconds, storageKey, token",
    ),
    ("@media", "this media type, with at least these parameters, ignoring case and blanks"),
    ("@time", "this time, with or without a zone of UTC and a fraction of zero"),
    ("@decimal", "this decimal number as text, whatever its trailing zeros"),
    ("@near", "a number that differs by less than a millionth"),
];

/// Returns one line for each difference.
#[must_use]
pub fn differences(expected: &Value, got: Option<&Value>) -> Vec<String> {
    let mut out = Vec::new();
    compare(expected, got, "", &mut out);
    out
}

fn compare(expected: &Value, got: Option<&Value>, place: &str, out: &mut Vec<String>) {
    if let Some((kind, argument)) = matcher(expected) {
        return special(kind, argument, got, place, out);
    }
    let Some(got) = got else {
        return out.push(format!("{}: missing, expected {}", shown(place), brief(expected)));
    };
    match (expected, got) {
        (Value::Object(members), Value::Object(found)) => {
            for (key, member) in members {
                compare(member, found.get(key), &format!("{place}.{key}"), out);
            }
            for key in found.keys().filter(|key| !members.contains_key(*key)) {
                out.push(format!("{}: unexpected member '{key}'", shown(place)));
            }
        }
        (Value::Array(items), Value::Array(found)) => list(items, found, place, out),
        _ if same(expected, got) => {}
        _ => out.push(format!("{}: {} expected, got {}", shown(place), brief(expected), brief(got))),
    }
}

fn list(items: &[Value], found: &[Value], place: &str, out: &mut Vec<String>) {
    if items.len() != found.len() {
        let what = format!("{} items expected, got {}", items.len(), found.len());
        out.push(format!("{}: {what}: {}", shown(place), brief(&Value::Array(found.to_vec()))));
    }
    for (index, (item, found)) in items.iter().zip(found).enumerate() {
        compare(item, Some(found), &format!("{place}[{index}]"), out);
    }
}

/// Returns kind and argument if an object is a matcher.
fn matcher(expected: &Value) -> Option<(&str, &Value)> {
    let members = expected.as_object().filter(|members| members.len() == 1)?;
    members.iter().next().filter(|(key, _)| key.starts_with('@')).map(|(key, value)| (key.as_str(), value))
}

fn special(kind: &str, argument: &Value, got: Option<&Value>, place: &str, out: &mut Vec<String>) {
    if kind == "@absent" {
        if let Some(got) = got {
            out.push(format!("{}: expected to be absent, got {}", shown(place), brief(got)));
        }
        return;
    }
    let Some(got) = got else { return out.push(format!("{}: missing", shown(place))) };
    let mut inner = Vec::new();
    let good = match kind {
        "@any" => true,
        "@subset" => {
            match (argument, got) {
                (Value::Object(members), Value::Object(found)) => {
                    for (key, member) in members {
                        compare(member, found.get(key), &format!("{place}.{key}"), &mut inner);
                    }
                }
                _ => inner.push(format!("{}: an object expected, got {}", shown(place), brief(got))),
            }
            out.append(&mut inner);
            true
        }
        "@allOf" => {
            items(argument).iter().for_each(|one| compare(one, Some(got), place, out));
            true
        }
        "@each" => {
            let Some(found) = got.as_array() else {
                return out.push(format!("{}: a list expected, got {}", shown(place), brief(got)));
            };
            for (index, item) in found.iter().enumerate() {
                compare(argument, Some(item), &format!("{place}[{index}]"), out);
            }
            true
        }
        "@unordered" => return unordered(items(argument), got, place, out),
        _ => holds(kind, argument, got),
    };
    if !good {
        out.push(format!("{}: {kind} {} expected, got {}", shown(place), brief(argument), brief(got)));
    }
}

/// Evaluates the matchers that have no differences of their own to report.
fn holds(kind: &str, argument: &Value, got: &Value) -> bool {
    let text = got.as_str();
    let words = || match argument {
        Value::Array(words) => words.iter().filter_map(Value::as_str).collect(),
        one => vec![one.as_str().unwrap_or_default()],
    };
    let has = |text: &str, word: &str| text.to_lowercase().contains(&word.to_lowercase());
    match kind {
        "@type" => words().iter().any(|kind| is(kind, got)),
        "@anyOf" => items(argument).iter().any(|one| differences(one, Some(got)).is_empty()),
        "@not" => !differences(argument, Some(got)).is_empty(),
        "@length" => {
            let length = got.as_array().map(Vec::len).or_else(|| text.map(|text| text.chars().count()));
            length.map(|length| length as u64) == argument.as_u64()
        }
        "@atLeast" => got.as_f64() >= argument.as_f64() && got.is_number(),
        "@keys" => {
            let keys: Vec<&str> =
                got.as_object().into_iter().flat_map(|all| all.keys().map(String::as_str)).collect();
            keys == words()
        }
        "@contains" => {
            text.is_some_and(|text| words().iter().all(|word| word.split('|').any(|word| has(text, word))))
        }
        "@lacks" => text.is_some_and(|text| !words().iter().any(|word| has(text, word))),
        "@prefix" => text.is_some_and(|text| words().iter().any(|word| text.starts_with(word))),
        "@list" => text.is_some_and(|text| {
            words().iter().all(|word| text.split(',').any(|member| member.trim().eq_ignore_ascii_case(word)))
        }),
        "@form" => text.is_some_and(|text| words().iter().all(|name| has_form(name, text))),
        "@media" => text.is_some_and(|text| {
            let got = media(text);
            words().iter().flat_map(|word| media(word)).all(|part| got.contains(&part))
        }),
        "@time" => text.is_some_and(|text| words().iter().all(|word| instant(word) == instant(text))),
        "@decimal" => text.is_some_and(|text| words().iter().all(|word| decimal(word) == decimal(text))),
        "@near" => match (got.as_f64(), argument.as_f64()) {
            (Some(got), Some(expected)) => (got - expected).abs() <= expected.abs().max(1.0) * 1e-6,
            _ => false,
        },
        _ => false,
    }
}

/// Splits a media type into the type and its parameters, each without quotes, blanks and upper case.
fn media(text: &str) -> Vec<String> {
    text.split(';').map(|part| part.replace(['"', ' '], "").to_lowercase()).collect()
}

/// Returns a time without what does not change it.
fn instant(text: &str) -> &str {
    let text = text.trim_end_matches("+00:00").trim_end_matches('Z');
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text }
}

/// Returns a decimal number without the zeros at its end.
fn decimal(text: &str) -> &str {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text }
}

fn unordered(expected: &[Value], got: &Value, place: &str, out: &mut Vec<String>) {
    let mut left: Vec<&Value> = items(got).iter().collect();
    for one in expected {
        match left.iter().position(|item| differences(one, Some(item)).is_empty()) {
            Some(index) => drop(left.swap_remove(index)),
            None => out.push(format!("{}: no item {}", shown(place), brief(one))),
        }
    }
    if !got.is_array() || !left.is_empty() {
        out.push(format!("{}: {} items expected, got {}", shown(place), expected.len(), brief(got)));
    }
}

fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn is(kind: &str, value: &Value) -> bool {
    match kind {
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "null" => value.is_null(),
        _ => false,
    }
}

/// Returns whether a text has the named form.
fn has_form(name: &str, text: &str) -> bool {
    let all = |text: &str, ok: fn(u8) -> bool| !text.is_empty() && text.bytes().all(ok);
    let hex = |text: &str| all(text, |byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
    match name {
        "cursor" => all(text, |byte| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte)),
        "etag" => {
            let inner = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
            inner.is_some_and(|inner| !inner.is_empty() && !inner.contains('"'))
        }
        "hex64" => text.len() == 64 && hex(text),
        "queryId" => text.strip_prefix("q_").is_some_and(|id| id.len() == 32 && hex(id)),
        "seconds" => all(text, |byte| byte.is_ascii_digit()),
        "requestId" => text.len() <= 128 && all(text, |byte| byte.is_ascii_graphic()),
        "storageKey" => match text.strip_prefix("sha256/").and_then(|rest| rest.split_once('/')) {
            Some((two, rest)) => two.len() == 2 && rest.len() == 62 && hex(two) && hex(rest),
            None => false,
        },
        "token" => text
            .strip_prefix("tok_")
            .is_some_and(|rest| all(rest, |byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))),
        _ => false,
    }
}

fn same(expected: &Value, got: &Value) -> bool {
    match (expected, got) {
        (Value::Number(a), Value::Number(b)) => {
            a == b || (a.as_f64() == b.as_f64() && (a.is_f64() || b.is_f64()))
        }
        _ => expected == got,
    }
}

fn shown(place: &str) -> &str {
    if place.is_empty() { "the value" } else { place.trim_start_matches('.') }
}

/// Formats JSON, truncated to fit in a line.
#[must_use]
pub fn brief(value: &Value) -> String {
    const LENGTH_MAX: usize = 300;
    let text = value.to_string();
    if text.chars().count() <= LENGTH_MAX {
        text
    } else {
        text.chars().take(LENGTH_MAX).chain(['…']).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(expected: &Value, good: &[Value], bad: &[Value]) {
        for got in good {
            assert_eq!(differences(expected, Some(got)), Vec::<String>::new(), "{got}");
        }
        for got in bad {
            assert!(!differences(expected, Some(got)).is_empty(), "{expected} matches {got}");
        }
    }

    #[test]
    fn json_matches_itself_and_nothing_more() {
        check(
            &json!({"a": [1, {"b": null}]}),
            &[json!({"a": [1.0, {"b": null}]})],
            &[
                json!({}),
                json!({"a": [1, {"b": null}], "c": 1}),
                json!({"a": [1]}),
                json!({"a": [1, {}]}),
                json!(null),
            ],
        );
        check(&json!(9_007_199_254_740_993_i64), &[], &[json!(9_007_199_254_740_992_i64)]);
        assert!(!differences(&json!({"a": 1}), None).is_empty());
    }

    #[test]
    fn every_kind_accepts_a_match_and_rejects_a_mismatch() {
        let table: &[(Value, Value, Value)] = &[
            (json!({"@any": true}), json!(null), json!(null)),
            (json!({"@type": ["string", "null"]}), json!(null), json!(1)),
            (json!({"@subset": {"a": 1}}), json!({"a": 1, "b": 2}), json!({"b": 2})),
            (json!({"a": {"@absent": true}}), json!({}), json!({"a": null})),
            (json!({"@anyOf": [1, 2]}), json!(2), json!(3)),
            (json!({"@allOf": [{"@type": "string"}, {"@length": 2}]}), json!("ab"), json!("abc")),
            (json!({"@not": "x"}), json!("y"), json!("x")),
            (json!({"@each": {"@type": "integer"}}), json!([1, 2]), json!([1, "2"])),
            (json!({"@length": 2}), json!([1, 2]), json!([1])),
            (json!({"@atLeast": 2}), json!(2.5), json!(1)),
            (json!({"@unordered": [1, 2]}), json!([2, 1]), json!([2, 1, 1])),
            (json!({"@keys": ["b", "a"]}), json!({"b": 1, "a": 1}), json!({"a": 1, "b": 1})),
            (json!({"@contains": ["Field|Name", "x"]}), json!("name x"), json!("field y")),
            (json!({"@lacks": ["select "]}), json!("fine"), json!("SELECT 1")),
            (json!({"@prefix": "ab"}), json!("abc"), json!("cab")),
            (json!({"@list": ["GET", "HEAD"]}), json!("head, GET, PUT"), json!("GET")),
            (json!({"@form": "etag"}), json!("\"a\""), json!("W/\"a\"")),
            (json!({"@form": "queryId"}), json!("q_0123456789abcdef0123456789abcdef"), json!("q_1")),
            (
                json!({"@media": "text/html; charset=utf-8"}),
                json!("Text/HTML;charset=\"UTF-8\"; a=b"),
                json!("text/html; charset=latin1"),
            ),
            (
                json!({"@time": "2024-01-01T00:00:10"}),
                json!("2024-01-01T00:00:10.000Z"),
                json!("2024-01-01T00:00:01"),
            ),
            (json!({"@decimal": "-10.5"}), json!("-10.500"), json!("-10.05")),
            (json!({"@form": "seconds"}), json!("12"), json!("soon")),
            (json!({"@near": 0.5}), json!(0.500_000_01), json!(0.51)),
        ];
        for (expected, good, bad) in table {
            let never = expected.get("@any").is_some();
            check(expected, std::slice::from_ref(good), if never { &[] } else { std::slice::from_ref(bad) });
        }
        for (kind, _) in KINDS {
            assert!(table.iter().any(|(expected, ..)| expected.to_string().contains(kind)), "{kind}");
        }
    }
}
