//! Faults that are generated: from a table of bounds, and from the responses in a recording.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::faults::{Fault, folder};
use super::recording::Recording;

/// Members whose value no case can predict, and members of the introspection's `writes`, which a server may omit.
const UNKNOWABLE: [&str; 12] = [
    "durationMs",
    "sql",
    "rows",
    "expiresAt",
    "params",
    "runs",
    "z",
    "writes",
    "create",
    "update",
    "delete",
    "nullable",
];

/// A bound on requests.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Bound {
    name: String,
    bound: u64,
    /// The status of a request that exceeds it.
    status: u16,
    /// What is measured: `length`, `count` or `nested`, as in conditions, or the `number` itself.
    of: String,
    path: String,
    /// A further condition.
    #[serde(default)]
    when: Map<String, Value>,
}

/// Returns the faults that are generated.
pub(crate) fn faults(recording: &Recording) -> Result<Vec<Fault>, String> {
    let all =
        [bounds()?, missing_checks(recording), other_errors(recording), wrong_members(recording)].concat();
    all.into_iter().map(|fault| Fault::parse("generated", fault)).collect()
}

/// Returns two faults for each bound: it is one too low, and one too high.
fn bounds() -> Result<Vec<Value>, String> {
    let file = folder().join("bounds.json");
    let text = std::fs::read_to_string(file).map_err(|error| format!("bounds.json: {error}"))?;
    let bounds: Vec<Bound> = serde_json::from_str(&text).map_err(|error| format!("bounds.json: {error}"))?;
    let pair = |Bound { name, bound, status, of, path, when }: Bound| {
        let kind = if status == 400 { "ValidationError" } else { "TransportError" };
        let measured = |exact: u64| {
            let pattern = match of.as_str() {
                "number" => json!({"min": exact, "max": exact}),
                of => json!({of: exact}),
            };
            let mut when = when.clone();
            when.insert(path.clone(), pattern);
            when
        };
        [
            json!({
                "name": format!("the bound on {name} is one too low"),
                "when": measured(bound),
                "reply": {"status": status, "error": kind},
            }),
            json!({
                "name": format!("the bound on {name} is one too high"),
                "when": measured(bound + 1),
                "accept": true,
            }),
        ]
    };
    Ok(bounds.into_iter().flat_map(pair).collect())
}

/// Returns a fault for each check that some case provokes: the check is missing.
fn missing_checks(recording: &Recording) -> Vec<Value> {
    let errors = recording.responses().filter(|response| status_of(response) >= 400);
    let checks: BTreeSet<_> = errors
        .map(|response| (status_of(response), pattern_of(response["body"]["message"].as_str())))
        .collect();
    let fault = |(status, message): (u64, Option<String>)| {
        json!({
            "name": format!("what is {status} '{}' is accepted", message.as_deref().unwrap_or_default()),
            "when": {"response/status": status, "response/body/message": message},
            "accept": true,
        })
    };
    checks.into_iter().map(fault).collect()
}

/// Returns the faults of each kind of error: it has another status, name, or code.
fn other_errors(recording: &Recording) -> Vec<Value> {
    // The error of a range is not specified.
    let errors =
        recording.responses().filter(|response| status_of(response) >= 400 && status_of(response) != 416);
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let kinds: BTreeSet<_> = errors
        .filter_map(|response| {
            Some((status_of(response), text(&response["body"]["error"])?, text(&response["body"]["code"])))
        })
        .collect();
    let mut faults = Vec::new();
    for (status, error, code) in kinds {
        let shown = format!("{status} {error} {}", code.as_deref().unwrap_or_default());
        let when =
            json!({"response/status": status, "response/body/error": error, "response/body/code": code});
        let other = match status {
            400 => 422,
            401 => 403,
            403 => 401,
            404 => 410,
            _ => 400,
        };
        faults.push(
            json!({"name": format!("{shown} is {other}"), "when": when, "set": {"response/status": other}}),
        );
        for member in ["error", "code"].iter().take(if code.is_some() { 2 } else { 1 }) {
            faults.push(json!({
                "name": format!("{shown} has another {member}"),
                "when": when,
                "spoil": [format!("response/body/{member}")],
            }));
        }
    }
    faults
}

/// Returns a fault for each member of an answer: wherever an answer has the member, its value is wrong.
fn wrong_members(recording: &Recording) -> Vec<Value> {
    let mut names = BTreeSet::new();
    // The members of large bodies are all alike.
    for response in
        recording.responses().filter(|response| status_of(response) < 300 && response["raw"].is_string())
    {
        collect(&response["body"], &mut names);
    }
    let can_be_in_a_path =
        |name: &str| !name.is_empty() && !name.contains(['/', '[', ']', '|', '*', '!', '<']);
    let known = names.into_iter().filter(|name| !UNKNOWABLE.contains(name) && can_be_in_a_path(name));
    let fault = |name: &str| {
        json!({
            "name": format!("the member {name} is wrong"),
            "when": {"response/status": {"min": 200, "max": 299}, "response/raw": format!("*\"{name}\"*")},
            "spoil": [format!("response/body/**/{name}")],
        })
    };
    known.map(fault).collect()
}

fn status_of(response: &Value) -> u64 {
    response["status"].as_u64().unwrap_or_default()
}

/// Returns a pattern of the messages of a check: without what it quotes, and without numbers.
fn pattern_of(message: Option<&str>) -> Option<String> {
    let (mut pattern, mut quote) = (String::new(), None);
    for word in message?.split_inclusive([' ', '\'', '"']) {
        let end = word.chars().last().filter(|last| ['\'', '"'].contains(last));
        let text = word.trim_end_matches(['\'', '"']);
        match (quote, end) {
            (Some(open), Some(close)) if open == close => {
                pattern.push_str(&format!("*{close}"));
                quote = None;
            }
            (Some(_), _) => {}
            (None, end) => {
                let is_number = text.chars().any(|character| character.is_ascii_digit());
                pattern.push_str(if is_number { "*" } else { text });
                pattern.extend(end);
                quote = end;
            }
        }
    }
    // What is quoted may not end, as in "a bracket's end".
    Some(if quote.is_some() { format!("{pattern}*") } else { pattern })
}

fn collect<'v>(value: &'v Value, names: &mut BTreeSet<&'v str>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| collect(item, names)),
        Value::Object(members) => {
            for (name, member) in members {
                names.insert(name);
                collect(member, names);
            }
        }
        _ => {}
    }
}
