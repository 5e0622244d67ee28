//! The interface of a storage for writes.

use std::future::Future;
use std::sync::Arc;

use crate::outcome::Outcome;
use crate::script::SingleWrite;
use crate::script::{Script, ScriptError, StepResult};
use crate::{BoxFuture, Context, JsonBody, Key, Mutation, WriteError};

/// The result of a committed write of a mutator.
#[derive(Debug, Default)]
pub struct Written {
    /// The id of the record that the reply shows: the created, updated or connected one.
    pub id: Key,
    /// Whether an [`Action::Merge`](super::Action::Merge) has created the record.
    pub created: bool,
    /// The reply's body, if the mutator has read it in the transaction of the write ([`Mutation::reply`]). If it is `None`,
    /// [`crate::Mesh`] reads the reply with the resolver.
    pub body: Option<JsonBody>,
}

impl Written {
    /// Creates the result of a write of the record with that id.
    pub fn new(id: impl Into<Key>) -> Self {
        Self { id: id.into(), ..Self::default() }
    }
}

/// Executes writes. Implemented by back ends, and by every function or closure of the form
/// `async fn(Mutation, Context) -> Result<Written, WriteError>`. The future of such a function may also return an [`Outcome`].
///
/// A write is atomic, and durable when it is [`Outcome::Committed`]. A write whose future is dropped may or may not be
/// executed. Before it is committed it obeys [`Context::deadline`], and its COMMIT is sent only after
/// [`Context::begin_commit`].
pub trait Mutator: Send + Sync + 'static {
    /// Executes a write. It fails with [`WriteError::NotFound`] if a record that the write needs does not exist, [`WriteError::Conflict`] if a rule of the
    /// storage forbids it, and any other failure.
    ///
    /// By default, the write is a script of one step.
    fn mutate(&self, mutation: Mutation, context: Context) -> BoxFuture<'_, Outcome<Written, WriteError>> {
        Box::pin(async move {
            match self.transact(Arc::new(SingleWrite::new(mutation)), context) {
                Some(running) => running.await.map(SingleWrite::result).map_err(WriteError::from),
                None => {
                    Outcome::NotCommitted(WriteError::new("the mutator executes neither writes nor scripts"))
                }
            }
        })
    }

    /// Runs a script in one transaction and returns the results of its steps. The storage also executes the reads of the
    /// script, in place of the resolvers of their entities. `None`, the default, means that the storage has no transactions
    /// of several steps. The errors are those of the script, and for its steps those of [`Mutator::mutate`].
    fn transact(
        &self,
        script: Arc<dyn Script>,
        context: Context,
    ) -> Option<BoxFuture<'_, Outcome<Vec<StepResult>, ScriptError>>> {
        let _ = (script, context);
        None
    }
}

impl<F, Fut> Mutator for F
where
    F: Fn(Mutation, Context) -> Fut + Send + Sync + 'static,
    Fut: Future<Output: Into<Outcome<Written, WriteError>>> + Send + 'static,
{
    fn mutate(&self, mutation: Mutation, context: Context) -> BoxFuture<'_, Outcome<Written, WriteError>> {
        let writing = self(mutation, context);
        Box::pin(async { writing.await.into() })
    }
}
