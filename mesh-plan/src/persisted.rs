//! Persisted queries: their ids, registration and storage. `SPEC §8`

mod declarations;

use std::collections::HashMap;
use std::error::Error as StdError;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use data_encoding::HEXLOWER;
use mesh_ql::Format;
use ring::digest;
use thiserror::Error;

use crate::cache::Cache;
use crate::error::PlanErrorKind;
use crate::{BoxFuture, Error, Mesh, PlanError, Principal, Request};
pub use declarations::ParamDeclarations;

/// The id of a registered query: `q_` and the first 32 hex digits of the SHA-256 of format, NUL and text. All servers
/// compute the same id for a query. `SPEC §8.2`
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct QueryId([u8; 16]);

impl QueryId {
    /// Computes the id of a query.
    pub fn new(format: Format, text: &str) -> Self {
        let mut context = digest::Context::new(&digest::SHA256);
        context.update(format.as_str().as_bytes());
        context.update(&[0]);
        context.update(text.as_bytes());
        let mut id = [0; 16];
        id.iter_mut().zip(context.finish().as_ref()).for_each(|(to, from)| *to = *from);
        Self(id)
    }

    /// Returns the 16 bytes of the digits.
    pub fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

/// The error of a text that is not a [`QueryId`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the id of a query is `q_` and 32 hex digits")]
pub struct InvalidQueryId;

impl FromStr for QueryId {
    type Err = InvalidQueryId;

    fn from_str(text: &str) -> Result<Self, InvalidQueryId> {
        let digits = text.strip_prefix("q_").and_then(|digits| HEXLOWER.decode(digits.as_bytes()).ok());
        digits.and_then(|digits| digits.try_into().ok()).map(Self).ok_or(InvalidQueryId)
    }
}

impl fmt::Display for QueryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "q_{}", HEXLOWER.encode(&self.0))
    }
}

impl fmt::Debug for QueryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "QueryId({self})")
    }
}

/// A registered query.
#[derive(Clone, Debug, PartialEq)]
pub struct PersistedQuery {
    id: QueryId,
    format: Format,
    text: Box<str>,
    params: ParamDeclarations,
}

impl PersistedQuery {
    /// Creates a query from the content of a store.
    pub fn new(format: Format, text: impl Into<Box<str>>) -> Self {
        let text = text.into();
        Self { id: QueryId::new(format, &text), format, text, params: ParamDeclarations::default() }
    }

    /// Sets the declared parameters. The id does not depend on them.
    #[must_use]
    pub fn with_params(self, params: ParamDeclarations) -> Self {
        Self { params, ..self }
    }

    /// Returns the id.
    pub fn id(&self) -> QueryId {
        self.id
    }

    /// Returns the format of the text.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Returns the text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the declared parameters.
    pub fn params(&self) -> &ParamDeclarations {
        &self.params
    }

    /// Checks the query with the defaults of its parameters. `check` returns the names of the parameters.
    fn check_with(
        &self,
        check: impl FnOnce(&Request<'_>) -> Result<Vec<String>, Error>,
    ) -> Result<(), Error> {
        let defaults = self.params.complete(None)?;
        let used = check(&Request::collection(self.format, &self.text).with_params(defaults.as_ref()))?;
        match self.params.names().find(|name| !used.iter().any(|used| used == name)) {
            None => Ok(()),
            Some(name) => Err(PlanError::new(PlanErrorKind::unknown_parameter(name), "").into()),
        }
    }

    /// Returns the size of the texts in bytes.
    pub fn bytes(&self) -> usize {
        let params = if self.params.is_empty() { 0 } else { self.params.to_string().len() };
        self.text.len() + params
    }
}

/// Who may register queries. `SPEC §8.3`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Registration {
    /// Every client.
    Open,
    /// Clients that sign the request.
    Signed,
    /// No client: only preloaded queries can be run.
    Closed,
}

