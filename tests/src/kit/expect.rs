//! Is a response what a step expects?

use serde_json::{Map, Value, json};

use super::case::{ErrorBody, Expect};
use super::expression::{Scope, part};
use super::http::Response;
use super::matcher::{brief, differences};
use super::trouble::Trouble;
use super::wire;

/// A response with what its parts are read as.
#[derive(Debug)]
pub struct Seen<'r> {
    response: &'r Response,
    headers: Map<String, Value>,
    json: Option<Value>,
}

impl<'r> Seen<'r> {
    /// Reads the body as JSON where it is.
    #[must_use]
    pub fn of(response: &'r Response) -> Self {
        let mut headers = Map::new();
        for (name, value) in &response.headers {
            let joined = match headers.get(name).and_then(Value::as_str) {
                Some(before) => format!("{before}, {value}"),
                None => value.clone(),
            };
            headers.insert(name.clone(), joined.into());
        }
        Self { response, headers, json: serde_json::from_slice(&response.body).ok() }
    }

    /// A part by the name that `capture` uses.
    #[must_use]
    pub fn part(&self, place: &str) -> Option<Value> {
        match place.split_once('.').unwrap_or((place, "")) {
            ("status", _) => Some(self.response.status.into()),
            ("text", _) => Some(self.response.text().into()),
            ("header", name) => self.headers.get(name).cloned(),
            ("body", "") => self.json.clone(),
            ("body", path) => part(self.json.as_ref()?, path).cloned(),
            _ => None,
        }
    }
}

/// What is not as expected, one line each. `lenient` lets a collection be a bare list.
pub fn faults(
    expect: &Expect,
    seen: &Seen<'_>,
    lenient: bool,
    scope: &Scope<'_>,
) -> Result<Vec<String>, Trouble> {
    let mut faults = Vec::new();
    if let Some(status) = &expect.status {
        let status = scope.eval(status)?;
        let right = match &status {
            Value::Array(all) => all.contains(&json!(seen.response.status)),
            one => *one == json!(seen.response.status),
        };
        if !right {
            faults.push(format!("status {status} expected, got {}", seen.response.status));
        }
    }
    for (name, expected) in &expect.headers {
        let expected = scope.fill(expected)?;
        let all = differences(&expected, seen.headers.get(&name.to_lowercase()));
        faults.extend(all.into_iter().map(|what| format!("header {name}: {what}")));
    }
    if expect.empty && !seen.response.body.is_empty() {
        faults.push(format!("no body expected, got {}", brief(&seen.response.text().into())));
    }
    if let Some(expected) = &expect.text {
        faults.extend(differences(&scope.fill(expected)?, Some(&seen.response.text().into())));
    }
    if let Some(expected) = &expect.bytes {
        let (expected, got) = (scope.text(expected)?, wire::base64(&seen.response.body));
        if expected != got {
            faults.push(format!("the bytes {expected} expected, got {}", brief(&got.into())));
        }
    }
    let wants_json = expect.body.is_some() || expect.items.is_some() || expect.error.is_some();
    let Some(json) = &seen.json else {
        if wants_json {
            faults.push(format!("the body is no JSON: {}", brief(&seen.response.text().into())));
        }
        return Ok(faults);
    };
    if let Some(expected) = &expect.body {
        faults.extend(differences(&scope.fill(expected)?, Some(json)));
    }
    if let Some(expected) = &expect.items {
        let items = json.get("items").or_else(|| (lenient && json.is_array()).then_some(json));
        match items {
            Some(items) => faults.extend(differences(&scope.fill(expected)?, Some(items))),
            None => faults.push(format!("no items in the body: {}", brief(json))),
        }
    }
    if let Some(expected) = &expect.error {
        faults.extend(error_faults(expected, seen, json, scope)?);
    }
    Ok(faults)
}

fn error_faults(
    expected: &ErrorBody,
    seen: &Seen<'_>,
    json: &Value,
    scope: &Scope<'_>,
) -> Result<Vec<String>, Trouble> {
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
    for (name, matcher) in [("path", &expected.path), ("line", &expected.line), ("column", &expected.column)]
    {
        if let Some(matcher) = matcher {
            members.insert(name.to_owned(), scope.fill(matcher)?);
        }
    }
    let mut faults = differences(&json!({"@subset": members}), Some(json));
    let media = seen.headers.get("content-type").and_then(Value::as_str).unwrap_or_default();
    if !media.to_lowercase().starts_with("application/json") {
        faults.push(format!("an error body of the type '{media}', not application/json"));
    }
    Ok(faults)
}
