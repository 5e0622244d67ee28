//! Faults of bearers: what is verified, and what identifies the caller.

mod claims;
mod uses;

use mesh_tests::kit::encoding::jwt;
use mesh_tests::kit::http::{Request, Response};
use mesh_tests::kit::profile::Profile;
use serde_json::{Map, Value, json};

use crate::conformance::judge::faults::{Fault, NO_FAULT, OnRequest, reply, set};
use crate::conformance::judge::proxy::ProxyState;

type Members = Map<String, Value>;

/// Everything about bearers depends on their verification.
const ANY: &[&str] = &["17."];

/// Returns the faults of bearers.
pub(in crate::conformance::judge::faults) fn faults() -> Vec<Fault> {
    [
        VERIFICATION,
        claims::CONDITIONS,
        claims::IDENTITY,
        uses::KEYS,
        uses::REFUSALS,
        uses::SESSIONS,
        uses::UNSIGNED,
        uses::ANONYMOUS,
    ]
    .concat()
}

/// Returns a fault of requests.
const fn fault(
    name: &'static str,
    must_fail: &'static [&'static str],
    may_fail: &'static [&'static str],
    on_request: &'static OnRequest,
) -> Fault {
    Fault { name, must_fail, may_fail, on_request, ..NO_FAULT }
}

