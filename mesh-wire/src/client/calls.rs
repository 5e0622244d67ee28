//! A client of one server, which signs requests and registers queries as configured.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use data_encoding::HEXLOWER;
use http::Request;
use mesh_ql::Query;
use serde_json::{Value, json};

use super::{
    ClientError, Endpoint, Operation, Pages, RecordId, Session, SignatureBinding, Subscription, UploadForm,
    UploadTarget, upload, with_bearer,
};

/// Returns the time and random bytes of a bound signature.
type NonceSource = dyn Fn() -> (u64, [u8; 16]) + Send + Sync;

/// Returns the bearer of the next request.
type BearerSource = dyn Fn() -> String + Send + Sync;

/// Builds requests for one server and decodes its replies. The caller sends the requests over any transport. Clones are
/// cheap.
#[derive(Clone)]
pub struct Client {
    endpoint: Endpoint,
    session: Option<Arc<Session>>,
    bearers: Option<Arc<BearerSource>>,
    nonces: Option<Arc<NonceSource>>,
    /// Whether query ids are sent instead of query texts.
    pub(super) persisted: bool,
}

impl Client {
    /// Creates a client without a session.
    pub fn new(endpoint: Endpoint) -> Self {
        Self { endpoint, session: None, bearers: None, nonces: None, persisted: false }
    }

    /// Signs all requests with a session, which [`super::login`] begins. Servers accept writes only with
    /// [`Client::with_bound_signatures`], unless their setting `integrity.binding` is `off`. `SPEC §7.9`
    #[must_use]
    pub fn with_session(self, session: Session) -> Self {
        Self { session: Some(Arc::new(session)), ..self }
    }

    /// Sends a bearer, an issuer's token or an API key, with all requests. A client with a session does not send it.
    /// While integrity is on, writes require a session, which [`super::exchange`] begins. `SPEC §17`
    #[must_use]
    pub fn with_bearer(self, bearer: impl Into<String>) -> Self {
        let bearer = bearer.into();
        self.with_bearer_source(move || bearer.clone())
    }

    /// Sends bearers like [`Client::with_bearer`]. `source` returns the bearer for the next request and must not block,
    /// so the application fetches a new bearer before the current one expires, or when a request is refused with
    /// [`Code::TokenExpired`](crate::Code::TokenExpired).
    #[must_use]
    pub fn with_bearer_source(self, source: impl Fn() -> String + Send + Sync + 'static) -> Self {
        Self { bearers: Some(Arc::new(source)), ..self }
    }

    /// Binds each signature to one use. `source` returns the time in seconds since the Unix epoch and random bytes.
    /// `SPEC §7.9`
    #[must_use]
    pub fn with_bound_signatures(self, source: impl Fn() -> (u64, [u8; 16]) + Send + Sync + 'static) -> Self {
        Self { nonces: Some(Arc::new(source)), ..self }
    }

    /// Sends query ids instead of query texts. A query is registered whenever the server replies that its id is
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
    pub fn point(&self, query: &Query, id: impl Into<RecordId>) -> Operation {
        Operation::new(self.clone(), query, Some(id.into()))
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
    pub fn watch(&self, query: &Query, id: impl Into<RecordId>) -> Subscription {
        Subscription::new(self.clone(), query, Some(id.into()))
    }

    /// Subscribes to the changes of a page of a list, or of its groups. `SPEC §10.6`
    pub fn watch_collection(&self, query: &Query) -> Subscription {
        Subscription::new(self.clone(), query, None)
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
        let (sha256, meta_sha256) = (sha256(&file.bytes), file.meta.map(|meta| sha256(meta.as_bytes())));
        let statement = UploadStatement {
            sha256: Some(&sha256),
            content_type: Some(file.content_type),
            meta_sha256: meta_sha256.as_deref(),
            ..UploadStatement::new(entity, field)
        };
        let mut request = upload(&self.endpoint, target, &statement.to_string(), form)?;
        let before = form.before(file.meta, file.name, file.content_type);
        *request.body_mut() = [before, file.bytes.clone(), form.after()].concat().into();
        self.sign(request)
    }

    /// Signs a complete request, such as one for an application's route. Without a session, adds the bearer instead;
    /// without either, returns the request unchanged.
    ///
    /// # Errors
    /// [`ClientError::Bearer`] if the bearer does not fit into a header.
    pub fn sign(&self, request: Request<Bytes>) -> Result<Request<Bytes>, ClientError> {
        let Some(session) = &self.session else {
            return match &self.bearers {
                Some(source) => with_bearer(request, &source()),
                None => Ok(request),
            };
        };
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

fn sha256(bytes: &[u8]) -> String {
    HEXLOWER.encode(ring::digest::digest(&ring::digest::SHA256, bytes).as_ref())
}

/// The statement of an upload, which its signature covers. Its text is the `statement` of [`super::upload`]. Hashes are
/// 64 hex digits. If requests are not signed, only the field is required. A signed upload also requires the hash of the
/// file, and everything if signatures must be bound. `SPEC §9.1`
#[derive(Clone, Copy, Debug)]
pub struct UploadStatement<'a> {
    /// The entity key.
    pub entity: &'a str,
    /// The field.
    pub field: &'a str,
    /// The SHA-256 of the file.
    pub sha256: Option<&'a str>,
    /// The content type of the file.
    pub content_type: Option<&'a str>,
    /// The SHA-256 of the part `meta`, if there is one.
    pub meta_sha256: Option<&'a str>,
}

impl<'a> UploadStatement<'a> {
    /// Creates a statement with neither hashes nor content type.
    pub fn new(entity: &'a str, field: &'a str) -> Self {
        Self { entity, field, sha256: None, content_type: None, meta_sha256: None }
    }
}

impl fmt::Display for UploadStatement<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut statement = json!({ self.entity: { self.field: { "upload": true } } });
        if let Some(members) = statement.as_object_mut() {
            let hash = |sha256: &str| Value::from(format!("sha256:{sha256}"));
            let stated = [
                ("contentHash", self.sha256.map(hash)),
                ("contentType", self.content_type.map(Value::from)),
                ("metaHash", self.meta_sha256.map(hash)),
            ];
            members.extend(stated.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))));
        }
        fmt::Display::fmt(&statement, f)
    }
}
