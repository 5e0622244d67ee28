//! The [`Mesh`] type, which answers queries without a transport or runtime: query text in, JSON of exactly that shape out.

mod builder;
mod by_entity;
mod later_page;
mod parameters;
#[cfg(test)]
mod tests;
mod transaction;
mod write;

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, LazyLock};

use futures_util::FutureExt as _;
use futures_util::future::Either;
use mesh_ql::{Format, ParamValues};
use mesh_schema::Schema;

use crate::cache::Cache;
use crate::error::PlanErrorKind;
use crate::plan::computed::Functions;
use crate::plan::cursor::CursorKey;
use crate::plan::parameters::Parameters;
use crate::plan::{Plan, PlannedQuery, QuerySource, ReadTarget, size};
use crate::planner::{self, ParamInput, ReadKind, literal};
use crate::policy::{View, Views};
use crate::resolver::{Export, MaybeReady};
use crate::rows::DeadlineCheck;
use crate::{
    Answer, Context, Error, JsonBody, Limits, Mutator, PlanError, Principal, RecordId, ResolveError,
    Resolver, Value,
};

pub use builder::MeshBuilder;
use by_entity::ByEntity;
use later_page::LaterPage;
pub use transaction::{Expected, Transacted};

/// Plans and runs queries over a schema, with the resolvers, mutators and policies of the application.
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
/// # let read = std::future::ready(read.now_or_never().ok_or("the read is pending")?);
/// # let body = read.now_or_never().ok_or("the read is pending")?;
/// assert_eq!(body?.bytes, r#"{"title":"Hello"}"#);
/// # Ok(())
/// # }
/// ```
pub struct Mesh {
    views: Views,
    resolvers: ByEntity<dyn Resolver>,
    mutators: ByEntity<dyn Mutator>,
    functions: Functions,
    limits: Limits,
    cursors: CursorKey,
    cache: Cache<Box<str>, Arc<PlannedQuery>>,
}

/// The request of a read.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Request<'a> {
    /// The query.
    pub query: QuerySource<'a>,
    /// The id of a point read; `None` reads a collection.
    pub id: Option<RecordId<'a>>,
    /// The entity of the path, if there is a path; the query must read it.
    pub entity: Option<&'a str>,
    /// The principal that policies apply to. Without a principal, the request is anonymous.
    pub principal: Option<&'a Principal>,
    /// The values of the query's parameters.
    pub params: Option<&'a ParamValues>,
    /// Whether the records of a collection are exported: all of them, without a page. Such a plan is for [`Mesh::export`].
    pub is_export: bool,
}

impl<'a> Request<'a> {
    /// Creates a collection read of a query, which is given as `(format, text)` or parsed.
    pub fn new(query: impl Into<QuerySource<'a>>) -> Self {
        Self { query: query.into(), id: None, entity: None, principal: None, params: None, is_export: false }
    }

    /// Creates a collection read.
    pub fn collection(format: Format, text: &'a str) -> Self {
        Self::new((format, text))
    }

    /// Creates a read of one record.
    pub fn point(format: Format, text: &'a str, id: impl Into<RecordId<'a>>) -> Self {
        Self::new((format, text)).with_id(id)
    }

    /// Sets the id of the record to read.
    #[must_use]
    pub fn with_id(self, id: impl Into<RecordId<'a>>) -> Self {
        Self { id: Some(id.into()), ..self }
    }

    /// Sets the entity of the path.
    #[must_use]
    pub fn with_entity(self, entity: &'a str) -> Self {
        Self { entity: Some(entity), ..self }
    }

    /// Sets the principal that policies apply to.
    #[must_use]
    pub fn with_principal(self, principal: Option<&'a Principal>) -> Self {
        Self { principal, ..self }
    }

    /// Sets the values of the query's parameters.
    #[must_use]
    pub fn with_params(self, params: Option<&'a ParamValues>) -> Self {
        Self { params, ..self }
    }

    /// Reads all records of a collection, for an export.
    #[must_use]
    pub fn exported(self) -> Self {
        Self { is_export: true, ..self }
    }

