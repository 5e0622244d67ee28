//! The core without transport: text in, JSON of exactly that shape out.

use std::any::Any;
use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt as _;
use mesh_ql::Format;
use mesh_schema::Schema;

use crate::cache::PlanCache;
use crate::plan::{Plan, Target};
use crate::planner::{self, Kind, literal};
use crate::resolver::{Answer, Context, Resolver, Resolvers};
use crate::{CursorKey, Error, JsonBody, Limits, PlanError, PlanErrorKind, ResolveError};

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
///     .build()
///     .map_err(|faults| faults[0].to_string())?;
/// let mesh = Mesh::builder(schema).resolver("post", posts).build();
/// let plan = mesh.plan(&Request::point(mesh_ql::Format::Ql, "{ post title }", "1"))?;
/// let read = mesh.read(plan, Context::default());
/// # let mut read = std::pin::pin!(read);
/// # let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
/// # let std::task::Poll::Ready(body) = std::future::Future::poll(read.as_mut(), &mut cx) else { panic!() };
/// assert_eq!(body?.bytes, r#"{"title":"Hello"}"#);
/// # Ok(())
/// # }
/// ```
pub struct Mesh {
    schema: Arc<Schema>,
    resolvers: Resolvers,
    limits: Limits,
    cursors: CursorKey,
    cache: PlanCache,
}

/// A read as it was asked for.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Request<'a> {
    /// How the text is written.
    pub format: Format,
    /// The query.
    pub text: &'a str,
    /// The id of a point read; `None` reads a collection.
    pub id: Option<&'a str>,
    /// The entity that the path names, where there is a path; the query must read the same one.
    pub entity: Option<&'a str>,
}

impl<'a> Request<'a> {
    /// A read of a collection.
    pub fn collection(format: Format, text: &'a str) -> Self {
        Self { format, text, id: None, entity: None }
    }

    /// A read of one record.
    pub fn point(format: Format, text: &'a str, id: &'a str) -> Self {
        Self { format, text, id: Some(id), entity: None }
    }

    /// The same, for a path that names an entity.
    pub fn of_entity(mut self, entity: &'a str) -> Self {
        self.entity = Some(entity);
        self
    }
}

impl Mesh {
    /// Starts with a schema.
    pub fn builder(schema: impl Into<Arc<Schema>>) -> MeshBuilder {
        MeshBuilder {
            schema: schema.into(),
            resolvers: Resolvers::default(),
            limits: Limits::default(),
            cursors: CursorKey::default(),
        }
    }

    /// The schema that queries are checked against.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// The bounds that reads are held to.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// How many plans are kept for reuse.
    pub fn plans_cached(&self) -> usize {
        self.cache.len()
    }

    /// Parses and checks a query. The plan of a text that was seen before is found, not made.
    ///
    /// # Errors
    /// [`Error::Syntax`] or [`Error::Plan`].
    pub fn plan(&self, request: &Request<'_>) -> Result<Plan, Error> {
        if let Some(entity) = request.entity {
            planner::find_entity(&self.schema, entity)?;
        }
        let kind = if request.id.is_some() { Kind::Point } else { Kind::Collection };
        let root = self.cache.find(request.format, kind, request.text, || {
            let query = mesh_ql::parse(request.format, request.text, &self.limits.query)?;
            if let Some(path) = request.entity.filter(|path| *path != query.entity) {
                return Err(mismatch(&query.entity, path));
            }
            Ok(planner::plan(&self.schema, &self.limits, &self.cursors, &query, kind)?)
        })?;
        if let Some(path) = request.entity.filter(|path| *path != root.node.entity) {
            return Err(mismatch(&root.node.entity, path));
        }
        let target = match (request.id, &root.node.id) {
            // An id that no record can have makes the read answer `null` without asking anyone.
            (Some(id), Some(column)) => {
                Target::Point(literal::id(column.ty, column.time_form, id).unwrap_or_default())
            }
            _ => Target::Collection,
        };
        Ok(Plan { root, target })
    }

    /// Runs a plan's resolver and shapes what it returns.
    ///
    /// # Errors
    /// Whatever the resolver meets, a panic included.
    pub async fn read(&self, plan: Plan, context: Context) -> Result<JsonBody, ResolveError> {
        if plan.target == Target::Point(crate::Value::Null) {
            return Ok(plan.empty());
        }
        let entity = &plan.node().entity;
        let resolver = self.resolvers.find(entity).ok_or_else(|| ResolveError::Missing(entity.clone()))?;
        // A panic of the resolver ends this read only, whether it comes before its future or out of it.
        let answering = async { resolver.resolve(plan.clone(), context).await };
        match AssertUnwindSafe(answering).catch_unwind().await.map_err(panicked)?? {
            Answer::Json(body) => Ok(body),
            Answer::Rows(rows) => plan.nest(rows),
        }
    }
}

fn mismatch(query: &str, path: &str) -> Error {
    let kind = PlanErrorKind::RootMismatch { query: query.to_owned(), path: path.to_owned() };
    Error::Plan(PlanError { kind, path: query.to_owned() })
}

impl fmt::Debug for Mesh {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mesh").field("resolvers", &self.resolvers).finish_non_exhaustive()
    }
}

/// Collects what a [`Mesh`] is made of.
#[derive(Debug)]
pub struct MeshBuilder {
    schema: Arc<Schema>,
    resolvers: Resolvers,
    limits: Limits,
    cursors: CursorKey,
}

impl MeshBuilder {
    /// Registers the resolver of one root entity.
    pub fn resolver(mut self, entity: impl Into<String>, resolver: impl Resolver) -> Self {
        self.resolvers.by_entity.insert(entity.into(), Arc::new(resolver));
        self
    }

    /// Registers the resolver of all entities that have none of their own.
    pub fn resolver_for_all(mut self, resolver: impl Resolver) -> Self {
        self.resolvers.fallback = Some(Arc::new(resolver));
        self
    }

    /// Sets bounds other than the protocol's defaults.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets the key of cursors, which all servers of a deployment must share.
    pub fn cursor_key(mut self, key: CursorKey) -> Self {
        self.cursors = key;
        self
    }

    /// The finished core.
    pub fn build(self) -> Mesh {
        Mesh {
            schema: self.schema,
            resolvers: self.resolvers,
            cache: PlanCache::new(self.limits.plans),
            limits: self.limits,
            cursors: self.cursors,
        }
    }
}

fn panicked(payload: Box<dyn Any + Send>) -> ResolveError {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    ResolveError::Panicked(text.unwrap_or("no message").to_owned())
}
