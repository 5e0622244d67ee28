//! One request and its reply on a connection.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONNECTION, EXPECT, HeaderValue, UPGRADE};
use http::request::Parts;
use http::{Request, Response, Version};
use http_body_util::Empty;
use hyper::body::{Body as _, Incoming};
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio::io::AsyncWriteExt as _;
use tokio::sync::Notify;

use super::activity::{Activity, RequestGuard};
use super::drain_body::SharedBody;
use super::reply_body::ReplyBody;
use crate::Body;
use crate::clients::UnreadReplies;
use crate::pipeline::body::RequestBody;

/// A request that is being answered.
pub(super) struct Exchange {
    version: Version,
    guard: Arc<RequestGuard>,
    /// The body of the request, unless it is empty.
    body: Option<SharedBody>,
    expects_continue: bool,
}

impl Exchange {
    /// Begins with a request. Also returns its head, and its body, whose sender may pause for `body_timeout` in total.
    pub(super) fn begin(
        mut request: Request<Incoming>,
        activity: &Arc<Activity>,
        body_timeout: Duration,
    ) -> (Self, Parts, RequestBody) {
        let version = request.version();
        let guard = Arc::new(activity.start_request(version));
        if request.headers().contains_key(UPGRADE) {
            close_later(hyper::upgrade::on(&mut request));
        }
        let (head, body) = request.into_parts();
        let shared = (!body.is_end_stream()).then(|| SharedBody::new(body, Arc::clone(&guard)));
        let expects_continue = shared.is_some() && head.headers.contains_key(EXPECT);
        let body = match &shared {
            Some(body) => RequestBody::new(body.clone(), body_timeout),
            None => RequestBody::new(Empty::<Bytes>::new(), body_timeout),
        };
        (Self { version, guard, body: shared, expects_continue }, head, body)
    }

    /// Returns the reply as it is sent, once the connection is ready for it. `close` is notified if the connection has to be
    /// closed because the client does not read it.
    pub(super) async fn finish(
        self,
        mut reply: Response<Body>,
        unread: &UnreadReplies,
        close: &Arc<Notify>,
    ) -> Response<ReplyBody> {
        let is_reusable = match self.body {
            Some(body) => body.drain(self.version, self.expects_continue).await,
            None => true,
        };
        if self.version < Version::HTTP_2 && (self.guard.is_last() || !is_reusable) {
            reply.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        ReplyBody::wrap(reply, self.guard, self.version, unread, close)
    }
}

/// Closes a stream in order after a connection whose client has offered another protocol: hyper leaves that to the server, even
/// if the offer was not accepted.
fn close_later(stream: OnUpgrade) {
    tokio::spawn(async move {
        if let Ok(stream) = stream.await {
            let _ = TokioIo::new(stream).shutdown().await;
        }
    });
}