    fn kind(&self) -> ReadKind {
        match (self.id, self.is_export) {
            (Some(_), _) => ReadKind::Point,
            (None, true) => ReadKind::Export,
            (None, false) => ReadKind::Collection,
        }
    }

    /// Returns the key of the plan cache: the policy class of the principal, the format, a letter for the kind, and the
    /// text. A class begins with a digit, so different parts give different keys.
    fn cache_key(&self, class: &str) -> String {
        let (format, text) = self.query.canonical();
        let kind = match self.kind() {
            ReadKind::Point => "p",
            ReadKind::Collection => "c",
            ReadKind::Export => "x",
        };
        [class, format.as_str(), kind, &text].concat()
    }
}

impl Mesh {
    /// Returns a builder of a `Mesh` over this schema.
    pub fn builder(schema: impl Into<Arc<Schema>>) -> MeshBuilder {
        MeshBuilder::new(schema.into())
    }

    /// Returns the whole schema, without the restrictions of policies.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.views.unrestricted().schema
    }

    /// Returns the schema as a principal sees it, without what policies hide. Ids are those of the whole schema.
    pub fn schema_for(&self, principal: Option<&Principal>) -> Arc<Schema> {
        Arc::clone(&self.views.find(principal).schema)
    }

    /// Returns the class of a principal: plans of equal queries are equal within a class. It is empty without policies.
    pub fn policy_class(&self, principal: Option<&Principal>) -> Box<str> {
        self.views.find(principal).class.clone()
    }

    /// Returns whether plans depend on the principal.
    pub fn has_policies(&self) -> bool {
        self.views.has_policies()
    }

    /// Returns the bounds of reads.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Returns the number of cached plans.
    pub fn plans_cached(&self) -> usize {
        self.cache.len()
    }

    /// Parses and checks a query, or finds the cached plan of its text.
    ///
    /// # Errors
    /// [`Error::Syntax`] or [`Error::Plan`].
    pub fn plan(&self, request: &Request<'_>) -> Result<Plan, Error> {
        self.plan_in_view(&self.views.find(request.principal), request)
    }

    /// Plans a query of the application itself, without policies. Queries of clients must not be planned with it.
    ///
    /// # Errors
    /// Those of [`Mesh::plan`].
    pub fn plan_unrestricted(&self, request: &Request<'_>) -> Result<Plan, Error> {
        self.plan_in_view(self.views.unrestricted(), request)
    }

    fn plan_in_view(&self, view: &View, request: &Request<'_>) -> Result<Plan, Error> {
        let later = LaterPage::from_request(request, &self.limits);
        let place = later.as_ref().map(LaterPage::place);
        let key = match &later {
            Some(later) => later.cache_key(&view.class),
            None => request.cache_key(&view.class),
        };
        let param_input = ParamInput::Complete(request.params.unwrap_or(&NO_PARAMS));
        let cached = self.cache.get(key.as_str());
        let (is_cached, mut variant) = (cached.is_some(), None);
        if let Some(query) = cached
            && request.entity.is_none_or(|entity| entity == query.node.entity)
            // Planning reports errors with their locations.
            && let Ok(bound) = query.bind(param_input)
            && let Some(cursor) = later.map_or(Some(bound.cursor), |later| later.open(&query).map(Some))
        {
            if let Some(query) = self.find_variant(query, &key, &bound.variant) {
                return Ok(complete_plan(query, request, cursor, bound.inputs));
            }
            variant = Some(variant_key(&key, &bound.variant));
        }
        let planner::Planned { query, cursor, cursor_span, inputs } =
            self.plan_query(view, request, param_input)?;
        let query = Arc::new(query);
        // A key that contains a cursor is hardly ever requested again.
        let is_shared = !is_cached && place == cursor_span;
        if let Some(key) = variant.or_else(|| is_shared.then_some(key)) {
            let bytes = key.len() + query.memory;
            self.cache.insert(key.into(), Arc::clone(&query), bytes);
        }
        Ok(complete_plan(query, request, cursor, inputs))
    }

    /// Finds the plan of a query whose conditions have that variant. `cached` is the plan that was cached first.
    fn find_variant(&self, cached: Arc<PlannedQuery>, key: &str, variant: &str) -> Option<Arc<PlannedQuery>> {
        if cached.variant() == variant {
            return Some(cached);
        }
        self.cache.get(variant_key(key, variant).as_str()).filter(|query| query.variant() == variant)
    }

    /// Checks a query that will be run later, with the default values of its parameters. Returns the names of the
    /// parameters.
    ///
    /// # Errors
    /// Those of [`Mesh::plan`]. A parameter without a value is not an error.
    pub fn check(&self, request: &Request<'_>) -> Result<Vec<String>, Error> {
        self.check_in_view(&self.views.find(request.principal), request)
    }

    fn check_in_view(&self, view: &View, request: &Request<'_>) -> Result<Vec<String>, Error> {
        let param_input = ParamInput::Partial(request.params.unwrap_or(&NO_PARAMS));
        Ok(self.plan_query(view, request, param_input)?.query.param_names())
    }

    /// Checks a query as [`Mesh::check`] does, without policies.
    ///
    /// # Errors
    /// Those of [`Mesh::check`].
    pub fn check_unrestricted(&self, request: &Request<'_>) -> Result<Vec<String>, Error> {
        self.check_in_view(self.views.unrestricted(), request)
    }

    /// Parses and checks a query. Returns the part that does not depend on an id, a cursor or parameters, and separately the
    /// values of the cursor and the parameters.
    fn plan_query(
        &self,
        view: &View,
        request: &Request<'_>,
        param_input: ParamInput<'_>,
    ) -> Result<planner::Planned, Error> {
        let parsed = request.query.parse(&self.limits.query);
        let locate = |error: PlanError| match request.query {
            QuerySource::Text { text, .. } => error.with_position_in(text),
            QuerySource::Parsed(_) => error,
        };
        if let Some(path) = request.entity {
            let query = parsed.as_ref().ok().filter(|query| query.entity == *path);
            let span = query.and_then(|query| query.entity.span);
            planner::find_entity(&view.schema, path, span).map_err(locate)?;
        }
        let query = parsed?;
        if let Some(path) = request.entity.filter(|path| query.entity != *path) {
            let read = &query.entity;
            let kind = PlanErrorKind::RootMismatch { query: read.value.clone(), path: path.to_owned() };
            return Err(locate(PlanError::new(kind, read.as_str()).with_span(read.span)).into());
        }
        let planned = planner::plan(view, &self.limits, &self.cursors, &query, request.kind(), param_input);
        let mut planned = planned.map_err(locate)?;
        self.functions.apply_to(&mut planned.query.node);
        let (_, text) = request.query.canonical();
        planned.query.memory = size::estimate(text.len(), &planned.query.node);
        Ok(planned)
    }

    /// Returns whether the answer to a plan may depend on the principal beyond the values that the plan contains.
    pub fn is_personal(&self, plan: &Plan) -> bool {
        self.resolvers.find(&plan.node().entity).is_none_or(|resolver| resolver.is_personal())
    }

    /// Runs a plan's resolver and shapes its answer. The result is ready if the resolver's result is ready.
    ///
    /// # Errors
    /// Those of the resolver. A panic of the resolver fails this read only, with [`ResolveError::Panicked`].
    pub fn read<'a>(
        &'a self,
        plan: &'a Plan,
        context: &'a Context,
    ) -> MaybeReady<'a, Result<JsonBody, ResolveError>> {
        let ready = |result| Either::Left(std::future::ready(result));
        if let Some(body) = plan.known_body() {
            return ready(Ok(body));
        }
        let entity = &plan.node().entity;
        let Some(resolver) = self.resolvers.find(entity) else {
            return ready(Err(ResolveError::Missing(entity.clone())));
        };
        match catch_unwind(AssertUnwindSafe(|| resolver.resolve(plan, context))) {
            Ok(Either::Left(answer)) => {
                ready(answer.into_inner().and_then(|answer| shape(answer, plan, context)))
            }
            Ok(Either::Right(answer)) => Either::Right(Box::pin(async move {
                shape(AssertUnwindSafe(answer).catch_unwind().await.map_err(panicked)??, plan, context)
            })),
            Err(payload) => ready(Err(panicked(payload))),
        }
    }

    /// Exports the records of a plan ([`Request::exported`]) that was checked with [`Plan::check_export`]. Returns their
    /// number.
    ///
    /// # Errors
    /// Those of the resolver and of the sink. The sink has then received only the beginning of the export.
    pub async fn export(&self, plan: &Plan, context: &Context, export: Export) -> Result<u64, ResolveError> {
        let entity = &plan.node().entity;
        let resolver = self.resolvers.find(entity).ok_or_else(|| ResolveError::Missing(entity.clone()))?;
        let exporting = async { resolver.export(plan, context, export).await };
        AssertUnwindSafe(exporting).catch_unwind().await.map_err(panicked)?
    }
}

