//! Errors of reads and writes. mesh-wire maps them to statuses.

mod write;

use std::error::Error as StdError;
use std::fmt;

use mesh_ql::{AggregateFn, FilterOp, Position, Span, SyntaxError};
use mesh_schema::FieldType;

pub use write::{Rule, WriteError, WriteFault};

/// An error between the text of a query and its answer.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The text is no query, or exceeds a bound.
    Syntax(SyntaxError),
    /// The query does not fit the schema.
    Plan(PlanError),
    /// The query is valid; fetching or shaping the rows failed.
    Resolve(ResolveError),
    /// The write is valid; carrying it out failed, and nothing was written.
    Write(WriteError),
}

impl Error {
    /// Sets the position of a [`PlanError`] in `text`, from which the query was parsed.
    #[must_use]
    pub fn with_position_in(self, text: &str) -> Self {
        match self {
            Self::Plan(error) => Self::Plan(error.with_position_in(text)),
            other => other,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Syntax(error) => error.fmt(f),
            Self::Plan(error) => error.fmt(f),
            Self::Resolve(error) => error.fmt(f),
            Self::Write(error) => error.fmt(f),
        }
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match self {
            Self::Syntax(_) | Self::Plan(_) => None,
            Self::Resolve(error) => error.source(),
            Self::Write(error) => error.source(),
        }
    }
}

impl From<SyntaxError> for Error {
    fn from(error: SyntaxError) -> Self {
        Self::Syntax(error)
    }
}

impl From<PlanError> for Error {
    fn from(error: PlanError) -> Self {
        Self::Plan(error)
    }
}

impl From<WriteError> for Error {
    fn from(error: WriteError) -> Self {
        Self::Write(error)
    }
}

impl From<ResolveError> for Error {
    fn from(error: ResolveError) -> Self {
        Self::Resolve(error)
    }
}

/// The query does not fit the schema.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PlanError {
    /// The violated rule, with the names involved.
    pub kind: PlanErrorKind,
    /// Dotted names from the root entity to the read node at fault; empty if the root is unknown.
    pub path: String,
    /// The offender in the query, if that was parsed from a text.
    pub span: Option<Span>,
    /// Line and column of the offender, if the text is known.
    pub position: Option<Position>,
}

impl PlanError {
    /// An error without location.
    pub fn new(kind: impl Into<PlanErrorKind>, path: impl Into<String>) -> Self {
        Self { kind: kind.into(), path: path.into(), span: None, position: None }
    }

