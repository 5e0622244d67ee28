//! The address of a cache.

use std::fmt;

use http::Uri;

use crate::https_client::{is_unencrypted, parse_url};

/// The URL that takes the purges of a cache: `http://…` or `https://…`.
///
/// ```
/// use mesh_server::PurgeUrl;
///
/// assert!(PurgeUrl::parse("http://127.0.0.1:8081/purge").is_ok());
/// assert!(PurgeUrl::parse("https://user:password@cache.example/purge").is_err(), "credentials belong into a header");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PurgeUrl(Uri);

impl PurgeUrl {
    /// Parses a URL.
    ///
    /// # Errors
    /// The text is not a URL, has another scheme, or contains credentials.
    pub fn parse(text: &str) -> Result<Self, PurgeUrlError> {
        // The error does not quote credentials.
        let shown = text.rsplit('@').next().unwrap_or_default();
        parse_url(text).map(Self).ok_or_else(|| PurgeUrlError { text: shown.to_owned() })
    }

    /// Returns whether purges go over a network without encryption, so that others could read them.
    pub fn is_unencrypted(&self) -> bool {
        is_unencrypted(&self.0)
    }

    pub(super) fn uri(&self) -> &Uri {
        &self.0
    }
}

impl fmt::Display for PurgeUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The error of a text that is not the URL of a cache.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{text}' is not the URL of a cache, such as 'http://127.0.0.1:8081/purge', without credentials")]
pub struct PurgeUrlError {
    text: String,
}
