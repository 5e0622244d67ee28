//! Errors of writes.

use std::error::Error as StdError;

use thiserror::Error;

use super::{FieldFault, PlanErrorKind, hint};
use crate::ResolveError;

/// A rule of the schema that a write violates.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages explain each")]
pub enum WriteFault {
    #[error("Relation '{relation}' not found on entity '{entity}'{}", hint(.nearest))]
    UnknownRelation { entity: String, relation: String, nearest: Option<String> },
    #[error("'{name}' on entity '{entity}' is not a relation; write it as a field of its record")]
    NotARelation { entity: String, name: String },
    #[error("'{relation}' leads to {}", methods(*.many, *.junction))]
    WrongCardinality { relation: String, many: bool, junction: bool },
    #[error("Entity '{entity}' has no id field, so its records cannot be written")]
    NoId { entity: String },
    #[error("Entity '{entity}' is not writable")]
    EntityNotWritable { entity: String },
    #[error("Records of entity '{entity}' cannot be {action}")]
    NotPermitted { entity: String, action: &'static str },
    #[error("Field '{field}' on entity '{entity}' is not writable")]
    NotWritable { entity: String, field: String },
    #[error("'{relation}' on entity '{entity}' is a relation; write it at the path of the relation")]
    RelationWritten { entity: String, relation: String },
    #[error("'{field}' is a computed field; write the fields that it is computed from")]
    ComputedWritten { field: String },
    #[error("'{field}' is set by the relation '{relation}' of the path; leave it out")]
    LinkWritten { field: String, relation: String },
    #[error("The relation '{relation}' is not writable")]
    LinkNotWritable { relation: String },
    #[error(
        "A write of the relation '{relation}' takes {{\"entityId\": …}} with a string, a number or an array of the id's parts, not {found}"
    )]
    EntityId { relation: String, found: String },
    #[error("{}", conflict(Rule::Required, std::slice::from_ref(.field)))]
    Required { field: String },
    #[error("{}", conflict(Rule::NotEmpty, std::slice::from_ref(.field)))]
    Null { field: String },
    #[error("'{field}' differs from the id in the path; leave it out, or set it to the same value")]
    OtherId { field: String },
    #[error("'{field}' is computed by the database; leave it out")]
    Generated { field: String },
    #[error("'{field}' takes at most {chars} characters")]
    TooLong { field: String, chars: u32 },
    #[error("'{field}' takes at most {bytes} bytes of text")]
    TooManyBytes { field: String, bytes: u32 },
    #[error("'{field}' takes a text of {bits} digits 0 or 1")]
    OtherLength { field: String, bits: u32 },
    #[error("'{field}' takes a number from {least} to {most}")]
    OutOfRange { field: String, least: i64, most: i64 },
    #[error("'{field}' takes a number with at most {digits} digits before the decimal point")]
    TooManyDigits { field: String, digits: u32 },
    #[error("'{field}' takes one of {}", quoted(.labels))]
    NoLabel { field: String, labels: Vec<String> },
    #[error("'{field}' cannot contain the character U+0000")]
    NulCharacter { field: String },
    #[error("'{field}' takes a value of the type {native}")]
    NotOfType { field: String, native: String },
    #[error("The value of '{field}' does not fit its column in the database")]
    Unfit { field: String },
    /// At least one member of the body is at fault. The message is that of the first.
    #[error("{}", .0.first().map(ToString::to_string).unwrap_or_default())]
    Fields(Vec<FieldFault>),
    #[error("Only an update or a deletion of a record can be conditional")]
    NotConditional,
    #[error(
        "The storage of entity '{entity}' has no transactions of several steps; send a request for each step"
    )]
    NoTransactions { entity: String },
    #[error(
        "Entities '{entity}' and '{other}' are in different storages, which have no common transaction; use separate requests"
    )]
    OtherStorage { entity: String, other: String },
    #[error("{why}")]
    Reference { why: String },
    #[error("'{reference}' cannot be resolved: {why}")]
    NoResult { reference: String, why: &'static str },
}

/// Returns the target of a relation and the methods that write it.
fn methods(many: bool, junction: bool) -> &'static str {
    match (many, junction) {
        (false, _) => "one record; connect it by PUT, disconnect it by DELETE",
        (true, true) => "many records; link one by POST, unlink it by DELETE with its id in the path",
        (true, false) => "many records; create one by POST, delete it by DELETE with its id in the path",
    }
}

impl From<WriteFault> for PlanErrorKind {
    fn from(fault: WriteFault) -> Self {
        Self::Write(Box::new(fault))
    }
}

