//! A client of one server, which signs requests and registers queries as configured.

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

/// Returns the time and random bytes of a bound signature.
type NonceSource = dyn Fn() -> (u64, [u8; 16]) + Send + Sync;

/// Builds requests for one server and decodes its replies. The caller sends the requests over any transport. Clones are
/// cheap.
#[derive(Clone)]
pub struct Client {
    endpoint: Endpoint,
    session: Option<Arc<Session>>,
    nonces: Option<Arc<NonceSource>>,
    /// Whether ids of queries are sent instead of their texts.
    pub(super) persisted: bool,
}

impl Client {
    /// Creates a client without a session.
    pub fn new(endpoint: Endpoint) -> Self {
        Self { endpoint, session: None, nonces: None, persisted: false }
    }

    /// Signs all requests with a session, which begins with [`super::login`].
    #[must_use]
    pub fn with_session(self, session: Session) -> Self {
        Self { session: Some(Arc::new(session)), ..self }
    }

    /// Binds each signature to one use. `source` returns the time in seconds since the Unix epoch and random bytes.
    /// `SPEC §7.9`
    #[must_use]
    pub fn with_bound_signatures(self, source: impl Fn() -> (u64, [u8; 16]) + Send + Sync + 'static) -> Self {
        Self { nonces: Some(Arc::new(source)), ..self }
    }

    /// Sends the ids of queries instead of their texts. A query is registered whenever the server replies that its id is
    /// unknown. `SPEC §8`
    #[must_use]
    pub fn with_persisted_queries(self) -> Self {
        Self { persisted: true, ..self }
    }

    /// Returns the endpoint of the server.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Reads one record.
    pub fn point(&self, query: &Query, id: &str) -> Operation {
        Operation::new(self.clone(), query, Some(id))
    }

    /// Reads one page of a list.
    pub fn collection(&self, query: &Query) -> Operation {
        Operation::new(self.clone(), query, None)
    }

    /// Reads all pages of a list.
    pub fn pages(&self, query: Query) -> Pages {
        Pages::new(self.clone(), query)
    }

    /// Subscribes to the changes of a record.
    pub fn watch(&self, query: &Query, id: &str) -> Subscription {
        Subscription::new(self.clone(), query, id)
    }

    /// Builds the upload of a file in memory. To stream a larger file, build the head with [`super::upload`], sign it with
    /// [`Client::sign`], and send the file between the two parts of [`UploadForm`].
    ///
    /// # Errors
    /// [`ClientError`] if a segment of the path is empty or does not fit into a URL.
    pub fn upload(
        &self,
        target: UploadTarget<'_>,
        field: &str,
        file: &UploadFile<'_>,
        form: &UploadForm,
    ) -> Result<Request<Bytes>, ClientError> {
        let (UploadTarget::Attach { entity, .. } | UploadTarget::Create { entity }) = target;
        let digest = ring::digest::digest(&ring::digest::SHA256, &file.bytes);
        let statement = statement(entity, field, Some(&HEXLOWER.encode(digest.as_ref())));
        let mut request = upload(&self.endpoint, target, &statement, form)?;
        let before = form.before(file.meta, file.name, file.content_type);
        *request.body_mut() = [before, file.bytes.clone(), form.after()].concat().into();
        self.sign(request)
    }

    /// Signs a complete request, such as one for a route of an application. Returns it unchanged if there is no session.
    ///
    /// # Errors
    /// Does not fail; the type is that of [`Session::sign`].
    pub fn sign(&self, request: Request<Bytes>) -> Result<Request<Bytes>, ClientError> {
        let Some(session) = &self.session else { return Ok(request) };
        match &self.nonces {
            None => session.sign(request, None),
            Some(source) => {
                let (timestamp, bytes) = source();
                let nonce = HEXLOWER.encode(&bytes);
                session.sign(request, Some(SignatureBinding { timestamp, nonce: &nonce }))
            }
        }
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("endpoint", &self.endpoint)
            .field("session", &self.session)
            .finish_non_exhaustive()
    }
}

/// A file to upload.
#[derive(Clone, Debug)]
pub struct UploadFile<'a> {
    /// The file name, which the server ignores.
    pub name: &'a str,
    /// The content type.
    pub content_type: &'a str,
    /// The content.
    pub bytes: Bytes,
    /// Further fields of the record, as the text of a JSON object.
    pub meta: Option<&'a str>,
}

/// Returns the statement of an upload: the field and the SHA-256 of the file in 64 hex digits, which is optional if
/// requests are not signed. `SPEC §9.1`
pub fn statement(entity: &str, field: &str, sha256: Option<&str>) -> String {
    let mut statement = json!({ entity: { field: { "upload": true } } });
    if let (Some(sha256), Some(members)) = (sha256, statement.as_object_mut()) {
        members.insert("contentHash".to_owned(), format!("sha256:{sha256}").into());
    }
    statement.to_string()
}
