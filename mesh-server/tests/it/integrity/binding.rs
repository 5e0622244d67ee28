//! Bound signatures: a captured request cannot be reused or altered. `SPEC §7.9`

use std::time::Duration;

use mesh_server::mesh_integrity::Binding;
use mesh_server::mesh_plan::persisted::{Persisted, Registration};
use proptest::prelude::*;
use serde_json::json;

use super::site::*;

const NONCE: &str = "c29tZSByYW5kb20gMQ";

fn now() -> u64 {
    since_1970().as_secs()
}

fn read() -> Ask {
    Ask::get("/mesh/post/1", TITLE)
}

/// Attack with captured traffic: a captured signature moved to another record, method or body.
#[tokio::test]
async fn a_bound_signature_is_valid_for_one_request() {
    let site = Site::new();
    let login = site.login().await;
    let signed = || login.bind(read(), "json", now(), NONCE);
    let elsewhere = Ask { path: "/mesh/post/2".to_owned(), ..signed() };
    assert_eq!(site.send(elsewhere).await.why().1, "SIGNATURE_INVALID");
    let put = Ask { method: "PUT", ..signed() };
    assert_eq!(site.send(put).await.why().1, "SIGNATURE_INVALID");
    assert_eq!(site.send(signed().header("X-Mesh-Format", "ql")).await.why().1, "SIGNATURE_INVALID");
    let stripped = signed().without("X-Mesh-Nonce").without("X-Mesh-Timestamp");
    assert_eq!(site.send(stripped).await.why().1, "SIGNATURE_INVALID");
    assert_eq!(site.send(signed()).await.text, r#"{"title":"Hello"}"#);
    assert_eq!(site.send(signed()).await.why(), (401, "REPLAYED".to_owned()));
    // The signature does not cover the URL query.
    let with_query = login.bind(read(), "json", now(), "c29tZSByYW5kb20gMg");
    let with_query = Ask { path: "/mesh/post/1?utm=1".to_owned(), ..with_query };
    assert_eq!(site.send(with_query).await.status, 200);
}

#[tokio::test]
async fn a_bound_signature_is_valid_for_the_replay_window() {
    let site = Site::with(gate().replay_window(Duration::from_secs(30)));
    let login = site.login().await;
    for (offset, status) in [(-40i64, 401), (-20, 200), (0, 200), (20, 200), (40, 401)] {
        let time = now().checked_add_signed(offset).unwrap();
        let ask = login.bind(read(), "json", time, &format!("nonce-at-offset-{offset}"));
        let reply = site.send(ask).await;
        assert_eq!(reply.status, status, "{offset}: {}", reply.text);
    }
}

#[tokio::test]
async fn a_bound_signature_covers_the_format() {
    let mut app = signed_app(gate());
    app.persisted = Some(Persisted::new(Registration::Signed));
    let site = Site::from(app);
    let login = site.login().await;
    let ql = || Ask::get("/mesh/post/1", "{ post title }").header("X-Mesh-Format", "ql");
    let mut count = 0;
    let mut nonce = || {
        count += 1;
        format!("nonce-number-{count:06}")
    };
    assert_eq!(site.send(login.bind(ql(), "ql", now(), &nonce())).await.status, 200);
    assert_eq!(site.send(login.bind(ql(), "json", now(), &nonce())).await.status, 403);
    let body = json!({"query": "{ post title }", "format": "ql", "id": "1"});
    let posted = || Ask::post("/mesh", &body);
    assert_eq!(site.send(login.bind(posted(), "ql", now(), &nonce())).await.status, 200);
    assert_eq!(site.send(login.bind(posted(), "json", now(), &nonce())).await.status, 403);
    let broken = Ask::post("/mesh", &json!({"format": "ql"}));
    let reply = site.send(login.bind(broken, "ql", now(), &nonce())).await;
    assert_eq!(reply.why(), (400, "TransportError".to_owned()), "signed, but no query");
    let register = Ask::post("/mesh/queries", &body);
    let reply = site.send(login.bind(register, "ql", now(), &nonce())).await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    let id = reply.json()["id"].as_str().unwrap().to_owned();
    let by_id = |id: &str| Ask::new("GET", "/mesh/post/1").header("X-Mesh-Query-Id", id);
    assert_eq!(site.send(login.bind(by_id(&id), "ql", now(), &nonce())).await.status, 200);
    assert_eq!(site.send(login.bind(by_id(&id), "json", now(), &nonce())).await.status, 403);
    for format in ["ql", "json"] {
        let reply = site.send(login.bind(by_id("q_unknown"), format, now(), &nonce())).await;
        assert_eq!(reply.why(), (400, "QUERY_ID_UNKNOWN".to_owned()), "signed, so the reply may reveal it");
    }
    assert_eq!(site.send(login.bind(by_id("q_unknown"), "xml", now(), &nonce())).await.status, 403);
}

#[tokio::test]
async fn timestamp_and_nonce_are_required_together() {
    let site = Site::new();
    let login = site.login().await;
    for name in ["X-Mesh-Timestamp", "X-Mesh-Nonce"] {
        let ask = login.bind(read(), "json", now(), NONCE).without(name);
        assert_eq!(site.send(ask).await.why(), (400, "TransportError".to_owned()), "{name}");
    }
    for (timestamp, nonce) in [("now", NONCE), ("1", "short"), ("1", "with blanks in it, and long")] {
        let ask = login.bind(read(), "json", now(), NONCE);
        let ask = ask.with("X-Mesh-Timestamp", timestamp).with("X-Mesh-Nonce", nonce);
        assert_eq!(site.send(ask).await.why(), (400, "TransportError".to_owned()), "{timestamp} {nonce}");
    }
}

#[tokio::test]
async fn binding_can_be_required_or_turned_off() {
    let required = Site::with(gate().binding(Binding::Require));
    let login = required.login().await;
    let reply = required.send(login.sign(read())).await;
    assert_eq!(reply.why(), (401, "SIGNATURE_MISSING".to_owned()));
    assert_eq!(required.send(login.bind(read(), "json", now(), NONCE)).await.status, 200);
    let logout = Ask::new("POST", "/mesh/logout").header("X-Mesh-Token", &login.token);
    assert_eq!(required.send(logout).await.status, 200, "a logout needs no signature");

    let off = Site::with(gate().binding(Binding::Off));
    let login = off.login().await;
    for _ in 0..2 {
        let ask = login.sign(read()).header("X-Mesh-Timestamp", "1").header("X-Mesh-Nonce", "x");
        assert_eq!(off.send(ask).await.status, 200, "the headers are ignored");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn arbitrary_headers_are_refused_with_an_error(values in proptest::collection::vec(proptest::option::of("[ -~é]{0,80}"), 7)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let names = [
            "X-Mesh-Token", "X-Mesh-Signature", "X-Mesh-Timestamp", "X-Mesh-Nonce", "X-Mesh-Query",
            "X-Mesh-Query-Id", "X-Mesh-Format",
        ];
        let reply = runtime.block_on(async {
            let site = Site::new();
            let login = site.login().await;
            let mut ask = Ask::new("GET", "/mesh/post/1");
            for (name, value) in names.into_iter().zip(values).filter_map(|(name, value)| Some((name, value?))) {
                ask = ask.header(name, value);
            }
            // Every other request has a valid token, so that later checks are reached.
            if ask.headers.len().is_multiple_of(2) {
                ask = ask.with("X-Mesh-Token", login.token);
            }
            site.send(ask).await
        });
        prop_assert!([400, 401, 403].contains(&reply.status), "{reply:?}");
        prop_assert!(reply.json()["message"].is_string());
    }
}
