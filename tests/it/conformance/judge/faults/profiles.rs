//! Faults of uploads and of the optional profiles.

use mesh_tests::kit::encoding;
use mesh_tests::kit::http::Request;
use serde_json::{Value, json};

use super::{
    Fault, NO_FAULT, deep, edit_body, edit_error, edit_ok, edit_statement, is_upload, put, reply, segments,
    set,
};

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "the hash of a file is not verified",
        must_fail: &["9.4-mismatch-leaves-nothing", "9.1-hash-checked", "9.4-no-record-without-file"],
        may_fail: &["9.1-", "9.1-bad-hash", "9.4-"],
        on_request: &|request, memory| {
            if let Some(hash) = file_of(request).map(encoding::sha256) {
                let before = request.header_value("X-Mesh-Query").map(str::to_owned);
                edit_statement(request, |query| {
                    if query.get("contentHash").is_some() {
                        query["contentHash"] = format!("sha256:{hash}").into();
                    }
                });
                let changed = request.header_value("X-Mesh-Query").map(str::to_owned) != before;
                if changed && request.header_value("X-Mesh-Signature").is_some() {
                    memory.sign(request);
                }
            }
            None
        },
        corrupts_data: true,
        ..NO_FAULT
    },
    Fault {
        name: "the statement of an upload may contradict the path",
        must_fail: &["9.1-other-field", "9.1-other-entity"],
        may_fail: &["9.1-", "9.1-not-upload", "9.4-", "9.6-"],
        on_request: &|request, memory| {
            let path: Vec<String> = segments(request).into_iter().map(str::to_owned).collect();
            if let ([entity, _, field], true) = (path.as_slice(), is_upload(request)) {
                let before = request.header_value("X-Mesh-Query").map(str::to_owned);
                edit_statement(request, |query| {
                    let hash = query.get("contentHash").cloned();
                    let mut right = json!({entity.as_str(): {field.as_str(): {"upload": true}}});
                    if let Some(hash) = hash {
                        right["contentHash"] = hash;
                    }
                    *query = right;
                });
                let changed = request.header_value("X-Mesh-Query").map(str::to_owned) != before;
                if changed && request.header_value("X-Mesh-Signature").is_some() {
                    memory.sign(request);
                }
            }
            None
        },
        corrupts_data: true,
        ..NO_FAULT
    },
    Fault {
        name: "content types are not restricted",
        must_fail: &["9.6-type-not-allowed"],
        may_fail: &["9.1-", "9.5-", "9.7-attachment"],
        on_request: &|request, _| {
            if is_upload(request) {
                request.body = request.body.take().map(|body| replace(&body, b"text/html", b"image/png"));
            }
            None
        },
        corrupts_data: true,
        ..NO_FAULT
    },
    Fault {
        name: "files have no attachment disposition",
        must_fail: &["9.7-attachment"],
        may_fail: &["9.7-bytes"],
        on_response: &|request, response, _| {
            if request.target.contains("/files/") {
                put(response, "content-disposition", None);
            }
        },
        ..NO_FAULT
    },
    Fault {
        name: "files allow content sniffing",
        must_fail: &["9.7-bytes", "9.7-attachment"],
        may_fail: &["9.7-"],
        on_response: &|_, response, _| put(response, "x-content-type-options", None),
        ..NO_FAULT
    },
    Fault {
        name: "ranges are ignored",
        must_fail: &["9.7-range"],
        may_fail: &["9.7-"],
        on_request: &|request, _| {
            set(request, "Range", None);
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "oversized files are 400",
        must_fail: &["9.6-too-large"],
        may_fail: &["11-body", "12.2-body", "9.6-"],
        on_response: &|_, response, _| {
            if response.status == 413 {
                response.status = 400;
            }
        },
        ..NO_FAULT
    },
    Fault {
        name: "created records have no Location",
        must_fail: &["9.3-location"],
        may_fail: &["9.3-create", "11-create", "11-child"],
        on_response: &|_, response, _| put(response, "location", None),
        ..NO_FAULT
    },
    Fault {
        name: "unknown query ids are 404",
        must_fail: &["8.4-unknown", "8.4-no-id"],
        may_fail: &["8.6-"],
        on_response: &|_, response, _| {
            if String::from_utf8_lossy(&response.body).contains("QUERY_ID_UNKNOWN") {
                response.status = 404;
            }
        },
        ..NO_FAULT
    },
    Fault {
        name: "query ids are computed differently",
        must_fail: &["8.2-id", "8.2-id-ql"],
        may_fail: &["8."],
        on_response: &|request, response, _| {
            if request.target.ends_with("/queries") {
                edit_ok(response, |body| {
                    if let Some(id) = body["id"].as_str().map(str::to_owned) {
                        body["id"] = format!("{id}0").into();
                    }
                });
            }
        },
        on_request: &|request, _| {
            let id = request
                .header_value("X-Mesh-Query-Id")
                .filter(|id| id.len() == 35)
                .map(|id| id[..34].to_owned());
            if id.is_some() {
                set(request, "X-Mesh-Query-Id", id);
            }
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "queries are registered without validation",
        must_fail: &["8.1-invalid-syntax", "8.1-invalid-field", "8.1-base64"],
        on_response: &|request, response, _| {
            let is_invalid = String::from_utf8_lossy(&response.body).contains("ValidationError");
            if request.target.ends_with("/queries") && is_invalid {
                *response = reply(200, &json!({"id": "q_0123456789abcdef0123456789abcdef"}));
            }
        },
        ..NO_FAULT
    },
    Fault {
        name: "unregistered queries run on a server that requires registration",
        must_fail: &["8.5-query", "8.5-post"],
        on_response: &|request, response, _| {
            let is_refused = String::from_utf8_lossy(&response.body).contains("QUERY_NOT_ALLOWED");
            if is_refused && !request.target.ends_with("/queries") {
                *response = reply(200, &json!({"name": "Ada"}));
            }
        },
        ..NO_FAULT
    },
    Fault {
        name: "read-only fields are ignored silently",
        must_fail: &["11-create-not-writable", "11-update-not-writable", "11-create-id"],
        may_fail: &["11-child-", "11-create-", "11-hidden-column", "11-update-", "12.1-fields-", "6-"],
        on_request: &|request, _| {
            let allowed = [
                "title", "body", "rank", "slug", "due", "open", "text", "caption", "name", "entityId",
                "query",
            ];
            let body = request.body.as_deref().and_then(|body| serde_json::from_slice::<Value>(body).ok());
            let is_write =
                ["POST", "PUT"].contains(&request.method.as_str()) && request.target.contains("/draft");
            if let Some(Value::Object(mut body)) = body.filter(|_| is_write) {
                body.retain(|name, _| allowed.contains(&name.as_str()));
                request.body = Some(Value::Object(body).to_string().into_bytes());
            }
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "conflicts are 500",
        must_fail: &["11-create-unique", "11-create-required", "11-delete-referenced"],
        may_fail: &["11-", "12.1-fields-"],
        on_response: &|_, response, _| {
            if response.status == 409 {
                *response = super::error(500, "InternalError");
            }
        },
        ..NO_FAULT
    },
    Fault {
        name: "writes to missing records succeed",
        must_fail: &["11-update-missing", "11-delete-missing", "11-link-missing"],
        may_fail: &["11-", "6-", "9.3-missing"],
        on_response: &|request, response, _| {
            if response.status == 404 && request.method != "GET" {
                *response = reply(200, &json!({}));
            }
        },
        ..NO_FAULT
    },
    Fault {
        name: "deletes have a body and status 200",
        must_fail: &["11-delete", "11-unlink", "11-disconnect"],
        may_fail: &["10.2-deleted", "11-", "5.4-", "6-writable-", "6-policy-writable-"],
        on_response: &|request, response, _| {
            if request.method == "DELETE" && response.status == 204 {
                *response = reply(200, &json!({"deleted": true}));
            }
        },
        ..NO_FAULT
    },
    Fault {
        name: "a repeated link is a conflict",
        must_fail: &["11-link-twice"],
        on_request: &|request, memory| {
            let body = String::from_utf8_lossy(request.body.as_deref().unwrap_or_default()).into_owned();
            let is_link = request.method == "POST" && request.target.ends_with("/labels");
            let what = format!("{} {body}", request.target);
            (is_link && memory.mark(&what)).then(|| super::error(409, "ConflictError"))
        },
        ..NO_FAULT
    },
    Fault {
        name: "streams have another content type",
        must_fail: &["10.1-stream"],
        may_fail: &["10."],
        on_response: &|_, response, _| {
            if response.header("content-type").is_some_and(|kind| kind.starts_with("text/event-stream")) {
                put(response, "content-type", Some("text/plain"));
            }
        },
        ..NO_FAULT
    },
    Fault {
        name: "streams are cacheable",
        must_fail: &["10.1-stream"],
        on_response: &|_, response, _| {
            if response.header("content-type").is_some_and(|kind| kind.starts_with("text/event-stream")) {
                put(response, "cache-control", None);
            }
        },
        ..NO_FAULT
    },
    Fault {
        name: "Last-Event-ID is ignored",
        must_fail: &["10.3-resume"],
        on_request: &|request, _| {
            set(request, "Last-Event-ID", None);
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "computed fields include their dependencies",
        must_fail: &["13.5-select", "13.5-dependencies-not-returned"],
        may_fail: &["13.5-", "6-"],
        on_response: &|_, response, _| {
            edit_ok(response, |body| {
                deep(body, "", &|_, value| {
                    if let Some(record) = value.as_object_mut().filter(|record| record.contains_key("badge"))
                    {
                        record.insert("name".to_owned(), "x".into());
                    }
                });
            });
        },
        ..NO_FAULT
    },
    Fault {
        name: "NULL in computed fields is the text null",
        must_fail: &["13.5-null"],
        on_response: &|_, response, _| {
            edit_ok(response, |body| {
                if body["badge"] == "Di ()" {
                    body["badge"] = "Di (null)".into();
                }
            });
        },
        ..NO_FAULT
    },
    Fault {
        name: "every origin is allowed",
        must_fail: &["12.5-other-origin", "12.5-similar-origin", "12.5-off"],
        on_response: &|request, response, _| {
            if let Some(origin) = request.header_value("Origin") {
                put(response, "access-control-allow-origin", Some(origin));
            }
        },
        ..NO_FAULT
    },
    Fault {
        name: "headers are not exposed to scripts",
        must_fail: &["12.5-exposed"],
        on_response: &|_, response, _| put(response, "access-control-expose-headers", None),
        ..NO_FAULT
    },
    Fault {
        name: "errors have no CORS headers",
        must_fail: &["12.5-error-readable"],
        on_response: &|_, response, _| {
            if response.status >= 400 {
                put(response, "access-control-allow-origin", None);
            }
        },
        ..NO_FAULT
    },
    Fault {
        name: "introspection reveals names of the storage",
        must_fail: &["13.1-no-storage"],
        may_fail: &["13.1-"],
        on_response: &|request, response, _| {
            if request.target.ends_with("/docs/schema") {
                edit_ok(response, |body| body["tables"] = json!(["blog_posts"]));
            }
        },
        ..NO_FAULT
    },
    Fault {
        name: "statements are always returned",
        must_fail: &["13.2-no-sql"],
        on_response: &|request, response, _| {
            if request.target.ends_with("/docs/execute") {
                edit_ok(response, |body| {
                    if body["meta"].get("sql").is_none() {
                        body["meta"]["sql"] = json!([]);
                    }
                });
            }
        },
        ..NO_FAULT
    },
    Fault {
        name: "hidden entities can be queried",
        must_fail: &["13.2-allowlist-execute", "13.2-allowlist-relation"],
        may_fail: &["13.2-invalid", "13.2-no-query"],
        on_response: &|request, response, _| {
            if request.target.ends_with("/docs/execute") && response.status == 400 {
                edit_body(response, |_| true, |body| *body = json!({"data": null, "meta": {}}));
                response.status = 200;
            }
        },
        ..NO_FAULT
    },
    Fault {
        name: "errors of execute have another form",
        must_fail: &["13.2-invalid"],
        may_fail: &["13.2-", "13.3-", "2.13-docs"],
        on_response: &|request, response, _| {
            if request.target.ends_with("/docs/execute") {
                edit_error(response, |body| *body = json!({"errors": [body.take()]}));
            }
        },
        ..NO_FAULT
    },
];

/// Returns the bytes of the first file of an upload.
fn file_of(request: &Request) -> Option<Vec<u8>> {
    let boundary = request.header_value("Content-Type")?.split_once("boundary=")?.1.to_owned();
    let body = request.body.as_deref()?;
    let at = find(body, b"filename=\"")?;
    let start = at + find(&body[at..], b"\r\n\r\n")? + 4;
    let end = start + find(&body[start..], format!("\r\n--{boundary}").as_bytes())?;
    Some(body[start..end].to_vec())
}

fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len()).position(|window| window == part)
}

fn replace(text: &[u8], part: &[u8], by: &[u8]) -> Vec<u8> {
    match find(text, part) {
        Some(at) => [&text[..at], by, &text[at + part.len()..]].concat(),
        None => text.to_vec(),
    }
}
