//! Faults of policies, of failures, of schema documents and of the docs page.

use serde_json::{Value, json};

use super::{Fault, NO_FAULT, OnLoad, edit_body, error, put, reply, segments, set};

/// The text of a page or script that refers to another host.
const ELSEWHERE: &str = "https://cdn.example/";

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "policies are not applied",
        must_fail: &[
            "6-policy-field",
            "6-policy-field-in-filter",
            "6-policy-entity",
            "6-policy-relation",
            "6-policy-rows",
            "6-policy-rows-or",
            "6-policy-point",
            "6-policy-posted",
            "6-policy-nested",
            "6-policy-counts",
            "6-policy-pages",
            "6-policy-role-header",
        ],
        may_fail: &["6-policy-"],
        on_request: &|request, state| {
            if state.has_settings("policies") && request.header_value("X-Mesh-Signature").is_some() {
                set(request, "X-Mesh-Token", None);
                state.sign(request);
            }
            None
        },
        corrupts_data: true,
        ..NO_FAULT
    },
    Fault {
        name: "computed fields of a policy need their inputs",
        must_fail: &["6-policy-computed"],
        on_response: &|request, response, state| {
            if state.has_settings("policies")
                && response.text().contains("\"badge\"")
                && segments(request).len() == 2
            {
                *response = error(400, "ValidationError");
            }
        },
        ..NO_FAULT
    },
    Fault {
        name: "what a role may not see is forbidden instead of missing",
        must_fail: &["6-policy-entity", "6-policy-field", "6-policy-same-as-missing", "6-policy-relation"],
        may_fail: &["6-policy-"],
        on_response: &|request, response, state| {
            if state.has_settings("policies")
                && response.status == 400
                && !request.target.contains("/missing/")
            {
                *response = error(403, "IntegrityError");
            }
        },
        ..NO_FAULT
    },
    Fault {
        name: "hidden records are forbidden instead of missing",
        must_fail: &["6-policy-write-hidden"],
        on_response: &|_, response, state| {
            if state.has_settings("policies") && response.status == 404 {
                *response = error(403, "IntegrityError");
            }
        },
        ..NO_FAULT
    },
    Fault {
        name: "a write may take a record out of a policy",
        must_fail: &["6-policy-write-out", "6-policy-create-out"],
        on_response: &|request, response, state| {
            if state.has_settings("policies") && response.status == 403 {
                *response = reply(if request.method == "POST" { 201 } else { 200 }, &json!({"id": 1}));
            }
        },
        ..NO_FAULT
    },
    Fault {
        name: "a session sees the records of another",
        must_fail: &["6-policy-other-session"],
        may_fail: &["6-policy-"],
        on_response: &|_, response, state| {
            if state.has_settings("policies") {
                edit_body(
                    response,
                    |status| status == 200,
                    |body| {
                        if body["items"] == json!([{"id": 4}, {"id": 8}]) {
                            body["items"] = json!([{"id": 2}, {"id": 3}, {"id": 10}]);
                        }
                    },
                );
            }
        },
        ..NO_FAULT
    },
    Fault {
        name: "failures are 400",
        must_fail: &[
            "12.1-resolver-error",
            "12.1-resolver-error-posted",
            "12.1-timeout",
            "12.1-after-a-failure",
        ],
        may_fail: &["12.1-"],
        on_response: &|_, response, _| {
            if response.status == 500 {
                response.status = 400;
            }
        },
        ..NO_FAULT
    },
    Fault {
        name: "failures show their cause",
        must_fail: &[
            "12.1-resolver-error",
            "12.1-resolver-error-posted",
            "12.1-resolver-error-in-list",
            "12.1-timeout",
        ],
        on_response: &|_, response, _| {
            if response.status == 500 {
                edit_body(
                    response,
                    |_| true,
                    |body| body["message"] = "near SELECT value FROM fragile".into(),
                );
            }
        },
        ..NO_FAULT
    },
    Fault {
        name: "a list without the record that failed",
        must_fail: &["12.1-resolver-error-in-list"],
        on_response: &|request, response, _| {
            if response.status == 500 && segments(request).len() == 1 {
                *response = reply(200, &json!({"items": [], "pageInfo": {"hasNextPage": false}}));
            }
        },
        ..NO_FAULT
    },
    Fault {
        name: "timeouts have no code",
        must_fail: &["12.1-timeout"],
        on_response: &|_, response, _| {
            if response.text().contains("\"TIMEOUT\"") {
                edit_body(response, |_| true, |body| body["code"] = Value::Null);
            }
        },
        ..NO_FAULT
    },
    Fault {
        name: "a server that is busy fails",
        must_fail: &["12.1-unavailable"],
        on_response: &|_, response, _| {
            if response.status == 503 {
                *response = error(500, "InternalError");
            }
        },
        ..NO_FAULT
    },
    Fault {
        name: "every server is down after a failure",
        must_fail: &["12.1-after-a-failure"],
        on_response: &|_, response, state| {
            if response.status == 500 {
                state.mark("failed");
            } else if state.is_marked("failed") {
                *response = error(500, "InternalError");
            }
        },
        may_fail: &["12.1-", "10.4-failing-read"],
        ..NO_FAULT
    },
    Fault {
        name: "the store of queries has no bound",
        must_fail: &["8.6-bounded"],
        on_response: &|request, response, state| {
            if state.has_settings("faulty")
                && response.status == 400
                && request.header_value("X-Mesh-Query-Id").is_some()
            {
                *response = reply(200, &json!({"name": "Ada"}));
            }
        },
        ..NO_FAULT
    },
    Fault {
        name: "a failing read ends a stream silently",
        must_fail: &["10.4-failing-read"],
        on_line: Some(&|line| (!line.contains("ResolverError")).then(|| line.to_owned())),
        ..NO_FAULT
    },
    Fault {
        name: "streams tell the cause of failures",
        must_fail: &["10.4-failing-read"],
        on_line: Some(&|line| Some(line.replace("\"message\":\"", "\"message\":\"near SELECT value: "))),
        ..NO_FAULT
    },
    Fault {
        name: "every schema document is accepted",
        must_fail: &[
            "2.2-entity-queries",
            "2.2-entity-auth",
            "2.2-entity-logout",
            "2.2-entity-write",
            "2.2-entity-files",
            "2.2-entity-batch",
            "2.2-field-events",
            "2.2-relation-events",
            "6-load-join-to-nothing",
            "6-load-join-from-nothing",
            "6-load-on-unreadable",
            "6-load-on-other-table",
            "6-load-field-twice",
            "6-load-field-and-ref",
            "6-load-id-field",
            "6-load-columns",
            "6-load-types",
            "6-load-uploads",
            "6-load-writable",
            "6-load-unknown-key",
            "6-load-unknown-type",
            "6-load-all-at-once",
            "14.2-dot-in-field",
            "14.2-dot-in-relation",
        ],
        on_load: Some(OnLoad::AcceptsAll),
        ..NO_FAULT
    },
    Fault {
        name: "every schema document is refused",
        must_fail: &["6-load"],
        may_fail: &["6-load-", "2.2-"],
        on_load: Some(OnLoad::RefusesAll),
        ..NO_FAULT
    },
    Fault {
        name: "only the first fault of a schema document is reported",
        must_fail: &["6-load-all-at-once"],
        on_load: Some(OnLoad::ReportsFirst),
        ..NO_FAULT
    },
    Fault {
        name: "the docs page needs a session",
        must_fail: &["13.3-page-without-session"],
        on_request: &|request, _| {
            let is_page = request.target == "/docs" && request.header_value("Accept") == Some("text/html");
            is_page.then(|| error(401, "IntegrityError"))
        },
        may_fail: &["13.4-"],
        ..NO_FAULT
    },
    Fault {
        name: "the docs page loads a script from elsewhere",
        must_fail: &["13.4-offline"],
        on_response: &|request, response, _| {
            if request.target == "/docs" && response.status == 200 {
                let page = response.text().replacen("src=\"", &format!("src=\"{ELSEWHERE}"), 1);
                response.body = page.into_bytes();
            }
        },
        ..NO_FAULT
    },
    Fault {
        name: "the script of the docs page loads from elsewhere",
        must_fail: &["13.4-offline"],
        on_response: &|_, response, _| {
            if response.header("content-type").is_some_and(|media| media.contains("javascript")) {
                response.body.extend(format!("\nfetch(\"{ELSEWHERE}\")").into_bytes());
            }
        },
        ..NO_FAULT
    },
    Fault {
        name: "the policy of the docs page allows another host",
        must_fail: &["13.4-offline"],
        may_fail: &["13.4-policy", "9.7-"],
        on_response: &|_, response, _| {
            if let Some(policy) = response.header("content-security-policy").map(str::to_owned) {
                put(response, "content-security-policy", Some(&format!("{policy}; img-src {ELSEWHERE}")));
            }
        },
        ..NO_FAULT
    },
    Fault {
        name: "JSON is refused where files are uploaded",
        must_fail: &["11-dispatch-by-type"],
        on_request: &|request, _| {
            let is_json = request.header_value("Content-Type") == Some("application/json");
            (is_json && request.method == "POST" && request.target == "/mesh/document")
                .then(|| error(415, "TransportError"))
        },
        ..NO_FAULT
    },
    Fault {
        name: "registration answers without an id",
        must_fail: &["8.1-register"],
        may_fail: &["3.11-bytes-by-id", "8."],
        on_response: &|request, response, _| {
            if request.target.ends_with("/queries") && request.method == "POST" {
                edit_body(response, |status| status == 200, |body| *body = json!({"registered": true}));
            }
        },
        ..NO_FAULT
    },
    Fault {
        name: "an upload always needs the name of its field",
        must_fail: &["9.3-only-field"],
        on_request: &|request, _| {
            let query = request.header_value("X-Mesh-Query").and_then(mesh_tests::kit::encoding::from_base64);
            let bare = query.is_some_and(|query| query == b"{\"photo\":{}}");
            bare.then(|| error(500, "InternalError"))
        },
        ..NO_FAULT
    },
    Fault {
        name: "equal files have different places",
        must_fail: &["9.5-same-bytes"],
        on_response: &|request, response, _| {
            if request.target.ends_with("/document/26/file") {
                edit_body(
                    response,
                    |status| status == 200,
                    |body| {
                        let key = body["file"].as_str().unwrap_or_default().to_owned();
                        body["file"] = format!("{key}0").into();
                    },
                );
            }
        },
        ..NO_FAULT
    },
    Fault {
        name: "lists without an order come as they are stored",
        must_fail: &["3.9-default", "3.10-first"],
        may_fail: &["2.", "3.", "4-", "5.", "1-", "6-", "12."],
        on_response: &|request, response, _| {
            let query = super::generated::text_of(request);
            let is_plain =
                !query.contains("$orderBy") && !query.contains("$where") && !query.contains("roup");
            let is_large = query.contains("player") || query.contains("entry");
            if is_plain && is_large && segments(request).len() == 1 {
                edit_body(
                    response,
                    |status| status == 200,
                    |body| {
                        if let Some(items) = body["items"].as_array_mut() {
                            items.reverse();
                        }
                    },
                );
            }
        },
        ..NO_FAULT
    },
    Fault {
        name: "ties without an id come in any order",
        must_fail: &["3.9-no-id-field"],
        on_response: &|request, response, state| {
            if segments(request) == ["reading"] && state.mark(&super::generated::text_of(request)) {
                edit_body(
                    response,
                    |status| status == 200,
                    |body| {
                        if let Some(items) = body["items"].as_array_mut() {
                            items.reverse();
                        }
                    },
                );
            }
        },
        may_fail: &["5.4-walk-no-id", "3.7-no-id-field", "6-no-id-field"],
        ..NO_FAULT
    },
];
