//! Persisted queries: registration, ids, and cached plans. `SPEC §8`

use std::error::Error as StdError;
use std::fmt;
use std::sync::{Arc, OnceLock};

use mesh_ql::Format;
use ring::digest;

use crate::plan::PlannedQuery;
use crate::planner::Kind;
use crate::{BoxFuture, Error, Mesh, Request};

mod memory;

pub use memory::MemoryQueries;

/// The id of a registered query: `q_` and the first 32 hex digits of the SHA-256 of format, NUL and text. So
/// every server has the same id for the same query. `SPEC §8.2`
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct QueryId([u8; 16]);

impl QueryId {
    /// The id of a query.
    pub fn of(format: Format, text: &str) -> Self {
        let mut context = digest::Context::new(&digest::SHA256);
        context.update(format.name().as_bytes());
        context.update(&[0]);
        context.update(text.as_bytes());
        let mut id = [0; 16];
        id.iter_mut().zip(context.finish().as_ref()).for_each(|(to, from)| *to = *from);
        Self(id)
    }

    /// Reads an id; a text of any other form is the id of no query.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix("q_")?.as_bytes();
        let mut id = [0; 16];
        if digits.len() != 2 * id.len() {
            return None;
        }
        for (byte, pair) in id.iter_mut().zip(digits.chunks_exact(2)) {
            let [high, low] = pair else { return None };
            *byte = nibble(*high)? << 4 | nibble(*low)?;
        }
        Some(Self(id))
    }

    /// The 16 bytes that the digits stand for.
    pub fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

fn nibble(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}

impl fmt::Display for QueryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("q_")?;
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for QueryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "QueryId({self})")
    }
}

/// A registered query, and the plans that were made of it.
pub struct PersistedQuery {
    id: QueryId,
    format: Format,
    text: Box<str>,
    point: OnceLock<Arc<PlannedQuery>>,
    collection: OnceLock<Arc<PlannedQuery>>,
}

impl PersistedQuery {
    /// A query as it stands in a store.
    pub fn new(format: Format, text: impl Into<Box<str>>) -> Self {
        let text = text.into();
        let id = QueryId::of(format, &text);
        Self { id, format, text, point: OnceLock::new(), collection: OnceLock::new() }
    }

    /// Its id.
    pub fn id(&self) -> QueryId {
        self.id
    }

    /// The format that it was registered in.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Its text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The plan of that kind, made by `plan` the first time.
    pub(crate) fn root(
        &self,
        kind: Kind,
        plan: impl FnOnce() -> Result<PlannedQuery, Error>,
    ) -> Result<Arc<PlannedQuery>, Error> {
        let kept = match kind {
            Kind::Point => &self.point,
            Kind::Collection => &self.collection,
        };
        match kept.get() {
            Some(root) => Ok(Arc::clone(root)),
            None => {
                let root = Arc::new(plan()?);
                Ok(Arc::clone(kept.get_or_init(|| root)))
            }
        }
    }
}

impl fmt::Debug for PersistedQuery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PersistedQuery").field("id", &self.id).finish_non_exhaustive()
    }
}

/// Who may register queries. `SPEC §8.3`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Registration {
    /// Everybody.
    Open,
    /// Who signs the request.
    Signed,
    /// Registration is closed: only preloaded queries can be run.
    Closed,
}

/// Keeps registered queries where they outlive the server, and where other servers find them.
pub trait QueryStore: Send + Sync + 'static {
    /// The query of that id.
    fn find(&self, id: QueryId) -> BoxFuture<'_, Result<Option<PersistedQuery>, QueryStoreError>>;

    /// Keeps a query. It may be there already. Where there is no more room, older ones go.
    fn keep<'a>(&'a self, query: &'a PersistedQuery) -> BoxFuture<'a, Result<(), QueryStoreError>>;
}

/// A store of queries could not answer.
#[derive(Debug)]
pub struct QueryStoreError(Box<dyn StdError + Send + Sync>);

impl QueryStoreError {
    /// A failure with its cause.
    pub fn new(cause: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self(cause.into())
    }
}

impl fmt::Display for QueryStoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the store of registered queries failed")
    }
}

impl StdError for QueryStoreError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        Some(&*self.0)
    }
}

/// The registered queries of one [`Mesh`], whose plans they keep: those in use in memory, all of them in a
/// store where there is one.
///
/// ```
/// use mesh_plan::{Mesh, Persisted, Registration};
/// use mesh_ql::Format;
/// # use mesh_schema::{FieldType, Schema};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let schema = Schema::builder()
/// #     .entity("post", |post| post.field("id", FieldType::Integer).field("title", FieldType::String))
/// #     .build()?;
/// # let mesh = Mesh::builder(schema).build()?;
/// let mut queries = Persisted::new(Registration::Closed);
/// let id = queries.preload(&mesh, Format::Ql, "{ post title }")?;
/// assert_eq!(id.to_string(), "q_b1ac7d3161a94b016491ac001920b033");
/// assert!(queries.preload(&mesh, Format::Ql, "{ post secret }").is_err());
/// # Ok(())
/// # }
/// ```
pub struct Persisted {
    registration: Registration,
    only: bool,
    memory: MemoryQueries,
    store: Option<Arc<dyn QueryStore>>,
}

