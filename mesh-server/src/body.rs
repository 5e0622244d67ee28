//! What did the client send after the head? A JSON body, read whole within its bound. `SPEC §12.2`

use std::time::Instant;

use bytes::Bytes;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::Body;
use mesh_wire::WireError;

/// Reads the body. One that says that it is too large is not read at all.
pub(crate) async fn read<B: Body>(body: B, limit: usize, deadline: Instant) -> Result<Bytes, WireError> {
    let too_large = || WireError::payload_too_large(limit as u64);
    if body.size_hint().lower() > limit as u64 {
        return Err(too_large());
    }
    let body = std::pin::pin!(body);
    let collected = tokio::time::timeout_at(deadline.into(), Limited::new(Carried(body), limit).collect())
        .await
        .map_err(|_| WireError::transport("The body did not arrive in time"))?;
    match collected {
        Ok(body) => Ok(body.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(too_large()),
        Err(_) => Err(WireError::transport("The body broke off before its end")),
    }
}

/// A body of any error type. What the error is does not matter: the client is gone, or not speaking HTTP.
struct Carried<P>(P);

#[derive(Debug)]
struct Broken;

impl std::fmt::Display for Broken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the body broke off")
    }
}

impl std::error::Error for Broken {}

impl<B: Body> Body for Carried<std::pin::Pin<&mut B>> {
    type Data = B::Data;
    type Error = Broken;

    fn poll_frame(
        mut self: std::pin::Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<hyper::body::Frame<B::Data>, Broken>>> {
        self.0.as_mut().poll_frame(cx).map(|frame| frame.map(|frame| frame.map_err(|_| Broken)))
    }
}