    /// Sets the location of the offender.
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

/// A rule that a query violates.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages explain each")]
pub enum PlanErrorKind {
    UnknownEntity { entity: String, nearest: Option<String> },
    RootMismatch { query: String, path: String },
    NoId { entity: String },
    UnknownField { entity: String, field: String, nearest: Option<String> },
    FieldWithSelection { entity: String, field: String },
    RelationWithoutSelection { entity: String, relation: String },
    RelationAsField { entity: String, relation: String, control: &'static str },
    ComputedAsField { field: String, control: &'static str },
    ControlOnPoint { control: &'static str },
    ControlOnToOne { control: &'static str, relation: String },
    ControlOnNested { control: &'static str, relation: String },
    CursorOnNested { relation: String },
    NotSelectable { field: String, control: &'static str },
    RelationInGroup { relation: String },
    UnknownAggregate { alias: String, control: &'static str },
    NotAGroupKey { field: String, control: &'static str },
    Operator { field: String, op: FilterOp, ty: FieldType },
    Literal { field: String, ty: &'static str, found: String },
    Unordered { field: String, ty: FieldType, control: &'static str },
    Function { function: AggregateFn, field: String, ty: FieldType },
    CursorMismatch,
    Write(Box<WriteFault>),
    Policy { entity: String, fault: String },
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind.fmt(f)
    }
}

impl StdError for PlanError {}

impl fmt::Display for PlanErrorKind {
    #[expect(clippy::too_many_lines, reason = "one arm for each message")]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownEntity { entity, nearest } => {
                write!(f, "Entity '{entity}' not found")?;
                hint(f, nearest.as_deref())
            }
            Self::RootMismatch { query, path } => {
                write!(f, "The query reads entity '{query}', but the URL names '{path}'")
            }
            Self::NoId { entity } => {
                write!(f, "Entity '{entity}' has no id field; read it as a collection")
            }
            Self::UnknownField { entity, field, nearest } => {
                write!(f, "Field '{field}' not found on entity '{entity}'")?;
                hint(f, nearest.as_deref())
            }
            Self::FieldWithSelection { entity, field } => {
                write!(
                    f,
                    "'{field}' on entity '{entity}' is a scalar field, not a relation; select it with `true`"
                )
            }
            Self::RelationWithoutSelection { entity, relation } => write!(
                f,
                "'{relation}' on entity '{entity}' is a relation; select fields of it with `$select`"
            ),
            Self::RelationAsField { entity, relation, control } => {
                write!(
                    f,
                    "'{relation}' on entity '{entity}' is a relation; {control} takes scalar fields only"
                )
            }
            Self::ComputedAsField { field, control } => {
                write!(f, "'{field}' is a computed field; it can be selected, but not used in {control}")
            }
            Self::ControlOnPoint { control } => {
                write!(f, "{control} is not allowed here; a read of one record takes no controls at its root")
            }
            Self::ControlOnToOne { control, relation } => {
                write!(
                    f,
                    "{control} is not allowed on '{relation}', which leads to one record at most; use it on lists"
                )
            }
            Self::ControlOnNested { control, relation } => {
                write!(
                    f,
                    "{control} is not allowed on the relation '{relation}'; use it at the root of a collection read"
                )
            }
            Self::CursorOnNested { relation } => write!(
                f,
                "`after` is not allowed on the relation '{relation}', since nested lists have no cursors; read the related entity as a collection to page through it"
            ),
            Self::NotSelectable { field, control } => {
                write!(
                    f,
                    "'{field}' cannot be selected here; `$select` may name only the fields of {control}"
                )
            }
            Self::RelationInGroup { relation } => {
                write!(f, "The relation '{relation}' cannot be selected in a grouped or distinct read")
            }
            Self::UnknownAggregate { alias, control } => {
                write!(f, "{control} names the aggregate '{alias}', which `$aggregate` does not define")
            }
            Self::NotAGroupKey { field, control } => {
                write!(f, "{control} names '{field}', which is no field that the read is grouped by")
            }
            Self::Operator { field, op, ty } => {
                write!(
                    f,
                    "Operator '{}' cannot be used on '{field}', which is of type {}",
                    op.name(),
                    ty.name()
                )
            }
            Self::Literal { field, ty, found } => write!(f, "'{field}' takes {ty}, not {found}"),
            Self::Unordered { field, ty, control } => {
                write!(f, "{control} cannot use '{field}'; values of type {} have no order", ty.name())
            }
            Self::Function { function, field, ty } => {
                write!(
                    f,
                    "`{}` cannot be computed over '{field}', which is of type {}",
                    function.name(),
                    ty.name()
                )
            }
            Self::CursorMismatch => f.write_str(CURSOR_MISMATCH),
            Self::Policy { entity, fault } => {
                write!(f, "The condition of a policy on entity '{entity}' does not fit it: {fault}")
            }
            Self::Write(fault) => fault.fmt(f),
        }
    }
}

const CURSOR_MISMATCH: &str = "The cursor does not belong to this read; use the entity, order, filter and grouping that it came from, or start over without `after`";

fn hint(f: &mut fmt::Formatter<'_>, nearest: Option<&str>) -> fmt::Result {
    nearest.map_or(Ok(()), |nearest| write!(f, "; did you mean '{nearest}'?"))
}

/// Fetching or shaping rows failed.
#[derive(Debug)]
#[non_exhaustive]
pub enum ResolveError {
    /// The resolver reported a failure. Its text is for the log and is never sent to clients.
    Failed(Box<dyn StdError + Send + Sync>),
    /// The resolver panicked.
    Panicked(String),
    /// No resolver is registered for the entity.
    Missing(String),
    /// The deadline passed.
    TimedOut,
    /// Too many reads are running or waiting.
    Busy,
    /// The response has more objects than the bound allows. `SPEC §3.11`
    TooLarge {
        /// The bound.
        rows: usize,
    },
    /// A sum does not fit 64 bits: one of integers, or one of reals if the database has no infinity. `SPEC §3.12`
    SumOverflow,
}

impl ResolveError {
    /// A failure with a message for the log.
    pub fn new(message: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self::Failed(message.into())
    }
}

impl fmt::Display for ResolveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(_) => f.write_str("the resolver failed"),
            Self::Panicked(message) => write!(f, "the resolver panicked: {message}"),
            Self::Missing(entity) => write!(f, "no resolver is registered for entity '{entity}'"),
            Self::TimedOut => f.write_str("the resolver ran out of time"),
            Self::Busy => f.write_str("too many reads are running"),
            Self::TooLarge { rows } => write!(
                f,
                "The answer has more than {rows} objects (bound `rows`); read fewer with `$page`, at the root or on a relation"
            ),
            Self::SumOverflow => {
                f.write_str("A sum does not fit 64 bits; narrow it with `$where`, or use `avg` for integers")
            }
        }
    }
}

impl StdError for ResolveError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match self {
            Self::Failed(source) => Some(&**source),
            _ => None,
        }
    }
}
