//! What happens to one request? From its head to its reply, in one page.

use std::any::Any;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::FutureExt as _;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Body;
use mesh_plan::Mesh;
use mesh_wire::{Asked, Base, RequestId, Route, WireError, request, response};

use crate::read;

/// Bounds of the transport, with the protocol's defaults. `SPEC §12.2`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of request line and headers.
    pub header_bytes: usize,
    /// Bytes of a JSON body.
    pub body_bytes: usize,
    /// How long one request may take, its body's arrival included.
    pub request_timeout: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { header_bytes: 32 * 1024, body_bytes: 1024 * 1024, request_timeout: Duration::from_secs(10) }
    }
}

/// Everything that answers requests. Cheap to clone; all clones are one.
#[derive(Clone, Debug)]
pub struct App {
    shared: Arc<Shared>,
}

#[derive(Clone, Debug)]
struct Shared {
    mesh: Arc<Mesh>,
    base: Base,
    limits: Limits,
    ids: Arc<Ids>,
}

impl App {
    /// An application at the base path `/mesh` with the protocol's limits.
    pub fn new(mesh: impl Into<Arc<Mesh>>) -> Self {
        let (base, limits) = (Base::default(), Limits::default());
        Self { shared: Arc::new(Shared { mesh: mesh.into(), base, limits, ids: Arc::new(Ids::new()) }) }
    }

    /// The same at another base path.
    #[must_use]
    pub fn at(self, base: Base) -> Self {
        Self { shared: Arc::new(Shared { base, ..Arc::unwrap_or_clone(self.shared) }) }
    }

    /// The same with other limits.
    #[must_use]
    pub fn limits(self, limits: Limits) -> Self {
        Self { shared: Arc::new(Shared { limits, ..Arc::unwrap_or_clone(self.shared) }) }
    }

    /// The path that all routes lie under.
    pub fn base(&self) -> &Base {
        &self.shared.base
    }

    /// The bounds of the transport.
    pub(crate) fn transport_limits(&self) -> &Limits {
        &self.shared.limits
    }

    /// Answers a request, whatever it is and whatever happens.
    pub async fn handle<B>(&self, request: Request<B>) -> Response<Full<Bytes>>
    where
        B: Body,
    {
        let (head, body) = request.into_parts();
        let request_id = RequestId::choose(&head.headers, self.shared.ids.fresh());
        let asked = Asked { method: &head.method, headers: &head.headers, request_id: &request_id };
        let answering = AssertUnwindSafe(self.answer(&asked, &head.uri, body)).catch_unwind();
        let answer = answering.await.unwrap_or_else(|payload| Err(panicked(&request_id, &*payload)));
        let reply = answer.unwrap_or_else(|error| {
            tracing::debug!(request = %request_id, status = error.status.as_u16(), "{error}");
            response::error(&asked, &error)
        });
        reply.map(Full::new)
    }

    /// The stages that may refuse a request, in the protocol's order. `SPEC §2.1`
    async fn answer<B: Body>(
        &self,
        asked: &Asked<'_>,
        uri: &http::Uri,
        body: B,
    ) -> Result<Response<Bytes>, WireError> {
        let Shared { base, limits, mesh, .. } = &*self.shared;
        let route = Route::parse(base, asked.method, uri.path())?;
        request::check_head_size(asked.method, uri, asked.headers, limits.header_bytes)?;
        if let Route::Options { allow } = route {
            return Ok(response::options(asked, allow));
        }
        request::check_url_query(uri.query())?;
        let deadline = Instant::now() + limits.request_timeout;
        let body = match route {
            Route::Collection { entity } => read::collection(mesh, asked, &entity, deadline).await?,
            Route::Point { entity, id } => read::point(mesh, asked, &entity, &id, deadline).await?,
            Route::Post => read::posted(mesh, asked, body, limits.body_bytes, deadline).await?,
            Route::Options { .. } => Bytes::new(),
        };
        Ok(response::read(asked, body))
    }
}

fn panicked(request_id: &RequestId, payload: &(dyn Any + Send)) -> WireError {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    tracing::error!(request = %request_id, "panicked: {}", text.unwrap_or("no message"));
    WireError::internal()
}

/// Fresh request ids: unlike those of any other process, and counted within this one.
#[derive(Debug)]
struct Ids {
    process: u64,
    next: AtomicU64,
}

impl Ids {
    fn new() -> Self {
        Self { process: RandomState::new().hash_one("request ids"), next: AtomicU64::new(0) }
    }

    fn fresh(&self) -> [u8; 16] {
        let mut bytes = [0; 16];
        let (process, count) = bytes.split_at_mut(8);
        process.copy_from_slice(&self.process.to_be_bytes());
        count.copy_from_slice(&self.next.fetch_add(1, Ordering::Relaxed).to_be_bytes());
        bytes
    }
}
