//! The address of a cache.

use std::fmt;

use http::Uri;

use crate::https_client::is_loopback;

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
        let uri: Option<Uri> = text.trim().parse().ok();
        let uri = uri.filter(|uri| {
            let has_host = uri.authority().is_some_and(|authority| !authority.as_str().contains('@'));
            has_host && matches!(uri.scheme_str(), Some("http" | "https"))
        });
        uri.map(Self).ok_or_else(|| PurgeUrlError { text: text.to_owned() })
    }

    /// Returns whether purges go over a network without encryption, so that others could read them.
    pub fn is_unencrypted(&self) -> bool {
        self.0.scheme_str() == Some("http") && !self.0.host().is_some_and(is_loopback)
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
