//! Faults of the rights to write, and of the limit on the size of responses.

pub(super) mod keys;
pub(super) mod merge;
pub(super) mod more;

use mesh_tests::kit::http::{Request, Response};
use serde_json::{Value, json};

use super::super::proxy::ProxyState;
use super::{Fault, NO_FAULT, edit_error, edit_ok, error, reply, segments, set};

/// The length of a text with which the response of a read exceeds the limit by one byte.
const OVER: usize = 4_086;

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "a right to create is one to update",
        must_fail: &["6-writable-create"],
        on_request: &|request, _| permit(request, "PUT", "labelCreate", "label"),
        ..NO_FAULT
    },
    Fault {
        name: "a right to create is one to delete",
        must_fail: &["6-writable-create"],
        on_request: &|request, _| permit(request, "DELETE", "labelCreate", "label"),
        ..NO_FAULT
    },
    Fault {
        name: "a right to update is one to create",
        must_fail: &["6-writable-update"],
        on_request: &|request, _| permit(request, "POST", "labelUpdate", "label"),
        ..NO_FAULT
    },
    Fault {
        name: "a right to update is one to delete",
        must_fail: &["6-writable-update"],
        on_request: &|request, _| permit(request, "DELETE", "labelUpdate", "label"),
        ..NO_FAULT
    },
    Fault {
        name: "a right to delete is one to create",
        must_fail: &["6-writable-delete"],
        on_request: &|request, _| permit(request, "POST", "labelDelete", "label"),
        ..NO_FAULT
    },
    Fault {
        name: "a right to delete is one to update",
        must_fail: &["6-writable-delete"],
        on_request: &|request, _| permit(request, "PUT", "labelDelete", "label"),
        ..NO_FAULT
    },
    Fault {
        name: "a list of writable fields permits deletes",
        must_fail: &["6-writable-list"],
        on_request: &|request, _| permit(request, "DELETE", "labelList", "label"),
        ..NO_FAULT
    },
    Fault {
        name: "what is not writable can be created",
        must_fail: &["6-writable-false"],
        on_request: &|request, _| permit(request, "POST", "labelFixed", "label"),
        ..NO_FAULT
    },
    Fault {
        name: "what is not writable can be updated",
        must_fail: &["6-writable-false"],
        on_request: &|request, _| permit(request, "PUT", "labelFixed", "label"),
        ..NO_FAULT
    },
    Fault {
        name: "what is not writable can be deleted",
        must_fail: &["6-writable-false"],
        on_request: &|request, _| permit(request, "DELETE", "labelFixed", "label"),
        ..NO_FAULT
    },
    Fault {
        name: "fields that are set once can be changed",
        must_fail: &["6-writable-fields"],
        on_request: &|request, _| permit(request, "PUT", "draftForm", "draft"),
        ..NO_FAULT
    },
    Fault {
        name: "fields that are set later can be set at once",
        must_fail: &["6-writable-fields"],
        on_request: &|request, _| permit(request, "POST", "draftForm", "draft"),
        ..NO_FAULT
    },
    Fault {
        name: "fields for one kind of write permit deletes",
        must_fail: &["6-writable-fields"],
        on_request: &|request, _| permit(request, "DELETE", "draftForm", "draft"),
        ..NO_FAULT
    },
    Fault {
        name: "a right to create alone has no effect",
        must_fail: &["6-writable-create"],
        on_request: &|request, _| refuse(request, "POST", "labelCreate"),
        ..NO_FAULT
    },
    Fault {
        name: "a right to update alone has no effect",
        must_fail: &["6-writable-update"],
        on_request: &|request, _| refuse(request, "PUT", "labelUpdate"),
        ..NO_FAULT
    },
    Fault {
        name: "a right to delete alone has no effect",
        must_fail: &["6-writable-delete"],
        on_request: &|request, _| refuse(request, "DELETE", "labelDelete"),
        ..NO_FAULT
    },
    Fault {
        name: "a list of writable fields has no effect on creates",
        must_fail: &["6-writable-list", "6-policy-writable-within"],
        on_request: &|request, _| refuse(request, "POST", "labelList"),
        ..NO_FAULT
    },
    Fault {
        name: "a list of writable fields has no effect on updates",
        must_fail: &["6-writable-list", "6-policy-writable-within"],
        on_request: &|request, _| refuse(request, "PUT", "labelList"),
        ..NO_FAULT
    },
    Fault {
        name: "what is writable as a whole cannot be deleted",
        must_fail: &["6-writable-true", "6-policy-writable-list"],
        on_request: &|request, _| refuse(request, "DELETE", "label"),
        ..NO_FAULT
    },
    Fault {
        name: "a list of writable fields of a rule permits deletes",
        must_fail: &["6-policy-writable-list"],
        on_request: &|request, state| permit_as_admin(request, state, "label", "label"),
        ..NO_FAULT
    },
    Fault {
        name: "a rule that lists nothing writable permits every write",
        must_fail: &["6-policy-writable-none"],
        on_request: &|request, state| permit_as_admin(request, state, "labelKept", "labelKept"),
        ..NO_FAULT
    },
    Fault {
        name: "a rule extends the rights of an entity",
        must_fail: &["6-policy-writable-within"],
        on_request: &|request, state| permit_as_admin(request, state, "labelList", "label"),
        ..NO_FAULT
    },
    Fault {
        name: "writes report the first member at fault",
        must_fail: &["12.1-fields-all", "12.1-fields-child"],
        on_response: &|_, response, _| edit_fields(response, |fields| fields.truncate(1)),
        ..NO_FAULT
    },
    Fault {
        name: "the message of a write is not about the first member at fault",
        must_fail: &["12.1-fields-all"],
        on_response: &|_, response, _| {
            edit_error(response, |body| {
                let several = body["fields"].as_array().filter(|fields| fields.len() > 2);
                let last = several.and_then(|fields| fields.last());
                if let Some(message) = last.map(|last| last["message"].clone()) {
                    body["message"] = message;
                }
            });
        },
        ..NO_FAULT
    },
    Fault {
        name: "the link of a child is reported as missing",
        must_fail: &["12.1-fields-child"],
        on_response: &|request, response, _| {
            if segments(request).len() == 3 {
                edit_fields(response, |fields| fields.push(json!({"path": "draftId", "message": "missing"})));
            }
        },
        ..NO_FAULT
    },
    Fault {
        name: "violated constraints name no fields",
        must_fail: &["12.1-fields-constraint"],
        on_response: &|_, response, _| {
            if response.status == 409 {
                edit_error(response, |body| body["fields"] = Value::Null);
            }
        },
        ..NO_FAULT
    },
    Fault {
        name: "the bound on the bytes of an answer is one too low",
        must_fail: &["3.11-bytes-exact"],
        on_response: &|_, response, state| {
            if state.has_settings("small") && response.status == 200 && response.body.len() == 4_096 {
                *response = error(400, "ValidationError");
            }
        },
        ..NO_FAULT
    },
    Fault {
        name: "the bound on the bytes of an answer is one too high",
        must_fail: &["3.11-bytes-exact"],
        on_response: &|request, response, state| {
            if request.method == "PUT" && text_of(request) == Some(OVER) {
                state.mark(&request.target);
            } else if response.status == 400 && state.is_marked(&request.target) {
                *response = reply(200, &json!({"body": "x".repeat(OVER)}));
            }
        },
        ..NO_FAULT
    },
    Fault {
        name: "posted reads have no bound on bytes",
        must_fail: &["3.11-bytes-posted"],
        on_response: &|request, response, state| {
            if state.has_settings("small") && request.method == "POST" && request.target == "/mesh" {
                enlarge(response);
            }
        },
        ..NO_FAULT
    },
    Fault {
        name: "reads by id have no bound on bytes",
        must_fail: &["3.11-bytes-by-id"],
        on_response: &|request, response, state| {
            if state.has_settings("small") && request.header_value("X-Mesh-Query-Id").is_some() {
                enlarge(response);
            }
        },
        ..NO_FAULT
    },
    Fault {
        name: "the bound on bytes is one on compressed bytes",
        must_fail: &["3.11-bytes-before-compression"],
        on_response: &|request, response, state| {
            if state.has_settings("small") && request.header_value("Accept-Encoding").is_some() {
                enlarge(response);
            }
        },
        ..NO_FAULT
    },
    Fault {
        name: "a bound on bytes is one on items",
        must_fail: &["3.11-bytes", "3.11-bytes-posted"],
        on_response: &|_, response, state| {
            if state.has_settings("small") && response.text().contains("\"items\"") {
                *response = error(400, "ValidationError");
            }
        },
        may_fail: &["11-answer-too-large"],
        ..NO_FAULT
    },
    Fault {
        name: "a write whose answer is too large is in effect",
        must_fail: &["11-answer-too-large"],
        on_response: &|_, response, state| {
            if state.has_settings("small") && response.text().contains("\"items\":[]") {
                edit_ok(response, |body| body["items"] = json!([{"rank": null}]));
            }
        },
        ..NO_FAULT
    },
    Fault {
        name: "errors of writes have no effect",
        must_fail: &["11-answer-too-large"],
        on_response: &|_, response, _| {
            edit_error(response, |body| {
                if let Some(body) = body.as_object_mut() {
                    body.remove("effect");
                }
            });
        },
        ..NO_FAULT
    },
];

