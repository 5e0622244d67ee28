//! The core without transport: from query text to JSON of exactly that shape.

mod builder;
mod later;
mod plan_key;
mod write;

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::Either;
use mesh_ql::Format;
use mesh_schema::Schema;

use crate::mutation::Mutators;
use crate::plan::computed::Functions;
use crate::plan::{Plan, PlannedQuery, Target};
use crate::planner::{self, Kind, literal};
use crate::policy::{View, Views};
use crate::resolver::{Answer, Context, Resolvers};
use crate::{
    CursorKey, Error, Generations, JsonBody, Limits, MaybeReady, PersistedQuery, PlanError, PlanErrorKind,
    Principal, QuerySource, ResolveError,
};

pub use builder::{BuildError, BuildFault, MeshBuilder};
use later::Later;
pub use write::WriteReply;

/// Schema, resolvers and bounds: everything that answers a read, without HTTP and without a runtime.
///
/// ```
/// use mesh_plan::{Context, Mesh, Plan, ResolveError, Request, Rows};
/// use mesh_schema::{FieldType, Schema};
///
/// async fn posts(plan: Plan, _: Context) -> Result<Rows, ResolveError> {
///     let mut rows = Rows::new(&plan);
///     rows.root().push_with(|column| if column == "id" { 1.into() } else { "Hello".into() });
///     Ok(rows)
/// }
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let schema = Schema::builder()
///     .entity("post", |post| post.field("id", FieldType::Integer).field("title", FieldType::String))
///     .build()?;
/// let mesh = Mesh::builder(schema).resolver("post", posts).build()?;
/// let plan = mesh.plan(&Request::point(mesh_ql::Format::Ql, "{ post title }", "1"))?;
/// # use futures_util::FutureExt as _;
/// let context = Context::default();
/// let read = mesh.read(&plan, &context);
/// # let read = std::future::ready(read.now_or_never().ok_or("it waits")?);
/// # let body = read.now_or_never().ok_or("it waits")?;
/// assert_eq!(body?.bytes, r#"{"title":"Hello"}"#);
/// # Ok(())
/// # }
/// ```
pub struct Mesh {
    views: Views,
    resolvers: Resolvers,
    mutators: Mutators,
    functions: Functions,
    limits: Limits,
    cursors: CursorKey,
    cache: Generations<Box<str>, Arc<PlannedQuery>>,
}

/// A read as it was asked for.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Request<'a> {
    /// The query.
    pub query: QuerySource<'a>,
    /// The id of a point read; `None` reads a collection.
    pub id: Option<&'a str>,
    /// The entity that the path names, where there is a path; the query must read the same one.
    pub entity: Option<&'a str>,
    /// Who asks: what policies go by. Without it they take the request for anybody's.
    pub principal: Option<&'a Principal>,
}

impl<'a> Request<'a> {
    /// A read of a collection by a query, which may be parsed.
    pub fn new(query: impl Into<QuerySource<'a>>) -> Self {
        Self { query: query.into(), id: None, entity: None, principal: None }
    }

    /// A read of a collection.
    pub fn collection(format: Format, text: &'a str) -> Self {
        Self::new((format, text))
    }

    /// A read of one record.
    pub fn point(format: Format, text: &'a str, id: &'a str) -> Self {
        Self::new((format, text)).with_id(id)
    }

    /// Reads the record with that id.
    #[must_use]
    pub fn with_id(self, id: &'a str) -> Self {
        Self { id: Some(id), ..self }
    }

    /// The same, for a path that names an entity.
    pub fn of_entity(mut self, entity: &'a str) -> Self {
        self.entity = Some(entity);
        self
    }

    fn kind(&self) -> Kind {
        if self.id.is_some() { Kind::Point } else { Kind::Collection }
    }

    /// The key under which the plan is cached for a class of principals.
    fn cache_key(&self, class: &str) -> String {
        let (format, text) = self.query.canonical();
        plan_key::plan_key(class, format, self.kind(), &text)
    }

    /// Sets the principal on whose behalf the query runs.
    pub fn by(mut self, principal: Option<&'a Principal>) -> Self {
        self.principal = principal;
        self
    }
}

impl Mesh {
    /// Returns a builder of a `Mesh` over this schema.
    pub fn builder(schema: impl Into<Arc<Schema>>) -> MeshBuilder {
        MeshBuilder::new(schema.into())
    }

    /// The schema that queries are checked against, before policies.
    pub fn schema(&self) -> &Arc<Schema> {
        self.views.whole()
    }

