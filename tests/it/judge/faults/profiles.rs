//! Faults of uploads and of the optional profiles.

use mesh_tests::kit::http::Request;
use mesh_tests::kit::wire;
use serde_json::{Value, json};

use super::{Fault, NONE, deep, edit, edit_body, edit_error, edit_ok, put, reply, segments, set};

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "the hash of a file is not checked",
        needs: "L4",
        must: &["9.4-mismatch-leaves-nothing", "9.1-hash-checked", "9.4-no-record-without-file"],
        related: &["9.1-bad-hash"],
        before: |request, memory| {
            if let Some(hash) = file_of(request).map(wire::sha256) {
                let before = request.header("X-Mesh-Query").map(str::to_owned);
                edit(request, |query| {
                    if query.get("contentHash").is_some() {
                        query["contentHash"] = format!("sha256:{hash}").into();
                    }
                });
                let changed = request.header("X-Mesh-Query").map(str::to_owned) != before;
                if changed && request.header("X-Mesh-Signature").is_some() {
                    memory.sign(request);
                }
            }
            None
        },
        ..NONE
    },
    Fault {
        name: "the statement of an upload is not compared with the path",
        needs: "L4",
        must: &["9.1-other-field", "9.1-other-entity"],
        related: &["9.6-", "9.1-not-upload"],
        before: |request, memory| {
            let path: Vec<String> = segments(request).into_iter().map(str::to_owned).collect();
            if let ([entity, _, field], true) = (path.as_slice(), is_upload(request)) {
                let before = request.header("X-Mesh-Query").map(str::to_owned);
                edit(request, |query| {
                    let hash = query.get("contentHash").cloned();
                    let mut right = json!({entity.as_str(): {field.as_str(): {"upload": true}}});
                    if let Some(hash) = hash {
                        right["contentHash"] = hash;
                    }
                    *query = right;
                });
                let changed = request.header("X-Mesh-Query").map(str::to_owned) != before;
                if changed && request.header("X-Mesh-Signature").is_some() {
                    memory.sign(request);
                }
            }
            None
        },
        ..NONE
    },
    Fault {
        name: "any content type is stored",
        needs: "L4",
        must: &["9.6-type-not-allowed"],
        related: &["9.7-attachment", "9.5-"],
        before: |request, _| {
            if is_upload(request) {
                request.body = request.body.take().map(|body| replace(&body, b"text/html", b"image/png"));
            }
            None
        },
        ..NONE
    },
    Fault {
        name: "files are shown by browsers",
        needs: "L4",
        must: &["9.7-attachment"],
        related: &["9.7-bytes"],
        after: |request, response, _| {
            if request.target.contains("/files/") {
                put(response, "content-disposition", None);
            }
        },
        ..NONE
    },
    Fault {
        name: "browsers may guess types of files",
        needs: "L4",
        must: &["9.7-bytes", "9.7-attachment"],
        after: |_, response, _| put(response, "x-content-type-options", None),
        ..NONE
    },
    Fault {
        name: "ranges are not looked at",
        needs: "L4",
        must: &["9.7-range"],
        before: |request, _| {
            set(request, "Range", None);
            None
        },
        ..NONE
    },
    Fault {
        name: "large files as 400",
        needs: "L4",
        must: &["9.6-too-large"],
        related: &["12.2-body", "11-body"],
        after: |_, response, _| {
            if response.status == 413 {
                response.status = 400;
            }
        },
        ..NONE
    },
    Fault {
        name: "created records without an address",
        needs: "L4",
        must: &["9.3-location"],
        related: &["9.3-create", "11-create", "11-child"],
        after: |_, response, _| put(response, "location", None),
        ..NONE
    },
    Fault {
        name: "unknown query ids as 404",
        needs: "persisted",
        must: &["8.4-unknown", "8.4-no-id"],
        after: |_, response, _| {
            if String::from_utf8_lossy(&response.body).contains("QUERY_ID_UNKNOWN") {
                response.status = 404;
            }
        },
        ..NONE
    },
    Fault {
        name: "query ids of another making",
        needs: "persisted",
        must: &["8.2-id", "8.2-id-ql"],
        related: &["8."],
        after: |request, response, _| {
            if request.target.ends_with("/queries") {
                edit_ok(response, |body| {
                    if let Some(id) = body["id"].as_str().map(str::to_owned) {
                        body["id"] = format!("{id}0").into();
                    }
                });
            }
        },
        before: |request, _| {
            let id =
                request.header("X-Mesh-Query-Id").filter(|id| id.len() == 35).map(|id| id[..34].to_owned());
            if id.is_some() {
                set(request, "X-Mesh-Query-Id", id);
            }
            None
        },
    },
    Fault {
        name: "queries are kept without being checked",
        needs: "persisted",
        must: &["8.1-invalid-syntax", "8.1-invalid-field", "8.1-base64"],
        after: |request, response, _| {
            let is_invalid = String::from_utf8_lossy(&response.body).contains("ValidationError");
            if request.target.ends_with("/queries") && is_invalid {
                *response = reply(200, &json!({"id": "q_0123456789abcdef0123456789abcdef"}));
            }
        },
        ..NONE
    },
    Fault {
        name: "queries that are not known run on a server of known ones",
        needs: "persisted",
        must: &["8.5-query", "8.5-post"],
        after: |request, response, _| {
            let is_refused = String::from_utf8_lossy(&response.body).contains("QUERY_NOT_ALLOWED");
            if is_refused && !request.target.ends_with("/queries") {
                *response = reply(200, &json!({"name": "Ada"}));
            }
        },
        ..NONE
    },
    Fault {
        name: "fields that are not writable are dropped in silence",
        needs: "mutations",
        must: &["11-create-not-writable", "11-update-not-writable", "11-create-id"],
        related: &["11-create-", "11-child-", "11-hidden-column", "11-update-"],
        before: |request, _| {
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
        ..NONE
    },
    Fault {
        name: "conflicts as 500",
        needs: "mutations",
        must: &["11-create-unique", "11-create-required", "11-delete-referenced"],
        related: &["11-"],
        after: |_, response, _| {
            if response.status == 409 {
                *response = super::error(500, "InternalError");
            }
        },
        ..NONE
    },
    Fault {
        name: "writes to what is not there succeed",
        needs: "mutations",
        must: &["11-update-missing", "11-delete-missing", "11-link-missing"],
        related: &["11-", "9.3-missing"],
        after: |request, response, _| {
            if response.status == 404 && request.method != "GET" {
                *response = reply(200, &json!({}));
            }
        },
        ..NONE
    },
    Fault {
        name: "deletes with a body and status 200",
        needs: "mutations",
        must: &["11-delete", "11-unlink", "11-disconnect"],
        related: &["11-", "10.2-deleted"],
        after: |request, response, _| {
            if request.method == "DELETE" && response.status == 204 {
                *response = reply(200, &json!({"deleted": true}));
            }
        },
        ..NONE
    },
    Fault {
        name: "what is linked twice is a conflict",
        needs: "mutations",
        must: &["11-link-twice"],
        before: |request, memory| {
            let body = String::from_utf8_lossy(request.body.as_deref().unwrap_or_default()).into_owned();
            let is_link = request.method == "POST" && request.target.ends_with("/labels");
            let what = format!("{} {body}", request.target);
            (is_link && memory.seen_before(&what)).then(|| super::error(409, "ConflictError"))
        },
        ..NONE
    },
    Fault {
        name: "streams of another type",
        needs: "events",
        must: &["10.1-stream"],
        related: &["10."],
        after: |_, response, _| {
            if response.header("content-type").is_some_and(|kind| kind.starts_with("text/event-stream")) {
                put(response, "content-type", Some("text/plain"));
            }
        },
        ..NONE
    },
    Fault {
        name: "streams that caches keep",
        needs: "events",
        must: &["10.1-stream"],
        after: |_, response, _| {
            if response.header("content-type").is_some_and(|kind| kind.starts_with("text/event-stream")) {
                put(response, "cache-control", None);
            }
        },
        ..NONE
    },
    Fault {
        name: "Last-Event-ID is not looked at",
        needs: "events",
        must: &["10.3-resume"],
        before: |request, _| {
            set(request, "Last-Event-ID", None);
            None
        },
        ..NONE
    },
    Fault {
        name: "computed fields bring what they are made of",
        needs: "computed",
        must: &["13.5-select", "13.5-dependencies-not-returned"],
        related: &["13.5-"],
        after: |_, response, _| {
            edit_ok(response, |body| {
                deep(body, "", &|_, value| {
                    if let Some(record) = value.as_object_mut().filter(|record| record.contains_key("badge"))
                    {
                        record.insert("name".to_owned(), "x".into());
                    }
                });
            });
        },
        ..NONE
    },
    Fault {
        name: "NULL in computed fields as the word null",
        needs: "computed",
        must: &["13.5-null"],
        after: |_, response, _| {
            edit_ok(response, |body| {
                if body["badge"] == "Di ()" {
                    body["badge"] = "Di (null)".into();
                }
            });
        },
        ..NONE
    },
    Fault {
        name: "every origin is allowed",
        needs: "cors",
        must: &["12.5-other-origin", "12.5-similar-origin", "12.5-off"],
        after: |request, response, _| {
            if let Some(origin) = request.header("Origin") {
                put(response, "access-control-allow-origin", Some(origin));
            }
        },
        ..NONE
    },
    Fault {
        name: "scripts cannot read our headers",
        needs: "cors",
        must: &["12.5-exposed"],
        after: |_, response, _| put(response, "access-control-expose-headers", None),
        ..NONE
    },
    Fault {
        name: "errors without CORS",
        needs: "cors",
        must: &["12.5-error-readable"],
        after: |_, response, _| {
            if response.status >= 400 {
                put(response, "access-control-allow-origin", None);
            }
        },
        ..NONE
    },
    Fault {
        name: "introspection shows storage",
        needs: "docs",
        must: &["13.1-no-storage"],
        related: &["13.1-"],
        after: |request, response, _| {
            if request.target.ends_with("/docs/schema") {
                edit_ok(response, |body| body["tables"] = json!(["blog_posts"]));
            }
        },
        ..NONE
    },
    Fault {
        name: "statements are always shown",
        needs: "docs",
        must: &["13.2-no-sql"],
        after: |request, response, _| {
            if request.target.ends_with("/docs/execute") {
                edit_ok(response, |body| {
                    if body["meta"].get("sql").is_none() {
                        body["meta"]["sql"] = json!([]);
                    }
                });
            }
        },
        ..NONE
    },
    Fault {
        name: "hidden entities can be run",
        needs: "docs",
        must: &["13.2-allowlist-execute", "13.2-allowlist-relation"],
        related: &["13.2-invalid", "13.2-no-query"],
        after: |request, response, _| {
            if request.target.ends_with("/docs/execute") && response.status == 400 {
                edit_body(response, |_| true, |body| *body = json!({"data": null, "meta": {}}));
                response.status = 200;
            }
        },
        ..NONE
    },
    Fault {
        name: "errors of execute in a form of their own",
        needs: "docs",
        must: &["13.2-invalid"],
        related: &["13.2-", "13.3-"],
        after: |request, response, _| {
            if request.target.ends_with("/docs/execute") {
                edit_error(response, |body| *body = json!({"errors": [body.take()]}));
            }
        },
        ..NONE
    },
];

fn is_upload(request: &Request) -> bool {
    request.header("Content-Type").is_some_and(|kind| kind.starts_with("multipart/"))
}

/// The bytes of the first file of an upload.
fn file_of(request: &Request) -> Option<Vec<u8>> {
    let boundary = request.header("Content-Type")?.split_once("boundary=")?.1.to_owned();
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
