//! Can a request be answered at once? Most reads can, and then need neither a future nor a waker.
//!
//! What cannot goes the usual way from the start, or from where it has come to. Nothing of what may be done only
//! once (counting, remembering a nonce) is done twice.

use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};

use futures_util::FutureExt as _;
use http::Response;
use http::request::Parts;
use mesh_plan::{BoxFuture, Plan};
use mesh_wire::headers::MeshHeaders;
use mesh_wire::{RequestHead, RequestId, WireError, request, response};
use tracing::{Instrument as _, Span};

use super::{App, Long, pack, panicked};
use crate::ClientAddress;
use crate::body::{Body, Incoming};
use crate::observability::admin::Page;
use crate::observability::record::{RequestRecord, RouteKind};
use crate::observability::report::Answered;
use crate::routes::admit::Admitted;
use crate::routes::custom::{self, Hit};
use crate::routes::{self, Exchange};

/// What became of a request at once.
pub(crate) enum Begun {
    /// It is answered.
    Done(Response<Body>),
    /// Its answer has to be waited for.
    Later(BoxFuture<'static, Response<Body>>),
}

/// How far a request comes without waiting.
pub(crate) enum Start {
    /// To the end.
    Done(Result<Response<Body>, WireError>),
    /// Nowhere, and nothing was counted.
    Anew,
    /// Nowhere, but its client's address was counted.
    Counted,
    /// It is a read that was admitted and planned.
    Planned(Admitted, Plan),
}

/// A request that was received, but for its body.
pub(super) struct Received {
    pub(super) head: Parts,
    pub(super) request_id: RequestId,
    pub(super) peer: Option<ClientAddress>,
    pub(super) seen: RequestRecord,
}

impl Received {
    fn asked(&self) -> RequestHead<'_> {
        RequestHead { method: &self.head.method, headers: &self.head.headers, request_id: &self.request_id }
    }

    /// What all that is logged of it belongs to.
    fn span(&self) -> Span {
        let place = self.seen.place;
        place.map_or_else(Span::none, |place| tracing::info_span!("request", trace = place.trace_id()))
    }
}

impl App {
    /// Answers a request of a client at that address, or begins to.
    pub(crate) fn begin<B>(&self, peer: Option<ClientAddress>, head: Parts, body: B) -> Begun
    where
        B: hyper::body::Body + Send + 'static,
        B::Data: Send,
        B::Error: Display,
    {
        let mut seen = RequestRecord::new();
        let peer = peer.map(|peer| ClientAddress(self.shared.proxies.client(peer.0, &head.headers)));
        seen.place = self.place(&head.headers);
        let own = MeshHeaders::scan(&head.headers);
        let request_id = RequestId::new(own.request_id, self.shared.ids.fresh());
        let asked = RequestHead { method: &head.method, headers: &head.headers, request_id: &request_id };
        let start = {
            let uri = &head.uri;
            let deadline = seen.start + self.shared.limits.request_timeout;
            let cx = Exchange { shared: &self.shared, asked, own, uri, peer, seen: &seen, deadline };
            catch_unwind(AssertUnwindSafe(|| self.start(&cx)))
        };
        let start = start.unwrap_or_else(|payload| Start::Done(Err(self.fell(&request_id, &*payload))));
        let received = Received { head, request_id, peer, seen };
        match start {
            Start::Done(answer) => match self.finish(&received, answer) {
                Ok(mut reply) => {
                    self.tell(&received, &mut reply);
                    Begun::Done(reply)
                }
                Err(long) => {
                    let app = self.clone();
                    Begun::Later(Box::pin(async move {
                        let mut reply = long.pack().await;
                        app.tell(&received, &mut reply);
                        reply
                    }))
                }
            },
            start => {
                let app = self.clone();
                Begun::Later(Box::pin(async move { app.go_on(received, start, body).await }))
            }
        }
    }

    /// The part of a read that nobody waits for.
    fn start(&self, cx: &Exchange<'_>) -> Start {
        let (shared, uri, method) = (&self.shared, cx.uri, cx.asked.method);
        // What belongs to a trace is logged within its span, which is a matter of futures.
        if cx.seen.place.is_some()
            || (shared.admin.is_some() && Page::at(uri.path(), self).is_some())
            || shared.docs.find(shared, method, uri.path()).is_some()
        {
            return Start::Anew;
        }
        let Ok(Hit::BuiltIn(route)) = custom::find(shared, method, uri.path()) else { return Start::Anew };
        if !routes::may_start(cx, &route)
            || request::check_head_size(method, uri, cx.own.size, shared.limits.header_bytes).is_err()
            || request::check_url_query(uri.query()).is_err()
        {
            return Start::Anew;
        }
        if let Err(error) = shared.rates.of_address(cx.peer()) {
            return Start::Done(Err(error));
        }
        cx.seen.set_route(RouteKind::of(&route));
        routes::start(cx, &route)
    }

    /// Answers a request from where it has come to.
    async fn go_on<B>(&self, received: Received, start: Start, body: B) -> Response<Body>
    where
        B: hyper::body::Body + Send + 'static,
        B::Data: Send,
        B::Error: Display,
    {
        let body = || Incoming::new(body, self.shared.limits.body_timeout);
        let answering = self.answer(received.asked(), &received, start, body);
        let answering = AssertUnwindSafe(answering).catch_unwind().instrument(received.span());
        let answer = answering.await;
        let answer = answer.unwrap_or_else(|payload| Err(self.fell(&received.request_id, &*payload)));
        let mut reply = match self.finish(&received, answer) {
            Ok(reply) => reply,
            Err(long) => long.pack().await,
        };
        self.tell(&received, &mut reply);
        reply
    }

    /// The reply of an answer, unless it takes long to pack.
    fn finish(
        &self,
        received: &Received,
        answer: Result<Response<Body>, WireError>,
    ) -> Result<Response<Body>, Box<Long>> {
        let asked = received.asked();
        let mut reply = answer.unwrap_or_else(|error| {
            self.counted().inspect(|metrics| metrics.refused(&error));
            tracing::debug!(request = %asked.request_id, status = error.status.as_u16(), "{error}");
            response::error(&asked, &error).map(Body::from)
        });
        if let Some(cors) = &self.shared.cors {
            cors.apply(asked.method, asked.headers, reply.headers_mut());
        }
        pack(asked.headers, reply)
    }

    fn tell(&self, received: &Received, reply: &mut Response<Body>) {
        let Received { head, request_id, peer, seen } = received;
        Answered { head, request_id, peer: *peer, seen }.tell(&self.shared, reply);
    }

    fn fell(&self, request_id: &RequestId, payload: &(dyn std::any::Any + Send)) -> WireError {
        self.counted().inspect(|metrics| metrics.panicked());
        panicked(request_id, payload)
    }
}