    /// Returns the schema as a principal sees it, without what policies hide. Ids are those of the whole schema.
    pub fn schema_for(&self, principal: Option<&Principal>) -> Arc<Schema> {
        Arc::clone(&self.views.of(principal).schema)
    }

    /// The bounds that reads are held to.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// How many plans are kept for reuse.
    pub fn plans_cached(&self) -> usize {
        self.cache.len()
    }

    /// Whether what can be read depends on who asks.
    pub fn has_policies(&self) -> bool {
        !self.views.are_equal()
    }

    /// Parses and checks a query. The plan of a text that was seen before is found, not made.
    ///
    /// # Errors
    /// [`Error::Syntax`] or [`Error::Plan`].
    pub fn plan(&self, request: &Request<'_>) -> Result<Plan, Error> {
        self.plan_for(&self.views.of(request.principal), request)
    }

    /// The same for the application itself, which is held to no policy. Never for what a client asks.
    ///
    /// # Errors
    /// Those of [`Mesh::plan`].
    pub fn plan_unrestricted(&self, request: &Request<'_>) -> Result<Plan, Error> {
        self.plan_for(self.views.open(), request)
    }

    fn plan_for(&self, view: &View, request: &Request<'_>) -> Result<Plan, Error> {
        self.check_path_entity(view, request)?;
        if let Some(later) = Later::of(request, &self.limits) {
            return self.later_page(view, request, later);
        }
        let key = request.cache_key(&view.class);
        // A plan of another entity is refused below, with the location in the text.
        if let Some(root) = self.cache.get(key.as_str())
            && request.entity.is_none_or(|entity| entity == root.node.entity)
        {
            return aim(root, request);
        }
        let root = Arc::new(self.root(view, request, &key)?);
        // Its cursor is written in another way than those that are looked for.
        if root.after.is_none() {
            self.cache.insert(key.into(), Arc::clone(&root), 1);
        }
        aim(root, request)
    }

    /// Checks that the schema has the entity of the path. The error has the location of that entity in the query, if
    /// it is there.
    fn check_path_entity(&self, view: &View, request: &Request<'_>) -> Result<(), PlanError> {
        let Some(path) = request.entity else { return Ok(()) };
        let Err(error) = planner::find_entity(&view.schema, path, None) else { return Ok(()) };
        let QuerySource::Text { text, .. } = request.query else { return Err(error) };
        match request.query.parse(&self.limits.query) {
            Ok(query) if query.entity == *path => {
                Err(error.with_span(query.entity.span).with_position_in(text))
            }
            _ => Err(error),
        }
    }

    /// A page that starts at a cursor: only that has to be read where the query was planned for another page.
    fn later_page(&self, view: &View, request: &Request<'_>, later: Later<'_>) -> Result<Plan, Error> {
        let key = later.key(&view.class);
        let known = self.cache.get(key.as_str());
        let is_new = known.is_none() && later.is_the_cursor(&self.limits);
        if let Some(root) = known
            && let Some(after) = later.open(&root)
        {
            return aim(root, request).map(|plan| Plan { after: Some(after), ..plan });
        }
        if is_new {
            let root = Arc::new(self.root(view, request, &key)?);
            self.cache.insert(key.into(), Arc::clone(&root), 1);
            return aim(root, request);
        }
        // Nothing that is known: it has words of its own for what is wrong.
        let key = request.cache_key(&view.class);
        aim(Arc::new(self.root(view, request, &key)?), request)
    }

    /// The plan of a registered query. It is made with the first read of its kind and kept with the query,
    /// so that later ones read no text. Where there are policies it is kept like that of any text, once for
    /// each class of those who ask.
    ///
    /// # Errors
    /// [`Error::Plan`], and [`Error::Syntax`] where the query was registered under other bounds.
    pub fn plan_persisted(
        &self,
        query: &PersistedQuery,
        id: Option<&str>,
        entity: Option<&str>,
        principal: Option<&Principal>,
    ) -> Result<Plan, Error> {
        let request = Request { id, entity, principal, ..Request::collection(query.format(), query.text()) };
        let view = self.views.of(principal);
        if !view.class.is_empty() {
            return self.plan(&request);
        }
        if let Some(entity) = entity {
            planner::find_entity(&view.schema, entity, None)?;
        }
        let root = query.root(request.kind(), || {
            let key = request.cache_key(&view.class);
            self.root(&view, &request, &key)
        })?;
        aim(root, &request)
    }

