//! Failures of resolvers: the client gets no details, and the next read succeeds.

use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use mesh_server::App;
use mesh_server::mesh_plan::{self, Context, Mesh, Plan, ResolveError, Rows, Table, Value};
use mesh_server::mesh_schema::{FieldType, Schema};
use mesh_server::mesh_wire::base64;
use serde_json::{Value as Json, json};

const SECRET: &str = "password=hunter2";

/// A resolver that fails in the way that the entity's name states.
async fn resolve(plan: Plan, _: Context) -> Result<Rows, ResolveError> {
    let mut rows = Rows::new(&plan);
    match plan.node().entity.as_str() {
        "failing" => return Err(ResolveError::new(SECRET)),
        "panicking" => panic!("{SECRET}"),
        "stuck" => std::future::pending().await,
        "busy" => return Err(ResolveError::Busy),
        "narrow" => {
            let mut table = Table::new(["other"]);
            table.push([SECRET.into()]);
            rows.set("", table);
        }
        "ragged" => rows.root().push([1.into(), SECRET.into(), 3.into(), 4.into()]),
        "endless" => {
            for id in 0..1_000_i64 {
                rows.root().push_with(|_| id.into());
            }
        }
        _ => rows.root().push_with(|_| Value::from(1)),
    }
    Ok(rows)
}

const ENTITIES: [&str; 8] = ["good", "failing", "panicking", "stuck", "busy", "narrow", "ragged", "endless"];

fn app() -> App {
    let schema = ENTITIES.iter().fold(Schema::builder(), |schema, entity| {
        schema.entity(entity, |entity| entity.field("id", FieldType::Integer))
    });
    let limits = mesh_plan::Limits { rows: 100, ..mesh_plan::Limits::default() };
    let mesh =
        Mesh::builder(schema.build().unwrap()).default_resolver(resolve).limits(limits).build().unwrap();
    let mut app = App::builder(mesh);
    app.options.limits.request_timeout = Duration::from_millis(200);
    app.build().unwrap()
}

async fn send(app: &App, entity: &str) -> Response<mesh_server::Body> {
    let query = base64::encode(&format!("{{ {entity} id }}"));
    let request = Request::get(format!("/mesh/{entity}")).header("X-Mesh-Query", query);
    let request = request.header("X-Mesh-Format", "ql").body(Full::<Bytes>::default()).unwrap();
    app.handle(request).await
}

/// Returns status and body of a read, after a check that the body reveals no internals.
async fn read(app: &App, entity: &str) -> (u16, Json) {
    let reply = send(app, entity).await;
    let status = reply.status().as_u16();
    let body = reply.into_body().collect().await.unwrap().to_bytes();
    let text = std::str::from_utf8(&body).unwrap();
    assert!(!text.contains("hunter2") && !text.contains("column"), "{text}");
    (status, serde_json::from_str(text).unwrap())
}

/// Reads from a resolver that fails, then from a good one through the same application.
async fn read_and_recover(entity: &str) -> (u16, Json) {
    let app = app();
    let answer = read(&app, entity).await;
    let (status, body) = read(&app, "good").await;
    assert_eq!((status, &body["items"]), (200, &json!([{ "id": 1 }])), "after {entity}");
    answer
}

#[tokio::test]
async fn internal_failures_are_resolver_errors_without_their_cause() {
    for entity in ["failing", "panicking", "narrow", "ragged"] {
        let (status, body) = read_and_recover(entity).await;
        assert_eq!((status, &body["error"]), (500, &json!("ResolverError")), "{entity}");
        assert_eq!(body.get("code"), None, "{entity}");
        assert!(body["requestId"].as_str().is_some_and(|id| !id.is_empty()), "{entity}: {body}");
    }
}

#[tokio::test]
async fn a_resolver_that_never_completes_times_out() {
    let (status, body) = read_and_recover("stuck").await;
    assert_eq!((status, &body["error"], &body["code"]), (500, &json!("ResolverError"), &json!("TIMEOUT")));
}

#[tokio::test]
async fn a_busy_resolver_is_answered_with_retry_after() {
    let reply = send(&app(), "busy").await;
    assert_eq!(reply.status(), 503);
    assert_eq!(reply.headers().get("Retry-After").unwrap(), "1");
}

#[tokio::test]
async fn too_many_rows_are_cut_to_a_page() {
    let (status, body) = read_and_recover("endless").await;
    assert_eq!(status, 200);
    assert_eq!(body["items"].as_array().map(Vec::len), Some(50), "the page's default size");
    assert_eq!(body["pageInfo"]["hasNextPage"], true, "{}", body["pageInfo"]);
}
