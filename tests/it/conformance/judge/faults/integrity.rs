//! Faults of logins, tokens and signatures.

pub(super) mod bearer;

use mesh_tests::kit::encoding;
use mesh_tests::kit::http::Request;
use serde_json::{Value, json};

use super::{Fault, NO_FAULT, edit_error, edit_statement, put, reply, segments, set};
use crate::conformance::judge::proxy::{ProxyState, is_write};

/// Prefixes of cases that require signatures to be verified.
const OF_SIGNATURES: &[&str] =
    &["6-", "7.4-", "7.7-", "7.9-", "7.6-", "7.5-", "7.2-", "8.", "9.", "10.", "11-", "13.3-"];

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "unsigned POST requests are accepted",
        must_fail: &["7.4-post-unsigned"],
        on_request: &|request, memory| {
            if request.method == "POST"
                && request.target == "/mesh"
                && request.header_value("X-Mesh-Token").is_none()
            {
                memory.sign(request);
            }
            None
        },
        may_fail: &["7.4-post-"],
        ..NO_FAULT
    },
    Fault {
        name: "unsigned reads are accepted",
        must_fail: &["7.6-no-token", "7.7-collection", "7.7-point", "7.7-put"],
        may_fail: &["7.6-", "7.7-", "9.7-signed", "10.1-unsigned", "2.", "13."],
        on_request: &|request, memory| {
            let is_read = ["GET", "PUT", "HEAD"].contains(&request.method.as_str());
            let is_stream = request.target.ends_with("/events");
            let is_free =
                request.header_value("X-Mesh-Token").is_none() && !is_docs(request) && !is_login(request);
            if is_read && is_free && !is_stream {
                memory.sign_if_possible(request);
            }
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "a token without a signature is accepted",
        must_fail: &["7.6-no-signature", "7.4-post-unsigned"],
        may_fail: &["7.9-required"],
        on_request: &|request, memory| {
            let has_token =
                request.header_value("X-Mesh-Token").is_some_and(|token| memory.signing_key(token).is_some());
            if has_token
                && request.header_value("X-Mesh-Signature").is_none()
                && !is_logout(request)
                && !is_docs(request)
            {
                memory.sign(request);
            }
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "signatures are not verified",
        must_fail: &[
            "7.4-other-query",
            "7.4-altered",
            "7.4-post-body-altered",
            "7.4-other-session",
            "7.4-decoded",
        ],
        may_fail: OF_SIGNATURES,
        on_request: &|request, memory| {
            if request.header_value("X-Mesh-Signature").is_some() && !is_logout(request) {
                resign(request, memory);
            }
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "the role is not covered by the token's MAC",
        must_fail: &["7.2-altered-in-the-middle", "7.2-altered-further-on"],
        may_fail: &["7.2-", "7.5-", "13.3-altered-token"],
        on_request: &|request, memory| {
            if let Some(token) = request.header_value("X-Mesh-Token").map(str::to_owned)
                && token.len() > 40
                && memory.signing_key(&token).is_none()
                && let Some(whole) = memory.issued_token_like(&token)
            {
                set(request, "X-Mesh-Token", Some(whole));
                if request.header_value("X-Mesh-Signature").is_some() {
                    resign(request, memory);
                }
            }
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "signatures without their prefix are accepted",
        must_fail: &["7.4-without-prefix"],
        on_request: &|request, _| {
            let bare = request.header_value("X-Mesh-Signature").filter(|signature| !signature.contains('='));
            if let Some(signature) = bare.map(|signature| format!("sha256={signature}")) {
                set(request, "X-Mesh-Signature", Some(signature));
            }
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "the decoded query is signed instead of the encoded one",
        must_fail: &["7.4-get", "7.4-decoded"],
        may_fail: &[""],
        on_request: &|request, memory| {
            let key = request.header_value("X-Mesh-Token").and_then(|token| memory.signing_key(token))?;
            let query = request.header_value("X-Mesh-Query").and_then(encoding::from_base64)?;
            let over_text = encoding::signature(&key, &String::from_utf8_lossy(&query));
            let given = request.header_value("X-Mesh-Signature").map(str::to_owned)?;
            if request.body.is_none() {
                if given == over_text {
                    memory.sign(request);
                } else {
                    set(request, "X-Mesh-Signature", Some("sha256=00".to_owned()));
                }
            }
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "bodies are not covered by signatures",
        must_fail: &["7.4-post-body-altered", "7.4-post-over-nothing", "7.4-signature-of-get-on-post"],
        may_fail: &["7.4-post-", "8.3-", "11-signed"],
        on_request: &|request, memory| {
            let is_json =
                request.header_value("Content-Type").is_some_and(|kind| kind.starts_with("application/json"));
            if is_json && request.header_value("X-Mesh-Signature").is_some() {
                resign(request, memory);
            }
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "a logout does not revoke the session",
        must_fail: &["7.5-logout", "7.5-signed", "7.5-all-routes"],
        may_fail: &["7.5-", "10.4-logout"],
        on_request: &|request, _| {
            (is_logout(request) && request.header_value("X-Mesh-Token").is_some())
                .then(|| reply(200, &json!({"loggedOut": true})))
        },
        ..NO_FAULT
    },
    Fault {
        name: "a logout with a wrong signature is accepted",
        must_fail: &["7.5-wrong-signature"],
        on_request: &|request, _| {
            if is_logout(request) {
                set(request, "X-Mesh-Signature", None);
            }
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "a login reveals whether the account exists",
        must_fail: &["7.1-no-account"],
        on_response: &|request, response, _| {
            let body = String::from_utf8_lossy(request.body.as_deref().unwrap_or_default()).into_owned();
            if is_login(request) && body.contains("nobody@") {
                edit_error(response, |body| body["message"] = "There is no such account".into());
            }
        },
        ..NO_FAULT
    },
    Fault {
        name: "the expiry of tokens is in seconds",
        must_fail: &["7.1-expires-in-milliseconds"],
        on_response: &|request, response, _| {
            if is_login(request) {
                super::edit_ok(response, |body| {
                    if let Some(end) = body.get("expiresAt").and_then(Value::as_f64) {
                        body["expiresAt"] = (end / 1000.0).into();
                    }
                });
            }
        },
        ..NO_FAULT
    },
    Fault {
        name: "integrity errors have no code",
        must_fail: &["7.6-no-token", "7.6-no-signature", "7.4-altered"],
        may_fail: &["10.", "11-", "12.", "13.", "3.1", "5.4-", "6-", "7", "8.", "9."],
        on_response: &|_, response, _| {
            edit_error(response, |body| {
                body.as_object_mut().unwrap().remove("code");
            });
        },
        ..NO_FAULT
    },
    Fault {
        name: "wrong signatures are 401",
        must_fail: &["7.4-altered", "7.4-other-query"],
        may_fail: OF_SIGNATURES,
        on_response: &|_, response, _| {
            if response.status == 403 {
                response.status = 401;
            }
        },
        ..NO_FAULT
    },
    Fault {
        name: "401 has no challenge",
        must_fail: &["7.6-challenge", "7.6-challenge-at-login"],
        on_response: &|_, response, _| put(response, "www-authenticate", None),
        ..NO_FAULT
    },
    Fault {
        name: "the token is verified after the query is parsed",
        must_fail: &["7.7-token-before-transport"],
        may_fail: &["7.7-"],
        on_response: &|request, response, _| {
            let is_read = request.method == "GET" && segments(request).len() == 2 && !is_docs(request);
            let has =
                ["X-Mesh-Query", "X-Mesh-Query-Id"].iter().any(|name| request.header_value(name).is_some());
            if is_read && !has && response.status == 401 {
                *response = super::error(400, "TransportError");
            }
        },
        ..NO_FAULT
    },
    Fault {
        name: "bindings are ignored",
        must_fail: &[
            "7.9-other-path",
            "7.9-other-method",
            "7.9-replayed",
            "7.9-old",
            "7.9-early",
            "7.9-half",
            "11-signed-read-as-delete",
        ],
        may_fail: &["11-signed", "7.9-", "9.1-"],
        on_request: &|request, memory| {
            let has =
                ["X-Mesh-Timestamp", "X-Mesh-Nonce"].iter().any(|name| request.header_value(name).is_some());
            if has {
                memory.sign(request);
            }
            None
        },
        corrupts_data: true,
        ..NO_FAULT
    },
    Fault {
        name: "plain signatures suffice for writes",
        must_fail: &["11-signed-plain", "11-signed-read-as-delete"],
        may_fail: &["11-signed"],
        on_request: &|request, memory| {
            let is_plain = request.header_value("X-Mesh-Signature").is_some()
                && request.header_value("X-Mesh-Timestamp").is_none();
            if is_plain && is_write(request) {
                resign(request, memory);
            }
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "the content type and the fields of an upload are not covered by its statement",
        must_fail: &[
            "9.1-type-altered",
            "9.1-meta-altered",
            "9.1-meta-removed",
            "9.1-open-parts-checked",
            "9.1-type-required",
            "9.1-meta-required",
        ],
        may_fail: &["9.1-"],
        on_request: &|request, memory| {
            if request.header_value("Content-Type").is_some_and(|kind| kind.starts_with("multipart/")) {
                restate(request, memory);
            }
            None
        },
        corrupts_data: true,
        ..NO_FAULT
    },
    Fault {
        name: "the docs for admins are public",
        must_fail: &["13.3-editor"],
        may_fail: &["13.3-"],
        on_request: &|request, memory| {
            if is_docs(request) && request.header_value("X-Mesh-Token").is_some() {
                let token = memory.token();
                set(request, "X-Mesh-Token", Some(token));
            }
            None
        },
        ..NO_FAULT
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

/// Signs a request again if its token is known.
fn resign(request: &mut Request, memory: &ProxyState) {
    if request.header_value("X-Mesh-Token").is_some_and(|token| memory.signing_key(token).is_some()) {
        memory.sign(request);
    }
}

/// Makes the statement of an upload match the form, if the statement describes the form or its signature is bound.
fn restate(request: &mut Request, memory: &ProxyState) {
    let body = String::from_utf8_lossy(request.body.as_deref().unwrap_or_default()).into_owned();
    let part = |mark: &str| {
        let (head, rest) = body[body.find(mark)?..].split_once("\r\n\r\n")?;
        Some((head.to_owned(), rest.split_once("\r\n--")?.0.to_owned()))
    };
    let kind =
        part("filename=\"").and_then(|(head, _)| Some(head.split_once("Content-Type: ")?.1.to_owned()));
    let meta = part("name=\"meta\"").map(|(_, text)| format!("sha256:{}", encoding::sha256(text)));
    let is_bound = request.header_value("X-Mesh-Timestamp").is_some();
    edit_statement(request, |query| {
        let Some(members) = query.as_object_mut() else { return };
        if is_bound || ["contentType", "metaHash"].iter().any(|name| members.contains_key(*name)) {
            for (name, value) in [("contentType", &kind), ("metaHash", &meta)] {
                members.remove(name);
                members.extend(value.clone().map(|value| (name.to_owned(), Value::from(value))));
            }
        }
    });
    if request.header_value("X-Mesh-Signature").is_some() {
        memory.sign(request);
    }
}
