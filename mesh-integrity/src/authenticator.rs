//! The check of credentials at login, which the application provides. `SPEC §7.1`

use std::borrow::Cow;
use std::error::Error;
use std::fmt;

use serde_json::{Map, Value};

use crate::{BoxFuture, Identity};

/// What a client sent to log in: a JSON object of whatever form the application wants.
pub type Credentials = Map<String, Value>;

/// Finds out whom credentials belong to. An answer must not tell, in words or in time, whether an account
/// exists that the credentials are wrong for.
///
/// ```
/// use mesh_integrity::{Authenticator, BoxFuture, Credentials, Identity, LoginError};
///
/// /// Whoever knows the day's word may read.
/// struct Word;
///
/// impl Authenticator for Word {
///     fn authenticate<'a>(&'a self, sent: &'a Credentials) -> BoxFuture<'a, Result<Identity, LoginError>> {
///         Box::pin(async move {
///             let word = sent.get("word").and_then(|word| word.as_str());
///             match word.ok_or(LoginError::Missing { field: "word" })? {
///                 "swordfish" => Ok(Identity::new("guest").with_role("reader")),
///                 _ => Err(LoginError::Wrong),
///             }
///         })
///     }
/// }
/// ```
pub trait Authenticator: Send + Sync + 'static {
    /// The identity that the credentials prove.
    ///
    /// # Errors
    /// See [`LoginError`].
    fn authenticate<'a>(
        &'a self,
        credentials: &'a Credentials,
    ) -> BoxFuture<'a, Result<Identity, LoginError>>;

    /// The account that the credentials speak of, proven or not, so that attempts on it can be counted.
    fn account<'a>(&self, _credentials: &'a Credentials) -> Option<Cow<'a, str>> {
        None
    }
}

/// Why credentials led to nobody.
#[derive(Debug)]
#[non_exhaustive]
pub enum LoginError {
    /// A field is missing, or is no text.
    Missing {
        /// Which one.
        field: &'static str,
    },
    /// They belong to nobody.
    Wrong,
    /// Too much is being checked already.
    Busy,
    /// They could not be checked.
    Failed(Box<dyn Error + Send + Sync>),
}

impl LoginError {
    /// A failure with its cause, which is for the log only.
    pub fn new(cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Failed(cause.into())
    }
}

impl fmt::Display for LoginError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing { field } => write!(f, "The credentials need '{field}', a text"),
            Self::Wrong => f.write_str("These credentials are not known"),
            Self::Busy => f.write_str("Too many logins are being checked"),
            Self::Failed(_) => f.write_str("The credentials could not be checked"),
        }
    }
}

impl Error for LoginError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Failed(cause) => Some(&**cause),
            Self::Missing { .. } | Self::Wrong | Self::Busy => None,
        }
    }
}
