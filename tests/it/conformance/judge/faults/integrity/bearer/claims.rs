//! Faults of claims: of the times and parties of a token, and of what identifies the caller.

use std::time::UNIX_EPOCH;

use serde_json::{Value, json};

use super::{ANY, Members, fault, mend, refuse};
use crate::conformance::judge::faults::Fault;

/// The issuer and the audience of the profile.
const ISSUER: &str = "https://issuer.example/";
const AUDIENCE: &str = "https://api.example";

/// Faults of the times and parties of tokens.
pub(super) const CONDITIONS: &[Fault] = &[
    fault("an expiry is not required", &["17.1-no-expiry"], &[], &|request, state| {
        mend(request, state, |_, claims| !claims.contains_key("exp") && put(claims, "exp", later()))
    }),
    fault("an expiry may be text", &["17.1-expiry-form"], &[], &|request, state| {
        mend(request, state, |_, claims| {
            claims.get("exp").is_some_and(Value::is_string) && put(claims, "exp", later())
        })
    }),
    fault(
        "bearers do not end",
        &["17.1-expired", "17.4-expired", "17.5-invalid", "17.6-anonymous-invalid", "17.7-stream"],
        &["17.5-expiry"],
        &|request, state| {
            mend(request, state, |_, claims| {
                number(claims, "exp").is_some_and(|end| end < now()) && put(claims, "exp", later())
            })
        },
    ),
    fault(
        "the clocks of issuer and server agree",
        &["17.1-expired-leeway", "17.7-stream"],
        &["17."],
        &|request, _| refuse(request, |_, claims| number(claims, "exp").is_some_and(|end| end < now())),
    ),
    fault(
        "bearers count before their time",
        &["17.1-not-before"],
        &["17.1-not-before-leeway"],
        &|request, state| {
            mend(request, state, |_, claims| {
                number(claims, "nbf").is_some_and(|start| start > now()) && claims.remove("nbf").is_some()
            })
        },
    ),
    fault(
        "the clocks of issuer and server agree at the beginning of bearers",
        &["17.1-not-before-leeway"],
        &["17.1-not-before"],
        &|request, _| {
            refuse(request, |_, claims| number(claims, "nbf").is_some_and(|start| start + 60 > now()))
        },
    ),
    fault("bearers that say when they begin are refused", &["17.1-began"], &[], &|request, _| {
        refuse(request, |_, claims| claims.contains_key("iat"))
    }),
    fault("issuers are not compared", &["17.1-issuer"], &[], &|request, state| {
        mend(request, state, |_, claims| {
            claims.get("iss").is_some_and(|issuer| *issuer != ISSUER) && put(claims, "iss", ISSUER.into())
        })
    }),
    fault("an issuer is not required", &["17.1-no-issuer"], &[], &|request, state| {
        mend(request, state, |_, claims| !claims.contains_key("iss") && put(claims, "iss", ISSUER.into()))
    }),
    fault("audiences are not compared", &["17.1-audience"], &[], &|request, state| {
        mend(request, state, |_, claims| {
            let named = claims.get("aud").map(Value::to_string);
            named.is_some_and(|named| !named.contains(AUDIENCE)) && put(claims, "aud", AUDIENCE.into())
        })
    }),
    fault("an audience is not required", &["17.1-no-audience"], &[], &|request, state| {
        mend(request, state, |_, claims| !claims.contains_key("aud") && put(claims, "aud", AUDIENCE.into()))
    }),
    fault("several audiences are refused", &["17.1-audiences"], &[], &|request, _| {
        refuse(request, |_, claims| claims.get("aud").is_some_and(Value::is_array))
    }),
];

