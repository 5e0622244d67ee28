//! Errors of reads and writes. mesh-wire maps them to statuses.

mod build;
mod write;

use std::error::Error as StdError;

use mesh_ql::{AggregateFn, FilterOp, Position, Span, SyntaxError, TimeUnit};
use mesh_schema::{Entity, FieldType, Schema};
use thiserror::Error;

pub use build::{BuildError, BuildFault};
pub use write::{Rule, WriteError, WriteFault};

/// An error between the text of a query and its answer.
#[derive(Debug, Error)]
#[error(transparent)]
#[non_exhaustive]
pub enum Error {
    /// The text is not a query, or exceeds a bound.
    Syntax(#[from] SyntaxError),
    /// The query does not fit the schema.
    Plan(#[from] PlanError),
    /// The query is valid, but fetching or shaping the rows failed.
    Resolve(#[from] ResolveError),
    /// The write is valid, but executing it failed, and nothing was written.
    Write(#[from] WriteError),
}

impl Error {
    /// Returns whether the request is at fault, so that it must not be sent again unchanged, as 400 and its relatives say. The
    /// message is for the client. Any other error is a fault of the server, and its details are for the log.
    pub fn is_client_fault(&self) -> bool {
        match self {
            Self::Syntax(_) => true,
            Self::Plan(error) => !matches!(error.kind, PlanErrorKind::Policy { .. }),
            Self::Resolve(error) | Self::Write(WriteError::Failed(error)) => error.is_client_fault(),
            Self::Write(_) => true,
        }
    }

    /// Sets the position of a [`PlanError`] in `text`, from which the query was parsed.
    #[must_use]
    pub fn with_position_in(self, text: &str) -> Self {
        match self {
            Self::Plan(error) => Self::Plan(error.with_position_in(text)),
            other => other,
        }
    }
}

/// The error of a query that does not fit the schema.
#[derive(Clone, Debug, PartialEq, Error)]
#[error("{kind}")]
#[non_exhaustive]
pub struct PlanError {
    /// The violated rule, with the names involved.
    pub kind: PlanErrorKind,
    /// Dotted names from the root entity to the read node at fault; empty if the root is unknown.
    pub path: String,
    /// The location of the fault in the query, if the query was parsed from text.
    pub span: Option<Span>,
    /// Line and column of the fault, if the text is known.
    pub position: Option<Position>,
}

impl PlanError {
    /// Creates an error without location.
    pub fn new(kind: impl Into<PlanErrorKind>, path: impl Into<String>) -> Self {
        Self { kind: kind.into(), path: path.into(), span: None, position: None }
    }

    /// Sets the location of the fault.
    #[must_use]
    pub fn with_span(self, span: Option<Span>) -> Self {
        Self { span, ..self }
    }

    /// Sets the position that the span has in `text`, from which the query was parsed.
    #[must_use]
    pub fn with_position_in(self, text: &str) -> Self {
        Self { position: self.span.map(|span| span.position(text)), ..self }
    }
}

impl PlanErrorKind {
    /// Returns the error of a key that no entity of the schema has.
    pub fn unknown_entity(schema: &Schema, key: &str) -> Self {
        let nearest = mesh_schema::nearest(key, schema.entities().map(|(_, entity)| entity.key.as_str()));
        Self::UnknownEntity { entity: key.to_owned(), nearest: nearest.map(str::to_owned) }
    }

    /// Returns the error of a name that no member of the entity has.
    pub fn unknown_field(entity: &Entity, name: &str) -> Self {
        let nearest = mesh_schema::nearest(name, entity.names()).map(str::to_owned);
        Self::UnknownField { entity: entity.key.clone(), field: name.to_owned(), nearest }
    }

    /// Returns the error of a parameter that the query does not have. The name may be any text of a client, so it is
    /// shortened and escaped.
    pub(crate) fn unknown_parameter(name: &str) -> Self {
        Self::UnknownParameter { name: name.chars().take(64).flat_map(char::escape_debug).collect() }
    }
}

/// A rule that a query violates.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages explain each")]
pub enum PlanErrorKind {
    #[error("Entity '{entity}' not found{}", hint(.nearest))]
    UnknownEntity { entity: String, nearest: Option<String> },
    #[error("The query reads entity '{query}', but the URL names '{path}'")]
    RootMismatch { query: String, path: String },
    #[error("Entity '{entity}' has no id field; read it as a collection")]
    NoId { entity: String },
    #[error("Field '{field}' not found on entity '{entity}'{}", hint(.nearest))]
    UnknownField { entity: String, field: String, nearest: Option<String> },
    #[error(
        "'{field}' on entity '{entity}' is a scalar field, not a relation; select it by its name alone in QL, or with `true` in JSON"
    )]
    FieldWithSelection { entity: String, field: String },
    #[error(
        "'{relation}' on entity '{entity}' is a relation; select fields of it in braces in QL, or with `$select` in JSON"
    )]
    RelationWithoutSelection { entity: String, relation: String },
    #[error("'{relation}' on entity '{entity}' is a relation; {control} takes scalar fields only")]
    RelationAsField { entity: String, relation: String, control: &'static str },
    #[error("'{field}' is a computed field; it can be selected, but not used in {control}")]
    ComputedAsField { field: String, control: &'static str },
    #[error("{control} is not allowed at the root of a read of one record; use it in a collection read")]
    ControlOnPoint { control: &'static str },
    #[error(
        "{control} is not allowed on '{relation}', which leads to at most one record; controls are allowed only on lists"
    )]
    ControlOnToOne { control: &'static str, relation: String },
    #[error("{control} is not allowed on the relation '{relation}'; use it at the root of a collection read")]
    ControlOnNested { control: &'static str, relation: String },
    #[error(
        "`after` and `before` are not allowed on the relation '{relation}', since nested lists have no cursors; read the related entity as a collection to page through it"
    )]
    CursorOnNested { relation: String },
    #[error("`total` is not allowed on the relation '{relation}'; count its records with `$aggregate`")]
    TotalOnNested { relation: String },
    #[error("'{field}' on entity '{entity}' is a scalar field, not a relation")]
    FieldAsRelation { entity: String, field: String },
    #[error(
        "The path '{path}' leads through '{relation}', which has many records; use a condition on the relation"
    )]
    PathThroughMany { path: String, relation: String },
    #[error("The path leads through more relations than the bound `path_hops` ({bound}) allows")]
    TooManyHops { bound: usize },
    #[error(
        "The paths of the query lead through more relations than the bound `query_hops` ({bound}) allows in total"
    )]
    TooManyHopsInQuery { bound: usize },
    #[error(
        "{control} does not accept paths such as '{path}'; paths are allowed only in `$where`, and in `$orderBy` of reads that are neither grouped nor distinct"
    )]
    PathNotAllowed { path: String, control: &'static str },
    #[error("'{field}' is not of type json; `at` and the operators of arrays need a field that is")]
    NotJson { field: String },
    #[error("'{relation}' leads to at most one record; order by a path through it, not by an aggregate")]
    AggregateOfOne { relation: String },
    #[error("The parameter '{name}' has no value")]
    NoParameter { name: String },
    #[error("The query has no parameter '{name}'")]
    UnknownParameter { name: String },
    #[error("The value of the parameter '{name}' is wrong: {fault}")]
    Parameter { name: String, fault: Box<Self> },
    #[error("it must be {takes}, not {found}")]
    ParameterValue { takes: String, found: String },
    #[error("The alias '{alias}' is already a field or relation of entity '{entity}'; choose another one")]
    AliasOfMember { entity: String, alias: String },
    #[error("'{alias}' is an alias; fields of a grouped or distinct read cannot have aliases")]
    AliasInGroup { alias: String },
    #[error("'{field}' cannot be selected with {control} unless it is in {}", group_control(.control))]
    NotSelectable { field: String, control: &'static str },
    #[error("The relation '{relation}' cannot be used in a grouped or distinct read")]
    RelationInGroup { relation: String },
    #[error("{control} names the aggregate '{alias}', which `$aggregate` does not define")]
    UnknownAggregate { alias: String, control: &'static str },
    #[error("{control} names '{field}', which the read is not grouped by")]
    NotAGroupKey { field: String, control: &'static str },
    #[error(
        "'{field}' cannot be compared, ordered or grouped: the database has no order for its type; it takes isNull and isNotNull"
    )]
    Incomparable { field: String },
    #[error("Operator '{op}' cannot be used on '{field}', which is of type {ty}")]
    Operator { field: String, op: FilterOp, ty: FieldType },
    #[error("'{field}' takes {ty}, not {found}")]
    Literal { field: String, ty: &'static str, found: String },
    #[error(
        "The pattern for '{field}' has {chars} characters; a pattern has at most {}",
        crate::value::like::Pattern::MAX_CHARS
    )]
    Pattern { field: String, chars: usize },
    #[error("The records of entity '{entity}' cannot be searched")]
    NoSearch { entity: String },
    #[error("The search has no word to look for")]
    NoWord,
    #[error(
        "The search has {words} words, prefixes and phrases, more than the bound `search_words` ({bound}) allows"
    )]
    SearchWords { words: usize, bound: usize },
    #[error(
        "An order by relevance needs a `$where` that is one `search`, or an `and` with one among its members"
    )]
    NotRanked,
    #[error(
        "An order by relevance is allowed only at the root of a read that is neither grouped nor distinct"
    )]
    RelevanceBelowRoot,
    #[error("{control} cannot use '{field}'; values of type {ty} have no order")]
    Unordered { field: String, ty: FieldType, control: &'static str },
    #[error("`$groupBy` cannot divide '{field}' by '{unit}': {hint}")]
    Bucket { field: String, unit: TimeUnit, hint: &'static str },
    #[error("`$groupBy` has the same bucket of '{field}' twice")]
    BucketTwice { field: String },
    #[error("'{zone}' is not the name of a time zone in the IANA database, such as 'Europe/Berlin'")]
    ZoneName { zone: String },
    #[error("`{function}` cannot be computed over '{field}', which is of type {ty}")]
    Function { function: AggregateFn, field: String, ty: FieldType },
    #[error(
        "The cursor does not belong to this read; use it with the entity, order, filter and grouping of the read that returned it, or start over without `after`"
    )]
    CursorMismatch,
    #[error("`$page` is not allowed in an export, which has all records; narrow it with `$where`")]
    PageOfExport,
    #[error("'{relation}' is a list, which CSV cannot represent; leave it out, or export NDJSON")]
    ListInCsv { relation: String },
    #[error("{0}")]
    Write(Box<WriteFault>),
    #[error("The condition of a policy on entity '{entity}' does not fit it: {fault}")]
    Policy { entity: String, fault: String },
}

