//! Faults of routes, headers and errors.

use serde_json::{Value, json};

use super::{
    Fault, NONE, edit, edit_body, edit_error, edit_ok, edit_text, error, is_point, put, reply, segments, set,
};

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "null as 404",
        must: &["5.1-missing", "2.9-letters", "2.7-missing-record", "2.10-put-missing"],
        related: &["2.9-", "5.1-", "2.12-null", "12.3-null", "5.3-one"],
        after: |_, response, _| {
            if response.status == 200 && response.body == b"null" {
                *response = error(404, "NotFound");
            }
        },
        ..NONE
    },
    Fault {
        name: "a missing record as an empty object",
        must: &["5.1-missing", "2.9-letters"],
        related: &["2.9-", "2.7-missing", "2.10-put-missing", "2.12-null", "12.3-null"],
        after: |_, response, _| {
            if response.status == 200 && response.body == b"null" {
                response.body = b"{}".to_vec();
            }
        },
        ..NONE
    },
    Fault {
        name: "the path's entity is not compared",
        must: &["2.8-other-entity", "2.8-other-entity-on-collection"],
        related: &["2.8-", "3.1-two-roots"],
        before: |request, _| {
            let text = request.header("X-Mesh-Query").and_then(mesh_tests::kit::wire::from_base64)?;
            let query: Value = serde_json::from_slice(&text).ok()?;
            let root = query.as_object()?.keys().next()?.clone();
            let known = ["user", "post"].contains(&root.as_str());
            let path =
                segments(request).first().filter(|entity| **entity != root && known).map(|e| (*e).to_owned());
            if let Some(entity) = path.filter(|entity| ["user", "post"].contains(&entity.as_str())) {
                request.target = request.target.replacen(&entity, &root, 1);
            }
            None
        },
        ..NONE
    },
    Fault {
        name: "unknown paths as bad requests",
        must: &["2.1-unknown-path", "2.1-unknown-path-before-query", "12.1-not-found"],
        related: &["12.3-errors-not-stored", "2.12-errors"],
        after: |_, response, _| {
            if response.status == 404 {
                *response = error(400, "TransportError");
            }
        },
        ..NONE
    },
    Fault {
        name: "unknown entities as missing pages",
        must: &["2.1-unknown-entity", "2.1-entity-constructor"],
        related: &[
            "2.1-entity-",
            "2.1-head-of-error",
            "6-table",
            "6-hidden-table",
            "2.7-root-entity",
            "3.4-entity",
        ],
        after: |request, response, _| {
            let unknown =
                ["nobody", "constructor", "__proto__", "toString", "blog_posts", "postTag", "post_tags"];
            let is_invalid = String::from_utf8_lossy(&response.body).contains("ValidationError");
            if (is_invalid || request.method == "HEAD")
                && segments(request).first().is_some_and(|name| unknown.contains(name))
            {
                *response = error(404, "NotFound");
            }
        },
        ..NONE
    },
    Fault {
        name: "405 without Allow",
        must: &["2.1-wrong-method", "2.1-get-on-base"],
        related: &["2.1-wrong-method-on-collection", "2.1-delete-record"],
        after: |_, response, _| {
            if response.status == 405 {
                put(response, "allow", None);
            }
        },
        ..NONE
    },
    Fault {
        name: "a trailing slash is another path",
        must: &["2.1-trailing-slash"],
        before: |request, _| request.target.ends_with('/').then(|| error(404, "NotFound")),
        ..NONE
    },
    Fault {
        name: "paths decoded twice",
        must: &["2.1-decoded-once"],
        before: |request, _| {
            request.target = request.target.replace("%25", "%");
            None
        },
        ..NONE
    },
    Fault {
        name: "an escaped slash splits the path",
        must: &["2.1-decoded-slash"],
        related: &["6-", "2.7-point-text"],
        before: |request, _| {
            request.target = request.target.replace("%2F", "/");
            None
        },
        ..NONE
    },
    Fault {
        name: "the URL-safe alphabet is taken",
        must: &["2.4-url-alphabet"],
        before: |request, _| {
            let query = request.header("X-Mesh-Query").map(|query| query.replace('-', "+").replace('_', "/"));
            if query.is_some() && request.header("X-Mesh-Query") != query.as_deref() {
                return Some(reply(200, &Value::Null));
            }
            None
        },
        ..NONE
    },
    Fault {
        name: "blanks in base64 are skipped",
        must: &["2.4-blank-inside"],
        before: |request, _| {
            let query = request.header("X-Mesh-Query").filter(|query| query.contains(' '));
            if let Some(query) = query.map(|query| query.replace(' ', "")) {
                set(request, "X-Mesh-Query", Some(query));
            }
            None
        },
        ..NONE
    },
    Fault {
        name: "padding is demanded",
        must: &["2.4-unpadded"],
        related: &["2.4-trailing-bits", "12.2-size"],
        before: |request, _| {
            let unpadded = request.header("X-Mesh-Query").is_some_and(|query| query.len() % 4 != 0);
            unpadded.then(|| error(400, "TransportError"))
        },
        ..NONE
    },
    Fault {
        name: "of two equal headers the first counts",
        must: &["2.3-repeated"],
        related: &["2.3-repeated-id"],
        before: |request, _| {
            let first = request.header("X-Mesh-Query").map(str::to_owned);
            if first.is_some() {
                set(request, "X-Mesh-Query", first);
            }
            None
        },
        ..NONE
    },
    Fault {
        name: "of both query headers one counts",
        must: &["2.3-both"],
        before: |request, _| {
            if request.header("X-Mesh-Query").is_some_and(|query| !query.is_empty()) {
                set(request, "X-Mesh-Query-Id", None);
            }
            None
        },
        ..NONE
    },
    Fault {
        name: "a missing query selects everything",
        must: &["2.3-no-query", "2.3-no-query-on-collection", "2.10-put-needs-query"],
        related: &["2.1-transport-before-validation"],
        before: |request, _| {
            let is_read = ["GET", "PUT"].contains(&request.method.as_str()) && segments(request).len() < 3;
            let has =
                request.headers.iter().any(|(name, _)| name.to_ascii_lowercase().starts_with("x-mesh-"));
            (is_read && !has && !segments(request).is_empty()).then(|| reply(200, &json!({"id": 1})))
        },
        ..NONE
    },
    Fault {
        name: "formats in any letter case",
        must: &["2.5-unknown-json-capitals", "2.5-unknown-ql-capitals"],
        before: |request, _| {
            let format = request.header("X-Mesh-Format").map(str::to_ascii_lowercase);
            if format.as_deref() == Some("ql") && request.header("X-Mesh-Format") == Some("QL") {
                return Some(reply(200, &json!({"name": "Ada"})));
            }
            if format.is_some() {
                set(request, "X-Mesh-Format", format);
            }
            None
        },
        ..NONE
    },
    Fault {
        name: "controls in the URL are dropped in silence",
        must: &["2.6-url-where", "2.6-url-query", "2.6-url-on-point", "2.6-url-on-post"],
        related: &["2.6-url-"],
        before: |request, _| {
            let path = request.target.split('?').next().unwrap_or_default().to_owned();
            if request.target.len() < 10_000 {
                request.target = path;
            }
            None
        },
        ..NONE
    },
    Fault {
        name: "controls in the URL only count in these letters",
        must: &["2.6-url-order-capitals", "2.6-url-query-lower"],
        related: &["2.6-url-format", "2.6-url-query-id", "2.6-url-token"],
        before: |request, _| {
            if let Some((path, query)) = request.target.clone().split_once('?')
                && (query.contains("ORDERBY") || query.contains("x-mesh") || query.contains("X-MESH"))
            {
                path.clone_into(&mut request.target);
            }
            None
        },
        ..NONE
    },
    Fault {
        name: "bodies of any content type are read",
        must: &["2.7-type-text", "2.7-type-form", "2.7-type-missing"],
        related: &["2.7-type-"],
        before: |request, _| {
            if request.method == "POST" && request.target == "/mesh" {
                set(request, "Content-Type", Some("application/json".to_owned()));
            }
            None
        },
        ..NONE
    },
    Fault {
        name: "posted reads in a wrapping",
        must: &["2.7-point-number", "2.7-as-get"],
        related: &["2.7-", "5.2-posted", "5.4-posted", "3.5-longest", "1-core", "2.9-posted"],
        after: |request, response, _| {
            if request.method == "POST" {
                edit_ok(response, |body| *body = json!({"data": body.take(), "meta": {}}));
            }
        },
        ..NONE
    },
    Fault {
        name: "posted ids are ignored",
        must: &["2.7-point-number", "2.7-point-text", "3.6-posted-point"],
        related: &["2.7-", "3.5-longest", "1-core", "2.9-posted"],
        before: |request, _| {
            let body = request.body.as_deref().and_then(|body| serde_json::from_slice::<Value>(body).ok());
            if let Some(mut body) = body.filter(|body| body.get("id").is_some()) {
                body.as_object_mut().unwrap().remove("id");
                request.body = Some(body.to_string().into_bytes());
            }
            None
        },
        ..NONE
    },
    Fault {
        name: "PUT is not taken",
        must: &["2.10-put-reads", "2.10-put-ql"],
        related: &["2.10-"],
        before: |request, _| {
            (request.method == "PUT" && is_point(request)).then(|| {
                let mut response = error(405, "MethodNotAllowed");
                put(&mut response, "allow", Some("GET, HEAD, PUT, OPTIONS"));
                response
            })
        },
        ..NONE
    },
    Fault {
        name: "request ids are always new",
        must: &["2.11-echoed", "2.11-in-errors", "2.11-longest"],
        before: |request, _| {
            set(request, "X-Request-Id", None);
            None
        },
        ..NONE
    },
    Fault {
        name: "request ids of any length are taken",
        must: &["2.11-unfit"],
        after: |request, response, _| {
            if let Some(id) = request.header("X-Request-Id") {
                put(response, "x-request-id", Some(id));
            }
        },
        ..NONE
    },
    Fault {
        name: "errors without a request id",
        must: &["2.11-in-errors", "12.1-members"],
        related: &["12.1-"],
        after: |_, response, _| {
            edit_error(response, |body| {
                if let Some(body) = body.as_object_mut() {
                    body.remove("requestId");
                }
            });
        },
        ..NONE
    },
    Fault {
        name: "bodies without their charset",
        must: &["2.12-reads", "2.12-null", "2.12-errors"],
        after: |_, response, _| {
            if response.header("content-type").is_some() {
                put(response, "content-type", Some("application/json"));
            }
        },
        ..NONE
    },
    Fault {
        name: "errors that name nothing",
        must: &["3.4-field-named", "3.4-relation-named", "4-unknown-field", "3.7-unknown-field"],
        related: &["2.", "3.", "4-", "6-", "13."],
        after: |_, response, _| edit_error(response, |body| body["message"] = "Something is wrong".into()),
        ..NONE
    },
    Fault {
        name: "errors without a path",
        must: &["3.4-field-named", "3.4-nested-field-named"],
        related: &["3.4-", "3.6-to-one-"],
        after: |_, response, _| {
            edit_error(response, |body| {
                body.as_object_mut().unwrap().remove("path");
            });
        },
        ..NONE
    },
    Fault {
        name: "syntax errors without a place",
        must: &["3.4-syntax-place", "4-comma", "4-place"],
        related: &["3.4-syntax", "4-"],
        after: |_, response, _| {
            edit_error(response, |body| {
                body.as_object_mut().unwrap().remove("line");
            });
        },
        ..NONE
    },
    Fault {
        name: "columns count from zero",
        must: &["3.4-syntax-place-first-line", "4-comma", "4-trailing"],
        related: &["4-"],
        after: |_, response, _| {
            edit_error(response, |body| {
                if let Some(column) = body.get("column").and_then(Value::as_u64) {
                    body["column"] = (column - 1).into();
                }
            });
        },
        ..NONE
    },
    Fault {
        name: "errors that show statements",
        must: &["12.1-no-internals"],
        after: |_, response, _| {
            edit_error(response, |body| {
                let message =
                    format!("{} near SELECT name FROM users", body["message"].as_str().unwrap_or_default());
                body["message"] = message.into();
            });
        },
        ..NONE
    },
    Fault {
        name: "errors as HTML",
        must: &["3.4-field-named", "2.12-errors", "12.1-members"],
        related: &["1", "2.", "3.", "4-", "5.4-", "6-"],
        after: |_, response, _| {
            if response.status >= 400 && !response.body.is_empty() {
                response.body = b"<h1>Bad Request</h1>".to_vec();
                put(response, "content-type", Some("text/html"));
            }
        },
        ..NONE
    },
    Fault {
        name: "refusals with status 200",
        must: &["3.4-field-named", "2.3-no-query", "4-comma", "3.7-null-value"],
        related: &["1", "2.", "3.", "4-", "5.4-", "6-"],
        after: |_, response, _| {
            if response.status == 400 {
                response.status = 200;
            }
        },
        ..NONE
    },
    Fault {
        name: "unknown fields are left out in silence",
        must: &["3.4-field-named", "6-hidden-column", "4-unknown-field"],
        related: &[
            "3.4-",
            "2.11-in-errors",
            "2.12-errors",
            "12.1-",
            "12.3-error",
            "6-",
            "5.4-",
            "3.7-",
            "3.9-",
            "3.12-",
            "3.13-",
        ],
        after: |_, response, _| {
            if String::from_utf8_lossy(&response.body).contains("Field '") {
                *response = reply(200, &json!({}));
            }
        },
        ..NONE
    },
    Fault {
        name: "large headers as 400",
        must: &["12.2-header-too-large", "12.2-target-too-long"],
        related: &["12.2-"],
        after: |_, response, _| {
            edit_body(response, |status| status == 431 || status == 414, |_| {});
            if response.status == 431 || response.status == 414 {
                response.status = 400;
            }
        },
        ..NONE
    },
    Fault {
        name: "large bodies as 400",
        must: &["12.2-body-too-large"],
        after: |_, response, _| {
            if response.status == 413 {
                response.status = 400;
            }
        },
        ..NONE
    },
    Fault {
        name: "HEAD is not taken",
        must: &["2.1-head", "2.1-head-of-error"],
        related: &["12.3-head"],
        before: |request, _| (request.method == "HEAD").then(|| error(405, "MethodNotAllowed")),
        ..NONE
    },
    Fault {
        name: "OPTIONS is not taken",
        must: &["2.1-options"],
        related: &["12.5-preflight"],
        before: |request, _| (request.method == "OPTIONS").then(|| error(405, "MethodNotAllowed")),
        ..NONE
    },
    Fault {
        name: "ids that cannot exist are bad requests",
        must: &["2.9-letters", "2.9-huge"],
        related: &["2.9-"],
        before: |request, _| {
            let id = segments(request).get(1).map(|id| (*id).to_owned());
            let is_user = segments(request).first() == Some(&"user");
            let is_number = id.as_deref().is_none_or(|id| id.parse::<i64>().is_ok());
            let is_read = ["GET", "PUT"].contains(&request.method.as_str()) && segments(request).len() == 2;
            (is_user && is_read && !is_number).then(|| error(400, "ValidationError"))
        },
        ..NONE
    },
    Fault {
        name: "of duplicate keys the last counts",
        must: &["3.2-duplicate-root", "3.2-duplicate-field", "3.2-duplicate-escaped", "3.2-duplicate-select"],
        related: &["3.2-duplicate-"],
        before: |request, _| {
            edit_text(request, |text| {
                let parsed: Value = serde_json::from_str(text).ok().filter(|_| text.len() < 2_000)?;
                Some(parsed.to_string())
            });
            None
        },
        ..NONE
    },
    Fault {
        name: "further roots are dropped in silence",
        must: &["3.1-two-roots", "3.1-root-control", "3.1-root-control-after"],
        before: |request, _| {
            edit(request, |query| {
                let first = query.as_object().filter(|query| query.len() > 1);
                let first = first.and_then(|query| query.keys().find(|name| !name.starts_with('$')).cloned());
                if let (Some(first), Some(query)) = (first, query.as_object_mut()) {
                    query.retain(|name, _| *name == first);
                }
            });
            None
        },
        ..NONE
    },
];
