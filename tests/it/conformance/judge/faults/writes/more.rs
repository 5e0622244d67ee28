//! Faults of conditional writes, and of writes of several records. `SPEC §18`

use mesh_tests::kit::http::{Request, Response};
use serde_json::{Value, json};

use crate::conformance::judge::faults::{Fault, NO_FAULT, edit_body, error, reply, set};

pub(in crate::conformance::judge::faults) const FAULTS: &[Fault] = &[
    Fault {
        name: "conditions of writes are ignored",
        must_fail: &[
            "18.3-update",
            "18.3-delete",
            "18.3-query",
            "18.3-weak",
            "18.3-other-routes",
            "18.2-if-match",
        ],
        on_request: &|request, _| {
            set(request, "If-Match", None);
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "weak tags match",
        must_fail: &["18.3-weak"],
        on_request: &|request, _| {
            if let Some(tag) = condition(request).and_then(|tag| tag.strip_prefix("W/").map(str::to_owned)) {
                set(request, "If-Match", Some(tag));
            }
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "only the first tag of a list counts",
        must_fail: &["18.3-list"],
        on_request: &|request, _| {
            if let Some((first, _)) = condition(request).and_then(|tags| tags.split_once("\", ")) {
                let first = format!("{first}\"");
                set(request, "If-Match", Some(first));
            }
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "an asterisk is a tag",
        must_fail: &["18.3-any", "18.3-missing", "18.3-other-routes", "18.2-if-match"],
        on_request: &|request, _| (condition(request) == Some("*")).then(|| error(412, "PreconditionFailed")),
        ..NO_FAULT
    },
    Fault {
        name: "what is missing has changed",
        must_fail: &["18.3-missing", "18.2-if-match"],
        on_response: &|request, response, _| {
            if condition(request).is_some() && response.status == 404 {
                *response = error(412, "PreconditionFailed");
            }
        },
        ..NO_FAULT
    },
];

fn condition(request: &Request) -> Option<&str> {
    request.header_value("If-Match")
}

/// Faults of batches. `SPEC §18.4`
pub(in crate::conformance::judge::faults) const BATCH: &[Fault] = &[
    Fault {
        name: "steps of a batch are not looked at",
        must_fail: &[
            "18.4-references",
            "18.4-types",
            "18.4-literal",
            "18.4-read",
            "18.4-undone",
            "18.4-unknown-references",
            "18.4-routes",
            "18.4-form",
            "18.4-names",
            "18.4-signed",
        ],
        on_response: &|request, response, _| {
            if is_batch(request) {
                *response = reply(200, &json!({"results": []}));
            }
        },
        ..NO_FAULT
    },
    Fault {
        name: "there are no batches",
        must_fail: &["18.4-methods", "18.4-references", "18.4-signed"],
        may_fail: &["18.4"],
        on_request: &|request, _| request.target.ends_with("/batch").then(|| error(404, "NotFound")),
        ..NO_FAULT
    },
    Fault {
        name: "errors of batches do not say the step",
        must_fail: &[
            "18.4-types",
            "18.4-undone",
            "18.4-routes",
            "18.4-names",
            "18.4-form",
            "18.4-unknown-references",
            "18.4-literal",
        ],
        on_response: &|request, response, _| {
            if is_batch(request) {
                remove(response, "step");
            }
        },
        ..NO_FAULT
    },
    Fault {
        name: "doubled signs are kept",
        must_fail: &["18.4-literal"],
        on_request: &|request, _| {
            edit_steps(request, |text| text.replace("\"$$", "\"$$$"));
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "a text may begin with a sign",
        must_fail: &["18.4-literal"],
        on_request: &|request, _| {
            edit_steps(request, |text| text.replace("\"$5", "\"$$5"));
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "references are texts",
        must_fail: &["18.4-references", "18.4-types", "18.4-unknown-references"],
        on_request: &|request, _| {
            edit_steps(request, |text| text.replace(":\"$d.", ":\"$$d."));
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "the last step is left out",
        must_fail: &["18.4-references", "18.4-read", "18.4-types", "18.4-undone", "18.4-names"],
        may_fail: &["18.4"],
        on_request: &|request, _| {
            edit_list(request, "/steps", |steps| {
                steps.pop();
            });
            None
        },
        ..NO_FAULT
    },
];

/// Faults of lists of records. `SPEC §18.1`
pub(in crate::conformance::judge::faults) const LISTS: &[Fault] = &[
    Fault {
        name: "lists of records are refused",
        must_fail: &["18.1-create", "18.1-shaped", "18.1-one", "18.1-all-or-none", "18.1-first"],
        may_fail: &["18.1"],
        on_request: &|request, _| has_list(request).then(|| error(400, "TransportError")),
        ..NO_FAULT
    },
    Fault {
        name: "records of a list are in another order",
        must_fail: &["18.1-create", "18.1-shaped"],
        on_response: &|request, response, _| {
            if has_list(request) {
                edit_body(
                    response,
                    |status| status == 201,
                    |body| body.as_array_mut().into_iter().for_each(|list| list.reverse()),
                );
            }
        },
        ..NO_FAULT
    },
    Fault {
        name: "a list of one record is answered with the record",
        must_fail: &["18.1-one"],
        on_response: &|request, response, _| {
            if has_list(request) {
                edit_body(
                    response,
                    |status| status == 201,
                    |body| {
                        if let Some([one]) = body.as_array().map(Vec::as_slice) {
                            *body = one.clone();
                        }
                    },
                );
            }
        },
        ..NO_FAULT
    },
    Fault {
        name: "the query of a list is ignored",
        must_fail: &["18.1-shaped", "18.1-one"],
        on_request: &|request, _| {
            if has_list(request) {
                set(request, "X-Mesh-Query", None);
            }
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "errors of lists do not say the record",
        must_fail: &["18.1-all-or-none", "18.1-invalid", "18.1-first"],
        on_response: &|request, response, _| {
            if has_list(request) {
                remove(response, "path");
            }
        },
        ..NO_FAULT
    },
    Fault {
        name: "an empty list creates nothing",
        must_fail: &["18.1-empty"],
        on_request: &|request, _| {
            (has_list(request) && request.body.as_deref() == Some(b"[]")).then(|| reply(201, &json!([])))
        },
        ..NO_FAULT
    },
    Fault {
        name: "too many records are cut off",
        must_fail: &["18.1-too-many"],
        on_request: &|request, _| {
            if has_list(request) {
                edit_list(request, "", |records| records.truncate(1_000));
            }
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "only the first of a list is written",
        must_fail: &["18.1-create", "18.1-other-routes"],
        may_fail: &["18.1"],
        on_request: &|request, _| {
            let first = json_of(request).and_then(|body| body.as_array()?.first().cloned());
            if let Some(first) = first {
                request.body = Some(first.to_string().into_bytes());
            }
            None
        },
        ..NO_FAULT
    },
];

/// Removes a member of an error.
fn remove(response: &mut Response, member: &str) {
    edit_body(
        response,
        |status| status >= 400,
        |body| {
            if let Some(members) = body.as_object_mut() {
                members.remove(member);
            }
        },
    );
}

fn json_of(request: &Request) -> Option<Value> {
    serde_json::from_slice(request.body.as_deref()?).ok()
}

/// Whether a request creates the records of a list.
fn has_list(request: &Request) -> bool {
    request.method == "POST" && !is_batch(request) && json_of(request).is_some_and(|body| body.is_array())
}

fn is_batch(request: &Request) -> bool {
    request.method == "POST" && request.target.ends_with("/batch")
}

/// Changes the text of a batch. The faults are for batches without signatures.
fn edit_steps(request: &mut Request, edit: impl Fn(&str) -> String) {
    if is_batch(request)
        && let Some(body) = &mut request.body
    {
        *body = edit(&String::from_utf8_lossy(body)).into_bytes();
    }
}

/// Changes a list in the body of a request.
fn edit_list(request: &mut Request, pointer: &str, edit: impl Fn(&mut Vec<Value>)) {
    if let Some(mut body) = json_of(request)
        && let Some(list) = body.pointer_mut(pointer).and_then(Value::as_array_mut)
    {
        edit(list);
        request.body = Some(body.to_string().into_bytes());
    }
}
