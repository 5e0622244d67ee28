//! The transport of the client: hyper-util, which reuses connections.

use std::error::Error;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use futures_util::stream::{self, Stream};
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use mesh_server::mesh_wire::client::{
    self, Client, Endpoint, Operation, Page, Pages, Session, StreamEvent, Subscription,
};
use ring::rand::{SecureRandom as _, SystemRandom};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

pub(crate) type BoxError = Box<dyn Error + Send + Sync>;

/// Sends the requests of a [`Client`].
#[derive(Clone)]
pub(crate) struct Http(legacy::Client<HttpConnector, Full<Bytes>>);

impl Http {
    pub(crate) fn new() -> Self {
        Self(legacy::Client::builder(TokioExecutor::new()).build_http())
    }

    /// Sends a request and reads the whole reply.
    pub(crate) async fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, BoxError> {
        let (head, body) = self.0.request(request.map(Full::new)).await?.into_parts();
        Ok(Response::from_parts(head, body.collect().await?.to_bytes()))
    }

    /// Logs in. Returns a client whose signatures are valid for one request each.
    pub(crate) async fn log_in(
        &self,
        at: Endpoint,
        credentials: &Map<String, Value>,
    ) -> Result<Client, BoxError> {
        let body = client::result(self.send(client::login(&at, credentials)?).await?)?;
        let session = Session::from_login_reply(&body).ok_or("the reply is no session")?;
        Ok(Client::new(at).with_session(session).with_bound_signatures(fresh))
    }

    /// Runs a read or a write and returns its result.
    pub(crate) async fn run(&self, mut operation: Operation) -> Result<Bytes, BoxError> {
        loop {
            let reply = self.send(operation.request()?).await?;
            if let Some(body) = operation.receive(reply)? {
                return Ok(body);
            }
        }
    }

    /// Runs a read or a write and deserializes its result.
    pub(crate) async fn fetch<T: DeserializeOwned>(&self, mut operation: Operation) -> Result<T, BoxError> {
        loop {
            let reply = self.send(operation.request()?).await?;
            if let Some(answer) = operation.receive_as(reply)? {
                return Ok(answer);
            }
        }
    }

    /// Returns the pages of a list, which are fetched on demand.
    pub(crate) fn pages(&self, pages: Pages) -> impl Stream<Item = Result<Page, BoxError>> {
        stream::try_unfold((self.clone(), pages), async |(http, mut pages)| {
            while let Some(request) = pages.request() {
                let reply = http.send(request?).await?;
                if let Some(page) = pages.receive(reply)? {
                    return Ok(Some((page, (http, pages))));
                }
            }
            Ok(None)
        })
    }

    /// Returns the changes of a record. A broken connection is opened again; the stream ends if the server refuses it.
    pub(crate) fn watch(&self, watching: Subscription) -> impl Stream<Item = Result<StreamEvent, BoxError>> {
        let begin = (self.clone(), watching, None::<Incoming>, Vec::new());
        stream::try_unfold(begin, async |(http, mut watching, mut body, mut seen)| {
            loop {
                if !seen.is_empty() {
                    let next = seen.remove(0);
                    return Ok(Some((next, (http, watching, body, seen))));
                }
                let Some(stream) = &mut body else {
                    body = http.begin(&watching).await?;
                    continue;
                };
                match stream.frame().await {
                    Some(Ok(frame)) => seen = watching.feed(frame.data_ref().map_or(&[], |data| data))?,
                    Some(Err(_)) | None => {
                        body = None;
                        tokio::time::sleep(Duration::from_millis(watching.disconnected())).await;
                    }
                }
            }
        })
    }

    async fn begin(&self, watching: &Subscription) -> Result<Option<Incoming>, BoxError> {
        let reply = self.0.request(watching.request()?.map(Full::new)).await?;
        if Subscription::is_stream(&reply) {
            return Ok(Some(reply.into_body()));
        }
        let (head, body) = reply.into_parts();
        client::result(Response::from_parts(head, body.collect().await?.to_bytes()))?;
        Err("the reply is no stream".into())
    }
}

/// Returns the time in seconds and a nonce.
pub(crate) fn fresh() -> (u64, [u8; 16]) {
    let now = SystemTime::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_secs());
    let mut bytes = [0; 16];
    // If this fails, the server refuses the repeated nonce.
    let _ = SystemRandom::new().fill(&mut bytes);
    (now, bytes)
}
