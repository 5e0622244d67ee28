//! Access policies of the application, enforced wherever a query can name something.
//!
//! A [`Policy`] assigns principals to classes, for instance by role, and decides for each class and entity what is
//! visible. From this every class gets a schema of its own, in which the rest does not exist,
//! and conditions that every node of a plan carries. So whatever a name stands in, selection or nested
//! relation, filter, order, group, aggregate, stream or write, it is looked up in the same restricted list,
//! and a name that is refused reads like one that never was. `SPEC §6`
//!
//! Plans are kept per class, never per user: what differs from user to user stands in conditions as a
//! [`SessionValue`], which is bound when a plan is about to run. A decision cannot depend on anything but the
//! class, so a cached plan is only found by principals of its class.

mod document;
mod principal;
mod view;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;

use mesh_ql::{FilterOp, Literal};
pub use mesh_schema::policy::SessionValue;
use mesh_schema::{Entity, Member};

pub use document::SchemaPolicy;
pub use principal::Principal;
pub(crate) use view::{SessionBinding, View, Views};

/// Says who may see what. Implemented by closures over the role (empty text where there is none) and the
/// entity.
///
/// ```
/// use mesh_plan::policy::{Access, Condition, SessionValue};
/// use mesh_schema::Entity;
///
/// fn policy(role: &str, entity: &Entity) -> Access {
///     match (role, entity.key.as_str()) {
///         ("admin", _) => Access::all(),
///         ("author", "post") => Access::all().when(Condition::equal("ownerId", SessionValue::UserId)),
///         (_, "post") => Access::all().except(["ownerId"]).when(Condition::equal("published", true)),
///         _ => Access::none(),
///     }
/// }
/// # fn is_policy(_: impl mesh_plan::policy::Policy) {}
/// # is_policy(policy);
/// ```
pub trait Policy: Send + Sync + 'static {
    /// Returns the class of a principal; its role by default. There should be few classes: each has its own schema and
    /// plans.
    fn class<'p>(&self, principal: Option<&'p Principal>) -> Cow<'p, str> {
        Cow::Borrowed(principal.and_then(|principal| principal.role.as_deref()).unwrap_or_default())
    }

    /// What an entity is to those of a class. Asked once for each class, not for each request.
    fn access(&self, class: &str, entity: &Entity) -> Access;
}

impl fmt::Debug for dyn Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a policy")
    }
}

impl<F> Policy for F
where
    F: Fn(&str, &Entity) -> Access + Send + Sync + 'static,
{
    fn access(&self, class: &str, entity: &Entity) -> Access {
        self(class, entity)
    }
}

/// What a class may do with an entity.
#[derive(Clone, Debug, PartialEq)]
#[must_use = "it only says what may be done"]
pub struct Access {
    allowed: bool,
    only: Option<BTreeSet<String>>,
    except: BTreeSet<String>,
    dropped: BTreeSet<String>,
    conditions: Vec<Condition>,
    writable: Option<BTreeSet<String>>,
}

impl Access {
    /// Whatever the schema offers.
    pub fn all() -> Self {
        Self {
            allowed: true,
            only: None,
            except: BTreeSet::new(),
            dropped: BTreeSet::new(),
            conditions: Vec::new(),
            writable: None,
        }
    }

    /// Nothing: the entity does not exist, and neither do relations that lead to it.
    pub fn none() -> Self {
        Self { allowed: false, ..Self::all() }
    }