impl fmt::Debug for Mesh {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mesh").field("resolvers", &self.resolvers).finish_non_exhaustive()
    }
}

fn shape(answer: Answer, plan: &Plan, context: &Context) -> Result<JsonBody, ResolveError> {
    match answer {
        Answer::Json(body) if body.bytes.len() > plan.bytes_max() => {
            Err(ResolveError::TooManyBytes { bytes: plan.bytes_max() })
        }
        Answer::Json(body) => Ok(body),
        Answer::Rows(rows) => plan.nest_with_deadline(rows, &DeadlineCheck::new(context.deadline)),
    }
}

/// The values of a request without parameters.
static NO_PARAMS: LazyLock<ParamValues> = LazyLock::new(ParamValues::new);

/// Returns the key of a plan whose conditions are another variant of those of the plan under `key`. No other key begins
/// with the same character, and a variant contains no NUL.
fn variant_key(key: &str, variant: &str) -> String {
    ["v", variant, "\0", key].concat()
}

/// Completes a query with the id, the session values, the cursor and the values of parameters of a request.
fn complete_plan(
    query: Arc<PlannedQuery>,
    request: &Request<'_>,
    cursor: Option<Arc<[Value]>>,
    inputs: Vec<Value>,
) -> Plan {
    let target = target(&query, request.id);
    let session = query.session(request.principal);
    let inputs = (!inputs.is_empty()).then(|| inputs.into());
    Plan { query, target, session, inputs, cursor }
}