    /// Checks a query against the whole schema, without a principal. Nothing is cached.
    pub(crate) fn check(&self, format: Format, text: &str) -> Result<(), Error> {
        let view = View::open(Arc::clone(self.views.whole()));
        self.root(&view, &Request::collection(format, text), "").map(drop)
    }

    /// Parses and checks: the part of a plan that does not depend on an id.
    fn root(&self, view: &View, request: &Request<'_>, key: &str) -> Result<PlannedQuery, Error> {
        let query = request.query.parse(&self.limits.query)?;
        let planned = match request.entity.filter(|path| query.entity != *path) {
            Some(path) => Err(mismatch(&query.entity, path).with_span(query.entity.span)),
            None => planner::plan(view, &self.limits, &self.cursors, &query, request.kind()),
        };
        let mut root = planned.map_err(|error| match request.query {
            QuerySource::Text { text, .. } => error.with_position_in(text),
            QuerySource::Parsed(_) => error,
        })?;
        self.functions.apply_to(&mut root.node);
        Ok(root.made_from(key))
    }

    /// Whether the answer to a plan may depend on who asks beyond what the plan itself holds.
    pub fn is_personal(&self, plan: &Plan) -> bool {
        self.resolvers.find(&plan.node().entity).is_none_or(|resolver| resolver.is_personal())
    }

    /// Runs a plan's resolver and shapes its answer. The result is ready if the resolver's is.
    ///
    /// # Errors
    /// Those of the resolver. A panic of the resolver fails this read only, with [`ResolveError::Panicked`].
    pub fn read<'a>(
        &'a self,
        plan: &'a Plan,
        context: &'a Context,
    ) -> MaybeReady<'a, Result<JsonBody, ResolveError>> {
        let ready = |result| Either::Left(std::future::ready(result));
        if plan.target == Target::Point(crate::Value::Null) {
            return ready(Ok(plan.empty()));
        }
        let entity = &plan.node().entity;
        let Some(resolver) = self.resolvers.find(entity) else {
            return ready(Err(ResolveError::Missing(entity.clone())));
        };
        match catch_unwind(AssertUnwindSafe(|| resolver.resolve(plan, context))) {
            Ok(Either::Left(answer)) => ready(answer.into_inner().and_then(|answer| answer.shape(plan))),
            Ok(Either::Right(answer)) => Either::Right(Box::pin(async move {
                AssertUnwindSafe(answer).catch_unwind().await.map_err(panicked)??.shape(plan)
            })),
            Err(payload) => ready(Err(panicked(payload))),
        }
    }
}

impl Answer {
    fn shape(self, plan: &Plan) -> Result<JsonBody, ResolveError> {
        match self {
            Self::Json(body) => Ok(body),
            Self::Rows(rows) => plan.nest(rows),
        }
    }
}

/// Aims a plan at a record or a list.
fn aim(root: Arc<PlannedQuery>, request: &Request<'_>) -> Result<Plan, Error> {
    if let Some(path) = request.entity.filter(|path| *path != root.node.entity) {
        return Err(mismatch(&root.node.entity, path).into());
    }
    let target = target(&root, request.id);
    let session = root.session(request.principal);
    let after = root.after.clone();
    Ok(Plan { query: root, target, session, after })
}

fn target(root: &PlannedQuery, id: Option<&str>) -> Target {
    match (id, &root.node.id) {
        // An id that no record can have makes the read answer `null` without asking anyone.
        (Some(id), Some(column)) => {
            Target::Point(literal::id(column.ty, column.time_form, id).unwrap_or_default())
        }
        _ => Target::Collection,
    }
}

impl Plan {
    /// The same plan aimed at another record: that of a point read with an id, of a list without one.
    #[must_use]
    pub fn aimed_at(&self, id: Option<&str>) -> Self {
        let target = target(&self.query, id);
        Self {
            query: Arc::clone(&self.query),
            target,
            session: self.session.clone(),
            after: self.after.clone(),
        }
    }
}

fn mismatch(query: &str, path: &str) -> PlanError {
    PlanError::new(PlanErrorKind::RootMismatch { query: query.to_owned(), path: path.to_owned() }, query)
}

impl fmt::Debug for Mesh {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mesh").field("resolvers", &self.resolvers).finish_non_exhaustive()
    }
}

fn panicked(payload: Box<dyn Any + Send>) -> ResolveError {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    ResolveError::Panicked(text.unwrap_or("no message").to_owned())
}
