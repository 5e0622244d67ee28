//! The body of a request: read as a whole within a limit, or as a stream. `SPEC §12.2`

use std::future::ready;
use std::time::Duration;

use bytes::{Buf as _, Bytes, BytesMut};
use futures_util::TryStreamExt as _;
use http_body_util::StreamBody;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyDataStream, BodyExt as _, Empty};
use hyper::body::Frame;
use hyper::body::{Body, SizeHint};
use mesh_wire::WireError;

use super::pace::{Pace, Paced};

/// The minimum rate of bodies.
const BYTES_PER_SECOND: u32 = 4096;

/// The body of a request, independent of the body type of the listener.
pub(crate) struct RequestBody {
    bytes: UnsyncBoxBody<Bytes, ()>,
    /// The length according to the head.
    announced: SizeHint,
    pace: Pace,
}

impl RequestBody {
    /// Wraps a body. Its sender may keep the server waiting for `grace` in total. An empty body needs no allocation.
    pub(crate) fn new<B>(body: B, grace: Duration) -> Self
    where
        B: Body + Send + 'static,
        B::Data: Send,
    {
        let pace = Pace { bytes_per_second: BYTES_PER_SECOND, grace };
        if body.is_end_stream() {
            let bytes = Empty::new().map_err(|never| match never {}).boxed_unsync();
            return Self { bytes, announced: SizeHint::with_exact(0), pace };
        }
        let announced = body.size_hint();
        let bytes = body.map_frame(|frame| frame.map_data(|mut data| data.copy_to_bytes(data.remaining())));
        let bytes = bytes.map_err(|_| ()).boxed_unsync();
        Self { bytes, announced, pace }
    }

    /// Returns whether the request has no body.
    pub(crate) fn is_empty(&self) -> bool {
        self.announced.exact() == Some(0)
    }

    /// Returns the length in bytes if the client announced it.
    pub(crate) fn announced(&self) -> Option<u64> {
        self.announced.exact()
    }

    /// Reads the whole body.
    ///
    /// # Errors
    /// 413 if the body is longer than `limit`; it is not read if its announced length is too large. 400 if the body
    /// ends early or is sent too slowly.
    pub(crate) async fn read(self, limit: usize) -> Result<Bytes, WireError> {
        let too_large = || WireError::payload_too_large(limit as u64);
        if self.announced.lower() > limit as u64 {
            return Err(too_large());
        }
        let body = self.into_paced(None).try_fold(BytesMut::new(), |mut body, chunk| {
            body.extend_from_slice(&chunk);
            ready(if body.len() > limit { Err(too_large()) } else { Ok(body) })
        });
        body.await.map(BytesMut::freeze)
    }

    /// Returns the body for a service of the application.
    pub(crate) fn into_body(self) -> super::Body {
        super::Body::stream(StreamBody::new(self.into_paced(None).map_ok(Frame::data)))
    }

    /// Returns the body as a stream whose sender is held to `pace`, or to the one given to [`RequestBody::new`].
    pub(crate) fn into_paced(self, pace: Option<Pace>) -> Paced<BodyDataStream<UnsyncBoxBody<Bytes, ()>>> {
        Paced::new(self.bytes.into_data_stream(), pace.unwrap_or(self.pace))
    }
}
