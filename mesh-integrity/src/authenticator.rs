//! The check of credentials at login, which the application provides. `SPEC §7.1`

use std::error::Error;
use std::future::ready;

use serde_json::{Map, Value};

use crate::{AccountError, AccountsUnavailable, BoxFuture, Identity};

/// The credentials of a login: a JSON object whose form depends on the application.
pub type Credentials = Map<String, Value>;

/// Verifies credentials. Neither the result nor its timing may reveal whether an account exists.
///
/// ```
/// use mesh_integrity::{Authenticator, BoxFuture, Credentials, Identity, LoginError};
///
/// /// Accepts a shared password.
/// struct SharedPassword;
///
/// impl Authenticator for SharedPassword {
///     fn authenticate<'a>(&'a self, credentials: &'a Credentials) -> BoxFuture<'a, Result<Identity, LoginError>> {
///         Box::pin(async move {
///             let password = credentials.get("password").and_then(|value| value.as_str());
///             match password.ok_or(LoginError::Missing { field: "password" })? {
///                 "swordfish" => Ok(Identity::new("guest").with_role("reader")),
///                 _ => Err(LoginError::Wrong),
///             }
///         })
///     }
/// }
/// ```
pub trait Authenticator: Send + Sync + 'static {
    /// Returns the identity to which the credentials belong.
    ///
    /// # Errors
    /// [`LoginError`] if the credentials are incomplete or wrong, or cannot be verified.
    fn authenticate<'a>(
        &'a self,
        credentials: &'a Credentials,
    ) -> BoxFuture<'a, Result<Identity, LoginError>>;

    /// Returns the name of the account that the unverified credentials refer to. Attempts are counted under this name;
    /// with `None`, they are counted by address only. All spellings that find the same account must return the same
    /// name. Credentials of an unknown account must return a name too, because its attempts are refused like those of
    /// an existing account.
    ///
    /// # Errors
    /// [`LoginError`] if the account cannot be looked up.
    fn account<'a>(
        &'a self,
        _credentials: &'a Credentials,
    ) -> BoxFuture<'a, Result<Option<String>, LoginError>> {
        Box::pin(ready(Ok(None)))
    }
}

/// The reason why a login failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoginError {
    /// A field is missing or not a string.
    #[error("The credentials must have the string '{field}'")]
    Missing {
        /// The name of the field.
        field: &'static str,
    },
    /// The credentials are wrong.
    #[error("The credentials are wrong")]
    Wrong,
    /// Too many logins are in progress.
    #[error("Too many logins are in progress")]
    Busy,
    /// The credentials could not be verified.
    #[error("The credentials could not be verified")]
    Failed(#[source] Box<dyn Error + Send + Sync>),
}

impl LoginError {
    /// Returns the error of a login whose account could not be read.
    pub fn of_accounts(cause: AccountError) -> Self {
        if cause.is::<AccountsUnavailable>() { Self::Busy } else { Self::Failed(cause) }
    }

    /// Creates a [`LoginError::Failed`]. The cause is logged and not sent to the client.
    pub fn new(cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Failed(cause.into())
    }
}
