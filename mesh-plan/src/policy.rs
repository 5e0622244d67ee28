//! Access policies of the application.
//!
//! A [`Policy`] assigns principals to classes, for example by role, and decides what each class sees of each entity. Each
//! class gets a schema without the hidden parts, and conditions that every node of a plan contains. All names of a query,
//! in selections, filters, orders, groups and writes, are looked up in that schema, so a hidden name is refused like one
//! that does not exist. `SPEC §6`
//!
//! Plans are cached per class, not per user: conditions that depend on the user contain a [`SessionValue`], which is bound
//! for each run. Decisions depend only on the class, and a cached plan is found only by principals of its class.

mod claims;
mod document;
mod principal;
mod session;
mod union;
mod view;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use mesh_ql::{FilterOp, Literal, Quantifier};
pub use mesh_schema::policy::SessionValue;
use mesh_schema::{Entity, Member};

pub use claims::{ClaimValue, Claims};
pub use document::SchemaPolicy;
pub use principal::Principal;
pub(crate) use session::SessionBinding;
pub use session::SessionInput;
pub(crate) use view::{View, Views};

/// Decides what each class of principals may do. Closures over the role (empty without one) and the entity implement it.
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

    /// Returns what a class may do with an entity. The result is cached, so it must not depend on anything else.
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

/// The rights of a class on an entity.
#[derive(Clone, Debug, Default, PartialEq)]
#[must_use = "it has no effect unless a policy returns it"]
pub struct Access {
    allowed: bool,
    only: Option<BTreeSet<String>>,
    except: BTreeSet<String>,
    dropped: BTreeSet<String>,
    conditions: Vec<Condition>,
    /// The conditions of uses to which other conditions apply than those of reads.
    write_conditions: BTreeMap<RecordUse, Vec<Condition>>,
    presets: Vec<Preset>,
    create: Option<BTreeSet<String>>,
    update: Option<BTreeSet<String>>,
    denies_deletion: bool,
}

impl Access {
    /// Allows everything that the schema allows.
    pub fn all() -> Self {
        Self { allowed: true, ..Self::default() }
    }

    /// Hides the entity and relations that lead to it.
    pub fn none() -> Self {
        Self::default()
    }

    /// Hides all fields and computed fields except these.
    pub fn only<'n>(self, names: impl IntoIterator<Item = &'n str>) -> Self {
        Self { only: intersection(self.only, Some(name_set(names))), ..self }
    }

    /// Hides these fields, relations or computed fields. A computed field is hidden with any of its inputs.
    pub fn except<'n>(mut self, names: impl IntoIterator<Item = &'n str>) -> Self {
        self.except.extend(name_set(names));
        self
    }

    /// Hides these names as [`Access::except`] does, but a selection that names them is not refused: they are left out of
    /// the response, so that one query fits all classes. Filters, orders and other controls that name them are refused,
    /// because a response without a filter would show more.
    pub fn dropping<'n>(mut self, names: impl IntoIterator<Item = &'n str>) -> Self {
        self.dropped.extend(name_set(names));
        self
    }

    /// Restricts reads and writes to records that fulfill a condition.
    pub fn when(mut self, condition: Condition) -> Self {
        self.conditions.push(condition);
        self
    }

    /// Requires that a record fulfills a condition after it was created or updated, instead of the conditions of
    /// [`Access::when`]. If there are several, all must be fulfilled.
    pub fn checking(mut self, condition: Condition) -> Self {
        for record_use in [RecordUse::Created, RecordUse::Updated] {
            self.write_conditions.entry(record_use).or_default().push(condition.clone());
        }
        self
    }

    /// Sets a field to a value in all records that are created or updated. Clients cannot write the field. If the session
    /// lacks the value, the write is refused.
    pub fn setting(self, field: impl Into<String>, value: impl Into<Operand>) -> Self {
        self.preset(field.into(), value.into(), true)
    }

    /// Sets a field to a value in all records that are created, as [`Access::setting`] does.
    pub fn setting_on_create(self, field: impl Into<String>, value: impl Into<Operand>) -> Self {
        self.preset(field.into(), value.into(), false)
    }

    fn preset(mut self, field: String, value: Operand, on_update: bool) -> Self {
        self.presets.push(Preset { field, value, on_create: true, on_update });
        self
    }

    /// Restricts writes, including uploads, to these fields of created and updated records, and refuses deletions. The
    /// fields must also be writable in the schema.
    pub fn writing<'n>(self, names: impl IntoIterator<Item = &'n str>) -> Self {
        let names = name_set(names);
        let names = || names.iter().map(String::as_str);
        self.creating(names()).updating(names()).keeping()
    }

    /// Restricts the fields, including files, that can be set in created records. An empty list refuses creations.
    pub fn creating<'n>(self, names: impl IntoIterator<Item = &'n str>) -> Self {
        Self { create: intersection(self.create, Some(name_set(names))), ..self }
    }

    /// Restricts the fields, including files, that can be updated. An empty list refuses updates.
    pub fn updating<'n>(self, names: impl IntoIterator<Item = &'n str>) -> Self {
        Self { update: intersection(self.update, Some(name_set(names))), ..self }
    }

    /// Refuses deletions.
    pub fn keeping(self) -> Self {
        Self { denies_deletion: true, ..self }
    }

    /// Refuses writes and uploads.
    pub fn read_only(self) -> Self {
        self.writing([])
    }

    /// Returns the rights that both grant.
    pub fn and(mut self, other: Self) -> Self {
        self.allowed &= other.allowed;
        for record_use in RecordUse::WRITES {
            if [&self, &other].iter().any(|access| access.write_conditions.contains_key(&record_use)) {
                let all = [self.conditions_of(record_use), other.conditions_of(record_use)].concat();
                self.write_conditions.insert(record_use, all);
            }
        }
        self.only = intersection(self.only, other.only);
        self.create = intersection(self.create, other.create);
        self.update = intersection(self.update, other.update);
        self.denies_deletion |= other.denies_deletion;
        self.except.extend(other.except);
        self.dropped.extend(other.dropped);
        self.conditions.extend(other.conditions);
        self.presets.extend(other.presets);
        self
    }

    /// Returns the conditions of one use of a record.
    fn conditions_of(&self, record_use: RecordUse) -> &[Condition] {
        self.write_conditions.get(&record_use).unwrap_or(&self.conditions)
    }

    fn visibility(&self, entity: &Entity, name: &str, member: Member) -> Visibility {
        let inputs = match member {
            Member::Computed(index) => entity.computed.get(index).map_or(&[][..], |computed| &computed.from),
            Member::Field(_) | Member::Relation(_) => &[],
        };
        let is_in = |set: &BTreeSet<String>| {
            set.contains(name) || inputs.iter().any(|id| set.contains(&entity.field(*id).name))
        };
        let is_listed = matches!(member, Member::Relation(_))
            || self.only.as_ref().is_none_or(|only| only.contains(name));
        if !is_listed || is_in(&self.except) {
            Visibility::Hidden
        } else if is_in(&self.dropped) {
            Visibility::Dropped
        } else {
            Visibility::Shown
        }
    }
}

