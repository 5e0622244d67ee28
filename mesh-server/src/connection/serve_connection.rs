//! Serves one connection: the TLS handshake, HTTP/1.1 or HTTP/2, timeouts, and the reaction to a shutdown.

use std::cell::RefCell;
use std::convert::Infallible;
use std::future::{Future, Ready, poll_fn, ready};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::Either;
use http::header::{CONNECTION, HeaderValue};
use http::request::Parts;
use http::{Request, Response, Version};
use hyper::body::Incoming;
use hyper::service::service_fn;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::Instant;

use super::activity::{Activity, RequestGuard};
use super::drain_body::{DrainBody, DrainableBody};
use super::events;
use super::phase::{EventsSlot, HttpBuilder, Phase};
use super::reply_body::ReplyBody;
use super::stream::ConnectionStream;
use super::timeouts::Timeouts;
#[cfg(feature = "tls")]
use super::tls::{Handshake, Tls};
use crate::clients::{Outbox, Peer};
use crate::pipeline;
use crate::pipeline::body::RequestBody;
use crate::{App, Body, Current};

/// How long a connection may take to close gracefully after an idle timeout.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);
/// How long a connection of HTTP/1.1 keeps its buffers after a reply.
const RELEASE_AFTER: Duration = Duration::from_secs(1);

/// The phase of a server's shutdown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Shutdown {
    Running,
    /// Each reply is the last one of its connection.
    Draining,
    /// Connections close as soon as they have no active requests.
    Closing,
    /// The shutdown timeout has expired; connections are dropped.
    Aborted,
}

/// Settings that the connections of a server share.
#[derive(Clone)]
pub(super) struct ConnectionHandler {
    pub(super) app: Current,
    pub(super) builder: Arc<HttpBuilder>,
    pub(super) timeouts: Timeouts,
    pub(super) shutdown: watch::Receiver<Shutdown>,
    #[cfg(feature = "tls")]
    pub(super) tls: Option<Tls>,
}

impl ConnectionHandler {
    /// Serves an accepted connection to its end.
    #[cfg(feature = "tls")]
    pub(super) async fn accept(mut self, stream: TcpStream, peer: Peer) {
        match self.tls.take() {
            // Boxed, because it needs several times the memory of a connection without TLS.
            Some(tls) => Box::pin(self.accept_tls(tls, stream, peer)).await,
            None => self.serve_app(stream, peer).await,
        }
    }

    #[cfg(feature = "tls")]
    async fn accept_tls(self, tls: Tls, stream: TcpStream, peer: Peer) {
        let mut shutdown = self.shutdown.clone();
        let handshake = tokio::select! {
            handshake = tokio::time::timeout(self.timeouts.handshake, tls.handshake(stream)) => handshake,
            _ = shutdown.wait_for(|phase| *phase >= Shutdown::Closing) => return,
        };
        match handshake {
            Ok(Ok(Handshake::Tls(stream))) => self.serve_app(*stream, peer).await,
            Ok(Ok(Handshake::PlainHttp(stream))) => {
                let refuse =
                    |app: Arc<App>, head: Parts, _| ready(pipeline::refuse_plain(&app.shared, &head));
                self.serve_connection(stream, peer.outbox, refuse).await;
            }
            Ok(Err(error)) => tracing::debug!("TLS handshake failed: {error}"),
            Err(_) => tracing::debug!("TLS handshake not completed within {:?}", self.timeouts.handshake),
        }
    }

    /// Serves an accepted connection to its end.
    #[cfg(not(feature = "tls"))]
    pub(super) async fn accept(self, stream: TcpStream, peer: Peer) {
        self.serve_app(stream, peer).await;
    }

