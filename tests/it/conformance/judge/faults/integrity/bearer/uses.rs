//! Faults of API keys, of the refusals of credentials, and of what bearers may do.

use mesh_tests::kit::http::{Request, Response};
use serde_json::json;

use super::{ANY, bearer_of, fault, issue, mend, parts_of, refusal};
use crate::conformance::judge::faults::{Fault, NO_FAULT, edit_error, edit_ok, error, put, reply, set};
use crate::conformance::judge::proxy::{ProxyState, is_write};

/// The API key of an admin in the fixture.
const ADMIN: &str = "mk_of_the_fixture_for_admins";

/// Faults of API keys.
pub(super) const KEYS: &[Fault] = &[
    fault("API keys are unknown", &["17.3-key", "17.3-role", "17.3-owner"], &["17.3-"], &|request, _| {
        let is_valid = bearer_of(request)?.starts_with("mk_of_the_fixture_for_");
        is_valid.then(|| refusal("TOKEN_INVALID"))
    }),
    fault("every API key is one of an admin", &["17.3-role", "17.3-owner"], &[], &|request, _| {
        replace_key(request, |key| key.ends_with("editors"))
    }),
    fault("API keys do not end", &["17.3-expired"], &[], &|request, _| {
        replace_key(request, |key| key.ends_with("expired"))
    }),
    fault("similar API keys are accepted", &["17.3-unknown"], &[], &|request, _| {
        replace_key(request, |key| key.starts_with("mk_of_the_fixture_for_admin"))
    }),
    fault("hashes of API keys are accepted", &["17.3-hash"], &[], &|request, _| {
        replace_key(request, |key| key.len() == 67)
    }),
    fault("the prefix of API keys is optional", &["17.3-prefix"], &[], &|request, _| {
        replace_key(request, |key| key.starts_with("of_the_fixture"))
    }),
    fault("servers with API keys refuse tokens", &["17.3-beside-tokens"], &[], &|request, state| {
        (state.has_settings("api-keys") && parts_of(request).is_some()).then(|| refusal("TOKEN_INVALID"))
    }),
];

