//! Every route with and without bearers.

use serde_json::json;

use super::site::*;
use crate::integrity::site::{Ask, Login, Site, TITLE, gate, signed_app};

#[tokio::test]
async fn a_bearer_identifies_the_caller_without_a_session() {
    let site = Site::from(bearer_app());
    let reply = site.send(Ask::get("/mesh/post", ALL).bearer(&ada())).await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    assert_eq!(reply.headers["cache-control"], "private, no-cache");
    assert!(reply.headers["vary"].to_str().unwrap().contains("Authorization"));
    let twice = site.send(Ask::get("/mesh/post/1", TITLE).bearer(&ada())).await;
    assert_eq!((twice.status, twice.text.as_str()), (200, r#"{"title":"Hello"}"#));
}

#[tokio::test]
async fn failures_have_the_challenge_of_bearers() {
    let site = Site::from(bearer_app());
    let expired = token(&json!({"sub": "ada", "exp": in_seconds(-6)}));
    let later = token(&json!({"sub": "ada", "exp": in_seconds(60), "nbf": in_seconds(50)}));
    let forged = format!("{}A", ada());
    for (value, code, challenge) in [
        (None, "TOKEN_MISSING", "Bearer"),
        (Some("Basic YTpi".to_owned()), "TOKEN_MISSING", "Bearer"),
        (Some("Bearer".to_owned()), "TOKEN_INVALID", "Bearer error=\"invalid_token\""),
        (Some("Bearer mk_0123".to_owned()), "TOKEN_INVALID", "Bearer error=\"invalid_token\""),
        (Some(format!("Bearer {forged}")), "TOKEN_INVALID", "Bearer error=\"invalid_token\""),
        (Some(format!("Bearer {later}")), "TOKEN_INVALID", "Bearer error=\"invalid_token\""),
        (Some(format!("Bearer {expired}")), "TOKEN_EXPIRED", "Bearer error=\"invalid_token\""),
    ] {
        for _ in 0..2 {
            let ask = Ask::get("/mesh/post", ALL);
            let ask = match &value {
                Some(value) => ask.header("Authorization", value),
                None => ask,
            };
            let reply = site.send(ask).await;
            assert_eq!(reply.why(), (401, code.to_owned()), "{value:?}");
            assert_eq!(reply.headers["www-authenticate"], challenge);
            assert_eq!(reply.headers["cache-control"], "no-store");
        }
    }
    let by_url = Ask::get(&format!("/mesh/post?access_token={}", ada()), ALL);
    assert_eq!(site.send(by_url).await.why(), (401, "TOKEN_MISSING".to_owned()));
    let as_session = Ask::get("/mesh/post", ALL).header("X-Mesh-Token", ada());
    assert_eq!(site.send(as_session).await.why(), (401, "TOKEN_MISSING".to_owned()));
}

#[tokio::test]
async fn two_credentials_are_refused_on_every_route() {
    let site = Site::from(signed_app(gate()).bearer(bearer()));
    let Login { token: session, .. } = site.login().await;
    for ask in [
        Ask::get("/mesh/post", ALL),
        Ask::post("/mesh", &json!({"query": ALL})),
        Ask::post("/mesh/auth", &json!({})),
        Ask::new("POST", "/mesh/logout"),
    ] {
        let what = format!("{} {}", ask.method, ask.path);
        let both = ask.bearer(&ada()).header("X-Mesh-Token", &session);
        assert_eq!(site.send(both).await.why(), (400, "TransportError".to_owned()), "{what}");
    }
    let repeated = Ask::get("/mesh/post", ALL).bearer(&ada()).bearer(&ada());
    assert_eq!(site.send(repeated).await.why(), (400, "TransportError".to_owned()));
}