    /// Answers the requests on a connection from a peer.
    async fn serve_app<S>(self, stream: S, peer: Peer)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let outbox = peer.outbox.clone();
        let answer = move |app: Arc<App>, head: Parts, body: RequestBody| {
            pipeline::handle(app, head, Some(peer.clone()), body)
        };
        self.serve_connection(stream, outbox, answer).await;
    }

    /// Answers each request on a connection with `respond`.
    async fn serve_connection<S, R, F>(self, stream: S, outbox: Option<Arc<Outbox>>, respond: R)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
        R: Fn(Arc<App>, Parts, RequestBody) -> F + Clone,
        F: Future<Output = Response<Body>> + Send + 'static,
    {
        let activity = Arc::new(Activity::new(outbox.unwrap_or_default()));
        let stream = ConnectionStream::new(stream, Arc::clone(&activity), self.timeouts.write);
        let events_slot = EventsSlot::default();
        let service = || {
            let (app, respond) = (RefCell::new(self.app.follow()), respond.clone());
            let (activity, slot) = (Arc::clone(&activity), Arc::clone(&events_slot));
            service_fn(move |request: Request<Incoming>| {
                let (guard, version) = (activity.start_request(), request.version());
                let slot = events::can_have_events(&request).then(|| Arc::clone(&slot));
                let (head, body) = request.into_parts();
                let (body, drain) = DrainableBody::new(&head, body);
                let app = Arc::clone(app.borrow_mut().latest());
                let body = RequestBody::new(body, app.shared.limits.body_timeout);
                let request = || respond(app, head, body);
                let reply = match drain {
                    None => poll_once(request),
                    // hyper passes on what has arrived of a body before it polls the request.
                    Some(_) => Either::Right(PendingRequest { request: Box::pin(request()), task: None }),
                };
                finish(reply, drain, guard, version, slot).map(Ok::<_, Infallible>)
            })
        };
        let mut phase = Phase::Waiting(stream);
        let mut shutdown = self.shutdown.clone();
        let mut is_closing = false;
        let mut check = std::pin::pin!(tokio::time::sleep(self.check_interval().min(RELEASE_AFTER)));
        loop {
            tokio::select! {
                biased;
                result = poll_fn(|cx| {
                    CONNECTION_WAKER.with_borrow_mut(|task| task.clone_from(cx.waker()));
                    phase.poll(cx, &self.builder, &service, &events_slot)
                }) => {
                    return result.unwrap_or_else(|error| tracing::debug!("connection failed: {error}"));
                }
                changed = shutdown.changed() => {
                    let announced = *shutdown.borrow_and_update();
                    // An error means that the server was dropped.
                    if changed.is_err() || announced == Shutdown::Aborted {
                        return;
                    }
                    activity.drain();
                    if announced == Shutdown::Closing && !is_closing {
                        is_closing = true;
                        phase.close();
                    }
                }
                () = check.as_mut() => {
                    let may_release = phase.can_release() && !is_closing;
                    let Some(checked) = self.check(&activity, is_closing, may_release) else { return };
                    match checked.action {
                        Some(TimeoutAction::Close) => {
                            is_closing = true;
                            phase.close();
                        }
                        Some(TimeoutAction::Release) => phase.release(),
                        None => {}
                    }
                    check.as_mut().reset(Instant::now() + checked.next_check);
                }
            }
        }
    }

    /// Returns the interval of checks: at least as often as the shortest timeout can expire, so that no timeout is noticed
    /// late.
    fn check_interval(&self) -> Duration {
        self.timeouts.head.min(self.timeouts.idle).min(self.timeouts.write)
    }

    /// Returns the action to take, and when to check again; `None` to end the connection at once.
    fn check(&self, activity: &Activity, is_closing: bool, may_release: bool) -> Option<TimeoutCheck> {
        let stall = activity.remaining_stall(&self.timeouts);
        if stall == Some(Duration::ZERO) {
            tracing::debug!("connection closed: the client does not accept a reply");
            return None;
        }
        let interval = self.check_interval();
        let (action, next_check) = match activity.remaining(&self.timeouts) {
            Some(Duration::ZERO) if is_closing || !activity.is_between_requests() => {
                tracing::debug!("connection closed: the client has sent nothing");
                return None;
            }
            Some(Duration::ZERO) => (Some(TimeoutAction::Close), CLOSE_TIMEOUT),
            remaining => {
                let next_check = remaining.map_or(interval, |remaining| remaining.min(interval));
                let idle = activity.idle_for().filter(|_| stall.is_none()).unwrap_or_default();
                match RELEASE_AFTER.saturating_sub(idle) {
                    _ if !may_release => (None, next_check),
                    Duration::ZERO => (Some(TimeoutAction::Release), next_check),
                    left => (None, next_check.min(left)),
                }
            }
        };
        Some(TimeoutCheck { action, next_check: stall.map_or(next_check, |stall| next_check.min(stall)) })
    }
}

