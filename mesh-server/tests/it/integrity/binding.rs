//! Bound signatures: a captured request cannot be reused or altered. `SPEC §7.9`

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

/// The format of a query that is sent as its id is the one that it was registered in. The reply to an unknown id reveals
/// nothing, so a signature with any format is accepted.
#[tokio::test]
async fn a_query_id_is_signed_with_its_registered_format() {
    let mut app = signed_app(gate());
    app.options.persisted = Some(Persisted::new(Registration::Signed).into());
    let site = Site::from(app);
    let login = site.login().await;
    let body = json!({"query": "{ post title }", "format": "ql"});
    let reply = site.send(login.bind_once(Ask::post("/mesh/queries", &body), "ql")).await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    let id = reply.json()["id"].as_str().unwrap().to_owned();
    let by_id = |id: &str| Ask::new("GET", "/mesh/post/1").header("X-Mesh-Query-Id", id);
    for (id, format, status) in [
        (id.as_str(), "ql", 200),
        (&id, "json", 403),
        ("q_unknown", "ql", 400),
        ("q_unknown", "json", 400),
        ("q_unknown", "xml", 403),
    ] {
        assert_eq!(site.send(login.bind_once(by_id(id), format)).await.status, status, "{id} {format}");
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
