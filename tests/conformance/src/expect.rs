//! Comparison of a response with the expectations of a step.

use serde_json::{Map, Value, json};

use crate::case::{ErrorBody, Expect};
use crate::encoding;
use crate::expression::{Scope, part};
use crate::failure::Failure;
use crate::http::Response;
use crate::matcher::{brief, differences};

/// A response with its parsed headers and body.
#[derive(Debug)]
pub struct ParsedResponse<'r> {
    raw: &'r Response,
    headers: Map<String, Value>,
    json: Option<Value>,
}

impl<'r> ParsedResponse<'r> {
    /// Joins repeated headers and parses the body as JSON.
    #[must_use]
    pub fn new(response: &'r Response) -> Self {
        let mut headers = Map::new();
        for (name, value) in &response.headers {
            let joined = match headers.get(name).and_then(Value::as_str) {
                Some(before) => format!("{before}, {value}"),
                None => value.clone(),
            };
            headers.insert(name.clone(), joined.into());
        }
        Self { raw: response, headers, json: serde_json::from_slice(&response.body).ok() }
    }

    /// Returns a part by its name in `capture`.
    #[must_use]
    pub fn part(&self, place: &str) -> Option<Value> {
        match place.split_once('.').unwrap_or((place, "")) {
            ("status", _) => Some(self.raw.status.into()),
            ("text", _) => Some(self.raw.text().into()),
            ("header", name) => self.headers.get(name).cloned(),
            ("body", "") => self.json.clone(),
            ("body", path) => part(self.json.as_ref()?, path).cloned(),
            _ => None,
        }
    }
}

/// Returns one line for each mismatch. With `lenient`, a collection may be a bare list.
pub fn mismatches(
    expect: &Expect,
    response: &ParsedResponse<'_>,
    lenient: bool,
    scope: &Scope<'_>,
) -> Result<Vec<String>, Failure> {
    let mut mismatches = Vec::new();
    if let Some(status) = &expect.status {
        let status = scope.eval(status)?;
        let right = match &status {
            Value::Array(all) => all.contains(&json!(response.raw.status)),
            one => *one == json!(response.raw.status),
        };
        if !right {
            mismatches.push(format!("status {status} expected, got {}", response.raw.status));
        }
    }
    if response.raw.status == 500 && shows_sql(&response.raw.text().to_lowercase()) {
        mismatches.push(format!("the error shows SQL: {}", brief(&response.raw.text().into())));
    }
    for (name, expected) in &expect.headers {
        let expected = scope.fill(expected)?;
        let all = differences(&expected, response.headers.get(&name.to_lowercase()));
        mismatches.extend(all.into_iter().map(|what| format!("header {name}: {what}")));
    }
    if expect.empty && !response.raw.body.is_empty() {
        mismatches.push(format!("no body expected, got {}", brief(&response.raw.text().into())));
    }
    if let Some(expected) = &expect.text {
        mismatches.extend(differences(&scope.fill(expected)?, Some(&response.raw.text().into())));
    }
    if let Some(expected) = &expect.bytes {
        let (expected, got) = (scope.text(expected)?, encoding::base64(&response.raw.body));
        if expected != got {
            mismatches.push(format!("the bytes {expected} expected, got {}", brief(&got.into())));
        }
    }
    let wants_json = expect.body.is_some() || expect.items.is_some() || expect.error.is_some();
    let Some(json) = &response.json else {
        if wants_json {
            mismatches.push(format!("the body is not JSON: {}", brief(&response.raw.text().into())));
        }
        return Ok(mismatches);
    };
    if let Some(expected) = &expect.body {
        mismatches.extend(differences(&scope.fill(expected)?, Some(json)));
    }
    if let Some(expected) = &expect.items {
        let items = json.get("items").or_else(|| (lenient && json.is_array()).then_some(json));
        match items {
            Some(items) => mismatches.extend(differences(&scope.fill(expected)?, Some(items))),
            None => mismatches.push(format!("no items in the body: {}", brief(json))),
        }
    }
    if let Some(expected) = &expect.error {
        mismatches.extend(error_mismatches(expected, response, json, scope)?);
    }
    Ok(mismatches)
}

/// Returns whether a text in lower case has a statement of SQL.
fn shows_sql(text: &str) -> bool {
    [
        ("select ", " from "),
        ("insert into ", ""),
        ("update ", " set "),
        ("delete from ", ""),
        ("sqlstate", ""),
    ]
    .iter()
    .any(|(first, second)| text.contains(first) && text.contains(second))
}

fn error_mismatches(
    expected: &ErrorBody,
    response: &ParsedResponse<'_>,
    json: &Value,
    scope: &Scope<'_>,
) -> Result<Vec<String>, Failure> {
    let mut members = Map::new();
    members.insert("error".to_owned(), expected.error.clone().into());
    let message = if expected.says.is_empty() {
        json!({"@allOf": [{"@type": "string"}, {"@not": ""}]})
    } else {
        scope.fill(&json!({"@contains": expected.says}))?
    };
    members.insert("message".to_owned(), message);
    if let Some(code) = &expected.code {
        members.insert("code".to_owned(), code.clone().into());
    }
    let located = [
        ("path", &expected.path),
        ("line", &expected.line),
        ("column", &expected.column),
        ("step", &expected.step),
    ];
    for (name, matcher) in located {
        if let Some(matcher) = matcher {
            members.insert(name.to_owned(), scope.fill(matcher)?);
        }
    }
    let mut mismatches = differences(&json!({"@subset": members}), Some(json));
    let media = response.headers.get("content-type").and_then(Value::as_str).unwrap_or_default();
    if !media.to_lowercase().starts_with("application/json") {
        mismatches.push(format!("the error body has the type '{media}', not application/json"));
    }
    Ok(mismatches)
}
