//! Faults of routes, headers and bodies of requests.

use super::{Fault, NO_FAULT, edit_ok, error, is_point, put, reply, segments, set};
use serde_json::{Value, json};

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "a missing record is 404",
        must_fail: &["5.1-missing", "2.9-letters", "2.7-missing-record", "2.10-put-missing"],
        may_fail: &["11-", "12.3-null", "2.12-null", "2.9-", "5.1-", "5.3-one", "6-"],
        on_response: &|_, response, _| {
            if response.status == 200 && response.body == b"null" {
                *response = error(404, "NotFound");
            }
        },
        ..NO_FAULT
    },
    Fault {
        name: "a missing record is an empty object",
        must_fail: &["5.1-missing", "2.9-letters"],
        may_fail: &["11-", "12.3-null", "2.10-put-missing", "2.12-null", "2.7-missing", "2.9-", "6-"],
        on_response: &|_, response, _| {
            if response.status == 200 && response.body == b"null" {
                response.body = b"{}".to_vec();
            }
        },
        ..NO_FAULT
    },
    Fault {
        name: "the path's entity is not compared",
        must_fail: &["2.8-other-entity", "2.8-other-entity-on-collection"],
        may_fail: &["2.8-", "3.1-two-roots"],
        on_request: &|request, _| {
            let text =
                request.header_value("X-Mesh-Query").and_then(mesh_tests::kit::encoding::from_base64)?;
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
        ..NO_FAULT
    },
    Fault {
        name: "unknown paths are 400",
        must_fail: &["2.1-unknown-path", "2.1-unknown-path-before-query", "12.1-not-found"],
        may_fail: &[
            "10.1-",
            "11-",
            "12.3-errors-not-stored",
            "2.11-",
            "2.12-errors",
            "6-",
            "7.7-",
            "9.3-",
            "9.7-",
        ],
        on_response: &|_, response, _| {
            if response.status == 404 {
                *response = error(400, "TransportError");
            }
        },
        ..NO_FAULT
    },
    Fault {
        name: "unknown entities are 404",
        must_fail: &["2.1-unknown-entity", "2.1-entity-constructor"],
        may_fail: &[
            "10.1-",
            "11-",
            "2.1-entity-",
            "2.1-head-of-error",
            "2.7-root-entity",
            "3.4-entity",
            "6-",
            "6-hidden-table",
            "6-table",
        ],
        on_response: &|request, response, _| {
            let unknown =
                ["nobody", "constructor", "__proto__", "toString", "blog_posts", "postTag", "post_tags"];
            let is_invalid = String::from_utf8_lossy(&response.body).contains("ValidationError");
            if (is_invalid || request.method == "HEAD")
                && segments(request).first().is_some_and(|name| unknown.contains(name))
            {
                *response = error(404, "NotFound");
            }
        },
        ..NO_FAULT
    },
    Fault {
        name: "405 has no Allow",
        must_fail: &["2.1-wrong-method", "2.1-get-on-base"],
        may_fail: &["2.1-delete-record", "2.1-wrong-method-on-collection", "8.1-"],
        on_response: &|_, response, _| {
            if response.status == 405 {
                put(response, "allow", None);
            }
        },
        ..NO_FAULT
    },
    Fault {
        name: "a trailing slash is another path",
        must_fail: &["2.1-trailing-slash"],
        on_request: &|request, _| request.target.ends_with('/').then(|| error(404, "NotFound")),
        ..NO_FAULT
    },
    Fault {
        name: "paths decoded twice",
        must_fail: &["2.1-decoded-once"],
        on_request: &|request, _| {
            request.target = request.target.replace("%25", "%");
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "an escaped slash splits the path",
        must_fail: &["2.1-decoded-slash"],
        may_fail: &["6-", "2.7-point-text"],
        on_request: &|request, _| {
            request.target = request.target.replace("%2F", "/");
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "the URL-safe alphabet is accepted",
        must_fail: &["2.4-url-alphabet"],
        on_request: &|request, _| {
            let query =
                request.header_value("X-Mesh-Query").map(|query| query.replace('-', "+").replace('_', "/"));
            if query.is_some() && request.header_value("X-Mesh-Query") != query.as_deref() {
                return Some(reply(200, &Value::Null));
            }
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "white space in base64 is ignored",
        must_fail: &["2.4-blank-inside"],
        on_request: &|request, _| {
            let query = request.header_value("X-Mesh-Query").filter(|query| query.contains(' '));
            if let Some(query) = query.map(|query| query.replace(' ', "")) {
                set(request, "X-Mesh-Query", Some(query));
            }
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "padding is required",
        must_fail: &["2.4-unpadded"],
        may_fail: &["12.2-size", "2.4-trailing-bits", "7.4-", "7.7-"],
        on_request: &|request, _| {
            let unpadded = request.header_value("X-Mesh-Query").is_some_and(|query| query.len() % 4 != 0);
            unpadded.then(|| error(400, "TransportError"))
        },
        ..NO_FAULT
    },
    Fault {
        name: "the first of two equal headers is used",
        must_fail: &["2.3-repeated"],
        may_fail: &["2.3-repeated-id"],
        on_request: &|request, _| {
            let first = request.header_value("X-Mesh-Query").map(str::to_owned);
            if first.is_some() {
                set(request, "X-Mesh-Query", first);
            }
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "one of both query headers is used",
        must_fail: &["2.3-both"],
        on_request: &|request, _| {
            if request.header_value("X-Mesh-Query").is_some_and(|query| !query.is_empty()) {
                set(request, "X-Mesh-Query-Id", None);
            }
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "a missing query selects everything",
        must_fail: &["2.3-no-query", "2.3-no-query-on-collection", "2.10-put-needs-query"],
        may_fail: &["2.1-transport-before-validation", "2.11-", "7.7-"],
        on_request: &|request, _| {
            let is_read = ["GET", "PUT"].contains(&request.method.as_str())
                && request.body.is_none()
                && segments(request).len() < 3
                && !["auth", "queries", "docs", "files"].iter().any(|word| request.target.contains(word));
            let has =
                request.headers.iter().any(|(name, _)| name.to_ascii_lowercase().starts_with("x-mesh-"));
            (is_read && !has && !segments(request).is_empty()).then(|| reply(200, &json!({"id": 1})))
        },
        ..NO_FAULT
    },
    Fault {
        name: "format names are case-insensitive",
        must_fail: &["2.5-unknown-json-capitals", "2.5-unknown-ql-capitals"],
        on_request: &|request, _| {
            let format = request.header_value("X-Mesh-Format").map(str::to_ascii_lowercase);
            if format.as_deref() == Some("ql") && request.header_value("X-Mesh-Format") == Some("QL") {
                return Some(reply(200, &json!({"name": "Ada"})));
            }
            if format.is_some() {
                set(request, "X-Mesh-Format", format);
            }
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "controls in the URL are ignored silently",
        must_fail: &["2.6-url-where", "2.6-url-query", "2.6-url-on-point", "2.6-url-on-post"],
        may_fail: &["2.6-url-"],
        on_request: &|request, _| {
            let path = request.target.split('?').next().unwrap_or_default().to_owned();
            if request.target.len() < 10_000 {
                request.target = path;
            }
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "controls in the URL are refused in exact case only",
        must_fail: &["2.6-url-order-capitals", "2.6-url-query-lower"],
        may_fail: &["2.6-url-format", "2.6-url-query-id", "2.6-url-token"],
        on_request: &|request, _| {
            if let Some((path, query)) = request.target.clone().split_once('?')
                && (query.contains("ORDERBY") || query.contains("x-mesh") || query.contains("X-MESH"))
            {
                path.clone_into(&mut request.target);
            }
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "bodies of any content type are parsed",
        must_fail: &["2.7-type-text", "2.7-type-form", "2.7-type-missing"],
        may_fail: &["2.7-type-"],
        on_request: &|request, _| {
            if request.method == "POST" && request.target == "/mesh" {
                set(request, "Content-Type", Some("application/json".to_owned()));
            }
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "posted reads have an outer object",
        must_fail: &["2.7-point-number", "2.7-as-get"],
        may_fail: &[
            "1-core",
            "12.2-",
            "2.7-",
            "2.9-posted",
            "3.11-bytes-posted",
            "3.5-",
            "3.5-longest",
            "5.2-posted",
            "5.4-posted",
            "6-",
            "7.4-",
            "7.9-",
        ],
        on_response: &|request, response, _| {
            if request.method == "POST" && request.target == "/mesh" {
                edit_ok(response, |body| *body = json!({"data": body.take(), "meta": {}}));
            }
        },
        ..NO_FAULT
    },
    Fault {
        name: "posted ids are ignored",
        must_fail: &["2.7-point-number", "2.7-point-text", "3.6-posted-point"],
        may_fail: &[
            "1-core",
            "11-",
            "12.2-",
            "13.2-",
            "13.3-",
            "2.7-",
            "2.9-posted",
            "3.5-",
            "3.5-longest",
            "6-",
            "7.4-",
            "7.9-",
        ],
        on_request: &|request, _| {
            let body = request.body.as_deref().and_then(|body| serde_json::from_slice::<Value>(body).ok());
            if let Some(mut body) = body.filter(|body| body.get("id").is_some()) {
                body.as_object_mut().unwrap().remove("id");
                request.body = Some(body.to_string().into_bytes());
            }
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "PUT is not supported",
        must_fail: &["2.10-put-reads", "2.10-put-ql"],
        may_fail: &[
            "10.",
            "11-",
            "12.1-fields-",
            "2.10-",
            "2.13-every-route",
            "3.11-bytes-exact",
            "6-",
            "7.4-",
            "7.7-",
            "8.1-",
        ],
        on_request: &|request, _| {
            (request.method == "PUT" && is_point(request)).then(|| {
                let mut response = error(405, "MethodNotAllowed");
                put(&mut response, "allow", Some("GET, HEAD, PUT, OPTIONS"));
                response
            })
        },
        ..NO_FAULT
    },
    Fault {
        name: "request ids of clients are ignored",
        must_fail: &["2.11-echoed", "2.11-in-errors", "2.11-longest"],
        may_fail: &["10.1-", "11-", "12.", "2.11-", "9.3-", "9.7-"],
        on_request: &|request, _| {
            set(request, "X-Request-Id", None);
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "request ids are not limited in length",
        must_fail: &["2.11-unfit"],
        on_response: &|request, response, _| {
            if let Some(id) = request.header_value("X-Request-Id") {
                put(response, "x-request-id", Some(id));
            }
        },
        ..NO_FAULT
    },
];
