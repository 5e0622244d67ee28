//! What callers with bearers may do, on every route.

use mesh_tests::{Issuer, Request};
use serde_json::{Value, json};

use super::{Site, TITLE, bearer};
use crate::events::stream::Stream;

#[test]
fn a_stream_ends_when_its_bearer_expires_or_its_key_is_withdrawn() {
    let issuer = Issuer::start();
    let site = Site::start(&format!("jwks = '{}'\nleeway = '0s'\nrefresh = '1s'", issuer.url()));
    let open = |token: &str| {
        let request = bearer(Request::get("/mesh/post/1/events", TITLE), token);
        Stream::try_open(site.server.address, &request).unwrap_or_else(|reply| panic!("{reply:?}"))
    };
    let mut short = open(&issuer.token(&json!({"sub": "1", "exp": Issuer::now() + 3})));
    let mut long = open(&issuer.token(&json!({"sub": "1"})));
    let end = |stream: &mut Stream| {
        let event = stream.event();
        let body: Value = serde_json::from_str(&event.data).unwrap();
        assert_eq!(event.kind, "error");
        stream.assert_ends();
        body["code"].as_str().unwrap().to_owned()
    };
    short.data();
    long.data();
    assert_eq!(end(&mut short), "TOKEN_EXPIRED");
    issuer.rotate("second");
    assert_eq!(end(&mut long), "TOKEN_INVALID");
}

#[test]
fn streams_and_rates_are_limited_for_each_bearer() {
    let issuer = Issuer::start();
    let limits = "[limits]\nstreams_per_session = 2\nper_session = '5/m'\n";
    let site = Site::with(&format!("jwks = '{}'", issuer.url()), limits, &[]);
    let (one, other) = (issuer.token(&json!({"sub": "1"})), issuer.token(&json!({"sub": "1", "n": 2})));
    let open = |token: &str| {
        let request = bearer(Request::get("/mesh/post/1/events", TITLE), token);
        Stream::try_open(site.server.address, &request)
    };
    let _open = [open(&one).unwrap(), open(&one).unwrap()];
    assert_eq!(open(&one).err().map(|(status, _)| status), Some(429));
    for _ in 0..2 {
        site.accepts(&one);
    }
    site.refuses(&one, 429, "RateLimitError");
    site.accepts(&other);
    // A request that is refused after authentication counts as well.
    let third = issuer.token(&json!({"sub": "1", "n": 3}));
    let wrong = bearer(Request::post("/mesh", "{}").header("X-Mesh-Params", "e30="), &third);
    assert_eq!([(); 6].map(|()| site.server.send(&wrong).status), [400, 400, 400, 400, 400, 429]);
}
