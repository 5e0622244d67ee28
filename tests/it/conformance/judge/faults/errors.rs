//! Faults of errors, statuses and methods.

use super::{Fault, NO_FAULT, edit, edit_body, edit_error, edit_text, error, put, reply, segments};
use serde_json::{Value, json};

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "errors have no request id",
        must_fail: &["2.11-in-errors", "12.1-members"],
        may_fail: &["12.1-", "2.11-", "7.6-"],
        on_response: &|_, response, _| {
            edit_error(response, |body| {
                if let Some(body) = body.as_object_mut() {
                    body.remove("requestId");
                }
            });
        },
        ..NO_FAULT
    },
    Fault {
        name: "bodies have no charset",
        must_fail: &["2.12-reads", "2.12-null", "2.12-errors"],
        may_fail: &["10.1-", "11-", "12.1-", "13.4-", "2.12-", "9.3-", "9.7-"],
        on_response: &|_, response, _| {
            if response.header("content-type").is_some() {
                put(response, "content-type", Some("application/json"));
            }
        },
        ..NO_FAULT
    },
    Fault {
        name: "errors name nothing",
        must_fail: &["3.4-field-named", "3.4-relation-named", "4-unknown-field", "3.7-unknown-field"],
        may_fail: &[
            "10.1-",
            "11-",
            "12.1-fields-",
            "13.",
            "2.",
            "3.",
            "4-",
            "6-",
            "7.7-",
            "8.1-",
            "8.4-",
            "9.2-",
            "9.6-",
        ],
        on_response: &|_, response, _| {
            edit_error(response, |body| body["message"] = "Something is wrong".into())
        },
        ..NO_FAULT
    },
    Fault {
        name: "errors have no path",
        must_fail: &["3.4-field-named", "3.4-nested-field-named"],
        may_fail: &["13.2-", "3.4-", "3.6-to-one-"],
        on_response: &|_, response, _| {
            edit_error(response, |body| {
                body.as_object_mut().unwrap().remove("path");
            });
        },
        ..NO_FAULT
    },
    Fault {
        name: "syntax errors have no position",
        must_fail: &["3.4-syntax-place", "4-comma", "4-place"],
        may_fail: &["13.2-", "3.4-syntax", "4-"],
        on_response: &|_, response, _| {
            edit_error(response, |body| {
                body.as_object_mut().unwrap().remove("line");
            });
        },
        ..NO_FAULT
    },
    Fault {
        name: "columns count from zero",
        must_fail: &["3.4-syntax-place-first-line", "4-comma", "4-trailing"],
        may_fail: &["4-"],
        on_response: &|_, response, _| {
            edit_error(response, |body| {
                if let Some(column) = body.get("column").and_then(Value::as_u64) {
                    body["column"] = (column - 1).into();
                }
            });
        },
        ..NO_FAULT
    },
    Fault {
        name: "errors reveal statements",
        must_fail: &["12.1-resolver-error", "12.1-timeout"],
        may_fail: &["12.1-"],
        on_response: &|_, response, _| {
            edit_error(response, |body| {
                let message =
                    format!("{} near SELECT name FROM users", body["message"].as_str().unwrap_or_default());
                body["message"] = message.into();
            });
        },
        ..NO_FAULT
    },
    Fault {
        name: "errors are HTML",
        must_fail: &["3.4-field-named", "2.12-errors", "12.1-members"],
        may_fail: &[""],
        on_response: &|_, response, _| {
            if response.status >= 400 && !response.body.is_empty() {
                response.body = b"<h1>Bad Request</h1>".to_vec();
                put(response, "content-type", Some("text/html"));
            }
        },
        ..NO_FAULT
    },
    Fault {
        name: "errors have status 200",
        must_fail: &["3.4-field-named", "2.3-no-query", "4-comma", "3.7-null-value"],
        may_fail: &["1", "2.", "3.", "4-", "5.4-", "6-", "7.", "8.", "9."],
        on_response: &|_, response, _| {
            if response.status == 400 {
                response.status = 200;
            }
        },
        ..NO_FAULT
    },
    Fault {
        name: "unknown fields are omitted silently",
        must_fail: &["3.4-field-named", "6-hidden-column", "4-unknown-field"],
        may_fail: &[
            "10.1-",
            "11-",
            "12.1-",
            "12.3-error",
            "12.5-",
            "13.2-",
            "2.11-in-errors",
            "2.12-errors",
            "3.12-",
            "3.13-",
            "3.4-",
            "3.7-",
            "3.9-",
            "5.4-",
            "6-",
            "7.7-",
            "8.1-",
            "9.",
        ],
        on_response: &|_, response, _| {
            if String::from_utf8_lossy(&response.body).contains("Field '") {
                *response = reply(200, &json!({}));
            }
        },
        ..NO_FAULT
    },
    Fault {
        name: "oversized headers are 400",
        must_fail: &["12.2-header-too-large", "12.2-target-too-long"],
        may_fail: &["12.2-", "7.7-"],
        on_response: &|_, response, _| {
            edit_body(response, |status| status == 431 || status == 414, |_| {});
            if response.status == 431 || response.status == 414 {
                response.status = 400;
            }
        },
        ..NO_FAULT
    },
    Fault {
        name: "oversized bodies are 400",
        must_fail: &["12.2-body-too-large"],
        may_fail: &["11-", "12.2-", "9.6-"],
        on_response: &|_, response, _| {
            if response.status == 413 {
                response.status = 400;
            }
        },
        ..NO_FAULT
    },
    Fault {
        name: "HEAD is not supported",
        must_fail: &["2.1-head", "2.1-head-of-error"],
        may_fail: &["12.3-head", "2.11-", "2.12-", "2.13-every-route", "7.4-", "7.7-", "9.7-"],
        on_request: &|request, _| (request.method == "HEAD").then(|| error(405, "MethodNotAllowed")),
        ..NO_FAULT
    },
    Fault {
        name: "OPTIONS is not supported",
        must_fail: &["2.1-options"],
        may_fail: &["11-", "12.5-", "12.5-preflight", "2.11-", "2.13-every-route", "7.7-"],
        on_request: &|request, _| (request.method == "OPTIONS").then(|| error(405, "MethodNotAllowed")),
        ..NO_FAULT
    },
    Fault {
        name: "impossible ids are 400",
        must_fail: &["2.9-letters", "2.9-huge"],
        may_fail: &["2.9-"],
        on_request: &|request, _| {
            let id = segments(request).get(1).map(|id| (*id).to_owned());
            let is_user = segments(request).first() == Some(&"user");
            let is_number = id.as_deref().is_none_or(|id| id.parse::<i64>().is_ok());
            let is_read = ["GET", "PUT"].contains(&request.method.as_str()) && segments(request).len() == 2;
            (is_user && is_read && !is_number).then(|| error(400, "ValidationError"))
        },
        ..NO_FAULT
    },
    Fault {
        name: "the last of duplicate keys is used",
        must_fail: &[
            "3.2-duplicate-root",
            "3.2-duplicate-field",
            "3.2-duplicate-escaped",
            "3.2-duplicate-select",
        ],
        may_fail: &["12.2-", "3.2-duplicate-", "7.4-", "8.2-"],
        on_request: &|request, _| {
            edit_text(request, |text| {
                let parsed: Value = serde_json::from_str(text).ok().filter(|_| text.len() < 2_000)?;
                Some(parsed.to_string())
            });
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "further roots are ignored silently",
        must_fail: &["3.1-two-roots", "3.1-root-control", "3.1-root-control-after"],
        on_request: &|request, _| {
            edit(request, |query| {
                let first = query.as_object().filter(|query| query.len() > 1);
                let first = first.and_then(|query| query.keys().find(|name| !name.starts_with('$')).cloned());
                if let (Some(first), Some(query)) = (first, query.as_object_mut()) {
                    query.retain(|name, _| *name == first);
                }
            });
            None
        },
        ..NO_FAULT
    },
];