/// Faults of what identifies the caller.
pub(super) const IDENTITY: &[Fault] = &[
    fault(
        "every bearer is an admin",
        &["17.2-role", "17.2-roles", "17.2-user", "17.2-docs", "17.5-role"],
        ANY,
        &|request, state| mend(request, state, |_, claims| put(claims, "role", "admin".into())),
    ),
    fault(
        "no bearer is an admin",
        &["17.2-role", "17.2-roles", "17.2-docs", "17.6-anonymous-bearer"],
        ANY,
        &|request, state| {
            mend(request, state, |_, claims| {
                claims.contains_key("role") && put(claims, "role", "visitor".into())
            })
        },
    ),
    fault("the last of several roles counts", &["17.2-roles"], &[], &|request, state| {
        mend(request, state, |_, claims| {
            let roles = claims.get_mut("role").and_then(Value::as_array_mut);
            roles.map(|roles| roles.reverse()).is_some()
        })
    }),
    fault("roles may have any form", &["17.2-role-form"], &[], &|request, state| {
        mend(request, state, |_, claims| {
            claims.get("role").is_some_and(Value::is_object) && put(claims, "role", "admin".into())
        })
    }),
    fault("without a role a bearer is an admin", &["17.2-no-role"], &[], &|request, state| {
        mend(request, state, |_, claims| !claims.contains_key("role") && put(claims, "role", "admin".into()))
    }),
    fault("users are mistaken", &["17.2-user", "17.2-user-number", "17.5-user"], &[], &|request, state| {
        mend(request, state, |_, claims| {
            let is_bo = claims.get("sub").is_some_and(|user| *user == "2" || *user == 2);
            is_bo && put(claims, "sub", "3".into())
        })
    }),
    fault("ids that are numbers are refused", &["17.2-user-number"], &[], &|request, _| {
        refuse(request, |_, claims| claims.get("sub").is_some_and(Value::is_i64))
    }),
    fault("ids may have any form", &["17.2-user-form"], &[], &|request, state| {
        mend(request, state, |_, claims| {
            let is_right = claims
                .get("sub")
                .is_none_or(|user| user.is_i64() || user.as_str().is_some_and(|user| !user.is_empty()));
            !is_right && put(claims, "sub", "1".into())
        })
    }),
    fault("a user is not required", &["17.2-no-user"], &[], &|request, state| {
        mend(request, state, |_, claims| !claims.contains_key("sub") && put(claims, "sub", "1".into()))
    }),
    fault("tenants are ignored", &["17.2-tenant", "17.5-tenant"], &[], &|request, state| {
        mend(request, state, |_, claims| {
            claims.get("tenant").is_some_and(Value::is_string) && claims.remove("tenant").is_some()
        })
    }),
    fault("tenants may have any form", &["17.2-tenant-form"], &[], &|request, state| {
        mend(request, state, |_, claims| {
            claims.get("tenant").is_some_and(Value::is_array) && claims.remove("tenant").is_some()
        })
    }),
    fault(
        "policies do not see claims",
        &["17.2-claim", "17.2-claim-path", "17.2-claim-member", "17.5-claims"],
        &[],
        &|request, state| {
            mend(request, state, |_, claims| {
                let is_list = claims.get("postIds").is_some_and(|ids| ids[0].is_i64() || ids.is_i64());
                (is_list && claims.remove("postIds").is_some())
                    | claims.remove("app").is_some()
                    | claims.remove("app.userIds").is_some()
            })
        },
    ),
    fault("a single claim is not a list", &["17.2-claim"], &[], &|request, _| {
        refuse(request, |_, claims| claims.get("postIds").is_some_and(Value::is_i64))
    }),
    fault(
        "conditions on claims that are missing are left out",
        &["17.2-no-claim"],
        &["17.2-claim"],
        &|request, state| {
            mend(request, state, |_, claims| {
                let is_member = claims.get("role") == Some(&json!("member"));
                is_member && !claims.contains_key("postIds") && put(claims, "postIds", json!([1, 2, 3]))
            })
        },
    ),
    fault("a path comes before a member of its name", &["17.2-claim-member"], &[], &|request, state| {
        mend(request, state, |_, claims| claims.contains_key("app") && claims.remove("app.userIds").is_some())
    }),
    fault("claims may have any form", &["17.2-claim-form"], &[], &|request, state| {
        mend(request, state, |_, claims| {
            let is_nested = claims
                .get("postIds")
                .is_some_and(|ids| ids.is_object() || ids[0].is_array() || ids[0].is_object());
            is_nested && claims.remove("postIds").is_some()
        })
    }),
    fault("claims may have any length", &["17.2-claims-too-long"], &[], &|request, state| {
        mend(request, state, |_, claims| {
            let is_long = claims.get("postIds").is_some_and(|ids| ids[299].is_string());
            is_long && claims.remove("postIds").is_some()
        })
    }),
    fault("claims that do not count are checked", &["17.2-other-claims"], &[], &|request, _| {
        refuse(request, |_, claims| claims.contains_key("other"))
    }),
];

fn put(claims: &mut Members, name: &str, value: Value) -> bool {
    claims.insert(name.to_owned(), value);
    true
}

fn number(claims: &Members, name: &str) -> Option<i64> {
    claims.get(name).and_then(Value::as_i64)
}

fn now() -> i64 {
    UNIX_EPOCH.elapsed().ok().and_then(|since| i64::try_from(since.as_secs()).ok()).unwrap_or_default()
}

fn later() -> Value {
    (now() + 600).into()
}
