//! The key set (JWKS) of an issuer, at a URL or in a file.

use std::error::Error;
use std::fmt;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

use bytes::Bytes;
use http::header::ACCEPT;
use http::{Request, StatusCode, Uri};
use http_body_util::{BodyExt as _, Empty, Limited};
use mesh_integrity::bearer::{BearerVerifier, KeySet};
use tokio::time::Instant;

use super::bearer::{Bearer, BearerState};
use super::refresh::RefreshRequests;
use crate::https_client::{HttpUrl, HttpsClient};
use crate::observability::error_log::with_causes;
use crate::pipeline::body::BoxError;
use crate::regular_file;

/// The maximum length of a document in bytes.
const MAX_BYTES: usize = 256 * 1024;
/// The time limit for a read.
const TIMEOUT: Duration = Duration::from_secs(5);
/// How often a file is checked for changes.
const FILE_CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// The first delay before a failed read is tried again; each further one is twice as long.
const FIRST_DELAY: Duration = Duration::from_secs(1);
/// The longest delay before a failed read is tried again.
const LONGEST_DELAY: Duration = Duration::from_secs(60);

/// The location of an issuer's key set.
///
/// The certificates of the system are trusted, or those that the variable `SSL_CERT_FILE` names. Redirects are not followed.
///
/// ```
/// use mesh_server::Jwks;
///
/// assert!(Jwks::parse("https://login.example.com/.well-known/jwks.json").is_ok());
/// assert!(Jwks::parse("file:keys.json").is_ok());
/// assert!(Jwks::parse("http://127.0.0.1:8080/jwks").is_ok());
/// assert!(Jwks::parse("http://login.example.com/jwks").is_err(), "anyone on the way could replace the keys");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Jwks(Location);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Location {
    Url(HttpUrl),
    File(PathBuf),
}

impl Jwks {
    /// Parses a location: `https://…`, `file:…`, or `http://…` with a loopback address.
    ///
    /// # Errors
    /// [`JwksError`] for any other text.
    pub fn parse(text: &str) -> Result<Self, JwksError> {
        if let Some(path) = text.strip_prefix("file:").filter(|path| !path.is_empty()) {
            return Ok(Self(Location::File(path.strip_prefix("//").unwrap_or(path).into())));
        }
        let url = HttpUrl::parse(text).ok().filter(|url| !url.is_unencrypted());
        url.map(|url| Self(Location::Url(url))).ok_or(JwksError::Location)
    }

    /// Reads the keys.
    ///
    /// # Errors
    /// [`JwksError`] if no document is received within five seconds, or if the document is not a key set.
    pub async fn read(&self) -> Result<KeySet, JwksError> {
        let document = match &self.0 {
            Location::File(path) => read_file(path).map_err(|error| self.unreadable(error))?,
            Location::Url(HttpUrl(uri)) => match tokio::time::timeout(TIMEOUT, fetch(uri.clone())).await {
                Ok(fetched) => fetched.map_err(|error| self.unreadable(error))?,
                Err(_) => return Err(self.unreadable(format!("no answer within {TIMEOUT:?}"))),
            },
        };
        KeySet::from_jwks(&document).map_err(|error| self.unreadable(error))
    }

    fn unreadable(&self, cause: impl Into<BoxError>) -> JwksError {
        JwksError::Unreadable { location: self.to_string(), cause: Arc::from(cause.into()) }
    }

    /// Returns the stamp of a file; `None` for a URL.
    fn stamp(&self) -> Option<regular_file::Stamp> {
        match &self.0 {
            Location::File(path) => regular_file::stamp(path),
            Location::Url(_) => None,
        }
    }
}

/// Shows the location without the query of the URL.
impl fmt::Display for Jwks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Location::Url(HttpUrl(uri)) => {
                let authority = uri.authority().map(|it| it.as_str()).unwrap_or_default();
                write!(f, "{}://{authority}{}", uri.scheme_str().unwrap_or_default(), uri.path())
            }
            Location::File(path) => path.display().fmt(f),
        }
    }
}

fn read_file(path: &Path) -> Result<Vec<u8>, BoxError> {
    let mut document = Vec::new();
    regular_file::open(path)?.take(MAX_BYTES as u64 + 1).read_to_end(&mut document)?;
    if document.len() > MAX_BYTES { Err(too_long()) } else { Ok(document) }
}

fn too_long() -> BoxError {
    format!("it is longer than {MAX_BYTES} bytes").into()
}