/// Faults of refusals, and of where a credential is read.
pub(super) const REFUSALS: &[Fault] = &[
    Fault {
        name: "refused bearers have no reason in the challenge",
        must_fail: &["17.4-invalid", "17.4-expired"],
        on_response: &|_, response, _| {
            if response.header("www-authenticate").is_some_and(|it| it.contains("invalid_token")) {
                put(response, "www-authenticate", Some("Bearer"));
            }
        },
        ..NO_FAULT
    },
    Fault {
        name: "only one of two challenges is sent",
        must_fail: &["17.4-both-challenges"],
        on_response: &|_, response, _| {
            let challenges = response.headers.iter().filter(|(name, _)| name == "www-authenticate");
            let both: String = challenges.map(|(_, value)| value.as_str()).collect();
            if both.contains("Mesh") && both.contains("Bearer") {
                put(response, "www-authenticate", Some("Mesh"));
            }
        },
        ..NO_FAULT
    },
    Fault {
        name: "errors repeat the token",
        must_fail: &["17.4-token-not-repeated"],
        on_response: &|request, response, _| {
            if let Some(token) = bearer_of(request).filter(|_| response.status == 401) {
                edit_error(response, |body| body["message"] = format!("No such token: {token}").into());
            }
        },
        ..NO_FAULT
    },
    Fault {
        name: "refusals of bearers may be stored",
        must_fail: &["17.4-body"],
        on_response: &|request, response, _| {
            if bearer_of(request).is_some() && response.status == 401 {
                put(response, "cache-control", None);
            }
        },
        ..NO_FAULT
    },
    fault(
        "the first of two credentials counts",
        &["17.4-two-credentials", "17.4-two-valid-credentials"],
        &[],
        &|request, _| {
            let has = |name: &str| request.header_value(name).is_some();
            if has("Authorization") && has("X-Mesh-Token") {
                set(request, "X-Mesh-Token", None);
                set(request, "X-Mesh-Signature", None);
            }
            None
        },
    ),
    fault("the first of two bearers counts", &["17.4-repeated"], &[], &|request, _| {
        let first = request.header_value("Authorization").map(str::to_owned);
        let all = request.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("Authorization"));
        if all.count() > 1 {
            set(request, "Authorization", first);
        }
        None
    }),
    fault(
        "credentials of other schemes are bearers",
        &["17.4-other-scheme", "17.6-anonymous-other-scheme"],
        &[],
        &|request, state| {
            if request.header_value("Authorization").is_some_and(|value| value.starts_with("Basic ")) {
                set(request, "Authorization", Some(format!("Bearer {}", issue(state, None)?)));
            }
            None
        },
    ),
    fault("the scheme is compared by its letters", &["17.4-scheme-in-lowercase"], &[], &|request, _| {
        let is_lower = request.header_value("Authorization").is_some_and(|it| it.starts_with("bearer "));
        is_lower.then(|| refusal("TOKEN_MISSING"))
    }),
    fault("bearers in the URL are read", &["17.4-in-url"], &[], &|request, _| {
        let token = request.target.split_once("access_token=").map(|(_, token)| token.to_owned());
        if let Some(token) = token {
            set(request, "Authorization", Some(format!("Bearer {token}")));
        }
        None
    }),
    fault(
        "the query is decoded before the bearer is verified",
        &["17.4-before-transport"],
        &[],
        &|request, state| {
            let is_bare = request.headers.is_empty() && request.target == "/mesh/user/1";
            (is_bare && state.has_settings("bearer")).then(|| error(400, "TransportError"))
        },
    ),
    Fault {
        name: "Vary lacks the header of bearers",
        must_fail: &["17.4-vary"],
        on_response: &|request, response, _| {
            let vary = response.header("vary").filter(|_| request.header_value("Authorization").is_some());
            if let Some(vary) = vary.map(|vary| vary.replace("Authorization", "X-Other")) {
                put(response, "vary", Some(&vary));
            }
        },
        ..NO_FAULT
    },
    Fault {
        name: "preflights lack the header of bearers",
        must_fail: &["17.4-cors"],
        on_response: &|_, response, _| {
            let name = "access-control-allow-headers";
            let allowed = response.header(name).map(str::to_ascii_lowercase);
            if let Some(allowed) = allowed.map(|allowed| allowed.replace("authorization", "x-other")) {
                put(response, name, Some(&allowed));
            }
        },
        ..NO_FAULT
    },
    fault("servers without bearers check them", &["17-off"], &[], &|request, state| {
        (state.has_settings("open") && bearer_of(request).is_some()).then(|| refusal("TOKEN_INVALID"))
    }),
];

/// Faults of the sessions that bearers are exchanged for.
pub(super) const SESSIONS: &[Fault] = &[
    fault(
        "bearers are not exchanged",
        &[
            "17.5-exchange",
            "17.5-expiry",
            "17.5-signed",
            "17.5-role",
            "17.5-user",
            "17.5-claims",
            "17.5-tenant",
            "17.5-write-of-session",
            "17.5-strict-session",
            "17.4-two-valid-credentials",
        ],
        ANY,
        &|request, _| is_exchange(request).then(|| reply(401, &json!({"error": "IntegrityError"}))),
    ),
    Fault {
        name: "sessions outlive their bearers",
        must_fail: &["17.5-expiry"],
        on_response: &|request, response, _| {
            if is_exchange(request) {
                edit_ok(response, |body| {
                    let end = body["expiresAt"].as_i64().unwrap_or_default();
                    body["expiresAt"] = (end + 900_000).into();
                });
            }
        },
        ..NO_FAULT
    },
    fault(
        "sessions of bearers need no signature",
        &["17.5-signed"],
        &["17.4-two-valid"],
        &|request, state| {
            let token = request.header_value("X-Mesh-Token").filter(|_| state.has_settings("bearer-signed"));
            if token.is_some_and(|token| state.signing_key(token).is_some()) && !is_write(request) {
                state.sign(request);
            }
            None
        },
    ),
    fault(
        "sessions of bearers are those of admins",
        &["17.5-role", "17.5-user", "17.5-claims", "17.5-tenant"],
        &["17.5-invalid"],
        &|request, state| {
            let exchanges = is_exchange(request);
            mend(request, state, |_, claims| {
                exchanges
                    && claims.insert("role".to_owned(), "admin".into()).is_some_and(|role| role != "admin")
            })
        },
    ),
    fault(
        "claims and tenants do not survive the exchange",
        &["17.5-claims", "17.5-tenant"],
        &[],
        &|request, state| {
            let exchanges = is_exchange(request);
            mend(request, state, |_, claims| {
                exchanges && (claims.remove("postIds").is_some() | claims.remove("tenant").is_some())
            })
        },
    ),
    fault("sessions of bearers do not write", &["17.5-write-of-session"], &[], &|request, state| {
        let is_such = state.has_settings("bearer-signed") && is_write(request);
        (is_such && request.header_value("X-Mesh-Token").is_some()).then(|| refusal("SIGNATURE_MISSING"))
    }),
];

