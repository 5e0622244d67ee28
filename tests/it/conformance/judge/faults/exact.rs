//! Faults of the exact forms of signatures, nonces, times and tags, and of limits.

use mesh_tests::kit::http::{Request, Response};

use super::{Fault, NO_FAULT, edit_header, put, set};
use crate::conformance::judge::proxy::ProxyState;

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "signatures are compared without regard to case",
        must_fail: &["7.4-upper-case-hex", "7.4-upper-case-prefix"],
        on_request: &|request, _| {
            edit_header(request, "X-Mesh-Signature", str::to_lowercase);
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "what follows a signature is ignored",
        must_fail: &["7.4-longer"],
        on_request: &|request, _| {
            edit_header(request, "X-Mesh-Signature", |text| text.get(..71).unwrap_or(text).to_owned());
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "signatures may be base64",
        must_fail: &["7.4-base64-signature"],
        on_request: &|request, _| {
            edit_header(request, "X-Mesh-Signature", |text| {
                let inner = text.strip_prefix("sha256=").and_then(mesh_tests::kit::encoding::from_base64);
                let hex = inner.and_then(|inner| String::from_utf8(inner).ok()).filter(|hex| hex.len() == 64);
                hex.map_or_else(|| text.to_owned(), |hex| format!("sha256={hex}"))
            });
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "the first of two signatures is used",
        must_fail: &["7.4-repeated-signature"],
        on_request: &|request, _| {
            let first = request.header_value("X-Mesh-Signature").map(str::to_owned);
            if first.is_some() {
                set(request, "X-Mesh-Signature", first);
            }
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "nonces may be short",
        must_fail: &["7.9-nonce-too-short", "7.9-nonce-empty"],
        on_request: &|request, state| unbind(request, state, |nonce| nonce.len() < 16),
        ..NO_FAULT
    },
    Fault {
        name: "nonces may be long",
        must_fail: &["7.9-nonce-too-long"],
        on_request: &|request, state| unbind(request, state, |nonce| nonce.len() > 64),
        ..NO_FAULT
    },
    Fault {
        name: "nonces may have any characters",
        must_fail: &[
            "7.9-nonce-plus",
            "7.9-nonce-slash",
            "7.9-nonce-padding",
            "7.9-nonce-blank-inside",
            "7.9-nonce-dot",
        ],
        on_request: &|request, state| {
            unbind(request, state, |nonce| {
                nonce.len() >= 16
                    && !nonce.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
            })
        },
        ..NO_FAULT
    },
    Fault {
        name: "nonces have at least 17 characters",
        must_fail: &["7.9-nonce-shortest"],
        on_request: &|request, _| {
            let is_short = request.header_value("X-Mesh-Nonce").is_some_and(|nonce| nonce.len() == 16);
            (is_short && request.header_value("X-Mesh-Timestamp") != Some("1"))
                .then(|| super::error(400, "TransportError"))
        },
        ..NO_FAULT
    },
    Fault {
        name: "timestamps may have any form",
        must_fail: &["7.9-timestamp-fraction", "7.9-timestamp-word", "7.9-timestamp-hex"],
        on_request: &|request, state| {
            let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
            let time = request.header_value("X-Mesh-Timestamp");
            if time.is_some_and(|time| !is_number(time)) {
                state.sign(request);
            }
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "timestamps may be milliseconds",
        must_fail: &["7.9-timestamp-milliseconds"],
        on_request: &|request, state| {
            let time = request.header_value("X-Mesh-Timestamp");
            if time.is_some_and(|time| time.len() == 13 && !time.contains('.')) {
                state.sign(request);
            }
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "the replay window is twice as long for old requests",
        must_fail: &["7.9-too-old"],
        on_request: &|request, state| {
            if (61..120).contains(&age(request)) {
                state.sign(request);
            }
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "the replay window is twice as long for early requests",
        must_fail: &["7.9-too-early"],
        on_request: &|request, state| {
            if (-120..-60).contains(&age(request)) {
                state.sign(request);
            }
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "the replay window is half as long",
        must_fail: &["7.9-just-old-enough", "7.9-just-early-enough"],
        on_request: &|request, _| {
            let age = age(request).abs();
            (30..61).contains(&age).then(|| super::error(401, "IntegrityError"))
        },
        ..NO_FAULT
    },
    Fault {
        name: "the role of a header opens the docs to any session",
        must_fail: &["13.3-editor-claims-role"],
        on_request: &|request, state| {
            if request.header_value("X-Mesh-Role").is_some() && request.header_value("X-Mesh-Token").is_some()
            {
                let token = state.token();
                set(request, "X-Mesh-Token", Some(token));
            }
            None
        },
        may_fail: &["6-policy-role-header", "7.7-role-header"],
        ..NO_FAULT
    },
    Fault {
        name: "the role of a header opens the docs to all",
        must_fail: &["13.3-claimed-role"],
        on_request: &|request, state| {
            if request.header_value("X-Mesh-Role").is_some() && request.header_value("X-Mesh-Token").is_none()
            {
                let token = state.token();
                set(request, "X-Mesh-Token", Some(token));
            }
            None
        },
        may_fail: &["7.7-role-header"],
        ..NO_FAULT
    },
    Fault {
        name: "sessions have no rate of their own",
        must_fail: &["12.6-per-session"],
        on_response: &|request, response, _| {
            if response.status == 429 && request.header_value("X-Mesh-Token").is_some() {
                *response = super::reply(200, &serde_json::json!({"name": "Ada"}));
            }
        },
        ..NO_FAULT
    },
    Fault {
        name: "addresses have no rate",
        must_fail: &["12.6-per-address", "12.6-forwarded-for", "12.6-refused"],
        on_response: &|request, response, _| {
            if response.status == 429
                && !request.target.ends_with("/auth")
                && request.header_value("X-Mesh-Token").is_none()
            {
                *response = super::reply(200, &serde_json::json!({"name": "Ada"}));
            }
        },
        ..NO_FAULT
    },
    Fault {
        name: "tags are compared by their beginning",
        must_fail: &["12.3-part-of-a-tag", "12.3-unquoted-tag"],
        on_request: &|request, state| {
            let tag = request.header_value("If-None-Match").map(str::to_owned);
            if let Some(tag) = tag.filter(|tag| tag.len() > 10 && !tag.contains(',')) {
                let whole = state.tag_like(&tag);
                set(request, "If-None-Match", Some(whole));
            }
            None
        },
        may_fail: &["12.3-"],
        ..NO_FAULT
    },
    Fault {
        name: "weak tags never match",
        must_fail: &["12.3-weak-tag"],
        on_request: &|request, _| {
            edit_header(request, "If-None-Match", |tag| tag.replace("W/\"", "W/\"x"));
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "every tag matches",
        must_fail: &["12.3-modified"],
        may_fail: &["12.3-"],
        on_response: &|request, response, _| {
            if request.header_value("If-None-Match").is_some() && response.status == 200 {
                response.status = 304;
                response.body.clear();
            }
        },
        ..NO_FAULT
    },
    Fault {
        name: "small bodies are compressed",
        must_fail: &["12.4-small"],
        on_response: &|request, response, _| {
            let is_small = response.body.len() < 1_024 && response.status == 200;
            if is_small && request.header_value("Accept-Encoding").is_some() {
                put(response, "content-encoding", Some("gzip"));
            }
        },
        may_fail: &["12.", "13.4-"],
        ..NO_FAULT
    },
    Fault {
        name: "logins do not tell when they end",
        must_fail: &["7.1-login", "7.1-expires-in-milliseconds"],
        on_response: &|request, response, _| {
            if request.target.ends_with("/auth") {
                super::edit_ok(response, |body| {
                    body.as_object_mut().unwrap().remove("expiresAt");
                });
            }
        },
        may_fail: &["7.8-lifetime"],
        ..NO_FAULT
    },
    Fault {
        name: "tokens live for a day",
        must_fail: &["7.8-lifetime"],
        on_response: &|request, response, _| {
            if request.target.ends_with("/auth") {
                super::edit_ok(response, |body| {
                    body["expiresAt"] = (body["expiresAt"].as_u64().unwrap_or_default() + 86_400_000).into();
                });
            }
        },
        ..NO_FAULT
    },
    Fault {
        name: "all sessions have one key",
        must_fail: &["7.3-key-per-session"],
        may_fail: &["6-", "7.", "8.", "9.", "10.", "11-", "12.", "13."],
        on_response: &|request, response, state| {
            if request.target.ends_with("/auth") && response.status == 200 {
                super::edit_ok(response, |body| {
                    let (token, key) = state.first_session();
                    body["token"] = token.into();
                    body["signingToken"] = key.into();
                });
            }
        },
        corrupts_data: true,
        ..NO_FAULT
    },
    Fault {
        name: "preloaded queries are unknown",
        must_fail: &["8.5-preloaded", "8.5-preloaded-ql"],
        on_request: &|request, state| {
            let is_id = state.has_settings("only") && request.header_value("X-Mesh-Query-Id").is_some();
            is_id.then(|| super::error(400, "TransportError"))
        },
        ..NO_FAULT
    },
    Fault {
        name: "answers are never compressed",
        must_fail: &["12.4-gzip", "12.4-br", "12.4-zstd", "12.4-capitals"],
        may_fail: &["12.4-"],
        on_request: &|request, _| {
            set(request, "Accept-Encoding", None);
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "answers are always compressed",
        must_fail: &["12.4-none", "12.4-refused", "12.4-unknown-encoding"],
        may_fail: &["1", "2", "3", "4", "5", "6", "7", "8", "9"],
        on_request: &|request, _| {
            let is_large = request.target == "/mesh/entry" && request.method == "GET";
            if is_large && request.header_value("Accept-Encoding").is_none_or(|all| !all.contains("br")) {
                set(request, "Accept-Encoding", Some("gzip".to_owned()));
            }
            None
        },
        ..NO_FAULT
    },
];

/// Signs a request again without its binding if its nonce is of some kind.
fn unbind(request: &mut Request, state: &ProxyState, is_meant: impl Fn(&str) -> bool) -> Option<Response> {
    let has_time = request.header_value("X-Mesh-Timestamp").is_some_and(|time| time != "1");
    if has_time && request.header_value("X-Mesh-Nonce").is_some_and(is_meant) {
        state.sign(request);
    }
    None
}

/// Returns how many seconds ago a request was signed.
fn age(request: &Request) -> i64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    let time = request.header_value("X-Mesh-Timestamp").and_then(|time| time.parse::<i64>().ok());
    time.map_or(0, |time| i64::try_from(now).unwrap() - time)
}
