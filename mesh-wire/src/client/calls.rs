//! The client of one server, which signs requests and registers queries as needed.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use data_encoding::HEXLOWER;
use http::Request;
use mesh_ql::Query;
use serde_json::json;

use super::{
    ClientError, Endpoint, Operation, Pages, Session, SignatureBinding, Subscription, UploadForm,
    UploadTarget, upload,
};

/// Time and fresh bytes for a bound signature.
type Fresh = dyn Fn() -> (u64, [u8; 16]) + Send + Sync;

/// Asks one server. It makes requests and reads replies; to carry them is the caller's part, over whatever
/// transport there is. Cheap to clone; all clones are one.
///
/// ```
/// use bytes::Bytes;
/// use http::{Request, Response};
/// use mesh_ql::build::query;
/// use mesh_wire::client::{Client, Endpoint};
///
/// # fn send(_: Request<Bytes>) -> Result<Response<Bytes>, std::io::Error> {
/// #     let reply = Response::builder().header("content-type", "application/json");
/// #     Ok(reply.body(Bytes::from_static(br#"{"title":"Hello"}"#)).unwrap())
/// # }
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let client = Client::new(Endpoint::parse("http://127.0.0.1:4000/mesh")?).with_persisted_queries();
/// let mut asking = client.point(&query("post").field("title").build(), "1");
/// let post = loop {
///     // One request, or several where the query has to be registered first.
///     let reply = send(asking.request()?)?;
///     if let Some(body) = asking.receive(reply)? {
///         break body;
///     }
/// };
/// assert_eq!(post, r#"{"title":"Hello"}"#);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Client {
    at: Endpoint,
    session: Option<Arc<Session>>,
    fresh: Option<Arc<Fresh>>,
    persisted: bool,
}

impl Client {
    /// A client of the server at that place, without a session.
    pub fn new(at: Endpoint) -> Self {
        Self { at, session: None, fresh: None, persisted: false }
    }

    /// The same, signing whatever it asks. [`super::login`] begins a session.
    #[must_use]
    pub fn with_session(self, session: Session) -> Self {
        Self { session: Some(Arc::new(session)), ..self }
    }

    /// The same with signatures that are good for one use only. The function gives seconds since the Unix
    /// epoch, and bytes that it has not given before. `SPEC §7.9`
    #[must_use]
    pub fn with_bound_signatures(self, fresh: impl Fn() -> (u64, [u8; 16]) + Send + Sync + 'static) -> Self {
        Self { fresh: Some(Arc::new(fresh)), ..self }
    }

    /// The same, sending the ids of queries in place of their texts. A query is registered when the server
    /// does not know it: with its first use, and again when the server has forgotten it. `SPEC §8`
    #[must_use]
    pub fn with_persisted_queries(self) -> Self {
        Self { persisted: true, ..self }
    }

    /// Where it asks.
    pub fn endpoint(&self) -> &Endpoint {
        &self.at
    }

    /// Whether it sends ids of queries.
    pub(super) fn sends_ids(&self) -> bool {
        self.persisted
    }

    /// A read of one record.
    pub fn point(&self, query: &Query, id: &str) -> Operation {
        Operation::new(self.clone(), query, Some(id))
    }

    /// A read of a list, of which the answer is one page.
    pub fn collection(&self, query: &Query) -> Operation {
        Operation::new(self.clone(), query, None)
    }

    /// A read of a list to its end, page after page.
    pub fn pages(&self, query: Query) -> Pages {
        Pages::new(self.clone(), query)
    }

    /// The stream of a record's changes.
    pub fn watch(&self, query: &Query, id: &str) -> Subscription {
        Subscription::new(self.clone(), query, id)
    }

    /// A file that is in memory, as one request. Larger ones are sent piece by piece: [`super::upload`] makes the
    /// head, [`Client::sign`] signs it, and [`UploadForm`] has what stands around the bytes.
    ///
    /// # Errors
    /// Names that no URL can hold.
    pub fn upload(
        &self,
        place: UploadTarget<'_>,
        field: &str,
        file: &UploadFile<'_>,
        form: &UploadForm,
    ) -> Result<Request<Bytes>, ClientError> {
        let (UploadTarget::Attach { entity, .. } | UploadTarget::Create { entity }) = place;
        let digest = ring::digest::digest(&ring::digest::SHA256, &file.bytes);
        let statement = statement(entity, field, Some(&HEXLOWER.encode(digest.as_ref())));
        let mut request = upload(&self.at, place, &statement, form)?;
        let before = form.before(file.meta, file.name, file.content_type);
        *request.body_mut() = [before, file.bytes.clone(), form.after()].concat().into();
        self.sign(request)
    }

    /// Signs a request that is finished otherwise, such as one to a route of the application's own; without a session
    /// it stays as it is.
    ///
    /// # Errors
    /// None with the requests of this crate.
    pub fn sign(&self, request: Request<Bytes>) -> Result<Request<Bytes>, ClientError> {
        let Some(session) = &self.session else { return Ok(request) };
        match &self.fresh {
            None => session.sign(request, None),
            Some(fresh) => {
                let (timestamp, bytes) = fresh();
                let nonce = HEXLOWER.encode(&bytes);
                session.sign(request, Some(SignatureBinding { timestamp, nonce: &nonce }))
            }
        }
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("at", &self.at).field("session", &self.session).finish_non_exhaustive()
    }
}

/// A file to send.
#[derive(Clone, Debug)]
pub struct UploadFile<'a> {
    /// What it is called, which the server does not go by.
    pub name: &'a str,
    /// What it is said to be.
    pub content_type: &'a str,
    /// Its bytes.
    pub bytes: Bytes,
    /// Further fields of the record, as the text of a JSON object.
    pub meta: Option<&'a str>,
}

/// The statement of an upload: for which field it is and, in 64 hex digits, the SHA-256 of the bytes. The hash
/// may be left out where requests are not signed. `SPEC §9.1`
pub fn statement(entity: &str, field: &str, sha256: Option<&str>) -> String {
    let mut statement = json!({ entity: { field: { "upload": true } } });
    if let (Some(sha256), Some(members)) = (sha256, statement.as_object_mut()) {
        members.insert("contentHash".to_owned(), format!("sha256:{sha256}").into());
    }
    statement.to_string()
}
