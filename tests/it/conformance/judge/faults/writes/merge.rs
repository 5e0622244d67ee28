//! Faults of writes that create or update.

use mesh_tests::kit::http::Request;

use crate::conformance::judge::faults::{Fault, NO_FAULT, edit_body, error, put, segments, set};

pub(in crate::conformance::judge::faults) const FAULTS: &[Fault] = &[
    Fault {
        name: "the preference to merge is ignored",
        must_fail: &[
            "18.2-create",
            "18.2-update",
            "18.2-several-preferences",
            "18.2-id",
            "18.2-rights",
            "18.2-required",
            "18.2-shaped",
            "18.2-keys",
        ],
        on_request: &|request, _| {
            if merges(request) {
                set(request, "Prefer", None);
            }
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "a preference that is one of several is ignored",
        must_fail: &["18.2-several-preferences"],
        on_request: &|request, _| {
            if request.header_value("Prefer").is_some_and(|value| value.contains(',')) {
                set(request, "Prefer", None);
            }
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "a record that exists is a conflict for a merge",
        must_fail: &["18.2-update", "18.2-id", "18.2-keys"],
        on_response: &|request, response, _| {
            if merges(request) && response.status == 200 {
                *response = error(409, "ConflictError");
            }
        },
        ..NO_FAULT
    },
    Fault {
        name: "a merge that creates is an update",
        must_fail: &["18.2-create", "18.2-several-preferences", "18.2-id", "18.2-shaped", "18.2-keys"],
        on_response: &|request, response, _| {
            if merges(request) && response.status == 201 {
                response.status = 200;
            }
        },
        ..NO_FAULT
    },
    Fault {
        name: "a merge that creates has no location",
        must_fail: &["18.2-create", "18.2-several-preferences", "18.2-keys"],
        on_response: &|request, response, _| {
            if merges(request) {
                put(response, "location", None);
            }
        },
        ..NO_FAULT
    },
    Fault {
        name: "a merge does not say that the preference was applied",
        must_fail: &["18.2-create", "18.2-update"],
        on_response: &|_, response, _| put(response, "preference-applied", None),
        ..NO_FAULT
    },
    Fault {
        name: "every update of a label is a merge",
        must_fail: &["18.2-not-preferred"],
        on_request: &|request, state| {
            if state.has_settings("writes")
                && request.method == "PUT"
                && segments(request).first() == Some(&"label")
            {
                set(request, "Prefer", Some("resolution=merge-duplicates".to_owned()));
            }
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "a merge ignores If-Match",
        must_fail: &["18.2-if-match"],
        on_request: &|request, _| {
            if merges(request) {
                set(request, "If-Match", None);
            }
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "another id in the body of a merge is ignored",
        must_fail: &["18.2-id"],
        on_request: &|request, _| {
            edit_merged(request, |body| {
                body.remove("id");
            });
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "a merge needs no right to choose the id",
        must_fail: &["18.2-rights"],
        on_request: &|request, _| {
            if merges(request) {
                request.target = request.target.replace("/labelList/", "/label/");
            }
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "a merge creates a record without a required value",
        must_fail: &["18.2-required"],
        on_request: &|request, _| {
            edit_merged(request, |body| {
                if body.is_empty() {
                    body.insert("name".to_owned(), "x".into());
                }
            });
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "the response of a merge has all fields",
        must_fail: &["18.2-shaped"],
        on_response: &|request, response, _| {
            if merges(request) && request.header_value("X-Mesh-Query").is_some() {
                edit_body(response, |status| status == 201, |body| body["id"] = 1.into());
            }
        },
        ..NO_FAULT
    },
];

/// Returns whether a request prefers to create or update.
fn merges(request: &Request) -> bool {
    let prefers = request.header_value("Prefer").is_some_and(|value| value.contains("merge-duplicates"));
    request.method == "PUT" && prefers
}

/// Edits the members of the body of a write that creates or updates.
fn edit_merged(request: &mut Request, edit: impl Fn(&mut serde_json::Map<String, serde_json::Value>)) {
    let body = request.body.as_deref().filter(|_| merges(request));
    if let Some(mut members) = body.and_then(|body| serde_json::from_slice(body).ok()) {
        edit(&mut members);
        request.body = Some(serde_json::Value::Object(members).to_string().into_bytes());
    }
}