/// A use of a record by a request. Each use can have separate conditions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum RecordUse {
    /// A read of the record, or a reference to it.
    Read,
    /// An update; the condition applies before it.
    Update,
    /// A deletion; the condition applies before it.
    Delete,
    /// A creation; the condition applies after it.
    Created,
    /// An update; the condition applies after it.
    Updated,
}

impl RecordUse {
    /// The uses by writes.
    const WRITES: [Self; 4] = [Self::Update, Self::Delete, Self::Created, Self::Updated];
}

/// The value of a field that clients cannot choose.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Preset {
    pub(crate) field: String,
    pub(crate) value: Operand,
    /// Whether it is set in new records.
    pub(crate) on_create: bool,
    /// Whether updates set it.
    pub(crate) on_update: bool,
}

/// Whether a member of an entity is visible.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Visibility {
    Shown,
    Dropped,
    Hidden,
}

fn name_set<'n>(names: impl IntoIterator<Item = &'n str>) -> BTreeSet<String> {
    names.into_iter().map(str::to_owned).collect()
}

fn intersection(left: Option<BTreeSet<String>>, right: Option<BTreeSet<String>>) -> Option<BTreeSet<String>> {
    match (left, right) {
        (Some(left), Some(right)) => Some(&left & &right),
        (left, right) => left.or(right),
    }
}

/// A condition on the records of an entity, like those of `$where`. It may use hidden fields.
#[derive(Clone, Debug, PartialEq)]
pub enum Condition {
    /// All of them hold.
    All(Vec<Self>),
    /// At least one of them holds.
    Any(Vec<Self>),
    /// The condition does not hold.
    Not(Box<Self>),
    /// A condition on the records of a relation. It applies to all records in the database, including those that the role
    /// cannot see.
    Related {
        /// The relation's name.
        relation: String,
        /// Whether some, none or all of the records fulfill the condition.
        op: Quantifier,
        /// The condition on a related record; `None` accepts every record.
        condition: Option<Box<Self>>,
    },
    /// A comparison of a field.
    Field {
        /// The field's name, or a path to a field through to-one relations, such as `project.ownerId`.
        field: String,
        /// The operator.
        op: FilterOp,
        /// The right side.
        value: Operand,
    },
}

impl Condition {
    /// Compares a field.
    pub fn field(field: impl Into<String>, op: FilterOp, value: impl Into<Operand>) -> Self {
        Self::Field { field: field.into(), op, value: value.into() }
    }

    /// Requires that some, none or all records of a relation fulfill a condition. The condition applies to all records in the
    /// database, including those that the role cannot see.
    ///
    /// ```
    /// use mesh_plan::policy::{Condition, SessionValue};
    /// use mesh_ql::Quantifier;
    ///
    /// // The posts of projects of which the user is a member.
    /// let is_member = Condition::equal("userId", SessionValue::UserId);
    /// let is_in_project = Condition::related("members", Quantifier::Some, is_member);
    /// let condition = Condition::related("project", Quantifier::Some, is_in_project);
    /// # let _ = condition;
    /// ```
    pub fn related(relation: impl Into<String>, op: Quantifier, condition: impl Into<Option<Self>>) -> Self {
        Self::Related { relation: relation.into(), op, condition: condition.into().map(Box::new) }
    }

    /// Requires that a field equals a value.
    pub fn equal(field: impl Into<String>, value: impl Into<Operand>) -> Self {
        Self::field(field, FilterOp::Eq, value)
    }
}

/// The right side of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub enum Operand {
    /// No value, for `isNull` and `isNotNull`.
    None,
    /// A constant.
    One(Literal),
    /// Constants, for `in` and `nin`.
    Many(Vec<Literal>),
    /// A value of the session. Without a session, or if it lacks the value, no comparison with it holds.
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

#[cfg(test)]
mod tests;
