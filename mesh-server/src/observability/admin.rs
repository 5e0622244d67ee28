//! The admin pages: `/healthz`, `/readyz` and `/metrics`.

use bytes::Bytes;
use http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use http::{Method, Response, StatusCode};
use mesh_wire::{WireError, headers};

use super::health::Health;
use super::metrics::{Exposition, Metrics};
use crate::pipeline::body::Body;

/// The content type of Prometheus' text format.
const EXPOSITION: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Health checks and metrics, for [`crate::AppOptions::admin`] or for a separate listener ([`Admin::serve`]).
#[derive(Clone, Debug, Default)]
pub struct Admin {
    /// The checks of `/readyz`.
    pub health: Health,
    /// The metrics of `/metrics`.
    pub metrics: Metrics,
}

/// A page of [`Admin`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Page {
    /// `/healthz`: the process answers.
    Alive,
    /// `/readyz`: the health checks pass.
    Ready,
    /// `/metrics`
    Metrics,
}

impl Page {
    /// Returns the page of a path.
    pub(crate) fn from_path(path: &str) -> Option<Self> {
        match path {
            "/healthz" => Some(Self::Alive),
            "/readyz" => Some(Self::Ready),
            "/metrics" => Some(Self::Metrics),
            _ => None,
        }
    }

    /// Returns whether the page reports only the health of the server.
    pub(crate) fn is_probe(self) -> bool {
        matches!(self, Self::Alive | Self::Ready)
    }
}

impl Admin {
    /// Answers a request for a page. `gauges` adds the metrics of the application.
    pub(crate) async fn show(
        &self,
        page: Page,
        method: &Method,
        gauges: impl FnOnce(&mut Exposition),
    ) -> Response<Body> {
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
                    reply.headers_mut().insert(RETRY_AFTER, HeaderValue::from(WireError::RETRY_AFTER));
                    reply
                }
            }
            Page::Metrics => {
                let mut out = Exposition::default();
                self.metrics.write(&mut out);
                gauges(&mut out);
                reply(StatusCode::OK, EXPOSITION, out.into_text())
            }
        };
        if *method == Method::HEAD { shown.map(|_| Body::from(Bytes::new())) } else { shown }
    }
}

/// Returns the reply for a path without a page.
pub(crate) fn not_found() -> Response<Body> {
    let message = "not found; the pages are /healthz, /readyz and /metrics\n";
    reply(StatusCode::NOT_FOUND, "text/plain", message)
}

fn reply(status: StatusCode, content_type: &'static str, body: impl Into<Bytes>) -> Response<Body> {
    let mut reply = Response::new(Body::from(body.into()));
    *reply.status_mut() = status;
    reply.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    reply.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    reply
}
