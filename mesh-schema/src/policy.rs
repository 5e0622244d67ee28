//! Access policies: the `policies` part of a schema document.
//!
//! ```json
//! {"policies": {
//!     "admin": true,
//!     "author": {"post": {"$where": {"field": "ownerId", "op": "eq", "value": {"session": "userId"}}}},
//!     "*": {"post": {"fields": ["id", "title"], "$where": {"field": "published", "op": "eq", "value": true}}}
//! }}
//! ```

mod restrict;

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Serialize, Serializer};

use crate::serialize::is_default;
use crate::{Entries, UnknownName, Writable};
pub use restrict::Restriction;

/// The role name for all roles that are not listed, and for requests without a session.
pub const ANY_ROLE: &str = "*";

/// Maximum depth of a condition, as in queries. `SPEC §3.11`
pub(crate) const CONDITION_DEPTH: usize = 8;

/// The operators of conditions, the same as in `$where`. `SPEC §3.7`
pub const OPERATORS: [&str; 15] = [
    "eq",
    "ne",
    "gt",
    "gte",
    "lt",
    "lte",
    "in",
    "nin",
    "like",
    "ilike",
    "isNull",
    "isNotNull",
    "has",
    "hasAny",
    "hasAll",
];

/// The operators of conditions on related records. `SPEC §14.1`
pub const QUANTIFIERS: [&str; 3] = ["some", "none", "every"];

/// The keys of a rule that set the values of fields, so that the role cannot choose these values.
pub const PRESETS: [&str; 2] = ["$set", "$setOnCreate"];

/// The permissions of one role.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum RoleDocument {
    /// `true`: everything that the schema permits.
    #[serde(serialize_with = "serialize_all")]
    All,
    /// Rules by entity key. Entities that are not listed do not exist for the role.
    Entities(Entries<RuleDocument>),
    /// The permissions of other roles, and additional permissions.
    Inheriting(InheritingDocument),
}

/// A role that inherits the permissions of other roles.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct InheritingDocument {
    /// The other roles.
    #[serde(rename = "$inherits")]
    pub inherits: Vec<String>,
    /// Rules by entity key, which add permissions.
    #[serde(flatten)]
    pub rules: Entries<RuleDocument>,
}

impl RoleDocument {
    /// Returns the names of the roles that it inherits.
    pub fn inherits(&self) -> &[String] {
        match self {
            Self::Inheriting(document) => &document.inherits,
            Self::All | Self::Entities(_) => &[],
        }
    }

    /// Returns its own rules by entity; `None` for a role without limits.
    pub fn rules(&self) -> Option<&Entries<RuleDocument>> {
        match self {
            Self::All => None,
            Self::Entities(rules) | Self::Inheriting(InheritingDocument { rules, .. }) => Some(rules),
        }
    }
}

/// Returns the rules of a role for an entity, including inherited rules, each with the role that declares it. A request
/// may read or write a record that satisfies at least one of these rules.
pub fn rules_for<'d>(
    roles: &'d Entries<RoleDocument>,
    role: &'d str,
    entity: &str,
) -> Vec<(&'d str, &'d RuleDocument)> {
    const ALL: &RuleDocument = &RuleDocument::All;
    let mut found: Vec<(&str, &RuleDocument)> = Vec::new();
    let mut names = vec![role];
    let mut next = 0;
    while let Some(name) = names.get(next).copied() {
        next += 1;
        let Some(document) = roles.get(name) else { continue };
        let rule = match document.rules() {
            None => Some(ALL),
            Some(rules) => rules.get(entity),
        };
        if let Some(rule) = rule.filter(|rule| !found.iter().any(|(_, other)| other == rule)) {
            found.push((name, rule));
        }
        for inherited in document.inherits() {
            if !names.contains(&inherited.as_str()) {
                names.push(inherited);
            }
        }
    }
    found
}

/// The permissions of a role for one entity.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum RuleDocument {
    /// `true`: everything that the schema permits.
    #[serde(serialize_with = "serialize_all")]
    All,
    /// Only the listed permissions.
    Listed(Box<ListedDocument>),
}