/// Returns the suggestion at the end of a message about an unknown name.
pub(crate) fn hint(nearest: &Option<String>) -> String {
    nearest.as_ref().map(|nearest| format!("; did you mean '{nearest}'?")).unwrap_or_default()
}

/// Returns the control that lists the names that can be selected together with a control.
fn group_control(control: &'static str) -> &'static str {
    if control == "$aggregate" { "$groupBy" } else { control }
}

/// A member of a write's body that is at fault.
#[derive(Clone, Debug, PartialEq, Error)]
#[error("{kind}")]
#[non_exhaustive]
pub struct FieldFault {
    /// The name of the member.
    pub field: String,
    /// The rule that it violates.
    pub kind: PlanErrorKind,
}

impl FieldFault {
    /// Creates the fault of a member.
    pub fn new(field: impl Into<String>, kind: impl Into<PlanErrorKind>) -> Self {
        Self { field: field.into(), kind: kind.into() }
    }
}

/// The failure to fetch or shape the rows of a read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ResolveError {
    /// The resolver reported a failure. Its text is for the log and is never sent to clients.
    #[error("the resolver failed")]
    Failed(#[source] Box<dyn StdError + Send + Sync>),
    /// The resolver panicked.
    #[error("the resolver panicked: {0}")]
    Panicked(String),
    /// No resolver is registered for the entity.
    #[error("no resolver is registered for entity '{0}'")]
    Missing(String),
    /// The deadline passed.
    #[error("the resolver ran out of time")]
    TimedOut,
    /// Too many reads are running or waiting.
    #[error("too many reads are running")]
    Busy,
    /// The response has more objects than the bound allows. `SPEC §3.11`
    #[error(
        "The response has more than {rows} objects (bound `rows`); read fewer with `$page`, at the root or on a relation"
    )]
    TooLarge {
        /// The bound.
        rows: usize,
    },
    /// An export has more records than the bound allows. `SPEC §16.3`
    #[error("The export has more than {records} records (bound `export.rows`); narrow it with `$where`")]
    ExportTooLong {
        /// The bound.
        records: u64,
    },
    /// The response has more bytes than the bound allows. `SPEC §3.11`
    #[error(
        "The response has more than {bytes} bytes (bound `response_bytes`); select less, or read fewer records with `$page`"
    )]
    TooManyBytes {
        /// The bound.
        bytes: usize,
    },
    /// An order by values of related records scans more rows than the bound allows. `SPEC §14.9`
    #[error(
        "The order of '{path}' by values of related records would scan about {scanned} rows, more than the bound `related_sort_rows` ({bound}); {hint}"
    )]
    SortTooLarge {
        /// Dotted names from the root entity to the node with the order.
        path: String,
        /// The estimate.
        scanned: u64,
        /// The bound.
        bound: u64,
        /// Advice on how to stay within the bound.
        hint: String,
    },
    /// The database or the system does not know a time zone. `SPEC §21.3`
    #[error(
        "The database does not know the time zone '{zone}'; use a name of the IANA database such as 'Europe/Berlin'"
    )]
    UnknownZone {
        /// The zone; if the database does not say which one, all zones of the query.
        zone: String,
    },
    /// A sum of integers does not fit 64 bits, or a sum of reals if the database has no infinity. `SPEC §3.12`
    #[error("A sum does not fit into 64 bits; narrow the rows with `$where`, or use `avg` for integers")]
    SumOverflow,
}

impl ResolveError {
    /// Returns whether the request asks for more than a bound allows.
    pub fn is_client_fault(&self) -> bool {
        matches!(
            self,
            Self::TooLarge { .. }
                | Self::ExportTooLong { .. }
                | Self::TooManyBytes { .. }
                | Self::SortTooLarge { .. }
                | Self::UnknownZone { .. }
                | Self::SumOverflow
        )
    }

    /// Creates a failure with a message for the log.
    pub fn new(message: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self::Failed(message.into())
    }
}
