//! Tests of the export to a collector that is available, and to one that is not.

use std::convert::Infallible;
use std::sync::Mutex;

use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use mesh_plan::{Context, Mesh, Plan, ResolveError, Rows};
use mesh_schema::{FieldType, Schema};
use serde_json::Value;
use tokio::net::TcpListener;

use super::*;
use crate::App;

/// Starts a collector on loopback. Returns its address and the bodies that it has received.
async fn collector() -> (Endpoint, Arc<Mutex<Vec<Value>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = Endpoint::parse(&format!("http://{}", listener.local_addr().unwrap())).unwrap();
    let kept = Arc::new(Mutex::new(Vec::new()));
    let keeping = Arc::clone(&kept);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let keeping = Arc::clone(&keeping);
            let service = service_fn(move |request: Request<Incoming>| {
                let keeping = Arc::clone(&keeping);
                async move {
                    assert_eq!(request.uri().path(), "/v1/traces");
                    assert_eq!(request.headers()["content-type"], "application/json");
                    let body = request.into_body().collect().await.unwrap().to_bytes();
                    keeping.lock().unwrap().push(serde_json::from_slice(&body).unwrap());
                    Ok::<_, Infallible>(Response::new(Full::new(Bytes::from_static(b"{}"))))
                }
            });
            let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
        }
    });
    (endpoint, kept)
}

fn app(spans: Spans) -> App {
    let schema = Schema::builder().entity("post", |post| post.field("id", FieldType::Integer)).build();
    let posts = |plan: Plan, _: Context| async move {
        let mut rows = Rows::new(&plan);
        rows.root().push_with(|_| 1.into());
        Ok::<_, ResolveError>(rows)
    };
    let mesh = Mesh::builder(schema.unwrap()).resolver("post", posts).build().unwrap();
    App::builder(mesh).spans(spans).build().unwrap()
}

async fn get(app: &App, path: &str, traceparent: Option<&str>) -> Response<crate::Body> {
    let mut request =
        Request::get(path).header("X-Mesh-Format", "ql").header("X-Mesh-Query", "eyBwb3N0IGlkIH0=");
    if let Some(value) = traceparent {
        request = request.header("traceparent", value);
    }
    app.handle(request.body(Full::new(Bytes::new())).unwrap()).await
}

#[tokio::test]
async fn each_request_is_a_span() {
    let (endpoint, kept) = collector().await;
    let app = app(Spans::new(endpoint, "blog"));
    let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
    let sampled = format!("00-{trace}-00f067aa0ba902b7-01");
    let reply = get(&app, "/mesh/post/1", Some(&sampled)).await;
    let ours = reply.headers()["traceparent"].to_str().unwrap().to_owned();
    assert!(ours.starts_with(&format!("00-{trace}-")) && !ours.contains("00f067aa0ba902b7"), "{ours}");
    let not_sampled = sampled.replace("-01", "-00");
    assert_eq!(get(&app, "/mesh/post/1", Some(&not_sampled)).await.status(), 200);
    assert_eq!(get(&app, "/mesh/none/1", None).await.status(), 400);
    let spans: Vec<Value> = loop {
        let kept = kept.lock().unwrap().clone();
        let spans = kept.iter().flat_map(|body: &Value| {
            assert_eq!(body["resourceSpans"][0]["resource"]["attributes"][0]["value"]["stringValue"], "blog");
            body["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap().clone()
        });
        let spans: Vec<Value> = spans.collect();
        if spans.len() >= 2 {
            break spans;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    };
    assert_eq!(spans.len(), 2, "traces that the caller does not record are not sent");
    assert_eq!(spans[0]["traceId"], trace);
    assert_eq!(spans[0]["parentSpanId"], "00f067aa0ba902b7");
    assert_eq!(spans[0]["spanId"], ours.split('-').nth(2).unwrap());
    assert_eq!(spans[0]["name"], "GET /:entity/:id");
    let number = |span: &Value, name: &str| span[name].as_str().unwrap().parse::<u64>().unwrap();
    assert!(number(&spans[0], "startTimeUnixNano") <= number(&spans[0], "endTimeUnixNano"));
    let text = spans[0]["attributes"].to_string();
    assert!(text.contains(r#""key":"mesh.rows","value":{"intValue":"1"}"#), "{text}");
    // A request without a trace starts one.
    assert_eq!(spans[1]["traceId"].as_str().unwrap().len(), 32);
    assert_eq!(spans[1]["parentSpanId"], Value::Null);
    assert!(spans[1]["attributes"].to_string().contains(r#""intValue":"400""#));
}

#[tokio::test]
async fn requests_do_not_wait_for_an_unavailable_collector() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = Endpoint::parse(&format!("http://{}", listener.local_addr().unwrap())).unwrap();
    // The collector accepts connections but never replies.
    let spans = Spans::new(endpoint, "blog");
    let app = app(spans.clone());
    for _ in 0..QUEUE + BATCH + 100 {
        assert_eq!(get(&app, "/mesh/post/1", None).await.status(), 200);
    }
    assert!(spans.lost() > 0);
    drop(listener);
}

#[test]
fn addresses_are_parsed_and_completed() {
    let shown = |text: &str| Endpoint::parse(text).map(|endpoint| endpoint.to_string());
    assert_eq!(shown("http://127.0.0.1:4318").unwrap(), "http://127.0.0.1:4318/v1/traces");
    assert_eq!(shown("http://collector/v1/traces/").unwrap(), "http://collector/v1/traces");
    assert_eq!(shown("http://[::1]:4318/otlp").unwrap(), "http://[::1]:4318/otlp/v1/traces");
    for text in ["", "collector", "https://collector", "http://", "/v1/traces", "http://user:pw@collector"] {
        assert!(shown(text).is_err(), "{text}");
    }
}