/// Returns the target of a read. An id that no record can have becomes an empty key, which is answered without a resolver.
fn target(query: &PlannedQuery, id: Option<RecordId<'_>>) -> ReadTarget {
    match (id, query.node.id.as_slice()) {
        (None, _) | (_, []) => ReadTarget::Collection,
        (Some(id), columns) => ReadTarget::Point(literal::key(columns, id).unwrap_or_default()),
    }
}

impl Plan {
    /// Returns the plan for another request of the same query, with the id and the parameter values of that request. `None`
    /// if the values are invalid, or if they give another variant of the conditions than in this plan.
    pub fn for_request(&self, id: Option<RecordId<'_>>, params: Option<&ParamValues>) -> Option<Self> {
        if self.query.params.is_none() && params.is_none() {
            return Some(self.with_id(id));
        }
        let bound = self.query.bind(ParamInput::Complete(params.unwrap_or(&NO_PARAMS))).ok()?;
        (bound.variant == self.query.variant()).then(|| Self {
            target: target(&self.query, id),
            inputs: (!bound.inputs.is_empty()).then(|| bound.inputs.into()),
            cursor: bound.cursor,
            ..self.clone()
        })
    }

    /// Returns the plan without the values of its parameters, to be completed by [`Plan::for_request`]. `None` if the text of
    /// the query has a cursor.
    pub fn without_values(&self) -> Option<Self> {
        let params = self.query.params.as_deref();
        if self.cursor.is_some() && !params.is_some_and(Parameters::has_cursor) {
            return None;
        }
        Some(Self { inputs: None, cursor: None, ..self.clone() })
    }

    /// Returns the plan for the record with another id. Without an id, the plan must be a collection read.
    #[must_use]
    pub fn with_id(&self, id: Option<RecordId<'_>>) -> Self {
        Self { target: target(&self.query, id), ..self.clone() }
    }
}

fn panicked(payload: Box<dyn Any + Send>) -> ResolveError {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    ResolveError::Panicked(text.unwrap_or("no message").to_owned())
}
