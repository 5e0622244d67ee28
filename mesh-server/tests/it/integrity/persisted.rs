//! Registration of queries, and requests with their ids. `SPEC §8`

use mesh_server::mesh_plan::persisted::{Persisted, PersistedQuery, QueryId, Registration};
use mesh_server::{App, AppBuilder};
use serde_json::{Value, json};

use super::site::*;

const LIST: &str = "{ post title }";
const LIST_ID: &str = "q_b1ac7d3161a94b016491ac001920b033";

fn register() -> Ask {
    Ask::post("/mesh/queries", &json!({"query": LIST, "format": "ql"}))
}

fn by_id(path: &str, id: &str) -> Ask {
    Ask::new("GET", path).header("X-Mesh-Query-Id", id)
}

fn open(persisted: Persisted) -> Site {
    with(persisted, App::builder(mesh()))
}

fn signed(persisted: Persisted) -> Site {
    with(persisted, signed_app(gate()))
}

fn with(persisted: Persisted, mut app: AppBuilder) -> Site {
    app.persisted = Some(persisted);
    Site::from(app)
}

#[tokio::test]
async fn registered_queries_are_read_by_their_id() {
    let site = open(Persisted::new(Registration::Open));
    let reply = site.send(by_id("/mesh/post", LIST_ID)).await;
    assert_eq!(reply.why(), (400, "QUERY_ID_UNKNOWN".to_owned()));
    assert_eq!(reply.json()["error"], "TransportError");
    for _ in 0..2 {
        let reply = site.send(register()).await;
        assert_eq!((reply.status, reply.json()), (200, json!({"id": LIST_ID})));
    }
    let list = site.send(by_id("/mesh/post", LIST_ID)).await;
    assert_eq!(list.json()["items"], json!([{"title": "Hello"}, {"title": "Goodbye"}]));
    assert_eq!(site.send(by_id("/mesh/post/2", LIST_ID)).await.text, r#"{"title":"Goodbye"}"#);
    let put = Ask { method: "PUT", ..by_id("/mesh/post/1", LIST_ID) };
    assert_eq!(site.send(put).await.text, r#"{"title":"Hello"}"#);
    let format = by_id("/mesh/post/1", LIST_ID).header("X-Mesh-Format", "nonsense");
    assert_eq!(site.send(format).await.status, 200, "the registered format counts");
    let both = by_id("/mesh/post/1", LIST_ID).header("X-Mesh-Query", "e30=");
    assert_eq!(site.send(both).await.why(), (400, "TransportError".to_owned()));
    assert_eq!(site.send(by_id("/mesh/tag", LIST_ID)).await.why(), (400, "ValidationError".to_owned()));
}

#[tokio::test]
async fn invalid_queries_are_not_registered() {
    let site = open(Persisted::new(Registration::Open));
    for (body, error) in [
        (json!({"query": "{ post secret }", "format": "ql"}), "ValidationError"),
        (json!({"query": "{ post", "format": "ql"}), "ValidationError"),
        (json!({"query": LIST}), "ValidationError"),
        (json!({"query": LIST, "format": "xml"}), "TransportError"),
        (json!({"query": 7}), "TransportError"),
        (json!({"format": "ql"}), "TransportError"),
        (json!([]), "TransportError"),
    ] {
        let reply = site.send(Ask::post("/mesh/queries", &body)).await;
        assert_eq!(reply.why(), (400, error.to_owned()), "{body}");
    }
    let secret = QueryId::new(mesh_ql::Format::Ql, "{ post secret }").to_string();
    assert_eq!(site.send(by_id("/mesh/post", &secret)).await.why().1, "QUERY_ID_UNKNOWN");
    let plain = register().without("Content-Type");
    assert_eq!(site.send(plain).await.status, 415);
}

#[tokio::test]
async fn signed_registration_needs_a_signature() {
    let site = signed(Persisted::new(Registration::Signed));
    let login = site.login().await;
    assert_eq!(site.send(register()).await.why(), (401, "TOKEN_MISSING".to_owned()));
    let unsigned = register().header("X-Mesh-Token", &login.token);
    assert_eq!(site.send(unsigned).await.why(), (401, "SIGNATURE_MISSING".to_owned()));
    assert_eq!(site.send(login.sign(register())).await.json(), json!({"id": LIST_ID}));
    // Without integrity requests cannot be signed, so registration is refused.
    let site = open(Persisted::new(Registration::Signed));
    assert_eq!(site.send(register()).await.why(), (403, "QUERY_NOT_ALLOWED".to_owned()));
}

#[tokio::test]
async fn open_registration_needs_no_session_but_reads_do() {
    let site = signed(Persisted::new(Registration::Open));
    assert_eq!(site.send(register()).await.status, 200);
    assert_eq!(site.send(by_id("/mesh/post", LIST_ID)).await.why(), (401, "TOKEN_MISSING".to_owned()));
}

#[tokio::test]
async fn ids_are_signed_like_queries() {
    let site = signed(Persisted::new(Registration::Signed));
    let login = site.login().await;
    site.send(login.sign(register())).await;
    let read = login.sign(by_id("/mesh/post/1", LIST_ID));
    assert_eq!(site.send(read).await.text, r#"{"title":"Hello"}"#);
    let other = Ask::post("/mesh/queries", &json!({"query": "{ post id }", "format": "ql"}));
    let other = site.send(login.sign(other)).await.json()["id"].as_str().unwrap().to_owned();
    let moved = login.sign(by_id("/mesh/post/1", LIST_ID)).with("X-Mesh-Query-Id", other);
    assert_eq!(site.send(moved).await.why(), (403, "SIGNATURE_INVALID".to_owned()));
}

#[tokio::test]
async fn closed_registration_is_refused() {
    for site in [open(closed()), signed(closed())] {
        let reply = site.send(register()).await;
        assert_eq!(reply.why(), (403, "QUERY_NOT_ALLOWED".to_owned()));
        assert_eq!(reply.json()["error"], "IntegrityError");
    }
    assert_eq!(open(closed()).send(by_id("/mesh/post/1", LIST_ID)).await.text, r#"{"title":"Hello"}"#);
}

fn closed() -> Persisted {
    let mut queries = Persisted::new(Registration::Closed);
    queries.preload(&mesh(), PersistedQuery::new(mesh_ql::Format::Ql, LIST)).unwrap();
    queries
}

#[tokio::test]
async fn only_registered_queries_run() {
    let refused = (403, "QUERY_NOT_ALLOWED".to_owned());
    let site = open(closed().require_registered(true));
    assert_eq!(site.send(Ask::get("/mesh/post/1", TITLE)).await.why(), refused);
    assert_eq!(site.send(Ask::post("/mesh", &json!({"query": TITLE}))).await.why(), refused);
    assert_eq!(site.send(by_id("/mesh/post/1", LIST_ID)).await.status, 200);
    let site = signed(closed().require_registered(true));
    let login = site.login().await;
    assert_eq!(site.send(login.sign(Ask::get("/mesh/post/1", TITLE))).await.why(), refused);
    let unsigned = site.send(Ask::get("/mesh/post/1", TITLE)).await;
    assert_eq!(unsigned.why().1, "TOKEN_MISSING", "authentication precedes the check");
}

#[tokio::test]
async fn without_the_profile_there_are_no_ids() {
    let site = Site::from(App::builder(mesh()));
    assert_eq!(site.send(register()).await.status, 405);
    assert_eq!(site.send(by_id("/mesh/post", LIST_ID)).await.why().1, "QUERY_ID_UNKNOWN");
    let body: Value = site.send(register()).await.json();
    assert_eq!(body["error"], "MethodNotAllowed");
}
