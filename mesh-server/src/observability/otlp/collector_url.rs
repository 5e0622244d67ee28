//! The address of a collector.

use std::fmt;

use http::Uri;

use crate::https_client::{is_unencrypted, parse_url};

/// The path of traces below the address of a collector.
const PATH: &str = "/v1/traces";

/// The URL of an OpenTelemetry collector that takes OTLP over HTTP.
///
/// ```
/// use mesh_server::otlp::CollectorUrl;
///
/// let url = CollectorUrl::parse("https://collector.example")?;
/// assert_eq!(url.to_string(), "https://collector.example/v1/traces");
/// # Ok::<_, mesh_server::otlp::CollectorUrlError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CollectorUrl(Uri);

impl CollectorUrl {
    /// Parses a URL, and adds the path of traces unless it is there.
    ///
    /// # Errors
    /// The text is not a URL, has another scheme than `http` and `https`, or contains credentials or a query.
    pub fn parse(text: &str) -> Result<Self, CollectorUrlError> {
        let uri = parse_url(text).filter(|uri| uri.query().is_none()).ok_or(CollectorUrlError)?;
        let base = uri.to_string();
        let base = base.trim_end_matches('/');
        let base = base.strip_suffix(PATH).unwrap_or(base);
        format!("{base}{PATH}").parse().map(Self).map_err(|_| CollectorUrlError)
    }

    /// Returns whether traces go over a network without encryption, so that others could read them and their headers.
    pub fn is_unencrypted(&self) -> bool {
        is_unencrypted(&self.0)
    }

    pub(super) fn uri(&self) -> &Uri {
        &self.0
    }
}

impl fmt::Display for CollectorUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The error of a text that is not the URL of a collector. It does not quote the text, which may contain a credential.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be the URL of a collector, such as 'http://127.0.0.1:4318', without credentials and query")]
pub struct CollectorUrlError;
