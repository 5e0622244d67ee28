//! Faults of logins, tokens and signatures.

use mesh_tests::kit::http::Request;
use mesh_tests::kit::wire;
use serde_json::{Value, json};

use super::{Fault, NONE, edit_error, put, reply, segments, set};
use crate::judge::proxy::Memory;

/// Cases that need signatures to be looked at.
const OF_SIGNATURES: &[&str] =
    &["7.4-", "7.7-", "7.9-", "7.6-", "7.5-", "7.2-", "8.", "9.", "10.", "11-", "13.3-"];

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "unsigned posts are let in",
        needs: "L3",
        must: &["7.4-post-unsigned"],
        before: |request, memory| {
            if request.method == "POST"
                && request.target == "/mesh"
                && request.header("X-Mesh-Token").is_none()
            {
                memory.sign(request);
            }
            None
        },
        related: &["7.4-post-"],
        ..NONE
    },
    Fault {
        name: "unsigned reads are let in",
        needs: "L3",
        must: &["7.6-no-token", "7.7-collection", "7.7-point", "7.7-put"],
        related: &["7.6-", "7.7-", "9.7-signed", "10.1-unsigned", "2.", "13."],
        before: |request, memory| {
            let is_read = ["GET", "PUT", "HEAD"].contains(&request.method.as_str());
            let is_stream = request.target.ends_with("/events");
            let is_free = request.header("X-Mesh-Token").is_none() && !is_docs(request) && !is_login(request);
            if is_read && is_free && !is_stream {
                memory.sign_where_needed(request);
            }
            None
        },
        ..NONE
    },
    Fault {
        name: "a token is enough without a signature",
        needs: "L3",
        must: &["7.6-no-signature", "7.4-post-unsigned"],
        related: &["7.9-required"],
        before: |request, memory| {
            let has_token =
                request.header("X-Mesh-Token").is_some_and(|token| memory.key_of(token).is_some());
            if has_token
                && request.header("X-Mesh-Signature").is_none()
                && !is_logout(request)
                && !is_docs(request)
            {
                memory.sign(request);
            }
            None
        },
        ..NONE
    },
    Fault {
        name: "signatures are not checked",
        needs: "L3",
        must: &[
            "7.4-other-query",
            "7.4-altered",
            "7.4-post-body-altered",
            "7.4-other-session",
            "7.4-decoded",
        ],
        related: OF_SIGNATURES,
        before: |request, memory| {
            if request.header("X-Mesh-Signature").is_some() && !is_logout(request) {
                resign(request, memory);
            }
            None
        },
        ..NONE
    },
    Fault {
        name: "the role is not covered by the token's MAC",
        needs: "L3",
        must: &["7.2-altered-in-the-middle", "7.2-altered-further-on"],
        related: &["7.2-", "7.5-", "13.3-altered-token"],
        before: |request, memory| {
            if let Some(token) = request.header("X-Mesh-Token").map(str::to_owned)
                && token.len() > 40
                && memory.key_of(&token).is_none()
                && let Some(whole) = memory.near(&token)
            {
                set(request, "X-Mesh-Token", Some(whole));
                if request.header("X-Mesh-Signature").is_some() {
                    resign(request, memory);
                }
            }
            None
        },
        ..NONE
    },
    Fault {
        name: "signatures without their prefix are taken",
        needs: "L3",
        must: &["7.4-without-prefix"],
        before: |request, _| {
            let bare = request.header("X-Mesh-Signature").filter(|signature| !signature.contains('='));
            if let Some(signature) = bare.map(|signature| format!("sha256={signature}")) {
                set(request, "X-Mesh-Signature", Some(signature));
            }
            None
        },
        ..NONE
    },
    Fault {
        name: "what the query decodes to is signed",
        needs: "L3",
        must: &["7.4-get", "7.4-decoded"],
        related: &[""],
        before: |request, memory| {
            let key = request.header("X-Mesh-Token").and_then(|token| memory.key_of(token))?;
            let query = request.header("X-Mesh-Query").and_then(wire::from_base64)?;
            let over_text = wire::signature(&key, &String::from_utf8_lossy(&query));
            let given = request.header("X-Mesh-Signature").map(str::to_owned)?;
            if request.body.is_none() {
                if given == over_text {
                    memory.sign(request);
                } else {
                    set(request, "X-Mesh-Signature", Some("sha256=00".to_owned()));
                }
            }
            None
        },
        ..NONE
    },
    Fault {
        name: "bodies are not covered by signatures",
        needs: "L3",
        must: &["7.4-post-body-altered", "7.4-post-over-nothing", "7.4-signature-of-get-on-post"],
        related: &["7.4-post-", "8.3-", "11-signed"],
        before: |request, memory| {
            let is_json =
                request.header("Content-Type").is_some_and(|kind| kind.starts_with("application/json"));
            if is_json && request.header("X-Mesh-Signature").is_some() {
                resign(request, memory);
            }
            None
        },
        ..NONE
    },
    Fault {
        name: "a logout ends nothing",
        needs: "L3",
        must: &["7.5-logout", "7.5-signed", "7.5-all-routes"],
        related: &["7.5-", "10.4-logout"],
        before: |request, _| {
            (is_logout(request) && request.header("X-Mesh-Token").is_some())
                .then(|| reply(200, &json!({"loggedOut": true})))
        },
        ..NONE
    },
    Fault {
        name: "a logout with a wrong signature is taken",
        needs: "L3",
        must: &["7.5-wrong-signature"],
        before: |request, _| {
            if is_logout(request) {
                set(request, "X-Mesh-Signature", None);
            }
            None
        },
        ..NONE
    },
    Fault {
        name: "a login tells whether the account exists",
        needs: "L3",
        must: &["7.1-no-account"],
        after: |request, response, _| {
            let body = String::from_utf8_lossy(request.body.as_deref().unwrap_or_default()).into_owned();
            if is_login(request) && body.contains("nobody@") {
                edit_error(response, |body| body["message"] = "There is no such account".into());
            }
        },
        ..NONE
    },
    Fault {
        name: "ends of tokens in seconds",
        needs: "L3",
        must: &["7.1-expires-in-milliseconds"],
        after: |request, response, _| {
            if is_login(request) {
                super::edit_ok(response, |body| {
                    if let Some(end) = body.get("expiresAt").and_then(Value::as_f64) {
                        body["expiresAt"] = (end / 1000.0).into();
                    }
                });
            }
        },
        ..NONE
    },
    Fault {
        name: "refusals without a code",
        needs: "L3",
        must: &["7.6-no-token", "7.6-no-signature", "7.4-altered"],
        related: &["7", "8.", "9.", "10.", "11-", "12.", "5.4-", "3.1", "13."],
        after: |_, response, _| {
            edit_error(response, |body| {
                body.as_object_mut().unwrap().remove("code");
            });
        },
        ..NONE
    },
    Fault {
        name: "wrong signatures as 401",
        needs: "L3",
        must: &["7.4-altered", "7.4-other-query"],
        related: OF_SIGNATURES,
        after: |_, response, _| {
            if response.status == 403 {
                response.status = 401;
            }
        },
        ..NONE
    },
    Fault {
        name: "no challenge with 401",
        needs: "L3",
        must: &["7.6-challenge", "7.6-challenge-at-login"],
        after: |_, response, _| put(response, "www-authenticate", None),
        ..NONE
    },
    Fault {
        name: "the token is looked at after the query",
        needs: "L3",
        must: &["7.7-token-before-transport"],
        related: &["7.7-"],
        after: |request, response, _| {
            let is_read = request.method == "GET" && segments(request).len() == 2 && !is_docs(request);
            let has = ["X-Mesh-Query", "X-Mesh-Query-Id"].iter().any(|name| request.header(name).is_some());
            if is_read && !has && response.status == 401 {
                *response = super::error(400, "TransportError");
            }
        },
        ..NONE
    },
    Fault {
        name: "binding is not looked at",
        needs: "L3",
        must: &["7.9-other-path", "7.9-other-method", "7.9-replayed", "7.9-old", "7.9-early", "7.9-half"],
        related: &["7.9-"],
        before: |request, memory| {
            let has = ["X-Mesh-Timestamp", "X-Mesh-Nonce"].iter().any(|name| request.header(name).is_some());
            if has {
                memory.sign(request);
            }
            None
        },
        ..NONE
    },
    Fault {
        name: "everybody may see the docs for admins",
        needs: "L3",
        must: &["13.3-editor"],
        related: &["13.3-"],
        before: |request, memory| {
            if is_docs(request) && request.header("X-Mesh-Token").is_some() {
                let token = memory.token();
                set(request, "X-Mesh-Token", Some(token));
            }
            None
        },
        ..NONE
    },
];

fn is_logout(request: &Request) -> bool {
    request.target.ends_with("/logout")
}

fn is_login(request: &Request) -> bool {
    request.target.ends_with("/auth")
}

fn is_docs(request: &Request) -> bool {
    request.target.starts_with("/docs")
}

/// Signs anew what has a token that is known.
fn resign(request: &mut Request, memory: &Memory) {
    if request.header("X-Mesh-Token").is_some_and(|token| memory.key_of(token).is_some()) {
        memory.sign(request);
    }
}
