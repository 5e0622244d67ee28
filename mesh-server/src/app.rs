//! What happens to one request? From its head to its reply, in one page.

mod begun;
mod builder;
pub(crate) mod current;
pub(crate) mod integrity;
pub(crate) mod service;

use std::any::Any;
use std::collections::hash_map::RandomState;
use std::fmt;
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use http::request::Parts;
use http::{HeaderMap, Request, Response};
use mesh_plan::{Changes, Mesh, Persisted};
use mesh_uploads::{RecoveryReport, StoreError, SweepReport};
use mesh_wire::headers::{self, MeshHeaders};
use mesh_wire::{BasePath, Cors, Profiles, RequestHead, RequestId, Route, WireError, request};

use self::begun::Received;
pub(crate) use self::begun::{Begun, Start};
use crate::app::integrity::Integrity;
use crate::body::{Body, Incoming};
use crate::events::{Events, Hub};
use crate::observability::admin::{Admin, Page};
use crate::observability::metrics::Metrics;
use crate::observability::record::RouteKind;
use crate::observability::trace_context::TraceContext;
use crate::pipeline::admission::AdmissionLimit;
use crate::rates::Rates;
use crate::rates::client_address::ClientAddress;
use crate::rates::client_address::Proxies;
use crate::routes::custom::{self, Hit};
use crate::routes::docs::Surface;
use crate::routes::plans::Plans;
use crate::routes::{self, Exchange};
use crate::uploads::{self, Uploads};

/// Bounds of the transport, with the protocol's defaults. `SPEC §12.2`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of request line and headers.
    pub header_bytes: usize,
    /// Bytes of a JSON body.
    pub body_bytes: usize,
    /// How long one request may take, its body's arrival included.
    pub request_timeout: Duration,
    /// How long a client may keep the server waiting for a body in all. It earns more by sending more than 4 KiB
    /// a second.
    pub body_timeout: Duration,
    /// Requests that may wait at a time: for a database, a resolver or a handler of the application. More are
    /// refused at once, since they would only wait longer. Reads that a back end answers at once do not count.
    pub requests: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            header_bytes: 32 * 1024,
            body_bytes: 1024 * 1024,
            request_timeout: Duration::from_secs(10),
            body_timeout: Duration::from_secs(15),
            requests: 500,
        }
    }
}

/// Everything that answers requests. Cheap to clone; all clones are one.
#[derive(Clone, Debug)]
pub struct App {
    shared: Arc<Shared>,
}

/// What every request needs, each part set once and never changed.
#[derive(Clone, Debug)]
pub(crate) struct Shared {
    pub(crate) mesh: Arc<Mesh>,
    pub(crate) base: BasePath,
    pub(crate) limits: Limits,
    pub(crate) profiles: Profiles,
    /// Those that wait for something to be answered.
    pub(crate) admission: AdmissionLimit,
    pub(crate) rates: Rates,
    proxies: Proxies,
    pub(crate) integrity: Option<Integrity>,
    pub(crate) persisted: Option<Arc<Persisted>>,
    pub(crate) uploads: Option<Uploads>,
    pub(crate) routes: custom::Routes,
    pub(crate) changes: Changes,
    pub(crate) metrics: Option<Metrics>,
    pub(crate) timing: bool,
    #[cfg(feature = "otlp")]
    pub(crate) spans: Option<crate::observability::otlp::Spans>,
    admin: Option<Admin>,
    cors: Option<Cors>,
    docs: Surface,
    events: Option<Events>,
    /// Made with the first stream, when all of the above is set.
    hub: OnceLock<Hub>,
    /// Plans of queries as they were sent.
    pub(crate) plans: Arc<Plans>,
    ids: Arc<Ids>,
}

impl Shared {
    /// The streams of changes, where there are any.
    pub(crate) fn hub(&self) -> Option<&Hub> {
        let events = self.events.as_ref()?;
        Some(self.hub.get_or_init(|| {
            let events = events.clone().read_timeout(self.limits.request_timeout);
            Hub::new(Arc::clone(&self.mesh), self.changes.clone(), events)
        }))
    }
}