impl Persisted {
    /// Creates a store in memory with the default bounds of [`MemoryQueries`].
    pub fn new(registration: Registration) -> Self {
        Self { registration, only: false, memory: MemoryQueries::default(), store: None }
    }

    /// Runs no query that is not registered. `SPEC §8.5`
    #[must_use]
    pub fn only(mut self, only: bool) -> Self {
        self.only = only;
        self
    }

    /// Sets what memory may hold.
    #[must_use]
    pub fn memory(mut self, memory: MemoryQueries) -> Self {
        self.memory = memory;
        self
    }

    /// Keeps queries in a store too.
    #[must_use]
    pub fn store(mut self, store: Arc<dyn QueryStore>) -> Self {
        self.store = Some(store);
        self
    }

    /// Who may register queries.
    pub fn registration(&self) -> Registration {
        self.registration
    }

    /// Whether a query that is not registered may not be run.
    pub fn is_only(&self) -> bool {
        self.only
    }

    /// How many queries are at hand without asking the store.
    pub fn in_memory(&self) -> usize {
        self.memory.len()
    }

    /// Checks a query and keeps it for as long as this lives, whatever else is registered.
    ///
    /// # Errors
    /// Those of [`Mesh::plan`].
    pub fn preload(&mut self, mesh: &Mesh, format: Format, text: &str) -> Result<QueryId, Error> {
        // The principal that runs it later may see more than a request without a session.
        mesh.check(format, text)?;
        let query = PersistedQuery::new(format, text);
        let id = query.id();
        self.memory.pin(query);
        Ok(id)
    }

    /// Checks a query as a collection read of the requesting principal, and stores it. Whether it may be registered has to
    /// be decided before.
    ///
    /// # Errors
    /// [`RegisterError::Query`] for those of [`Mesh::plan`], and [`RegisterError::Store`].
    pub async fn register(&self, mesh: &Mesh, query: &Request<'_>) -> Result<QueryId, RegisterError> {
        // Known already: nothing is read again, and nothing is written.
        let (format, text) = query.query.canonical();
        let id = QueryId::of(format, &text);
        if self.memory.find(id).is_some() {
            return Ok(id);
        }
        // Whatever can be read as one record can be read as a list.
        let list = Request { id: None, entity: None, ..*query };
        mesh.plan(&list).map_err(RegisterError::Query)?;
        let query = PersistedQuery::new(format, text);
        if let Some(store) = &self.store {
            store.keep(&query).await.map_err(RegisterError::Store)?;
        }
        self.memory.keep(Arc::new(query));
        Ok(id)
    }

    /// Keeps in memory what another keeps there, without its plans: for the core of another schema. What was
    /// loaded at start is not among it, for each loads its own.
    pub fn adopt(&self, other: &Self) {
        for query in other.memory.all() {
            if self.memory.find(query.id).is_none() {
                self.memory.keep(Arc::new(PersistedQuery::new(query.format, query.text.clone())));
            }
        }
    }

    /// The query of an id as it was sent; `None` where there is none, of whatever form the id is.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn find(&self, id: &str) -> Result<Option<Arc<PersistedQuery>>, QueryStoreError> {
        let Some(id) = QueryId::parse(id) else { return Ok(None) };
        if let Some(query) = self.memory.find(id) {
            return Ok(Some(query));
        }
        let Some(store) = &self.store else { return Ok(None) };
        // The id says what the text must be; a store that has another one has none.
        let found = store.find(id).await?.filter(|query| query.id == id);
        Ok(found.map(|query| self.memory.keep(Arc::new(query))))
    }
}

impl Persisted {
    /// What [`Persisted::find`] would find, where no store has to be asked.
    pub fn at_hand(&self, id: &str) -> Option<Arc<PersistedQuery>> {
        self.memory.find(QueryId::parse(id)?)
    }

    /// Whether [`Persisted::find`] has an answer to that id without asking the store.
    pub fn is_at_hand(&self, id: &str) -> bool {
        self.store.is_none() || QueryId::parse(id).is_none_or(|id| self.memory.find(id).is_some())
    }
}

impl fmt::Debug for Persisted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Persisted")
            .field("registration", &self.registration)
            .field("only", &self.only)
            .field("in_memory", &self.memory.len())
            .finish_non_exhaustive()
    }
}

/// Why a query was not registered.
#[derive(Debug)]
pub enum RegisterError {
    /// It is no query, or does not fit the schema.
    Query(Error),
    /// It could not be kept.
    Store(QueryStoreError),
}

impl fmt::Display for RegisterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Query(error) => error.fmt(f),
            Self::Store(error) => error.fmt(f),
        }
    }
}

impl StdError for RegisterError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match self {
            Self::Query(error) => error.source(),
            Self::Store(error) => error.source(),
        }
    }
}

#[cfg(test)]
mod tests;
