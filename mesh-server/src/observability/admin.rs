//! How is a server watched? `/healthz`, `/readyz` and `/metrics`, on an address of their own or beside the base.

use std::convert::Infallible;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use http::{Method, Request, Response, StatusCode};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use mesh_wire::{BasePath, headers};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use crate::{App, Body, Current, Health, Metrics};

/// Connections of those who watch.
const CONNECTIONS: usize = 64;
/// How long they may take to send a request's head.
const HEAD_TIMEOUT: Duration = Duration::from_secs(5);
/// What Prometheus calls this form of text.
const EXPOSITION: &str = "text/plain; version=0.0.4; charset=utf-8";

/// What tells how a server is, for [`App::admin`] or a listener of its own.
#[derive(Clone, Debug, Default)]
pub struct Admin {
    health: Health,
    metrics: Metrics,
}

/// What there is to see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Page {
    /// `/healthz`: the process answers.
    Alive,
    /// `/readyz`: it can do its work.
    Ready,
    /// `/metrics`
    Metrics,
}

impl Page {
    fn named(path: &str) -> Option<Self> {
        match path {
            "/healthz" => Some(Self::Alive),
            "/readyz" => Some(Self::Ready),
            "/metrics" => Some(Self::Metrics),
            _ => None,
        }
    }

    /// The page at a path of the main address. Where all routes lie at the root, an entity of that name comes first.
    pub(crate) fn at(path: &str, app: &App) -> Option<Self> {
        let page = Self::named(path)?;
        let name = path.trim_start_matches('/');
        let is_taken = *app.base() == BasePath::root() && app.shared().mesh.schema().find(name).is_some();
        (!is_taken).then_some(page)
    }
}

impl Admin {
    /// Shows these.
    pub fn new(health: Health, metrics: Metrics) -> Self {
        Self { health, metrics }
    }

    /// The checks behind `/readyz`.
    pub fn health(&self) -> &Health {
        &self.health
    }

    /// The numbers behind `/metrics`.
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// Shows a page about an application.
    pub(crate) async fn show(&self, page: Page, method: &Method, app: &App) -> Response<Body> {
        if !matches!(*method, Method::GET | Method::HEAD) {
            let mut reply = reply(StatusCode::METHOD_NOT_ALLOWED, "text/plain", "GET and HEAD only\n");
            reply.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
            return reply;
        }
        let shown = match page {
            Page::Alive => reply(StatusCode::OK, headers::JSON, "{\"alive\":true}"),
            Page::Ready => {
                let report = self.health.report().await;
                let body = report.to_json().to_string();
                if report.is_ready() {
                    reply(StatusCode::OK, headers::JSON, body)
                } else {
                    let mut reply = reply(StatusCode::SERVICE_UNAVAILABLE, headers::JSON, body);
                    reply.headers_mut().insert(RETRY_AFTER, HeaderValue::from(1));
                    reply
                }
            }
            Page::Metrics => reply(StatusCode::OK, EXPOSITION, app.metrics_text(&self.metrics)),
        };
        if *method == Method::HEAD { shown.map(|_| Body::from(Bytes::new())) } else { shown }
    }

    /// Shows the pages on an address of their own until `shutdown` is done.
    pub async fn serve(
        self,
        app: impl Into<Current>,
        listener: TcpListener,
        shutdown: impl Future<Output = ()>,
    ) {
        let app = app.into();
        let slots = Arc::new(Semaphore::new(CONNECTIONS));
        let mut shutdown = std::pin::pin!(shutdown);
        loop {
            let accepting = async {
                let slot = Arc::clone(&slots).acquire_owned().await.ok();
                (slot, listener.accept().await)
            };
            let (slot, accepted) = tokio::select! {
                () = &mut shutdown => return,
                accepted = accepting => accepted,
            };
            let Ok((stream, _)) = accepted else {
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            };
            let (admin, app) = (self.clone(), app.clone());
            tokio::spawn(async move {
                let service = service_fn(move |request: Request<Incoming>| {
                    let (admin, app) = (admin.clone(), app.get());
                    async move { Ok::<_, Infallible>(admin.answer(&request, &app).await) }
                });
                let mut builder = http1::Builder::new();
                builder.timer(TokioTimer::new()).header_read_timeout(HEAD_TIMEOUT).max_buf_size(16 * 1024);
                if let Err(error) = builder.serve_connection(TokioIo::new(stream), service).await {
                    tracing::debug!("connection to the admin address: {error}");
                }
                drop(slot);
            });
        }
    }

    async fn answer(&self, request: &Request<Incoming>, app: &App) -> Response<Body> {
        match Page::named(request.uri().path()) {
            Some(page) => self.show(page, request.method(), app).await,
            None => {
                let words = "/healthz, /readyz and /metrics are here, and nothing else\n";
                reply(StatusCode::NOT_FOUND, "text/plain", words)
            }
        }
    }
}

fn reply(status: StatusCode, content_type: &'static str, body: impl Into<Bytes>) -> Response<Body> {
    let mut reply = Response::new(Body::from(body.into()));
    *reply.status_mut() = status;
    reply.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    reply.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    reply
}
