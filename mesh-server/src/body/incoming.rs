//! What did the client send after the head? A JSON body, read whole within its bound, or a stream. `SPEC §12.2`

use std::fmt;
use std::time::{Duration, Instant};

use bytes::{Buf as _, Bytes};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyDataStream, BodyExt as _};
use hyper::body::{Body, SizeHint};
use mesh_wire::WireError;

use super::BodyError;
use super::pace::{Pace, Paced};

/// The body of a request, of whatever kind the listener has.
pub(crate) struct Incoming {
    bytes: UnsyncBoxBody<Bytes, BodyError>,
    /// What the head said of its length.
    announced: SizeHint,
    pace: Pace,
}

impl Incoming {
    /// Takes the body of a request whose route reads it. The client may keep the server waiting for that long.
    pub(crate) fn new<B>(body: B, patience: Duration) -> Self
    where
        B: Body + Send + 'static,
        B::Data: Send,
        B::Error: fmt::Display,
    {
        let announced = body.size_hint();
        let bytes = body.map_frame(|frame| frame.map_data(|mut data| data.copy_to_bytes(data.remaining())));
        let bytes = bytes.map_err(|error| BodyError(error.to_string().into())).boxed_unsync();
        Self { bytes, announced, pace: Pace { grace: patience, ..Pace::default() } }
    }

    /// How many bytes it has, where the client said so.
    pub(crate) fn announced(&self) -> Option<u64> {
        self.announced.exact()
    }

    /// The whole body. One that says that it is too large is not read at all.
    pub(crate) async fn read(self, limit: usize, deadline: Instant) -> Result<Bytes, WireError> {
        let too_large = || WireError::payload_too_large(limit as u64);
        if self.announced.lower() > limit as u64 {
            return Err(too_large());
        }
        let read = self.into_paced(None).gather(limit);
        let read = tokio::time::timeout_at(deadline.into(), read).await;
        let read = read.map_err(|_| WireError::transport("The body did not arrive in time"))??;
        read.ok_or_else(too_large)
    }

    /// The body as it comes, from a sender that is kept to that pace or else to the usual one.
    pub(crate) fn into_paced(
        self,
        pace: Option<Pace>,
    ) -> Paced<BodyDataStream<UnsyncBoxBody<Bytes, BodyError>>> {
        Paced::new(self.bytes.into_data_stream(), pace.unwrap_or(self.pace))
    }
}
