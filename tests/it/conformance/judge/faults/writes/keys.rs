//! Faults of keys of several columns.

use mesh_tests::kit::http::Request;
use serde_json::{Value, json};

use crate::conformance::judge::faults::{Fault, NO_FAULT, edit_body, edit_ok, put, reply, segments};

pub(in crate::conformance::judge::faults) const FAULTS: &[Fault] = &[
    Fault {
        name: "the parts of an id are in another order",
        must_fail: &["15.1-point", "15.1-order", "15.1-text", "15.2-relation", "15.2-persisted", "18.2-keys"],
        may_fail: &["15."],
        on_request: &|request, state| {
            if state.has_settings("keys") {
                edit_id(request, |id| id.rsplit(',').collect::<Vec<_>>().join(","));
            }
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "an id is decoded before it is split",
        must_fail: &["15.1-encoded-separator", "15.1-comma"],
        may_fail: &["15.2-create"],
        on_request: &|request, _| {
            edit_id(request, |id| id.replace("%2C", ","));
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "the parts of an id are decoded twice",
        must_fail: &["15.1-percent"],
        may_fail: &["2.1-decoded-once"],
        on_request: &|request, _| {
            edit_id(request, |id| id.replace("%25", "%"));
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "further parts of an id are ignored",
        must_fail: &["15.1-too-many"],
        on_request: &|request, _| {
            if request.target.starts_with("/mesh/chapter/") {
                edit_id(request, |id| id.splitn(3, ',').take(2).collect::<Vec<_>>().join(","));
            }
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "missing parts of an id are 1",
        must_fail: &["15.1-too-few"],
        may_fail: &["15.1-encoded-separator", "15.2-update-missing", "15.2-child-of-missing"],
        on_request: &|request, _| {
            if request.target.starts_with("/mesh/chapter/") {
                edit_id(request, |id| if id.contains(',') { id.to_owned() } else { format!("{id},1") });
            }
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "arrays in bodies are joined as they are",
        must_fail: &["15.1-posted-array-plain"],
        on_request: &|request, _| {
            edit_members(request, &["id", "entityId"], |value| {
                let parts = value.as_array().filter(|parts| parts.len() > 1)?;
                let plain = |part: &Value| part.as_str().map_or_else(|| part.to_string(), str::to_owned);
                Some(parts.iter().map(plain).collect::<Vec<_>>().join(",").into())
            });
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "text is no integer part of an id",
        must_fail: &["15.1-posted-array-text"],
        may_fail: &["15.2-connect"],
        on_request: &|request, _| {
            edit_members(request, &["id", "entityId"], |value| {
                let parts = value.as_array()?;
                let is_number = |part: &Value| part.as_str().is_some_and(|text| text.parse::<i64>().is_ok());
                parts.iter().any(is_number).then(|| json!([]))
            });
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "ids in bodies are single values",
        must_fail: &["15.1-posted-array", "15.2-connect", "15.2-execute"],
        may_fail: &["15."],
        on_request: &|request, _| {
            edit_members(request, &["id", "entityId"], |value| value.is_array().then(|| json!("1")));
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "created records lack a key field",
        must_fail: &["15.2-create", "15.2-child", "15.2-upload-create", "18.2-keys"],
        on_response: &|_, response, state| {
            if state.has_settings("keys") {
                edit_body(
                    response,
                    |status| status == 201,
                    |body| {
                        for name in ["lang", "chapterNo"] {
                            if let Some(members) = body.as_object_mut() {
                                members.remove(name);
                            }
                        }
                    },
                );
            }
        },
        ..NO_FAULT
    },
    Fault {
        name: "Location has the parts as they are",
        must_fail: &["15.2-create"],
        on_response: &|_, response, _| {
            if let Some(location) = response.header("location").map(|location| location.replace("%2C", ",")) {
                put(response, "location", Some(&location));
            }
        },
        ..NO_FAULT
    },
    Fault {
        name: "writes reach every record with the last part of the id",
        must_fail: &["15.2-delete"],
        may_fail: &["15.2-"],
        on_request: &|request, state| {
            let is_first = request.target.contains("/term/d1,");
            (request.method == "GET"
                && request.target.contains("/term/d2,")
                && state.has_settings("keys")
                && !is_first)
                .then(|| reply(200, &Value::Null))
        },
        ..NO_FAULT
    },
    Fault {
        name: "introspection shows the first field of a key",
        must_fail: &["15.2-introspection"],
        on_response: &|_, response, _| {
            edit_ok(response, |body| {
                for entity in body.get_mut("entities").and_then(Value::as_array_mut).into_iter().flatten() {
                    if let Some(first) = entity["idField"].get(0).cloned() {
                        entity["idField"] = first;
                    }
                }
            });
        },
        ..NO_FAULT
    },
];

/// Changes the segment with the id of a record.
fn edit_id(request: &mut Request, edit: impl Fn(&str) -> String) {
    let Some(id) = segments(request).get(1).map(|id| (*id).to_owned()) else { return };
    if request.target.starts_with("/mesh/") && id.contains(|character| [',', '%'].contains(&character))
        || id == "1"
    {
        request.target = request.target.replacen(&format!("/{id}"), &format!("/{}", edit(&id)), 1);
    }
}

/// Replaces members of a JSON body.
fn edit_members(request: &mut Request, names: &[&str], edit: impl Fn(&Value) -> Option<Value>) {
    let body = request.body.as_deref().and_then(|body| serde_json::from_slice::<Value>(body).ok());
    let Some(mut body) = body else { return };
    for name in names {
        if let Some(value) = body.get_mut(name)
            && let Some(other) = edit(value)
        {
            *value = other;
            request.body = Some(body.to_string().into_bytes());
        }
    }
}