    /// The same with no fields and computed fields but these.
    pub fn only<'n>(self, names: impl IntoIterator<Item = &'n str>) -> Self {
        let names = owned(names);
        let only = self.only.map_or_else(|| names.clone(), |only| &only & &names);
        Self { only: Some(only), ..self }
    }

    /// The same without these names: fields, relations, or computed fields. A computed field goes with the
    /// fields that it is made of.
    pub fn except<'n>(mut self, names: impl IntoIterator<Item = &'n str>) -> Self {
        self.except.extend(owned(names));
        self
    }

    /// The same without these names, but where a selection names them they are left out of the response
    /// without a word, so that one query serves everybody. In filters, orders and the like they are refused
    /// all the same: to leave out a condition would show more, not less.
    pub fn dropping<'n>(mut self, names: impl IntoIterator<Item = &'n str>) -> Self {
        self.dropped.extend(owned(names));
        self
    }

    /// The same with no records but those that fulfill a condition, for reads and writes alike.
    pub fn when(mut self, condition: Condition) -> Self {
        self.conditions.push(condition);
        self
    }

    /// The same, of the entity's writable fields, and those that take files, with these only.
    pub fn writing<'n>(self, names: impl IntoIterator<Item = &'n str>) -> Self {
        let names = owned(names);
        let writable = self.writable.map_or_else(|| names.clone(), |writable| &writable & &names);
        Self { writable: Some(writable), ..self }
    }

    /// The same without writes and uploads.
    pub fn read_only(self) -> Self {
        self.writing([])
    }

    /// What both allow.
    pub fn and(mut self, other: Self) -> Self {
        self.allowed &= other.allowed;
        self.only = both(self.only, other.only);
        self.writable = both(self.writable, other.writable);
        self.except.extend(other.except);
        self.dropped.extend(other.dropped);
        self.conditions.extend(other.conditions);
        self
    }

    fn sight(&self, entity: &Entity, name: &str, member: Member) -> Sight {
        let parts: Vec<&str> = match member {
            Member::Computed(index) => entity
                .computed
                .get(index)
                .map(|computed| computed.from.iter().map(|id| entity.field(*id).name.as_str()).collect())
                .unwrap_or_default(),
            Member::Field(_) | Member::Relation(_) => Vec::new(),
        };
        let is_in =
            |set: &BTreeSet<String>| set.contains(name) || parts.iter().any(|part| set.contains(*part));
        let listed = matches!(member, Member::Relation(_))
            || self.only.as_ref().is_none_or(|only| only.contains(name));
        if !listed || is_in(&self.except) {
            Sight::Hidden
        } else if is_in(&self.dropped) {
            Sight::Dropped
        } else {
            Sight::Shown
        }
    }
}

/// Whether a name inside an entity is visible.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sight {
    Shown,
    Dropped,
    Hidden,
}

fn owned<'n>(names: impl IntoIterator<Item = &'n str>) -> BTreeSet<String> {
    names.into_iter().map(str::to_owned).collect()
}

fn both(left: Option<BTreeSet<String>>, right: Option<BTreeSet<String>>) -> Option<BTreeSet<String>> {
    match (left, right) {
        (Some(left), Some(right)) => Some(&left & &right),
        (left, right) => left.or(right),
    }
}

/// A condition on the records of an entity, in the manner of `$where`. It may use fields that are hidden.
#[derive(Clone, Debug, PartialEq)]
pub enum Condition {
    /// Every one holds.
    All(Vec<Self>),
    /// One of them holds.
    Any(Vec<Self>),
    /// It does not hold.
    Not(Box<Self>),
    /// A field is compared.
    Field {
        /// The field's name.
        field: String,
        /// How.
        op: FilterOp,
        /// With what.
        value: Operand,
    },
}

impl Condition {
    /// A field is compared with something.
    pub fn field(field: impl Into<String>, op: FilterOp, value: impl Into<Operand>) -> Self {
        Self::Field { field: field.into(), op, value: value.into() }
    }

    /// A field equals something.
    pub fn equal(field: impl Into<String>, value: impl Into<Operand>) -> Self {
        Self::field(field, FilterOp::Eq, value)
    }
}

/// What a condition compares with.
#[derive(Clone, Debug, PartialEq)]
pub enum Operand {
    /// Nothing, for `isNull` and `isNotNull`.
    None,
    /// A constant.
    One(Literal),
    /// Constants, for `in` and `nin`.
    Many(Vec<Literal>),
    /// What the session has there. No comparison with it holds where there is no session, or where it has no
    /// such value.
    Session(SessionValue),
}

impl From<SessionValue> for Operand {
    fn from(value: SessionValue) -> Self {
        Self::Session(value)
    }
}

impl From<&str> for Operand {
    fn from(value: &str) -> Self {
        Self::One(Literal::Text(value.to_owned()))
    }
}

impl From<i64> for Operand {
    fn from(value: i64) -> Self {
        Self::One(Literal::Integer(value))
    }
}

impl From<bool> for Operand {
    fn from(value: bool) -> Self {
        Self::One(Literal::Boolean(value))
    }
}

impl Principal {
    /// What a condition finds of it.
    pub(crate) fn value(&self, value: SessionValue) -> Option<&str> {
        match value {
            SessionValue::UserId => Some(&self.user),
            SessionValue::Role => self.role.as_deref(),
            SessionValue::Tenant => self.tenant.as_deref(),
            SessionValue::Session => Some(&self.session),
        }
    }
}

#[cfg(test)]
mod tests;