/// Edits the members at fault that an error names.
fn edit_fields(response: &mut Response, edit: impl Fn(&mut Vec<Value>)) {
    edit_error(response, |body| {
        if let Some(fields) = body.get_mut("fields").and_then(Value::as_array_mut) {
            edit(fields);
        }
    });
}

/// Replaces the entity of a request by one of the same table with more rights.
fn permit(request: &mut Request, method: &str, entity: &str, other: &str) -> Option<Response> {
    if request.method == method
        && let Some(rest) = rest_of(request, entity)
    {
        request.target = format!("/mesh/{other}{rest}");
    }
    None
}

/// Makes every write to an entity one of an administrator to another entity of the same table.
fn permit_as_admin(request: &mut Request, state: &ProxyState, entity: &str, other: &str) -> Option<Response> {
    if state.has_settings("policies")
        && request.method != "GET"
        && let Some(rest) = rest_of(request, entity)
    {
        request.target = format!("/mesh/{other}{rest}");
        set(request, "X-Mesh-Token", None);
        state.sign(request);
    }
    None
}

/// Refuses the writes to an entity.
fn refuse(request: &Request, method: &str, entity: &str) -> Option<Response> {
    (request.method == method && rest_of(request, entity).is_some()).then(|| error(400, "ValidationError"))
}

/// Returns the rest of the path of a request to an entity.
fn rest_of(request: &Request, entity: &str) -> Option<String> {
    let rest = request.target.strip_prefix("/mesh/")?.strip_prefix(entity)?;
    (rest.is_empty() || rest.starts_with('/')).then(|| rest.to_owned())
}

/// Returns the length of the text in the body of a write.
fn text_of(request: &Request) -> Option<usize> {
    let body: Value = serde_json::from_slice(request.body.as_deref()?).ok()?;
    body.get("body")?.as_str().map(str::len)
}

/// Replaces the refusal of a response that is too large by a response.
fn enlarge(response: &mut Response) {
    if response.text().contains("RESULT_TOO_LARGE") {
        *response = reply(200, &json!({"items": [{"id": 1}]}));
    }
}