/// The result of a check of the timeouts.
struct TimeoutCheck {
    action: Option<TimeoutAction>,
    next_check: Duration,
}

/// The action that a check of the timeouts requires.
enum TimeoutAction {
    /// Close the connection gracefully.
    Close,
    /// Give up the buffers of an idle connection.
    Release,
}

thread_local! {
    /// The waker of the connection that this thread serves at the moment.
    static CONNECTION_WAKER: RefCell<Waker> = RefCell::new(Waker::noop().clone());
}

/// Polls a request once before the connection reads on. Most reads complete in this poll, and their heads are then dropped,
/// so that the connection reuses the buffer that held them.
fn poll_once<F: Future>(request: impl FnOnce() -> F) -> Either<Ready<F::Output>, PendingRequest<F>> {
    let mut request = Box::pin(request());
    let task = CONNECTION_WAKER.with_borrow(Waker::clone);
    match request.as_mut().poll(&mut Context::from_waker(&task)) {
        Poll::Ready(reply) => Either::Left(ready(reply)),
        Poll::Pending => Either::Right(PendingRequest { request, task: Some(task) }),
    }
}

/// A request that is pending.
struct PendingRequest<F> {
    request: Pin<Box<F>>,
    /// The task that the request will wake, if it was polled before hyper has polled it.
    task: Option<Waker>,
}

impl<F: Future> Future for PendingRequest<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        // hyper polls a new request again at once, in HTTP/1.1 in the same task.
        if self.task.take().is_some_and(|task| task.will_wake(cx.waker())) {
            return Poll::Pending;
        }
        self.request.as_mut().poll(cx)
    }
}

/// Waits for the reply of a request and for the rest of its body, and closes the connection if that is necessary. Puts an
/// event stream into `slot` if there is one, and then never completes.
async fn finish(
    reply: impl Future<Output = Response<Body>>,
    drain: Option<DrainBody>,
    guard: RequestGuard,
    version: Version,
    slot: Option<EventsSlot>,
) -> Response<ReplyBody> {
    let mut reply = reply.await;
    if let Some(slot) = slot
        && drain.is_none()
        && guard.outbox().stalled_since().is_none()
        && events::is_event_stream(&reply)
    {
        *slot.lock() = Some(Box::new(reply.map(|body| ReplyBody::new(body, guard, version))));
        return std::future::pending().await;
    }
    let is_reusable = match drain {
        Some(drain) => drain.finish().await,
        None => true,
    };
    if version < Version::HTTP_2 && (guard.is_last() || !is_reusable) {
        guard.close();
        reply.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    reply.map(|body| ReplyBody::new(body, guard, version))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::rc::Rc;

    use super::*;

    async fn request(waits: bool) -> &'static str {
        if waits {
            tokio::task::yield_now().await;
        }
        "reply"
    }

    #[tokio::test]
    async fn a_request_that_waits_is_resumed_by_its_connection() {
        for waits in [false, true, false] {
            let polled = poll_once(|| request(waits));
            assert_eq!(matches!(polled, Either::Right(_)), waits);
            assert_eq!(polled.await, "reply");
        }
    }

    #[test]
    fn a_pending_request_is_not_polled_again_by_the_task_that_it_will_wake() {
        let (task, other) = (futures_util::task::noop_waker(), Waker::noop());
        assert!(!task.will_wake(other));
        for (waker, polls) in [(&task, [1, 2]), (other, [2, 3])] {
            let count = Rc::new(Cell::new(0));
            let counted = Rc::clone(&count);
            CONNECTION_WAKER.set(task.clone());
            let mut polled = std::pin::pin!(poll_once(|| poll_fn(move |_| {
                counted.set(counted.get() + 1);
                Poll::<()>::Pending
            })));
            for expected in polls {
                assert!(polled.as_mut().poll(&mut Context::from_waker(waker)).is_pending());
                assert_eq!(count.get(), expected);
            }
        }
    }
}