/// Faults of what bearers may do without a signature.
pub(super) const UNSIGNED: &[Fault] = &[
    fault(
        "bearers cannot read without a signature",
        &["17.5-read", "17.5-put", "17.5-post", "17.5-stream"],
        &["17.4-two-valid"],
        &|request, state| {
            let is_free = is_exchange(request) || request.target.ends_with("/logout") || is_write(request);
            (is_such(request, state, "bearer-signed") && !is_free).then(|| refusal("SIGNATURE_MISSING"))
        },
    ),
    fault("bearers can read by GET only", &["17.5-put", "17.5-post"], &[], &|request, state| {
        let is_read = request.method == "PUT" || request.target == "/mesh";
        (is_such(request, state, "bearer-signed") && is_read).then(|| refusal("SIGNATURE_MISSING"))
    }),
    fault("bearers cannot open streams", &["17.5-stream", "17.7-stream"], &[], &|request, _| {
        let is_such = parts_of(request).is_some() && request.target.ends_with("/events");
        is_such.then(|| refusal("SIGNATURE_MISSING"))
    }),
    fault("bearers write without a signature", &["17.5-write"], &[], &|request, state| {
        (is_such(request, state, "bearer-signed") && is_write(request)).then(|| reply(201, &json!({})))
    }),
    fault("bearers register without a signature", &["17.5-registration"], &[], &|request, state| {
        (is_such(request, state, "bearer-signed") && request.target.ends_with("/queries")).then(registered)
    }),
    fault(
        "bearers read without a signature where that is turned off",
        &["17.5-strict"],
        &[],
        &|request, state| {
            let is_read = ["/mesh", "/mesh/user/1"].contains(&request.target.as_str());
            (is_such(request, state, "bearer-strict") && is_read).then(|| reply(200, &json!({"name": "Ada"})))
        },
    ),
    fault(
        "the signature is missed before the bearer is verified",
        &["17.5-strict-invalid"],
        &[],
        &|request, state| {
            let is_such = state.has_settings("bearer-strict") && bearer_of(request).as_deref() == Some("abc");
            is_such.then(|| refusal("SIGNATURE_MISSING"))
        },
    ),
    fault("the docs surface needs a signature of bearers", &["17.5-strict-docs"], &[], &|request, state| {
        let is_such = state.has_settings("bearer-strict") && request.target.starts_with("/docs");
        is_such.then(|| refusal("SIGNATURE_MISSING"))
    }),
    fault("a bearer is logged out", &["17.5-logout"], &[], &|request, _| {
        let is_such = request.target.ends_with("/logout") && parts_of(request).is_some();
        is_such.then(|| reply(200, &json!({"loggedOut": true})))
    }),
    fault("writes of bearers are refused", &["17.6-write"], &[], &|request, state| {
        (is_such(request, state, "bearer") && is_write(request)).then(|| refusal("SIGNATURE_MISSING"))
    }),
    fault("registrations of bearers are refused", &["17.6-register"], &[], &|request, state| {
        let registers = request.target.ends_with("/queries");
        (is_such(request, state, "bearer") && registers).then(|| refusal("SIGNATURE_MISSING"))
    }),
    fault("streams outlive their bearers", &["17.7-stream"], &[], &|request, state| {
        let is_stream = request.target.ends_with("/events");
        mend(request, state, |_, claims| {
            is_stream && claims.insert("exp".to_owned(), 4_000_000_000_i64.into()).is_some()
        })
    }),
];