/// A durable store of registered queries, which servers can share.
pub trait QueryStore: Send + Sync + 'static {
    /// Finds the query with that id.
    fn find(&self, id: QueryId) -> BoxFuture<'_, Result<Option<PersistedQuery>, QueryStoreError>>;

    /// Stores a query, which may already be stored. A full store removes older queries.
    fn save<'a>(&'a self, query: &'a PersistedQuery) -> BoxFuture<'a, Result<(), QueryStoreError>>;
}

/// The failure of a query store.
#[derive(Debug, Error)]
#[error("the store of registered queries failed")]
pub struct QueryStoreError(#[source] Box<dyn StdError + Send + Sync>);

impl QueryStoreError {
    /// Creates a failure with its cause.
    pub fn new(cause: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self(cause.into())
    }
}

/// The registered queries of one [`Mesh`]: preloaded ones, those in use, and optionally a store of all of them.
///
/// ```
/// use mesh_plan::persisted::{Persisted, PersistedQuery, Registration};
/// use mesh_plan::Mesh;
/// use mesh_ql::Format;
/// # use mesh_schema::{FieldType, Schema};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let schema = Schema::builder()
/// #     .entity("post", |post| post.field("id", FieldType::Integer).field("title", FieldType::String))
/// #     .build()?;
/// # let mesh = Mesh::builder(schema).build()?;
/// let mut queries = Persisted::new(Registration::Closed);
/// let id = queries.preload(&mesh, PersistedQuery::new(Format::Ql, "{ post title }"))?;
/// assert_eq!(id.to_string(), "q_b1ac7d3161a94b016491ac001920b033");
/// assert!(queries.preload(&mesh, PersistedQuery::new(Format::Ql, "{ post secret }")).is_err());
/// # Ok(())
/// # }
/// ```
pub struct Persisted {
    registration: Registration,
    requires_registered: bool,
    preloaded: HashMap<QueryId, Arc<PersistedQuery>>,
    recent: Cache<QueryId, Arc<PersistedQuery>>,
    store: Option<Arc<dyn QueryStore>>,
}

impl Persisted {
    /// The default number of queries in memory.
    pub const ENTRIES: usize = 10_000;
    /// The default size in bytes of the texts in memory.
    pub const TEXT_BYTES: usize = 32 << 20;

    /// Creates a registry without a store, which keeps 10,000 queries of 32 MiB in memory.
    pub fn new(registration: Registration) -> Self {
        Self {
            registration,
            requires_registered: false,
            preloaded: HashMap::new(),
            recent: Cache::bounded(Self::ENTRIES, Self::TEXT_BYTES),
            store: None,
        }
    }

    /// Sets whether queries that are not registered are refused. `SPEC §8.5`
    #[must_use]
    pub fn require_registered(mut self, required: bool) -> Self {
        self.requires_registered = required;
        self
    }

    /// Sets the number of queries that memory holds in addition to the preloaded ones, and the size of their texts in bytes.
    #[must_use]
    pub fn memory(mut self, entries: usize, bytes: usize) -> Self {
        self.recent = Cache::bounded(entries, bytes);
        self
    }

    /// Sets the store.
    #[must_use]
    pub fn store(mut self, store: Arc<dyn QueryStore>) -> Self {
        self.store = Some(store);
        self
    }

    /// Returns who may register queries.
    pub fn registration(&self) -> Registration {
        self.registration
    }

    /// Returns whether queries that are not registered are refused.
    pub fn requires_registered(&self) -> bool {
        self.requires_registered
    }

    /// Returns the number of queries in memory.
    pub fn in_memory(&self) -> usize {
        self.preloaded.len() + self.recent.len()
    }

    /// Checks a query and keeps it in memory for the lifetime of the registry.
    ///
    /// # Errors
    /// Those of [`Mesh::check`]. Also fails if the query lacks a declared parameter, or if a default does not have the
    /// declared type.
    pub fn preload(&mut self, mesh: &Mesh, query: PersistedQuery) -> Result<QueryId, Error> {
        // The principal that runs it later may see more than a request without a session.
        query.check_with(|request| mesh.check_unrestricted(request))?;
        let id = query.id;
        self.preloaded.insert(id, Arc::new(query));
        Ok(id)
    }

    /// Checks a query as a collection read of the principal, and stores it. The caller must first check whether the
    /// principal may register queries.
    ///
    /// # Errors
    /// [`RegisterError::Query`] for errors of [`Persisted::preload`], [`RegisterError::OtherParams`] and
    /// [`RegisterError::Store`].
    pub async fn register(
        &self,
        mesh: &Mesh,
        query: PersistedQuery,
        principal: Option<&Principal>,
    ) -> Result<QueryId, RegisterError> {
        let id = query.id;
        // The check precedes the look-up, since another principal may have registered a query that this one may not run. A
        // query that can read one record can read a collection.
        let checked = query.check_with(|request| mesh.check(&request.with_principal(principal)));
        checked.map_err(RegisterError::Query)?;
        let is_in_memory = self.in_memory_by_id(id).is_some();
        let mut is_new = false;
        let query = match self.find_by_id(id).await.map_err(RegisterError::Store)? {
            // A client must not change the query for the clients that registered it.
            Some(known) if !query.params.is_empty() && query.params != known.params => {
                return Err(RegisterError::OtherParams);
            }
            Some(_) if is_in_memory => return Ok(id),
            // The query is stored again, so that a full store removes it after queries that are no longer in use.
            Some(known) => known,
            None => {
                is_new = true;
                Arc::new(query)
            }
        };
        if let Some(store) = &self.store {
            store.save(&query).await.map_err(RegisterError::Store)?;
            if is_new {
                // A full store has removed another query, which is no longer registered.
                self.recent.clear();
            }
        }
        self.add_recent(query);
        Ok(id)
    }

    /// Copies the queries that another registry keeps in memory, except the preloaded ones, for the [`Mesh`] of another
    /// schema.
    pub fn adopt(&self, other: &Self) {
        for query in other.recent.values() {
            if self.in_memory_by_id(query.id).is_none() {
                self.add_recent(query);
            }
        }
    }

    /// Finds the query with that id; `None` if there is none, or if the text is not an id.
    ///
    /// # Errors
    /// The store fails.
    pub async fn find(&self, id: &str) -> Result<Option<Arc<PersistedQuery>>, QueryStoreError> {
        match id.parse() {
            Ok(id) => self.find_by_id(id).await,
            Err(InvalidQueryId) => Ok(None),
        }
    }

    async fn find_by_id(&self, id: QueryId) -> Result<Option<Arc<PersistedQuery>>, QueryStoreError> {
        // The store may have queries from a time when registration was open.
        if self.registration == Registration::Closed {
            return Ok(self.preloaded.get(&id).cloned());
        }
        if let Some(query) = self.in_memory_by_id(id) {
            return Ok(Some(query));
        }
        let Some(store) = &self.store else { return Ok(None) };
        // The id is a digest of the text, so a query with another id was altered in the store.
        let Some(query) = store.find(id).await?.filter(|query| query.id == id) else { return Ok(None) };
        let query = Arc::new(query);
        self.add_recent(Arc::clone(&query));
        Ok(Some(query))
    }

    fn in_memory_by_id(&self, id: QueryId) -> Option<Arc<PersistedQuery>> {
        self.preloaded.get(&id).cloned().or_else(|| self.recent.get(&id))
    }

    fn add_recent(&self, query: Arc<PersistedQuery>) {
        let bytes = query.bytes();
        self.recent.insert(query.id, query, bytes);
    }
}

impl fmt::Debug for Persisted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Persisted")
            .field("registration", &self.registration)
            .field("requires_registered", &self.requires_registered)
            .field("in_memory", &self.in_memory())
            .finish_non_exhaustive()
    }
}

/// The reason why a query was not registered.
#[derive(Debug, Error)]
pub enum RegisterError {
    /// It is not a query, or does not fit the schema.
    #[error(transparent)]
    Query(Error),
    /// It is registered with other parameters.
    #[error("The query is already registered with different parameter declarations")]
    OtherParams,
    /// It could not be stored.
    #[error(transparent)]
    Store(QueryStoreError),
}

#[cfg(test)]
mod tests;
