//! Faults that are generated from the recording: a check that some case triggers is missing, or a kind of failure has
//! another status, name or code.

use std::collections::BTreeSet;

use mesh_tests::kit::http::{Request, Response};
use serde_json::{Value, json};

use crate::conformance::judge::faults::{Fault, NO_FAULT, edit_error, reply, segments};
use crate::conformance::judge::recording::Recording;

/// Returns the faults for the refusals of a recording.
pub(super) fn faults_from(recording: &Recording) -> Vec<Fault> {
    let (mut checks, mut kinds) = (BTreeSet::new(), BTreeSet::new());
    for recorded in recording.exchanges().filter(|recorded| recorded.response.status >= 400) {
        let status = recorded.response.status;
        checks.insert((status, check_of(&recorded.response)));
        kinds.insert((status, kind_of(&recorded.response)));
    }
    let mut faults = Vec::new();
    for (status, check) in checks {
        let name: &'static str = format!("what is {status} '{check}' is accepted").leak();
        faults.push(Fault {
            name,
            on_response: Box::leak(Box::new(move |request: &Request, response: &mut Response, _: &_| {
                if response.status == status && check_of(response) == check {
                    *response = accepted(request);
                }
            })),
            ..NO_FAULT
        });
    }
    // A response to HEAD has no body, and the error of a range is not specified.
    let kinds = kinds.into_iter().filter(|(status, (error, _))| !error.is_empty() && *status != 416);
    for (status, (error, code)) in kinds {
        let has = move |response: &Response| (response.status, kind_of(response));
        let kind = (status, (error.clone(), code.clone()));
        let shown = format!("{status} {error} {code}");
        let other_status = match status {
            400 => 422,
            401 => 403,
            403 => 401,
            404 => 410,
            _ => 400,
        };
        let this = kind.clone();
        faults.push(Fault {
            name: format!("{shown} is {other_status}").leak(),
            on_response: Box::leak(Box::new(move |_: &Request, response: &mut Response, _: &_| {
                if has(response) == this {
                    response.status = other_status;
                }
            })),
            ..NO_FAULT
        });
        let members = if code.is_empty() { vec!["error"] } else { vec!["error", "code"] };
        for member in members {
            let this = kind.clone();
            faults.push(Fault {
                name: format!("{shown} has another {member}").leak(),
                on_response: Box::leak(Box::new(move |_: &Request, response: &mut Response, _: &_| {
                    if has(response) == this {
                        edit_error(response, |body| body[member] = "Other".into());
                    }
                })),
                ..NO_FAULT
            });
        }
    }
    faults
}

/// Returns the response of a server without the check.
pub(super) fn accepted(request: &Request) -> Response {
    let path = segments(request);
    let is_list = path.len() == 1 && request.method == "GET";
    if request.target.ends_with("/queries") {
        return reply(200, &json!({"id": "q_0123456789abcdef0123456789abcdef"}));
    }
    let info = json!({"hasNextPage": false, "startCursor": null, "endCursor": null});
    reply(200, &if is_list { json!({"items": [], "pageInfo": info}) } else { json!({}) })
}

fn kind_of(response: &Response) -> (String, String) {
    let body: Value = serde_json::from_slice(&response.body).unwrap_or_default();
    let text = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
    (text("error"), text("code"))
}

/// Returns the message of an error without quotations and numbers, which identifies the check.
fn check_of(response: &Response) -> String {
    let body: Value = serde_json::from_slice(&response.body).unwrap_or_default();
    let message = body["message"].as_str().unwrap_or_default();
    let (mut check, mut quote) = (String::new(), None);
    for word in message.split_inclusive([' ', '\'', '"']) {
        let end = word.chars().last().filter(|last| ['\'', '"'].contains(last));
        let text = word.trim_end_matches(['\'', '"']);
        let is_number = text.chars().any(|character| character.is_ascii_digit());
        match (quote, end) {
            (Some(open), Some(close)) if open == close => quote = None,
            (Some(_), _) => {}
            (None, end) => {
                check.push_str(if is_number { "N " } else { text });
                if end.is_some() {
                    check.push('…');
                    quote = end;
                }
            }
        }
    }
    check
}
