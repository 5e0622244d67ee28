//! Faults of parameters.

use mesh_tests::kit::encoding;
use mesh_tests::kit::http::Request;
use serde_json::{Map, Value, json};

use crate::conformance::judge::faults::generated::text_of;
use crate::conformance::judge::faults::{Fault, NO_FAULT, edit_ok, put, set};

pub(in crate::conformance::judge::faults) const FAULTS: &[Fault] = &[
    Fault {
        name: "values without a parameter are ignored",
        must_fail: &["19.2-unknown", "19.2-unknown-alone", "19.2-posted-missing"],
        may_fail: &["19.1-"],
        on_request: &|request, state| {
            let text = text_of(request);
            let is_by_id = request.header_value("X-Mesh-Query-Id").is_some();
            let edited = edit_values(request, |values| {
                if !is_by_id {
                    values.retain(|name, _| text.contains(&format!("{{\"$param\":\"{name}\"}}")));
                }
            });
            if edited {
                sign_again(request, state);
            }
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "parameters without a value are NULL",
        must_fail: &["19.2-missing", "19.2-no-values", "19.2-posted-missing"],
        may_fail: &["19.2-one-missing", "19.3-"],
        on_request: &|request, _| {
            if text_of(request).contains("{\"$param\":\"role\"}") {
                let posted = request.body.is_some();
                if !posted && request.header_value("X-Mesh-Params").is_none() {
                    set(request, "X-Mesh-Params", Some(encoding::base64("{}")));
                }
                add_values(request, |values| {
                    values.entry("role").or_insert_with(|| "".into());
                });
            }
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "a null value is empty text",
        must_fail: &["19.2-null"],
        on_request: &|request, _| {
            edit_values(request, |values| {
                for (_, value) in values.iter_mut().filter(|(name, value)| *name == "role" && value.is_null())
                {
                    *value = "".into();
                }
            });
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "numbers in values are rounded",
        must_fail: &["19.2-fraction"],
        on_request: &|request, _| {
            edit_values(request, |values| {
                for value in values.values_mut().filter(|value| value.is_f64()) {
                    *value = 1.into();
                }
            });
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "a page whose size is a parameter has a record more",
        must_fail: &["19.1-first"],
        may_fail: &["19.1-relation", "19.2-posted"],
        on_request: &|request, _| {
            if text_of(request).contains("\"first\":{\"$param\":\"n\"}") {
                edit_values(request, |values| {
                    if let Some(size @ 1..100) = values.get("n").and_then(Value::as_u64) {
                        values.insert("n".to_owned(), (size + 1).into());
                    }
                });
            }
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "one value is a list of one",
        must_fail: &["19.2-one-for-list"],
        on_request: &|request, _| {
            edit_values(request, |values| {
                if let Some(value) = values.get_mut("roles").filter(|value| value.is_string()) {
                    *value = json!([value.take()]);
                }
            });
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "defaults are used where a value is sent",
        must_fail: &["19.3-default", "19.3-page-default"],
        may_fail: &["19.1-id", "19.3-", "19.4-"],
        on_request: &|request, _| {
            if request.header_value("X-Mesh-Query-Id").is_some()
                && request.header_value("X-Mesh-Token").is_none()
            {
                set(request, "X-Mesh-Params", None);
            }
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "values are not signed",
        must_fail: &["19.4-signed", "19.4-signed-id", "19.4-signed-values"],
        on_request: &|request, state| {
            if request.header_value("X-Mesh-Params").is_some() {
                sign_again(request, state);
            }
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "the tag does not depend on values",
        must_fail: &["19.4-tag"],
        on_response: &|request, response, _| {
            if request.header_value("X-Mesh-Params").is_some()
                && request.header_value("If-None-Match").is_some()
            {
                response.status = 304;
                response.body.clear();
            }
        },
        ..NO_FAULT
    },
    Fault {
        name: "Vary lacks the header of values",
        must_fail: &["19.4-vary"],
        on_response: &|request, response, _| {
            if request.header_value("X-Mesh-Params").is_some()
                && let Some(vary) = response.header("vary").map(|vary| vary.replace("X-Mesh-Params, ", ""))
            {
                put(response, "vary", Some(&vary));
            }
        },
        ..NO_FAULT
    },
    Fault {
        name: "preflights lack the header of values",
        must_fail: &["19.4-cors"],
        on_response: &|_, response, _| {
            let name = "access-control-allow-headers";
            let allowed = response.header(name).map(str::to_ascii_lowercase);
            if let Some(allowed) = allowed.map(|allowed| allowed.replace("x-mesh-params", "x-other")) {
                put(response, name, Some(&allowed));
            }
        },
        ..NO_FAULT
    },
    Fault {
        name: "cursors belong to the values of parameters",
        must_fail: &["19.5-cursor"],
        may_fail: &["19.1-after"],
        on_request: &|request, _| {
            let roles = |value: &Value| value["roles"] == json!(["writer"]);
            edit_values(request, |values| {
                if roles(&Value::Object(values.clone())) && values.get("c").is_some_and(Value::is_string) {
                    values.insert("c".to_owned(), "abc".into());
                }
            });
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "introspection lists no parameters",
        must_fail: &["19-profiles"],
        on_response: &|_, response, _| {
            edit_ok(response, |body| {
                if let Some(profiles) = body.get_mut("profiles").and_then(Value::as_array_mut) {
                    profiles.retain(|name| name != "params");
                }
            });
        },
        ..NO_FAULT
    },
];

/// Edits the values in the header or in the body. Returns whether they have changed.
fn edit_values(request: &mut Request, edit: impl Fn(&mut Map<String, Value>)) -> bool {
    let mut edited = false;
    let header = request.header_value("X-Mesh-Params").and_then(encoding::from_base64);
    if let Some(Value::Object(before)) = header.and_then(|text| serde_json::from_slice(&text).ok()) {
        let mut after = before.clone();
        edit(&mut after);
        if after != before {
            set(request, "X-Mesh-Params", Some(encoding::base64(Value::Object(after).to_string())));
            edited = true;
        }
    }
    let body = request.body.as_deref().and_then(|body| serde_json::from_slice::<Value>(body).ok());
    if let Some(mut body) = body
        && let Some(values) = body.get_mut("params").and_then(Value::as_object_mut)
    {
        let before = values.clone();
        edit(values);
        if *values != before {
            request.body = Some(body.to_string().into_bytes());
            edited = true;
        }
    }
    edited
}

/// Edits the values; a posted query without values first gets an empty object.
fn add_values(request: &mut Request, edit: impl Fn(&mut Map<String, Value>)) {
    let body = request.body.as_deref().and_then(|body| serde_json::from_slice::<Value>(body).ok());
    if let Some(mut body) = body
        && body.is_object()
        && body.get("params").is_none()
        && !request.target.ends_with("/queries")
    {
        body["params"] = json!({});
        request.body = Some(body.to_string().into_bytes());
    }
    edit_values(request, edit);
}

fn sign_again(request: &mut Request, state: &crate::conformance::judge::proxy::ProxyState) {
    if request.header_value("X-Mesh-Token").is_some() {
        state.sign(request);
    }
}
