//! Why did a write fail? Facts, not statuses: those are the wire's.

use std::error::Error as StdError;
use std::fmt;

use super::{PlanErrorKind, hint};
use crate::ResolveError;

/// How a write does not fit the schema.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the sentences below say what each means")]
pub enum WriteFault {
    UnknownRelation { entity: String, relation: String, nearest: Option<String> },
    NotARelation { entity: String, name: String },
    WrongCardinality { relation: String, many: bool, junction: bool },
    EntityNotWritable { entity: String },
    NotWritable { entity: String, field: String },
    RelationWritten { entity: String, relation: String },
    ComputedWritten { field: String },
    LinkWritten { field: String, relation: String },
    LinkNotWritable { relation: String },
    EntityId { relation: String, found: String },
}

impl From<WriteFault> for PlanErrorKind {
    fn from(fault: WriteFault) -> Self {
        Self::Write(fault)
    }
}

impl fmt::Display for WriteFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownRelation { entity, relation, nearest } => {
                write!(f, "Relation '{relation}' not found on entity '{entity}'")?;
                hint(f, nearest.as_deref())
            }
            Self::NotARelation { entity, name } => {
                write!(f, "'{name}' on entity '{entity}' is no relation: write it as a field of its record")
            }
            Self::WrongCardinality { relation, many: false, .. } => {
                write!(f, "'{relation}' leads to one record: connect it by PUT, disconnect it by DELETE")
            }
            Self::WrongCardinality { relation, junction: true, .. } => write!(
                f,
                "'{relation}' leads to many records: link one by POST, unlink it by DELETE with its id in the path"
            ),
            Self::WrongCardinality { relation, .. } => write!(
                f,
                "'{relation}' leads to many records: create one by POST, delete it by DELETE with its id in the path"
            ),
            Self::EntityNotWritable { entity } => {
                write!(f, "Entity '{entity}' is not writable")
            }
            Self::NotWritable { entity, field } => {
                write!(f, "Field '{field}' on entity '{entity}' is not writable")
            }
            Self::RelationWritten { entity, relation } => {
                write!(f, "'{relation}' on entity '{entity}' is a relation: write it at a path of its own")
            }
            Self::ComputedWritten { field } => {
                write!(f, "'{field}' is a computed field: write the fields that it is made of")
            }
            Self::LinkWritten { field, relation } => {
                write!(f, "'{field}' is set by the relation '{relation}' of the path: leave it out")
            }
            Self::LinkNotWritable { relation } => write!(f, "The relation '{relation}' is not writable"),
            Self::EntityId { relation, found } => write!(
                f,
                "A write of the relation '{relation}' takes {{\"entityId\": …}}, a string or a number, not {found}"
            ),
        }
    }
}

/// A write that was planned could not be carried out. Nothing of it was done.
#[derive(Debug)]
#[non_exhaustive]
pub enum WriteError {
    /// A record that the write needs is not there.
    NotFound {
        /// Its entity.
        entity: String,
        /// Its id, as text.
        id: String,
    },
    /// A rule of the storage forbids it.
    Conflict {
        /// Which rule.
        rule: Rule,
        /// The fields that it is about, where known.
        fields: Vec<String>,
    },
    /// A value that the field's type can hold, but its column cannot.
    Value,
    /// The application refuses it; the text is for the client.
    Refused(String),
    /// Writing, or reading back what was written, failed.
    Failed(ResolveError),
}

/// A rule of the storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Rule {
    /// A value, or several together, that only one record may have.
    Unique,
    /// A value that every record must have.
    NotEmpty,
    /// A key that leads to a record.
    Reference,
    /// A condition on values.
    Check,
    /// Some other.
    Other,
}

impl WriteError {
    /// A failure with a text for the log.
    pub fn new(message: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self::Failed(ResolveError::new(message))
    }

    /// A rule that is broken by no field that could be named.
    pub fn conflict(rule: Rule) -> Self {
        Self::Conflict { rule, fields: Vec::new() }
    }
}

impl From<ResolveError> for WriteError {
    fn from(error: ResolveError) -> Self {
        Self::Failed(error)
    }
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFound { entity, id } => write!(f, "There is no '{entity}' with the id '{id}'"),
            Self::Conflict { rule, fields } => conflict(f, *rule, fields),
            Self::Value => f.write_str("A value does not fit the column that it would be stored in"),
            Self::Refused(words) => f.write_str(words),
            Self::Failed(error) => error.fmt(f),
        }
    }
}

fn conflict(f: &mut fmt::Formatter<'_>, rule: Rule, fields: &[String]) -> fmt::Result {
    let names = fields.iter().map(|field| format!("'{field}'")).collect::<Vec<_>>().join(", ");
    match rule {
        Rule::Unique if names.is_empty() => {
            f.write_str("Another record has a value that only one may have")
        }
        Rule::Unique => write!(f, "Another record has the same {names}, which only one may have"),
        Rule::NotEmpty if names.is_empty() => f.write_str("A value would be empty that may not be"),
        Rule::NotEmpty => write!(f, "{names} may not be empty"),
        Rule::Reference => f.write_str(
            "The write would leave a record that refers to one that does not exist; write or delete those that refer to it first",
        ),
        Rule::Check if names.is_empty() => {
            f.write_str("A value does not fulfill a condition that the database sets")
        }
        Rule::Check => write!(f, "{names} does not fulfill a condition that the database sets"),
        Rule::Other => f.write_str("The write goes against a rule of the database"),
    }
}

impl StdError for WriteError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match self {
            Self::Failed(error) => error.source(),
            _ => None,
        }
    }
}