impl Shared {
    /// How many streams of changes are open, and how many readings they share.
    pub(crate) fn open_streams(&self) -> (usize, usize) {
        self.hub.get().map_or((0, 0), Hub::counts)
    }
}

impl App {
    /// Ends all streams of changes, as a server does that stops; none can begin after it.
    pub fn end_streams(&self) {
        if let Some(hub) = self.shared.hub() {
            hub.close();
        }
    }

    /// Ends the streams that are open. One that begins later is told what there is, and ends too.
    pub(crate) fn retire_streams(&self) {
        if let Some(hub) = self.shared.hub() {
            hub.retire();
        }
    }

    /// Takes over the registered queries of another application, to be planned anew.
    pub(crate) fn adopt_queries(&self, other: &Self) {
        if let (Some(new), Some(old)) = (&self.shared.persisted, &other.shared.persisted) {
            new.adopt(old);
        }
    }

    /// Clears what a crash has left among the stored files, to be called when a server starts, and once in a
    /// while where several share a store. `SPEC §9.4`
    ///
    /// # Errors
    /// Whatever the store meets.
    pub async fn recover_uploads(&self) -> Result<RecoveryReport, StoreError> {
        match &self.shared.uploads {
            Some(uploads) => uploads::recover(&self.shared, uploads).await,
            None => Ok(RecoveryReport::default()),
        }
    }

    /// Looks for stored files that no record refers to and that have been there for so long, whatever policies
    /// show, and removes them if told to. It may be called while uploads go on. Records that the schema does not
    /// have, and keys in columns that take no files, are not seen.
    ///
    /// # Errors
    /// Whatever the store meets, and where no field of the schema takes files.
    pub async fn sweep_uploads(&self, min_age: Duration, remove: bool) -> Result<SweepReport, StoreError> {
        match &self.shared.uploads {
            Some(uploads) => uploads::sweep(&self.shared, uploads, (min_age, remove)).await,
            None => Ok(SweepReport::default()),
        }
    }

    /// The path that all routes lie under.
    pub fn base(&self) -> &BasePath {
        &self.shared.base
    }

    /// What every request needs.
    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Where it counts what it does.
    pub(crate) fn counted(&self) -> Option<&Metrics> {
        self.shared.metrics.as_ref()
    }

    /// The bounds of the transport.
    pub(crate) fn transport_limits(&self) -> &Limits {
        &self.shared.limits
    }

    /// Answers a request, whatever it is and whatever happens.
    pub async fn handle<B>(&self, request: Request<B>) -> Response<Body>
    where
        B: hyper::body::Body + Send + 'static,
        B::Data: Send,
        B::Error: fmt::Display,
    {
        let (head, body) = request.into_parts();
        match self.begin(head.extensions.get::<ClientAddress>().copied(), head, body) {
            Begun::Done(reply) => reply,
            Begun::Later(reply) => reply.await,
        }
    }

    /// Where in a trace a request stands. Where traces are collected, those that have none begin one.
    fn place(&self, headers: &HeaderMap) -> Option<TraceContext> {
        let place = TraceContext::of(headers, || self.shared.ids.span());
        #[cfg(feature = "otlp")]
        if place.is_none() && self.shared.spans.is_some() {
            return Some(TraceContext::first(self.shared.ids.trace(), self.shared.ids.span()));
        }
        place
    }

    /// Answers a request of a connection from that address, or begins to.
    pub(crate) fn begin_peer<B>(&self, peer: ClientAddress, head: Parts, body: B) -> Begun
    where
        B: hyper::body::Body + Send + 'static,
        B::Data: Send,
        B::Error: fmt::Display,
    {
        self.begin(Some(peer), head, body)
    }

