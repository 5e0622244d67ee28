//! Tests of the export to a collector that is available, and to one that is not.

use std::convert::Infallible;
use std::sync::Mutex;

use http::header::HeaderValue;
use http::{HeaderName, Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::rt::{Read, Write};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use mesh_plan::{Context, Mesh, Plan, ResolveError, Rows};
use mesh_schema::{FieldType, Schema};
use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use rustls::{RootCertStore, ServerConfig};
use serde_json::Value;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use super::*;
use crate::App;

type Received = Arc<Mutex<Vec<(HeaderMap, Value)>>>;

/// Starts a collector on loopback. Returns the headers and the bodies that it receives.
async fn collector() -> (HttpUrl, Received) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = url("http", &listener);
    let received = Received::default();
    let keeping = Arc::clone(&received);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            receive(TokioIo::new(stream), &keeping).await;
        }
    });
    (url, received)
}

fn url(scheme: &str, listener: &TcpListener) -> HttpUrl {
    traces_url(&format!("{scheme}://{}", listener.local_addr().unwrap())).unwrap()
}

/// Answers the requests of a connection.
async fn receive(connection: impl Read + Write + Unpin + Send + 'static, received: &Received) {
    let service = service_fn(move |request: Request<Incoming>| {
        let received = Arc::clone(received);
        async move {
            assert_eq!(request.uri().path(), "/v1/traces");
            assert_eq!(request.headers()["content-type"], "application/json");
            let headers = request.headers().clone();
            let body = request.into_body().collect().await.unwrap().to_bytes();
            received.lock().unwrap().push((headers, serde_json::from_slice(&body).unwrap()));
            Ok::<_, Infallible>(Response::new(Full::new(Bytes::from_static(b"{}"))))
        }
    });
    let _ = http1::Builder::new().serve_connection(connection, service).await;
}

fn app(spans: Spans) -> App {
    let schema = Schema::builder().entity("post", |post| post.field("id", FieldType::Integer)).build();
    let posts = |plan: Plan, _: Context| async move {
        let mut rows = Rows::new(&plan);
        rows.root().push_with(|_| 1.into());
        Ok::<_, ResolveError>(rows)
    };
    let mesh = Mesh::builder(schema.unwrap()).resolver("post", posts).build().unwrap();
    let mut app = App::builder(mesh);
    app.options.spans = Some(spans);
    app.build().unwrap()
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
    let (url, received) = collector().await;
    let app = app(Spans::new(url, HeaderMap::new(), "blog"));
    let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
    let sampled = format!("00-{trace}-00f067aa0ba902b7-01");
    let reply = get(&app, "/mesh/post/1", Some(&sampled)).await;
    let ours = reply.headers()["traceparent"].to_str().unwrap().to_owned();
    assert!(ours.starts_with(&format!("00-{trace}-")) && !ours.contains("00f067aa0ba902b7"), "{ours}");
    let not_sampled = sampled.replace("-01", "-00");
    assert_eq!(get(&app, "/mesh/post/1", Some(&not_sampled)).await.status(), 200);
    assert_eq!(get(&app, "/mesh/none/1", None).await.status(), 400);
    let spans: Vec<Value> = loop {
        let received = received.lock().unwrap().clone();
        let spans = received.iter().flat_map(|(_, body)| {
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
    // The collector accepts connections but never replies.
    let spans = Spans::new(url("http", &listener), HeaderMap::new(), "blog");
    let app = app(spans.clone());
    for _ in 0..QUEUE + BATCH + 100 {
        assert_eq!(get(&app, "/mesh/post/1", None).await.status(), 200);
    }
    assert!(spans.lost() > 0);
    drop(listener);
}

#[tokio::test]
async fn batches_go_to_a_trusted_collector_only_with_their_headers() {
    let CertifiedKey { cert, signing_key } = generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let key = PrivatePkcs8KeyDer::from(signing_key.serialize_der()).into();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let tls = tls.with_no_client_auth().with_single_cert(vec![cert.der().clone()], key).unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(tls));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = url("https", &listener);
    let received = Received::default();
    let keeping = Arc::clone(&received);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            if let Ok(stream) = acceptor.accept(stream).await {
                receive(TokioIo::new(stream), &keeping).await;
            }
        }
    });
    let trusting = |certificates: &[CertificateDer<'static>]| {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(certificates.iter().cloned());
        let client = HttpsClient::with_roots(roots, String::new()).unwrap();
        let headers = [(HeaderName::from_static("x-api-key"), HeaderValue::from_static("5ecret"))];
        Collector { client, url: url.clone(), headers: headers.into_iter().collect() }
    };

    let other = generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let refused = trusting(&[other.cert.der().clone()]).send("{}".to_owned()).await.unwrap_err().to_string();
    assert!(refused.contains("invalid peer certificate") && refused.contains("SSL_CERT_FILE"), "{refused}");
    assert!(!refused.contains("5ecret") && received.lock().unwrap().is_empty(), "{refused}");

    trusting(&[cert.der().clone()]).send("{}".to_owned()).await.unwrap();
    assert_eq!(received.lock().unwrap()[0].0["x-api-key"], "5ecret");
}

#[test]
fn addresses_are_parsed_and_completed() {
    let shown = |text: &str| traces_url(text).map(|url| url.to_string());
    assert_eq!(shown("http://127.0.0.1:4318").unwrap(), "http://127.0.0.1:4318/v1/traces");
    assert_eq!(shown("https://collector/v1/traces/").unwrap(), "https://collector/v1/traces");
    assert_eq!(shown("http://[::1]:4318/otlp").unwrap(), "http://[::1]:4318/otlp/v1/traces");
    let wrong = ["", "collector", "ftp://collector", "http://", "/v1/traces", "https://collector?key=5ecret"];
    for text in wrong.into_iter().chain(["http://user:5ecret@collector"]) {
        assert_eq!(shown(text), None, "{text}");
    }
}
