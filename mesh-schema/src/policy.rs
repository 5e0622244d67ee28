//! Access policies: the part `policies` of a schema document.
//!
//! ```json
//! {"policies": {
//!     "admin": true,
//!     "author": {"post": {"$where": {"field": "ownerId", "op": "eq", "value": {"session": "userId"}}}},
//!     "*": {"post": {"fields": ["id", "title"], "$where": {"field": "published", "op": "eq", "value": true}}}
//! }}
//! ```

mod restrict;

use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};

use crate::{Entries, Writable};
pub use restrict::Restriction;

/// The role name for all roles that are not listed, and for requests without a session.
pub const ANY_ROLE: &str = "*";

/// Maximum depth of a condition, as in queries. `SPEC §3.11`
pub(crate) const CONDITION_DEPTH: usize = 8;

/// The operators of conditions, which are those of `$where`. `SPEC §3.7`
pub const OPERATORS: [&str; 12] =
    ["eq", "ne", "gt", "gte", "lt", "lte", "in", "nin", "like", "ilike", "isNull", "isNotNull"];

/// What one role may do.
#[derive(Clone, Debug, PartialEq)]
pub enum RoleDocument {
    /// `true`: everything that the schema permits.
    All,
    /// Entity key → rule. Entities that are not listed do not exist for the role.
    Entities(Entries<RuleDocument>),
}

/// What a role may do with one entity.
#[derive(Clone, Debug, PartialEq)]
pub enum RuleDocument {
    /// `true`: everything that the schema permits.
    All,
    /// Only what is listed.
    Listed(ListedDocument),
}

/// The permissions of a role for an entity.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ListedDocument {
    /// The readable fields and computed fields; `None` for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fields: Option<Vec<String>>,
    /// A condition that every record must satisfy which the role reads or writes.
    #[serde(rename = "$where", skip_serializing_if = "Option::is_none")]
    pub condition: Option<ConditionDocument>,
    /// The subset of the entity's writable fields and upload fields that the role may write; none by default.
    #[serde(skip_serializing_if = "crate::document::is_not_writable")]
    pub writable: Writable,
}

/// A condition on records, in the form of `$where`.
#[derive(Clone, Debug, PartialEq)]
pub enum ConditionDocument {
    /// `{"and": [..]}`
    And(Vec<Self>),
    /// `{"or": [..]}`
    Or(Vec<Self>),
    /// `{"not": ..}`
    Not(Box<Self>),
    /// `{"field", "op", "value"}`
    Compare {
        /// The field. The role need not be able to read it.
        field: String,
        /// One of [`OPERATORS`].
        op: String,
        /// The right side of the comparison.
        value: OperandDocument,
    },
}

/// The right side of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub enum OperandDocument {
    /// No operand, for `isNull` and `isNotNull`.
    None,
    /// A constant.
    One(Constant),
    /// Constants, for `in` and `nin`.
    Many(Vec<Constant>),
    /// `{"session": name}`: a value of the request's session. Without that value the comparison is never true.
    Session(SessionValue),
}

/// A literal of the document.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "each is its own name in JSON")]
pub enum Constant {
    Boolean(bool),
    Integer(i64),
    Number(f64),
    Text(String),
}

/// A value of a session. [`SessionValue::ALL`] lists them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SessionValue {
    /// The user's id.
    UserId,
    /// The user's role.
    Role,
    /// The tenant of the user.
    Tenant,
    /// The id of the session.
    Session,
}

impl SessionValue {
    /// All values, in the order of the specification.
    pub const ALL: [Self; 4] = [Self::UserId, Self::Role, Self::Tenant, Self::Session];

    /// Returns the name used in schema documents.
    pub fn name(self) -> &'static str {
        match self {
            Self::UserId => "userId",
            Self::Role => "role",
            Self::Tenant => "tenant",
            Self::Session => "session",
        }
    }

    /// Returns the value with that name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|value| value.name() == name)
    }
}

impl Serialize for RoleDocument {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::All => serializer.serialize_bool(true),
            Self::Entities(entities) => entities.serialize(serializer),
        }
    }
}

impl Serialize for RuleDocument {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::All => serializer.serialize_bool(true),
            Self::Listed(listed) => listed.serialize(serializer),
        }
    }
}

/// Recursion is bounded, because the loader bounds the depth of conditions.
impl Serialize for ConditionDocument {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        match self {
            Self::And(parts) => map.serialize_entry("and", parts)?,
            Self::Or(parts) => map.serialize_entry("or", parts)?,
            Self::Not(part) => map.serialize_entry("not", part)?,
            Self::Compare { field, op, value } => {
                map.serialize_entry("field", field)?;
                map.serialize_entry("op", op)?;
                if *value != OperandDocument::None {
                    map.serialize_entry("value", value)?;
                }
            }
        }
        map.end()
    }
}

impl Serialize for OperandDocument {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::None => serializer.serialize_none(),
            Self::One(constant) => constant.serialize(serializer),
            Self::Many(constants) => {
                let mut list = serializer.serialize_seq(Some(constants.len()))?;
                for constant in constants {
                    list.serialize_element(constant)?;
                }
                list.end()
            }
            Self::Session(value) => {
                let mut map = serializer.serialize_map(Some(1))?;
                map.serialize_entry("session", value.name())?;
                map.end()
            }
        }
    }
}

impl Serialize for Constant {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Boolean(value) => serializer.serialize_bool(*value),
            Self::Integer(value) => serializer.serialize_i64(*value),
            Self::Number(value) => serializer.serialize_f64(*value),
            Self::Text(value) => serializer.serialize_str(value),
        }
    }
}

#[cfg(test)]
mod tests;