const VERIFICATION: &[Fault] = &[
    Fault {
        name: "signatures of bearers are not verified",
        must_fail: &[
            "17.1-altered-claims",
            "17.1-altered-signature",
            "17.1-no-signature",
            "17.1-other-secret",
            "17.1-stranger",
            "17.5-invalid",
        ],
        may_fail: ANY,
        on_request: &|request, state| mend(request, state, |_, _| true),
        ..NO_FAULT
    },
    Fault {
        name: "bearers of a shared secret are refused",
        must_fail: &["17.1-secret"],
        may_fail: ANY,
        on_request: &|request, _| refuse(request, |header, _| header["alg"] == "HS256"),
        ..NO_FAULT
    },
    Fault {
        name: "RS256 is not supported",
        must_fail: &["17.1-rsa"],
        on_request: &|request, _| refuse(request, |header, _| header["alg"] == "RS256"),
        ..NO_FAULT
    },
    Fault {
        name: "PS256 is not supported",
        must_fail: &["17.1-rsa-pss"],
        on_request: &|request, _| refuse(request, |header, _| header["alg"] == "PS256"),
        ..NO_FAULT
    },
    Fault {
        name: "ES256 is not supported",
        must_fail: &["17.1-elliptic", "17.1-second-key", "17.1-offered-key-ignored"],
        on_request: &|request, _| refuse(request, |header, _| header["alg"] == "ES256"),
        ..NO_FAULT
    },
    Fault {
        name: "EdDSA is not supported",
        must_fail: &["17.1-edwards", "17.1-no-kid"],
        on_request: &|request, _| refuse(request, |header, _| header["alg"] == "EdDSA"),
        ..NO_FAULT
    },
    Fault {
        name: "only the first key of an algorithm is used",
        must_fail: &["17.1-second-key"],
        on_request: &|request, _| refuse(request, |header, _| header.get("kid") == Some(&json!("es-2"))),
        ..NO_FAULT
    },
    Fault {
        name: "bearers without the id of a key are refused",
        must_fail: &["17.1-no-kid"],
        on_request: &|request, _| {
            refuse(request, |header, _| header["alg"] == "EdDSA" && !header.contains_key("kid"))
        },
        ..NO_FAULT
    },
    Fault {
        name: "without an id the first key that fits is used",
        must_fail: &["17.1-no-kid-of-several"],
        may_fail: &["17.1-offered"],
        on_request: &|request, state| {
            mend(request, state, |header, _| !header.contains_key("kid") && header["alg"] == "ES256")
        },
        ..NO_FAULT
    },
    Fault {
        name: "an unknown id is any key",
        must_fail: &["17.1-unknown-kid"],
        on_request: &|request, state| {
            mend(request, state, |header, _| header.get("kid") == Some(&json!("other")))
        },
        ..NO_FAULT
    },
    Fault {
        name: "the id of a key is a hint",
        must_fail: &["17.1-key-of-other-id"],
        on_request: &|request, state| {
            mend(request, state, |header, _| {
                let is_other = header.get("kid") == Some(&json!("es-2"));
                is_other && header.insert("kid".to_owned(), "es".into()).is_some()
            })
        },
        may_fail: &["17.1-second-key"],
        ..NO_FAULT
    },
    Fault {
        name: "the key in the header is used",
        must_fail: &["17.1-offered-key"],
        on_request: &|request, state| mend(request, state, |header, _| header.contains_key("jwk")),
        ..NO_FAULT
    },
    Fault {
        name: "the address of keys in the header is used",
        must_fail: &["17.1-offered-set"],
        on_request: &|request, state| mend(request, state, |header, _| header.contains_key("x5u")),
        ..NO_FAULT
    },
    Fault {
        name: "bearers that offer keys are refused",
        must_fail: &["17.1-offered-key-ignored"],
        on_request: &|request, _| refuse(request, |header, _| header.contains_key("jku")),
        ..NO_FAULT
    },
    Fault {
        name: "keys for encryption verify",
        must_fail: &["17.1-key-for-encryption"],
        on_request: &|request, state| {
            mend(request, state, |header, _| header.get("kid") == Some(&json!("sealing")))
        },
        ..NO_FAULT
    },
    Fault {
        name: "any algorithm of its type fits a key",
        must_fail: &["17.1-algorithm-of-key"],
        on_request: &|request, state| {
            mend(request, state, |header, _| {
                header.get("kid") == Some(&json!("ps")) && header["alg"] == "RS256"
            })
        },
        ..NO_FAULT
    },
    Fault {
        name: "public keys are used as secrets",
        must_fail: &["17.1-public-key-as-secret"],
        on_request: &|request, state| {
            mend(request, state, |header, _| {
                header["alg"] == "HS256" && header.get("kid") == Some(&json!("es"))
            })
        },
        ..NO_FAULT
    },
    Fault {
        name: "a secret is accepted beside keys",
        must_fail: &["17.1-secret-with-keys"],
        on_request: &|request, state| {
            mend(request, state, |header, _| {
                state.has_settings("bearer-keys") && header["alg"] == "HS256" && !header.contains_key("kid")
            })
        },
        ..NO_FAULT
    },
    Fault {
        name: "keys are accepted beside a secret",
        must_fail: &["17.1-keys-with-secret"],
        on_request: &|request, state| {
            mend(request, state, |header, _| !state.has_settings("bearer-keys") && header["alg"] == "ES256")
        },
        ..NO_FAULT
    },
    Fault {
        name: "bearers without a signature are accepted",
        must_fail: &["17.1-none"],
        on_request: &|request, state| mend(request, state, |header, _| header["alg"] == "none"),
        ..NO_FAULT
    },
    Fault {
        name: "bearers without a signature are accepted in capitals",
        must_fail: &["17.1-none-in-capitals"],
        on_request: &|request, state| mend(request, state, |header, _| header["alg"] == "NoNe"),
        ..NO_FAULT
    },
    Fault {
        name: "the algorithm in the header is ignored",
        must_fail: &["17.1-other-algorithm"],
        on_request: &|request, state| {
            mend(request, state, |header, _| {
                let name = header.get("alg").and_then(Value::as_str);
                !state.has_settings("bearer-keys")
                    && !matches!(name, Some("HS256" | "ES256" | "none" | "NoNe" | "dir"))
            })
        },
        ..NO_FAULT
    },
    Fault {
        name: "critical extensions are ignored",
        must_fail: &["17.1-crit"],
        on_request: &|request, state| mend(request, state, |header, _| header.remove("crit").is_some()),
        ..NO_FAULT
    },
    Fault {
        name: "tokens of any type are accepted",
        must_fail: &["17.1-type"],
        on_request: &|request, state| {
            mend(request, state, |header, _| {
                let name = header.get("typ").and_then(Value::as_str);
                name.is_some_and(|name| !["JWT", "at+jwt"].contains(&name)) && header.remove("typ").is_some()
            })
        },
        ..NO_FAULT
    },
    Fault {
        name: "access tokens are refused",
        must_fail: &["17.1-type-of-access-tokens"],
        on_request: &|request, _| refuse(request, |header, _| header.get("typ") == Some(&json!("at+jwt"))),
        ..NO_FAULT
    },
    Fault {
        name: "a type is required",
        must_fail: &["17.1-no-type"],
        on_request: &|request, _| {
            refuse(request, |header, _| header["alg"] == "HS256" && !header.contains_key("typ"))
        },
        ..NO_FAULT
    },
    Fault {
        name: "members of tokens may be repeated",
        must_fail: &["17.1-repeated-member"],
        on_request: &|request, state| {
            mend(request, state, |_, claims| claims.get("exp") == Some(&json!(4_000_000_000_i64)))
        },
        ..NO_FAULT
    },
    Fault {
        name: "what is encrypted counts as signed",
        must_fail: &["17.1-encrypted"],
        on_request: &|request, state| {
            if bearer_of(request)?.split('.').count() == 5 {
                set(request, "Authorization", Some(format!("Bearer {}", issue(state, None)?)));
            }
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "what is no token counts as one",
        must_fail: &["17.1-malformed", "17.4-invalid", "17.4-body", "17.5-strict-invalid"],
        may_fail: &["17."],
        on_request: &|request, state| {
            if bearer_of(request)?.len() < 20 && !state.has_settings("open") {
                set(request, "Authorization", Some(format!("Bearer {}", issue(state, None)?)));
            }
            None
        },
        ..NO_FAULT
    },
    Fault {
        name: "tokens may have any length",
        must_fail: &["17.1-too-long"],
        on_request: &|request, state| {
            let is_long = bearer_of(request)?.len() > 16 * 1024;
            mend(request, state, |_, claims| is_long && claims.remove("pad").is_some())
        },
        ..NO_FAULT
    },
    Fault {
        name: "long tokens are refused",
        must_fail: &["17.1-long"],
        on_request: &|request, _| {
            let length = bearer_of(request)?.len();
            refuse(request, |_, _| (12_000..16 * 1024).contains(&length))
        },
        ..NO_FAULT
    },
];

/// Returns the token of a bearer.
fn bearer_of(request: &Request) -> Option<String> {
    Some(request.header_value("Authorization")?.strip_prefix("Bearer ")?.to_owned())
}

/// Returns the header and the claims of a bearer without verification.
fn parts_of(request: &Request) -> Option<(Members, Members)> {
    jwt::read(&bearer_of(request)?)
}

/// Refuses a bearer whose header and claims match `is_such`.
fn refuse(request: &Request, is_such: impl Fn(&Members, &Members) -> bool) -> Option<Response> {
    let (header, claims) = parts_of(request)?;
    let header = with_nulls(header);
    is_such(&header, &claims).then(|| refusal("TOKEN_INVALID"))
}

/// Replaces a bearer by one that the issuer signs, if `edit` returns `true`. The issuer signs with the key that the header
/// names or, if there is no key of that name, with another one.
fn mend(
    request: &mut Request,
    state: &ProxyState,
    edit: impl Fn(&mut Members, &mut Members) -> bool,
) -> Option<Response> {
    let (header, mut claims) = parts_of(request)?;
    let mut header = with_nulls(header);
    if edit(&mut header, &mut claims) {
        let name = header.get("kid").and_then(Value::as_str).map(str::to_owned);
        for gone in ["alg", "kid", "b64"] {
            header.remove(gone);
        }
        let token = issue(state, Some((name.as_deref(), header, claims)))?;
        set(request, "Authorization", Some(format!("Bearer {token}")));
    }
    None
}

/// Adds a null `alg` to a header without one, so that it can be indexed.
fn with_nulls(mut header: Members) -> Members {
    header.entry("alg").or_insert(Value::Null);
    header
}

/// Returns a token of the issuer for a server: with the given members, or by default for an admin.
fn issue(state: &ProxyState, parts: Option<(Option<&str>, Members, Members)>) -> Option<String> {
    let profile = Profile::reference().ok()?;
    let choice = |name: &str| profile.choice_text(&format!("bearer.{name}")).ok();
    let name = parts.as_ref().and_then(|(name, ..)| *name);
    let name = name.filter(|name| ["rs", "ps", "es", "es-2", "ed"].contains(name)).unwrap_or("es");
    let (key, name) = match state.has_settings("bearer-keys") {
        true => (jwt::Key::of_fixture(name).ok()?, Some(name)),
        false => (jwt::Key::Secret(choice("secret")?.into_bytes()), None),
    };
    let mut header = jwt::header(&key, name);
    let claims = match parts {
        Some((_, changes, claims)) => {
            jwt::change(&mut header, &changes);
            claims
        }
        None => {
            let claims = json!({
                "iss": choice("issuer")?, "aud": choice("audience")?, "sub": "1", "role": "admin", "exp": 4_000_000_000_i64,
            });
            claims.as_object()?.clone()
        }
    };
    jwt::sign(&key, &Value::Object(header).to_string(), &Value::Object(claims).to_string()).ok()
}

/// Returns the response that refuses a bearer.
fn refusal(code: &str) -> Response {
    let body = json!({"error": "IntegrityError", "code": code, "message": "of the proxy", "requestId": "of-the-proxy"});
    let mut response = reply(401, &body);
    response.headers.push(("www-authenticate".to_owned(), "Bearer".to_owned()));
    response
}