/// Faults of requests without a credential.
pub(super) const ANONYMOUS: &[Fault] = &[
    fault(
        "requests without credentials are admitted",
        &["17.4-missing", "17.4-before-transport", "17.4-in-url", "17.6-all-routes", "17.6-stream-missing"],
        &["17.4-"],
        &|request, state| admit(request, state, |request| !is_write(request)),
    ),
    Fault {
        corrupts_data: true,
        ..fault("writes without credentials are admitted", &["17.6-write-missing"], &[], &|request, state| {
            admit(request, state, is_write)
        })
    },
    fault("streams without credentials are admitted", &["17.6-stream-missing"], &[], &|request, state| {
        admit(request, state, |request| request.target.ends_with("/events"))
    }),
    fault(
        "requests without credentials are refused where they have a role",
        &["17.6-anonymous", "17.6-anonymous-role", "17.6-anonymous-user"],
        &[],
        &|request, state| is_bare(request, state, "bearer-anonymous").then(|| refusal("TOKEN_MISSING")),
    ),
    fault(
        "requests without credentials have any role",
        &["17.6-anonymous-role", "17.6-anonymous-user", "17.6-anonymous-registration"],
        &[],
        &|request, state| {
            if is_bare(request, state, "bearer-anonymous") {
                set(request, "Authorization", Some(format!("Bearer {}", issue(state, None)?)));
            }
            None
        },
    ),
    fault(
        "bearers do not count where requests without credentials have a role",
        &["17.6-anonymous-bearer", "17.6-anonymous-invalid", "17.6-anonymous-other-scheme"],
        &[],
        &|request, state| {
            if state.has_settings("bearer-anonymous") {
                set(request, "Authorization", None);
            }
            None
        },
    ),
    fault(
        "requests without credentials register queries",
        &["17.6-anonymous-registration"],
        &[],
        &|request, state| {
            let registers = request.target.ends_with("/queries");
            (is_bare(request, state, "bearer-anonymous") && registers).then(registered)
        },
    ),
];

fn replace_key(request: &mut Request, is_such: impl Fn(&str) -> bool) -> Option<Response> {
    if is_such(&bearer_of(request)?) {
        set(request, "Authorization", Some(format!("Bearer {ADMIN}")));
    }
    None
}

/// Returns whether a request has a bearer and goes to the server with these settings.
fn is_such(request: &Request, state: &ProxyState, settings: &str) -> bool {
    state.has_settings(settings) && parts_of(request).is_some()
}

/// Returns whether a request has no credential and goes to the server with these settings.
fn is_bare(request: &Request, state: &ProxyState, settings: &str) -> bool {
    let is_api = request.method != "OPTIONS" && request.target.starts_with("/mesh");
    state.has_settings(settings) && request.header_value("Authorization").is_none() && is_api
}

fn is_exchange(request: &Request) -> bool {
    request.target.ends_with("/auth") && bearer_of(request).is_some()
}

fn registered() -> Response {
    reply(200, &json!({"id": "q_0123456789abcdef0123456789abcdef"}))
}

/// Adds a bearer to requests without credentials.
fn admit(request: &mut Request, state: &ProxyState, is_such: impl Fn(&Request) -> bool) -> Option<Response> {
    if is_bare(request, state, "bearer") && is_such(request) {
        set(request, "Authorization", Some(format!("Bearer {}", issue(state, None)?)));
    }
    None
}
