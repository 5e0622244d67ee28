//! What did the client send after the head? A JSON body, read whole within its bound, or a stream. `SPEC §12.2`

use std::fmt;
use std::time::Instant;

use bytes::{Buf as _, Bytes};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::body::{Body, SizeHint};
use mesh_wire::WireError;

use super::BodyError;

/// The body of a request, of whatever kind the listener has.
pub(crate) struct Incoming {
    bytes: UnsyncBoxBody<Bytes, BodyError>,
    /// What the head said of its length.
    announced: SizeHint,
}

impl Incoming {
    /// Takes the body of a request whose route reads it.
    pub(crate) fn new<B>(body: B) -> Self
    where
        B: Body + Send + 'static,
        B::Data: Send,
        B::Error: fmt::Display,
    {
        let announced = body.size_hint();
        let bytes = body.map_frame(|frame| frame.map_data(|mut data| data.copy_to_bytes(data.remaining())));
        let bytes = bytes.map_err(|error| BodyError(error.to_string().into())).boxed_unsync();
        Self { bytes, announced }
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
        let collected = tokio::time::timeout_at(deadline.into(), Limited::new(self.bytes, limit).collect())
            .await
            .map_err(|_| WireError::transport("The body did not arrive in time"))?;
        match collected {
            Ok(body) => Ok(body.to_bytes()),
            Err(error) if error.is::<LengthLimitError>() => Err(too_large()),
            Err(_) => Err(WireError::transport("The body broke off before its end")),
        }
    }

    /// The body as it comes.
    pub(crate) fn into_stream(self) -> UnsyncBoxBody<Bytes, BodyError> {
        self.bytes
    }
}