/// The listed permissions of a role for one entity.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ListedDocument {
    /// The readable fields and computed fields; `None` for all.
    #[serde(skip_serializing_if = "is_default")]
    pub fields: Option<Vec<String>>,
    /// The hidden fields, computed fields and relations, instead of `fields`.
    #[serde(skip_serializing_if = "is_default")]
    pub except: Vec<String>,
    /// A condition that every record that the role reads or writes must satisfy.
    #[serde(rename = "$where", skip_serializing_if = "is_default")]
    pub condition: Option<ConditionDocument>,
    /// A condition that a record must satisfy after the role has created or updated it; by default the same as `condition`.
    #[serde(rename = "$check", skip_serializing_if = "is_default")]
    pub check: Option<ConditionDocument>,
    /// The values of fields in records that the role creates or updates. The role cannot set other values in these fields.
    #[serde(rename = "$set", skip_serializing_if = "is_default")]
    pub set: Entries<OperandDocument>,
    /// The values of fields in records that the role creates.
    #[serde(rename = "$setOnCreate", skip_serializing_if = "is_default")]
    pub set_on_create: Entries<OperandDocument>,
    /// The subset of the entity's writable fields and upload fields that the role may write; none by default.
    #[serde(skip_serializing_if = "is_default")]
    pub writable: Writable,
}

/// A condition on records, in the form of `$where`. The parser bounds its depth, which bounds the recursion.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ConditionDocument {
    /// `{"and": [..]}`
    And(Vec<Self>),
    /// `{"or": [..]}`
    Or(Vec<Self>),
    /// `{"not": ..}`
    Not(Box<Self>),
    /// `{"relation", "op", "where"}`
    #[serde(untagged)]
    Related {
        /// The relation. Its records count even if the role cannot see them; the policy of their entity is not applied.
        relation: String,
        /// One of [`QUANTIFIERS`].
        op: String,
        /// The condition on the related records; `None` for all.
        #[serde(rename = "where", skip_serializing_if = "is_default")]
        condition: Option<Box<Self>>,
    },
    /// `{"field", "op", "value"}`
    #[serde(untagged)]
    Compare {
        /// The field, or a path to a field through to-one relations. The role does not need permission to read it.
        field: String,
        /// One of [`OPERATORS`].
        op: String,
        /// The right side of the comparison.
        #[serde(skip_serializing_if = "is_default")]
        value: OperandDocument,
    },
}

/// The right side of a comparison.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum OperandDocument {
    /// `{"session": name}`: a value of the request's session. If the session has no such value, the comparison is never
    /// true. `in` and `nin` accept claims only.
    Session(SessionValue),
    /// No operand, for `isNull` and `isNotNull`.
    #[default]
    #[serde(untagged)]
    None,
    /// A constant.
    #[serde(untagged)]
    One(Constant),
    /// Constants, for `in` and `nin`.
    #[serde(untagged)]
    Many(Vec<Constant>),
}

/// A literal of the document.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
#[expect(missing_docs, reason = "each is its own name in JSON")]
pub enum Constant {
    Boolean(bool),
    Integer(i64),
    Number(f64),
    Text(String),
}

/// A value of a session.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SessionValue {
    /// The user's id.
    UserId,
    /// The user's role.
    Role,
    /// The tenant of the user.
    Tenant,
    /// The id of the session.
    Session,
    /// The claim with that name: a scalar, or a list of scalars for `in` and `nin`.
    Claim(Arc<str>),
}

impl SessionValue {
    /// The names of the values in schema documents; `NAME` stands for the name of any claim.
    pub const NAMES: [&str; 5] = ["userId", "role", "tenant", "session", "claim.NAME"];

    /// Creates the session value of a claim.
    pub fn claim(name: impl Into<Arc<str>>) -> Self {
        Self::Claim(name.into())
    }
}

/// Parses the name in schema documents.
impl FromStr for SessionValue {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, UnknownName> {
        match name {
            "userId" => Ok(Self::UserId),
            "role" => Ok(Self::Role),
            "tenant" => Ok(Self::Tenant),
            "session" => Ok(Self::Session),
            name => {
                let claim = name.strip_prefix("claim.").filter(|name| !name.is_empty());
                claim.map(Self::claim).ok_or(UnknownName { known: &Self::NAMES })
            }
        }
    }
}

/// Writes the name in schema documents.
impl fmt::Display for SessionValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::UserId => "userId",
            Self::Role => "role",
            Self::Tenant => "tenant",
            Self::Session => "session",
            Self::Claim(name) => return write!(f, "claim.{name}"),
        })
    }
}

impl Serialize for SessionValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Serializes a role or a rule without limits as `true`.
fn serialize_all<S: Serializer>(serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_bool(true)
}

impl ListedDocument {
    /// Returns the presets under each key of [`PRESETS`].
    pub fn presets(&self) -> [(&'static str, &Entries<OperandDocument>); 2] {
        let [set, set_on_create] = PRESETS;
        [(set, &self.set), (set_on_create, &self.set_on_create)]
    }
}

#[cfg(test)]
mod tests;
