//! Resolvers, which fetch the rows of a plan, and the context of a request.

mod export;
pub mod memory;
mod trace;
mod usage;

use std::future::{Future, Ready};
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrayvec::ArrayString;
use futures_util::future::Either;

use crate::outcome::CommitGate;
use crate::rows::DeadlineCheck;
use crate::script::{Script, ScriptError, StepResult};
use crate::{JsonBody, Plan, Principal, ResolveError, Rows};
pub use export::{Export, ExportSink};
pub use trace::{Trace, TracedStatement};
pub use usage::{Usage, WaitCounter};

/// A boxed future, as trait objects return it.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A result that is available now, without an allocation, or later. Awaiting works in both cases.
pub type MaybeReady<'a, T> = Either<Ready<T>, BoxFuture<'a, T>>;

/// Fetches the rows of a plan. Implemented by back ends, and by every function or closure of the form
/// `async fn(Plan, Context) -> Result<Rows, ResolveError>`.
///
/// ```
/// use mesh_plan::{Context, Plan, ResolveError, Rows};
///
/// async fn posts(plan: Plan, _: Context) -> Result<Rows, ResolveError> {
///     let mut rows = Rows::new(&plan);
///     rows.root().push_with(|column| if column == "id" { 1.into() } else { "Hello".into() });
///     Ok(rows)
/// }
/// # fn is_resolver(_: impl mesh_plan::Resolver) {}
/// # is_resolver(posts);
/// ```
pub trait Resolver: Send + Sync + 'static {
    /// Fetches the plan's rows. A resolver that can answer without waiting and within about a millisecond returns
    /// [`Either::Left`]; longer work belongs in the future of [`Either::Right`], which does nothing until it is polled.
    ///
    /// # Errors
    /// Any failure to fetch. Clients see a fixed text; the log has the chain of sources.
    fn resolve<'a>(
        &'a self,
        plan: &'a Plan,
        context: &'a Context,
    ) -> MaybeReady<'a, Result<Answer, ResolveError>>;

    /// Passes all records of a plan to an export, and returns their number. By default, this exports the rows of
    /// [`Self::resolve`], which are all in memory at once.
    ///
    /// # Errors
    /// Any failure to fetch, and errors of the export.
    fn export<'a>(
        &'a self,
        plan: &'a Plan,
        context: &'a Context,
        export: Export,
    ) -> BoxFuture<'a, Result<u64, ResolveError>> {
        Box::pin(async move {
            match self.resolve(plan, context).await? {
                Answer::Rows(rows) => {
                    plan.export_rows(rows, DeadlineCheck::new(context.deadline), export).await
                }
                Answer::Json(_) => Err(ResolveError::new("the resolver has no exports")),
            }
        })
    }

    /// Runs a script of reads, all from one snapshot. Returns `None` if the resolver cannot do this, as by default.
    fn read_script<'a>(
        &'a self,
        script: Arc<dyn Script>,
        context: &'a Context,
    ) -> Option<BoxFuture<'a, Result<Vec<StepResult>, ScriptError>>> {
        let _ = (script, context);
        None
    }

    /// Returns whether answers may depend on [`Context::principal`]. If not, one answer may be served to every
    /// principal with the same plan.
    fn is_personal(&self) -> bool {
        true
    }
}

impl<F, Fut, A> Resolver for F
where
    F: Fn(Plan, Context) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<A, ResolveError>> + Send + 'static,
    A: Into<Answer> + 'static,
{
    fn resolve<'a>(
        &'a self,
        plan: &'a Plan,
        context: &'a Context,
    ) -> MaybeReady<'a, Result<Answer, ResolveError>> {
        let resolve = async { self(plan.clone(), context.clone()).await.map(Into::into) };
        Either::Right(Box::pin(resolve))
    }
}

/// The answer of a resolver.
#[derive(Debug)]
#[non_exhaustive]
pub enum Answer {
    /// Flat rows, which [`crate::Mesh`] nests.
    Rows(Rows),
    /// A body that [`Plan::shape`] has written.
    Json(JsonBody),
}

impl From<Rows> for Answer {
    fn from(rows: Rows) -> Self {
        Self::Rows(rows)
    }
}

impl From<JsonBody> for Answer {
    fn from(body: JsonBody) -> Self {
        Self::Json(body)
    }
}

/// The largest length of a request id in bytes.
const REQUEST_ID: usize = 128;

/// The part of a request that resolvers and mutators receive in addition to the plan. Creating and cloning it does not
/// allocate.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Context {
    request_id: ArrayString<REQUEST_ID>,
    /// The deadline of the answer.
    pub deadline: Option<Instant>,
    /// The authenticated principal; `None` if there are no sessions, or if the application itself reads.
    pub principal: Option<Arc<Principal>>,
    /// The `traceparent` value for calls to other services; `None` if the request belongs to no trace.
    pub trace_parent: Option<Arc<str>>,
    /// The trace in which back ends record their statements. It is set only during development.
    pub trace: Option<Arc<Trace>>,
    /// The time for which the answer to COMMIT is awaited, regardless of the deadline.
    pub commit_timeout: Option<Duration>,
    /// Whether the write has begun to commit.
    pub commit_gate: Option<Arc<CommitGate>>,
}

impl Context {
    /// Creates the context of a request with this id. Only the first 128 bytes of the id are kept.
    pub fn new(request_id: &str) -> Self {
        let request_id = ArrayString::from(request_id).unwrap_or_else(|_| {
            let mut kept = ArrayString::new();
            let _ = request_id.chars().try_for_each(|char| kept.try_push(char));
            kept
        });
        Self { request_id, ..Self::default() }
    }

    /// Returns the request's id as in logs and error bodies.
    pub fn request_id(&self) -> &str {
        &self.request_id
    }

    /// Sets the deadline.
    #[must_use]
    pub fn with_deadline(mut self, deadline: Instant) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// Sets the principal.
    #[must_use]
    pub fn with_principal(mut self, principal: Option<Arc<Principal>>) -> Self {
        self.principal = principal;
        self
    }

    /// Sets the `traceparent` value for calls to other services.
    #[must_use]
    pub fn with_trace_parent(mut self, trace_parent: Option<Arc<str>>) -> Self {
        self.trace_parent = trace_parent;
        self
    }

    /// Sets the trace in which back ends record their statements.
    #[must_use]
    pub fn with_trace(mut self, trace: Option<Arc<Trace>>) -> Self {
        self.trace = trace;
        self
    }

    /// Sets the time for which the answer to COMMIT is awaited.
    #[must_use]
    pub fn with_commit_timeout(mut self, timeout: Duration) -> Self {
        self.commit_timeout = Some(timeout);
        self
    }

    /// Sets the gate that a write passes before it sends COMMIT.
    #[must_use]
    pub fn with_commit_gate(mut self, gate: Arc<CommitGate>) -> Self {
        self.commit_gate = Some(gate);
        self
    }

    /// Announces that COMMIT is sent next. Returns whether it may be sent ([`CommitGate::begin`]).
    #[must_use]
    pub fn begin_commit(&self) -> bool {
        self.commit_gate.as_ref().is_none_or(|gate| gate.begin())
    }

    /// Announces that the storage has refused the COMMIT ([`CommitGate::reopen`]).
    pub fn commit_refused(&self) {
        if let Some(gate) = &self.commit_gate {
            gate.reopen();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_context_keeps_the_beginning_of_a_long_request_id() {
        assert_eq!(Context::new("id").request_id(), "id");
        let id = "ü".repeat(65);
        assert_eq!(Context::new(&id).request_id(), "ü".repeat(64));
    }
}
