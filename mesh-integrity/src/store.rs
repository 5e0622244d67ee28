//! Results and errors of all stores.

use std::error::Error;
use std::future::Ready;
use std::pin::Pin;

use futures_util::future::Either;

/// A boxed future, which trait objects require.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A result that is available immediately or later. A store that answers from memory returns the left variant and
/// allocates nothing; awaiting works for both.
pub type MaybeReady<'a, T> = Either<Ready<T>, BoxFuture<'a, T>>;

/// An error of a store. Requests that depend on the store are refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The store is full of valid entries.
    #[error("the session store is full")]
    Full,
    /// The store cannot be reached, or failed.
    #[error("the session store failed")]
    Failed(#[source] Box<dyn Error + Send + Sync>),
}

impl StoreError {
    /// Creates a [`StoreError::Failed`].
    pub fn new(cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Failed(cause.into())
    }
}
