//! Errors of writes.

use std::error::Error as StdError;
use std::fmt;

use super::{PlanErrorKind, hint};
use crate::ResolveError;

/// A rule of the schema that a write violates.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages explain each")]
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
        Self::Write(Box::new(fault))
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
                write!(
                    f,
                    "'{name}' on entity '{entity}' is not a relation; write it as a field of its record"
                )
            }
            Self::WrongCardinality { relation, many: false, .. } => {
                write!(f, "'{relation}' leads to one record; connect it by PUT, disconnect it by DELETE")
            }
            Self::WrongCardinality { relation, junction: true, .. } => write!(
                f,
                "'{relation}' leads to many records; link one by POST, unlink it by DELETE with its id in the path"
            ),
            Self::WrongCardinality { relation, .. } => write!(
                f,
                "'{relation}' leads to many records; create one by POST, delete it by DELETE with its id in the path"
            ),
            Self::EntityNotWritable { entity } => {
                write!(f, "Entity '{entity}' is not writable")
            }
            Self::NotWritable { entity, field } => {
                write!(f, "Field '{field}' on entity '{entity}' is not writable")
            }
            Self::RelationWritten { entity, relation } => {
                write!(
                    f,
                    "'{relation}' on entity '{entity}' is a relation; write it at the path of the relation"
                )
            }
            Self::ComputedWritten { field } => {
                write!(f, "'{field}' is a computed field; write the fields that it is computed from")
            }
            Self::LinkWritten { field, relation } => {
                write!(f, "'{field}' is set by the relation '{relation}' of the path; leave it out")
            }
            Self::LinkNotWritable { relation } => write!(f, "The relation '{relation}' is not writable"),
            Self::EntityId { relation, found } => write!(
                f,
                "A write of the relation '{relation}' takes {{\"entityId\": …}}, a string or a number, not {found}"
            ),
        }
    }
}

/// A planned write failed. Nothing was written.
#[derive(Debug)]
#[non_exhaustive]
pub enum WriteError {
    /// A record that the write needs does not exist.
    NotFound {
        /// Its entity.
        entity: String,
        /// Its id, as text.
        id: String,
    },
    /// The write violates a rule of the storage.
    Conflict {
        /// The rule.
        rule: Rule,
        /// The fields that the rule is about, if known.
        fields: Vec<String>,
    },
    /// A value fits the field's type but not its column.
    Value,
    /// The application refuses the write; the message is for the client.
    Refused(String),
    /// Writing failed, or reading the written record.
    Failed(ResolveError),
}

/// A rule of the storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Rule {
    /// A value, or a combination of values, must be unique.
    Unique,
    /// A value must not be NULL.
    NotEmpty,
    /// A new record needs a value.
    Required,
    /// A key must refer to a record.
    Reference,
    /// A condition on values.
    Check,
    /// Any other rule.
    Other,
}

impl WriteError {
    /// A failure with a message for the log.
    pub fn new(message: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self::Failed(ResolveError::new(message))
    }

    /// A violated rule whose fields are unknown.
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
            Self::Refused(message) => f.write_str(message),
            Self::Failed(error) => error.fmt(f),
        }
    }
}

fn conflict(f: &mut fmt::Formatter<'_>, rule: Rule, fields: &[String]) -> fmt::Result {
    let names = fields.iter().map(|field| format!("'{field}'")).collect::<Vec<_>>().join(", ");
    match rule {
        Rule::Unique if names.is_empty() => {
            f.write_str("Another record already has a value that must be unique")
        }
        Rule::Unique => write!(f, "Another record already has the same {names}, which must be unique"),
        Rule::NotEmpty if names.is_empty() => f.write_str("A required value is missing or null"),
        Rule::NotEmpty => write!(f, "{names} must not be null"),
        Rule::Required if names.is_empty() => f.write_str("A required value is missing"),
        Rule::Required => write!(f, "{names} is required, but has no value"),
        Rule::Reference => f.write_str(
            "The write would leave a reference to a record that does not exist; write or delete the referring records first",
        ),
        Rule::Check if names.is_empty() => {
            f.write_str("A value violates a condition of the database")
        }
        Rule::Check => write!(f, "{names} violates a condition of the database"),
        Rule::Other => f.write_str("The write violates a rule of the database"),
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