/// The failure of a planned write. Nothing was written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum WriteError {
    /// A record that the write needs does not exist.
    #[error("There is no '{entity}' with the id '{id}'")]
    NotFound {
        /// Its entity.
        entity: String,
        /// Its id, as text.
        id: String,
    },
    /// A field's value refers to a record that does not exist, or that the principal cannot see.
    #[error("'{field}' refers to a record that does not exist")]
    NoReferred {
        /// The field.
        field: String,
    },
    /// The write violates a rule of the storage.
    #[error("{}", conflict(*.rule, .fields))]
    Conflict {
        /// The rule.
        rule: Rule,
        /// The fields that the rule concerns, if known.
        fields: Vec<String>,
        /// Other fields that would be refused too.
        others: Vec<FieldFault>,
    },
    /// The storage executed the statement without an error, but a trigger or rule skipped or replaced it.
    #[error(
        "The database did not {action} the record of '{entity}': a trigger or rule skipped or replaced the statement. Nothing was \
         written"
    )]
    Skipped {
        /// The entity.
        entity: String,
        /// What should have become of the record, as a verb.
        action: &'static str,
    },
    /// A value fits the field's type but not its column.
    #[error("{}", .0.first().map_or_else(|| VALUE_DOES_NOT_FIT.to_owned(), ToString::to_string))]
    Value(Vec<FieldFault>),
    /// The record is not in the state that the write requires.
    #[error("The record has changed since it was read; read it again")]
    Changed,
    /// The application refuses the write; the message is for the client.
    #[error("{0}")]
    Refused(String),
    /// Writing failed, or reading the reply in the transaction of the write.
    #[error(transparent)]
    Failed(#[from] ResolveError),
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

impl Rule {
    /// Whether each field violates the rule by itself.
    fn is_of_one_field(self) -> bool {
        matches!(self, Self::Required | Self::NotEmpty | Self::Reference)
    }
}

impl WriteError {
    /// Creates a failure with a message for the log.
    pub fn new(message: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self::Failed(ResolveError::new(message))
    }

    /// Creates the error of a write for which the account of the database lacks a privilege, or that a policy of the database
    /// refuses.
    pub fn forbidden_by_database() -> Self {
        Self::Refused("The database does not permit this write".to_owned())
    }

    /// Creates the error of a violated rule whose fields are unknown.
    pub fn conflict(rule: Rule) -> Self {
        Self::conflict_of(rule, Vec::new())
    }

    /// Creates the error of a violated rule that concerns these fields.
    pub fn conflict_of(rule: Rule, fields: Vec<String>) -> Self {
        Self::Conflict { rule, fields, others: Vec::new() }
    }

    /// Returns the known fields at fault, each with a message.
    pub fn fields(&self) -> Vec<(&str, String)> {
        match self {
            Self::NoReferred { field } => vec![(field, self.to_string())],
            Self::Value(faults) => messages(faults).collect(),
            Self::Conflict { rule, fields, others } => {
                let message = |field: &String| match rule.is_of_one_field() {
                    true => conflict(*rule, std::slice::from_ref(field)),
                    false => conflict(*rule, fields),
                };
                let violating = fields.iter().map(|field| (field.as_str(), message(field)));
                violating.chain(messages(others)).collect()
            }
            _ => Vec::new(),
        }
    }
}

fn messages(faults: &[FieldFault]) -> impl Iterator<Item = (&str, String)> {
    faults.iter().map(|fault| (fault.field.as_str(), fault.to_string()))
}

/// The message about a value whose field is unknown.
const VALUE_DOES_NOT_FIT: &str = "A value does not fit its column in the database";

/// The largest number of labels that a message lists.
const MAX_LABELS: usize = 20;

fn quoted(labels: &[String]) -> String {
    let more = if labels.len() > MAX_LABELS { ", …" } else { "" };
    let shown = labels.iter().take(MAX_LABELS).map(|label| format!("'{label}'")).collect::<Vec<_>>();
    shown.join(", ") + more
}

/// Returns the message of a conflict. It is about the first field if each violates the rule by itself.
fn conflict(rule: Rule, fields: &[String]) -> String {
    let about = if rule.is_of_one_field() { 1 } else { fields.len() };
    let fields = fields.get(..about).unwrap_or(fields);
    let names = fields.iter().map(|field| format!("'{field}'")).collect::<Vec<_>>().join(", ");
    let message = match (rule, names.is_empty()) {
        (Rule::Unique, true) => "Another record already has a value that must be unique",
        (Rule::Unique, false) => {
            return format!("Another record already has the same {names}, which must be unique");
        }
        (Rule::NotEmpty, true) => "A required value is missing or null",
        (Rule::NotEmpty, false) => return format!("{names} must not be null"),
        (Rule::Required, true) => "A required value is missing",
        (Rule::Required, false) => return format!("{names} is required, but has no value"),
        (Rule::Reference, false) => return format!("{names} refers to a record that does not exist"),
        (Rule::Reference, true) => {
            "The write would leave a reference to a record that does not exist; write or delete the referring records first"
        }
        (Rule::Check, true) => "A value violates a constraint of the database",
        (Rule::Check, false) => {
            let verb = if fields.len() == 1 { "violates" } else { "violate" };
            return format!("{names} {verb} a constraint of the database");
        }
        (Rule::Other, _) => "The write violates a rule of the database",
    };
    message.to_owned()
}