    /// Answers a request that came without TLS to where nothing else is spoken.
    #[cfg(feature = "tls")]
    pub(crate) fn refuse_plain<B>(&self, _: ClientAddress, head: Parts, _: B) -> Begun {
        let request_id = RequestId::from_headers(&head.headers, self.shared.ids.fresh());
        let asked = RequestHead { method: &head.method, headers: &head.headers, request_id: &request_id };
        let error = WireError::transport("This address speaks HTTPS only: begin the URL with https://");
        Begun::Done(mesh_wire::response::error(&asked, &error).map(Body::from))
    }

    /// The stages that may refuse a request, in the protocol's order. `SPEC §2.1`
    async fn answer(
        &self,
        asked: RequestHead<'_>,
        Received { head, peer, seen, .. }: &Received,
        start: Start,
        body: impl FnOnce() -> Incoming,
    ) -> Result<Response<Body>, WireError> {
        let (shared, limits, uri) = (&self.shared, &self.shared.limits, &head.uri);
        if let Some(admin) = &shared.admin
            && let Some(page) = Page::at(uri.path(), self)
        {
            seen.set_route(RouteKind::Admin);
            // Whoever watches a server asks without pause, and is not counted among its clients.
            let mut reply = Box::pin(admin.show(page, asked.method, self)).await;
            reply.headers_mut().insert(headers::REQUEST_ID.clone(), asked.request_id.value());
            return Ok(reply);
        }
        let deadline = seen.start + limits.request_timeout;
        let own = MeshHeaders::scan(asked.headers);
        let cx = Exchange { shared, asked, own, uri, peer: *peer, seen, deadline };
        match start {
            Start::Anew => shared.rates.of_address(cx.peer())?,
            Start::Counted => {}
            Start::Planned(admitted, plan) => return routes::resolve(&cx, &admitted, plan).await,
            Start::Done(answer) => return answer,
        }
        if let Some(hit) = self.shared.docs.find(&self.shared, asked.method, head.uri.path()) {
            seen.set_route(RouteKind::Docs);
            return hit.answer(&cx, body).await;
        }
        let hit = custom::find(&self.shared, asked.method, head.uri.path())?;
        request::check_head_size(asked.method, &head.uri, own.size, limits.header_bytes)?;
        if !matches!(hit, Hit::BuiltIn(Route::Options { .. })) {
            request::check_url_query(head.uri.query())?;
        }
        match hit {
            Hit::BuiltIn(route) => {
                seen.set_route(RouteKind::of(&route));
                routes::dispatch(&cx, route, body).await
            }
            Hit::Own(own, params) => {
                seen.set_route(RouteKind::Own);
                own.answer(&cx, params, body()).await
            }
        }
    }
}

#[cfg(feature = "compression")]
use crate::pipeline::compress::{Long, pack};

/// Replies as they are, in a build that cannot pack them.
#[cfg(not(feature = "compression"))]
fn pack(_: &HeaderMap, reply: Response<Body>) -> Result<Response<Body>, Box<Long>> {
    Ok(reply)
}

/// What such a build never has.
#[cfg(not(feature = "compression"))]
enum Long {}

#[cfg(not(feature = "compression"))]
impl Long {
    async fn pack(self: Box<Self>) -> Response<Body> {
        match *self {}
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
    steps: RandomState,
    next: AtomicU64,
}

impl Ids {
    fn new() -> Self {
        Self {
            process: RandomState::new().hash_one("request ids"),
            steps: RandomState::new(),
            next: AtomicU64::new(0),
        }
    }

    fn fresh(&self) -> [u8; 16] {
        let mut bytes = [0; 16];
        let (process, count) = bytes.split_at_mut(8);
        process.copy_from_slice(&self.process.to_be_bytes());
        count.copy_from_slice(&self.next.fetch_add(1, Ordering::Relaxed).to_be_bytes());
        bytes
    }

    /// A number for a step of a trace.
    fn span(&self) -> u64 {
        self.steps.hash_one(self.next.fetch_add(1, Ordering::Relaxed))
    }

    /// A number for a trace of our own.
    #[cfg(feature = "otlp")]
    fn trace(&self) -> u128 {
        u128::from(self.span()) << 64 | u128::from(self.span())
    }
}
