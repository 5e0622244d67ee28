//! Faults of the values of single members: wherever an answer has the member, its value is wrong or missing.

use std::collections::BTreeSet;

use mesh_tests::kit::http::{Request, Response};
use serde_json::Value;

use crate::conformance::judge::faults::{Fault, NO_FAULT, deep, edit_body};
use crate::conformance::judge::recording::Recording;

/// The length from which a body is ignored: such bodies test bounds, and their members are all alike.
const LARGE: usize = 100_000;

/// Members whose value no case can predict, and members of the introspection's `writes`, which a server may omit.
const UNKNOWABLE: [&str; 11] = [
    "durationMs",
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

/// Returns a fault for each member of the responses in a recording.
pub(super) fn faults_from(recording: &Recording) -> Vec<Fault> {
    let mut names = BTreeSet::new();
    for recorded in recording.exchanges().filter(|recorded| is_success(recorded.response.status)) {
        if let Ok(mut body) = serde_json::from_slice::<Value>(&recorded.response.body)
            && recorded.response.body.len() < LARGE
        {
            let mut found = Vec::new();
            collect(&mut body, &mut found);
            names.extend(found);
        }
    }
    let fault = |member: String| Fault {
        name: format!("the member {member} is wrong").leak(),
        on_response: Box::leak(Box::new(move |_: &Request, response: &mut Response, _: &_| {
            let quoted = format!("\"{member}\"");
            if response.body.len() < LARGE && response.text().contains(&quoted) {
                edit_body(response, is_success, |body| {
                    deep(body, "", &|name, value| {
                        if name == member {
                            spoil(value);
                        }
                    });
                });
            }
        })),
        ..NO_FAULT
    };
    let foreign = Fault {
        name: "text beyond ASCII is lost",
        on_response: &|_, response, _| {
            if response.body.len() < LARGE && !response.body.is_ascii() {
                edit_body(response, is_success, |body| {
                    deep(body, "", &|_, value| {
                        if let Some(text) = value.as_str() {
                            *value = text.replace(|character: char| !character.is_ascii(), "?").into();
                        }
                    });
                });
            }
        },
        ..NO_FAULT
    };
    let known = names.into_iter().filter(|name| !UNKNOWABLE.contains(&name.as_str()));
    known.map(fault).chain([foreign]).collect()
}

fn spoil(value: &mut Value) {
    *value = match value.take() {
        Value::Null => 0.into(),
        Value::Bool(flag) => (!flag).into(),
        Value::Number(number) => (number.as_f64().unwrap_or_default() + 1.0).into(),
        Value::String(text) => format!("{text}~").into(),
        Value::Array(mut items) => {
            items.pop();
            items.into()
        }
        Value::Object(_) => Value::Null,
    }
}

fn is_success(status: u16) -> bool {
    (200..300).contains(&status)
}

fn collect(value: &mut Value, names: &mut Vec<String>) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| collect(item, names)),
        Value::Object(members) => {
            for (name, member) in members {
                names.push(name.clone());
                collect(member, names);
            }
        }
        _ => {}
    }
}
