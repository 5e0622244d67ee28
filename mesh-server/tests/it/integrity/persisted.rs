//! Combinations of persisted queries and integrity that no settings of the conformance suite have. `SPEC §8`

use mesh_server::mesh_plan::persisted::{Persisted, PersistedQuery, Registration};
use mesh_server::{App, AppBuilder};
use serde_json::json;

use super::site::*;

const LIST: &str = "{ post title }";
const LIST_ID: &str = "q_b1ac7d3161a94b016491ac001920b033";

#[tokio::test]
async fn registrations_and_integrity() {
    let register = || Ask::post("/mesh/queries", &json!({"query": LIST, "format": "ql"}));
    let by_id = || Ask::new("GET", "/mesh/post").header("X-Mesh-Query-Id", LIST_ID);
    let with = |persisted: Persisted, mut app: AppBuilder| {
        app.options.persisted = Some(persisted.into());
        Site::from(app)
    };
    let signed = |persisted| with(persisted, signed_app(gate()));
    let not_allowed = (403, "QUERY_NOT_ALLOWED".to_owned());
    let without_token = (401, "TOKEN_MISSING".to_owned());

    // Without integrity requests cannot be signed, so registration is refused.
    let site = with(Persisted::new(Registration::Signed), App::builder(mesh()));
    assert_eq!(site.send(register()).await.why(), not_allowed);

    let site = signed(Persisted::new(Registration::Open));
    assert_eq!(site.send(register()).await.status, 200);
    assert_eq!(site.send(by_id()).await.why(), without_token, "reads need a session");

    let mut closed = Persisted::new(Registration::Closed);
    closed.preload(&mesh(), PersistedQuery::new(mesh_ql::Format::Ql, LIST)).unwrap();
    let site = signed(closed.require_registered(true));
    assert_eq!(site.send(register()).await.why(), not_allowed);
    let login = site.login().await;
    let other = || Ask::get("/mesh/post/1", TITLE);
    assert_eq!(site.send(login.sign(other())).await.why(), not_allowed);
    assert_eq!(site.send(other()).await.why(), without_token, "authentication precedes the check");
    assert_eq!(site.send(login.sign(by_id())).await.status, 200);
}
