//! Who fetches the rows? One resolver for each root entity, or one for all.

use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Instant;

use crate::{JsonBody, Plan, Principal, ResolveError, Rows, Trace};

/// A future on the heap, as trait objects need it.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Fetches what a plan asks for. Implemented by back ends, and by every function or closure of the form
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
    /// Fetches the plan's rows.
    ///
    /// # Errors
    /// Whatever goes wrong; the client sees fixed words, the log the whole chain.
    fn resolve(&self, plan: Plan, context: Context) -> BoxFuture<'_, Result<Answer, ResolveError>>;

    /// The answer, where it can be given without waiting and without much work. It is asked for first; where
    /// there is none, [`Resolver::resolve`] is called, which should not try the same once more.
    fn at_once(&self, plan: &Plan, deadline: Option<Instant>) -> Option<Result<JsonBody, ResolveError>> {
        let _ = (plan, deadline);
        None
    }

    /// Whether answers may depend on [`Context::principal`]. Where they do not, what one has read for somebody
    /// can be shown to others with the same plan.
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
    fn resolve(&self, plan: Plan, context: Context) -> BoxFuture<'_, Result<Answer, ResolveError>> {
        let answer = self(plan, context);
        Box::pin(async move { answer.await.map(Into::into) })
    }
}

/// What a resolver returns.
#[derive(Debug)]
#[non_exhaustive]
pub enum Answer {
    /// Flat rows; the service nests them.
    Rows(Rows),
    /// The body, already shaped by [`Plan::shape`].
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

/// What a resolver may know of the request beside the plan.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Context {
    /// The request's id, as it stands in logs and error bodies.
    pub request_id: Arc<str>,
    /// When the answer is no longer wanted.
    pub deadline: Option<Instant>,
    /// Who is asking; `None` where there are no sessions, or for reads of the application's own.
    pub principal: Option<Arc<Principal>>,
    /// The request's step in a trace that spans several programs, as a value of `traceparent` for whoever is
    /// called in its turn; `None` where it belongs to none.
    pub trace_parent: Option<Arc<str>>,
    /// Where back ends tell their statements; `None` for all reads but those of whoever develops.
    pub trace: Option<Arc<Trace>>,
}

impl Context {
    /// The context of a request of that id, without a deadline.
    pub fn new(request_id: impl Into<Arc<str>>) -> Self {
        Self { request_id: request_id.into(), ..Self::default() }
    }

    /// The same with a deadline.
    pub fn with_deadline(mut self, deadline: Instant) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// The same on behalf of somebody.
    pub fn with_principal(mut self, principal: Option<Arc<Principal>>) -> Self {
        self.principal = principal;
        self
    }

    /// The same as a step in a trace.
    pub fn with_trace_parent(mut self, trace_parent: Option<Arc<str>>) -> Self {
        self.trace_parent = trace_parent;
        self
    }

    /// The same, telling the back end's statements to `trace`.
    pub fn with_trace(mut self, trace: Option<Arc<Trace>>) -> Self {
        self.trace = trace;
        self
    }
}

/// The resolvers of a [`crate::Mesh`]: one by entity key, and one for all entities without their own.
#[derive(Clone, Default)]
pub(crate) struct Resolvers {
    pub(crate) by_entity: HashMap<String, Arc<dyn Resolver>>,
    pub(crate) fallback: Option<Arc<dyn Resolver>>,
}

impl Resolvers {
    pub(crate) fn find(&self, entity: &str) -> Option<&Arc<dyn Resolver>> {
        self.by_entity.get(entity).or(self.fallback.as_ref())
    }
}

impl fmt::Debug for Resolvers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Resolvers")
            .field("by_entity", &self.by_entity.keys())
            .field("fallback", &self.fallback.is_some())
            .finish()
    }
}
