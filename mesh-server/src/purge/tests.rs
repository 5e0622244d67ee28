//! Purges of a cache that answers or refuses.

use std::convert::Infallible;
use std::sync::atomic::AtomicU16;

use http::{HeaderValue, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Empty};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use mesh_plan::{Change, Mesh, Rows};
use mesh_schema::{FieldType, Schema};
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::mpsc;

use super::*;

/// A cache that answers purges with a status.
struct Cache {
    url: HttpUrl,
    status: Arc<AtomicU16>,
    purges: mpsc::UnboundedReceiver<(HeaderMap, Value)>,
}

impl Cache {
    async fn start(status: StatusCode) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = HttpUrl::parse(&format!("http://{}/purge", listener.local_addr().unwrap())).unwrap();
        let status = Arc::new(AtomicU16::new(status.as_u16()));
        let (sender, purges) = mpsc::unbounded_channel();
        let answered = Arc::clone(&status);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (sender, answered) = (sender.clone(), Arc::clone(&answered));
                let service = service_fn(move |request: Request<Incoming>| {
                    let (sender, answered) = (sender.clone(), Arc::clone(&answered));
                    async move {
                        assert_eq!((request.method().as_str(), request.uri().path()), ("POST", "/purge"));
                        let headers = request.headers().clone();
                        let body = request.into_body().collect().await.unwrap().to_bytes();
                        let _ = sender.send((headers, serde_json::from_slice(&body).unwrap()));
                        let reply = Response::builder().status(answered.load(Ordering::SeqCst));
                        Ok::<_, Infallible>(reply.body(Empty::<Bytes>::new()).unwrap())
                    }
                });
                tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
            }
        });
        Self { url, status, purges }
    }

    async fn next(&mut self) -> (HeaderMap, Value) {
        self.purges.recv().await.unwrap()
    }
}

fn current() -> Current {
    let schema = Schema::builder().entity("post", |post| post.field("id", FieldType::Integer)).build();
    let posts = |plan: mesh_plan::Plan, _| async move { Ok::<_, mesh_plan::ResolveError>(Rows::new(&plan)) };
    let mesh = Mesh::builder(schema.unwrap()).resolver("post", posts).build().unwrap();
    Current::new(App::builder(mesh).build().unwrap())
}

#[tokio::test]
async fn changes_are_sent_after_everything_was_purged() {
    let mut cache = Cache::start(StatusCode::NO_CONTENT).await;
    let (changes, metrics) = (Changes::new(), Metrics::default());
    let mut purge = Purge::new(vec![cache.url.clone()]);
    purge.interval = Duration::ZERO;
    purge.headers.insert("fastly-key", HeaderValue::from_static("secret"));
    purge.start(&current(), &changes, &metrics);
    let (headers, body) = cache.next().await;
    assert_eq!(body, json!({"surrogate_keys": ["/mesh"]}));
    assert_eq!(
        (&headers["surrogate-key"], &headers["fastly-key"]),
        (&"/mesh".parse().unwrap(), &"secret".parse().unwrap())
    );
    changes.notify(Change::record("post", "7"));
    let (headers, body) = cache.next().await;
    assert_eq!(body, json!({"surrogate_keys": ["/mesh/*", "/mesh/post", "/mesh/post/7"]}));
    assert_eq!(headers["surrogate-key"], "/mesh/* /mesh/post /mesh/post/7");
    assert_eq!(headers["content-type"], "application/json");
}

#[tokio::test]
async fn a_failed_purge_is_repeated_with_later_changes() {
    let mut cache = Cache::start(StatusCode::SERVICE_UNAVAILABLE).await;
    let (changes, metrics) = (Changes::new(), Metrics::default());
    let mut purge = Purge::new(vec![cache.url.clone()]);
    (purge.interval, purge.tags) = (Duration::ZERO, TagHeader::CacheTag);
    purge.start(&current(), &changes, &metrics);
    assert_eq!(cache.next().await.1, json!({"tags": ["/mesh"]}));
    assert_eq!(cache.next().await.1, json!({"tags": ["/mesh"]}), "again");
    cache.status.store(200, Ordering::SeqCst);
    while !metrics.text().lines().any(|line| line.starts_with("mesh_purges_total{") && line.ends_with(" 1")) {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    while let Ok((_, body)) = cache.purges.try_recv() {
        assert_eq!(body, json!({"tags": ["/mesh"]}), "what was refused is sent until it is confirmed");
    }
    changes.notify(Change::entity("post"));
    let (headers, body) = cache.next().await;
    assert_eq!(body, json!({"tags": ["/mesh/*", "/mesh/post", "/mesh/post/*"]}));
    assert_eq!(headers["cache-tag"], "/mesh/*,/mesh/post,/mesh/post/*");
    let text = metrics.text();
    let failures = text.lines().find(|line| line.starts_with("mesh_purge_failures_total{")).unwrap();
    assert!(!failures.ends_with(" 0"), "{failures}");
}