async fn fetch(uri: Uri) -> Result<Vec<u8>, BoxError> {
    let client: HttpsClient<Empty<Bytes>> = HttpsClient::new(&uri)?;
    let request = Request::get(uri).header(ACCEPT, "application/jwk-set+json, application/json");
    let reply = client.send(request.body(Empty::new())?).await?;
    let status = reply.status();
    if status.is_redirection() {
        return Err(format!("the answer is {status}; redirects are not followed").into());
    }
    if status != StatusCode::OK {
        return Err(format!("the answer is {status}").into());
    }
    let body = Limited::new(reply.into_body(), MAX_BYTES).collect().await;
    let body = body
        .map_err(|error| if error.is::<http_body_util::LengthLimitError>() { too_long() } else { error })?;
    Ok(body.to_bytes().to_vec())
}

impl Bearer {
    /// Creates bearers whose keys are read from a location, and starts a task that reads them again at this interval, when a
    /// token names an unknown key (a few times a minute), and when the file has changed. The task ends with the last clone.
    ///
    /// The first read is awaited. If it fails, requests with bearers are refused with 503 until a later one succeeds.
    ///
    /// # Panics
    /// There is no current tokio runtime.
    pub async fn from_jwks(verifier: BearerVerifier, jwks: Jwks, interval: Duration) -> Self {
        let (bearer, requests) = Self::without_keys(verifier);
        let shared = Arc::downgrade(&bearer.shared);
        let mut refresher = JwksRefresher { shared, requests, jwks, interval, last_stamp: None, delay: None };
        let due = refresher.read().await;
        tokio::spawn(refresher.run(due));
        bearer
    }
}

/// The task that keeps the keys current.
struct JwksRefresher {
    shared: Weak<BearerState>,
    requests: RefreshRequests,
    jwks: Jwks,
    interval: Duration,
    /// The stamp of the file when it was last read.
    last_stamp: Option<regular_file::Stamp>,
    /// The delay after the last read, if it has failed.
    delay: Option<Duration>,
}

impl JwksRefresher {
    async fn run(mut self, mut due: Instant) {
        loop {
            self.wait(due).await;
            if self.shared.strong_count() == 0 {
                return;
            }
            due = self.read().await;
        }
    }

    /// Waits until the keys need to be read again: at the time `due`, on request, or when the file has changed.
    async fn wait(&mut self, due: Instant) {
        let is_file = matches!(self.jwks.0, Location::File(_));
        loop {
            tokio::select! {
                () = self.requests.requested() => return,
                () = tokio::time::sleep_until(due) => return,
                () = tokio::time::sleep(FILE_CHECK_INTERVAL), if is_file => {
                    if self.jwks.stamp() != self.last_stamp {
                        return;
                    }
                }
            }
        }
    }

    /// Reads the keys and returns when to read them again. A failure is logged when it begins.
    async fn read(&mut self) -> Instant {
        self.last_stamp = self.jwks.stamp();
        let read = self.jwks.read().await;
        let Some(bearer) = self.shared.upgrade().map(|shared| Bearer { shared }) else {
            return Instant::now();
        };
        match read {
            Ok(keys) => {
                for unused in keys.unused() {
                    tracing::debug!("{}: {unused}; it is not used", self.jwks);
                }
                if self.delay.take().is_some() {
                    tracing::info!("the keys for bearer tokens can be read again from {}", self.jwks);
                }
                bearer.set_keys(keys);
            }
            Err(error) => {
                if self.delay.is_none() {
                    let has_keys = bearer.shared.keys.read().is_some();
                    let known = if has_keys { "the known keys stay in use" } else { "bearers are refused" };
                    tracing::warn!(
                        "reading the keys for bearer tokens failed: {}; {known} until a later read succeeds",
                        with_causes(&error)
                    );
                }
                let longer = self.delay.map_or(FIRST_DELAY, |delay| delay.saturating_mul(2));
                self.delay = Some(longer.min(LONGEST_DELAY));
            }
        }
        bearer.shared.failing.store(self.delay.is_some(), Ordering::Relaxed);
        self.requests.finish();
        Instant::now() + self.delay.unwrap_or(self.interval).min(self.interval)
    }
}

/// The error of a key set that cannot be read.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JwksError {
    /// The text is not a valid location.
    #[error("must be 'https://…', 'file:…', or 'http://…' with a loopback address")]
    Location,
    /// The document cannot be read, or has no keys.
    #[error("cannot read keys from {location}")]
    Unreadable {
        /// The location, without the query of a URL.
        location: String,
        /// The reason.
        #[source]
        cause: Arc<dyn Error + Send + Sync>,
    },
}
