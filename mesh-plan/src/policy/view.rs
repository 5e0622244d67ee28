//! The schema as one class of principals sees it, created once and cached.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::fmt::Write as _;
use std::sync::{Arc, PoisonError, RwLock};

use mesh_schema::policy::{Restriction, SessionValue};
use mesh_schema::{Entity, EntityId, FieldType, Schema, TimeForm};

use super::{Access, Condition, Policy, Sight};
use crate::planner::policy_filter;
use crate::{PlanError, Principal, Value};

/// Classes that are kept. An application with more of them makes views again and again, which is slow and
/// still right.
const KEPT: usize = 256;

/// What the members of a class can name, and which records there are for them.
pub(crate) struct View {
    /// The schema without what is hidden.
    pub(crate) schema: Arc<Schema>,
    /// The whole schema, which conditions refer to. Ids are the same in both.
    pub(crate) whole: Arc<Schema>,
    /// Identifies the class; empty without policies.
    pub(crate) class: Box<str>,
    conditions: HashMap<EntityId, Condition>,
    dropped: HashSet<(EntityId, String)>,
}

impl View {
    /// The view of a schema without policies.
    pub(crate) fn open(schema: Arc<Schema>) -> Self {
        Self {
            whole: Arc::clone(&schema),
            schema,
            class: Box::default(),
            conditions: HashMap::new(),
            dropped: HashSet::new(),
        }
    }

    fn new(whole: &Arc<Schema>, class: &str, access: impl Fn(&Entity) -> Access) -> Self {
        let mut view = Self { class: class.into(), ..Self::open(Arc::clone(whole)) };
        let mut restrictions = HashMap::new();
        for (id, entity) in whole.entities() {
            let access = access(entity);
            restrictions.insert(entity.key.clone(), view.restriction(id, entity, &access));
            if !access.conditions.is_empty() {
                view.conditions.insert(id, Condition::All(access.conditions));
            }
        }
        let hidden = || Restriction { hidden: true, ..Restriction::default() };
        let of = |entity: &Entity| restrictions.get(&entity.key).cloned().unwrap_or_else(hidden);
        view.schema = Arc::new(whole.restricted(of));
        view
    }

    fn restriction(&mut self, id: EntityId, entity: &Entity, access: &Access) -> Restriction {
        let mut restriction = Restriction { hidden: !access.allowed, ..Restriction::default() };
        for name in entity.names() {
            let Some(member) = entity.member(name) else { continue };
            let sight = access.sight(entity, name, member);
            if sight == Sight::Dropped {
                self.dropped.insert((id, name.to_owned()));
            }
            if sight != Sight::Shown {
                restriction.without.insert(name.to_owned());
            }
        }
        if let Some(writable) = &access.writable {
            let fixed = entity.fields.iter().filter(|field| !writable.contains(&field.name));
            restriction.fixed = fixed.map(|field| field.name.clone()).collect();
        }
        restriction
    }

    /// What every record of the entity fulfills that is there for this class.
    pub(crate) fn condition(&self, entity: EntityId) -> Option<&Condition> {
        self.conditions.get(&entity)
    }

    /// Returns the faults of conditions that do not fit their entity.
    pub(crate) fn faults(&self) -> impl Iterator<Item = PlanError> {
        self.conditions.iter().filter_map(|(entity, condition)| {
            policy_filter::plan(&self.whole, *entity, condition)
                .err()
                .map(|error| policy_filter::policy_error(&error))
        })
    }

    /// Whether a selection passes over that name.
    pub(crate) fn drops(&self, entity: EntityId, name: &str) -> bool {
        !self.dropped.is_empty() && self.dropped.contains(&(entity, name.to_owned()))
    }
}

/// A place in a plan for a value of the session, and what it is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SessionBinding {
    pub(crate) value: SessionValue,
    pub(crate) ty: Option<FieldType>,
    pub(crate) time_form: Option<TimeForm>,
}

impl SessionBinding {
    /// The value there; NULL, with which no comparison holds, where the session has none, or one that the
    /// field cannot hold.
    pub(crate) fn bind(&self, principal: Option<&Principal>) -> Value {
        let text = principal.and_then(|principal| principal.value(self.value));
        text.and_then(|text| crate::planner::literal::id(self.ty, self.time_form, text)).unwrap_or_default()
    }
}

/// The views of a schema.
pub(crate) struct Views {
    open: Arc<View>,
    policies: Vec<Arc<dyn Policy>>,
    by_class: RwLock<HashMap<Box<str>, Arc<View>>>,
}

impl Views {
    pub(crate) fn new(schema: Arc<Schema>, policies: Vec<Arc<dyn Policy>>) -> Self {
        Self { open: Arc::new(View::open(schema)), policies, by_class: RwLock::default() }
    }

    /// Returns the view without policies.
    pub(crate) fn open(&self) -> &Arc<View> {
        &self.open
    }

    /// The whole schema.
    pub(crate) fn whole(&self) -> &Arc<Schema> {
        &self.open.whole
    }

    /// Whether what is there is the same for all.
    pub(crate) fn are_equal(&self) -> bool {
        self.policies.is_empty()
    }

    /// The schema as one class sees it.
    pub(crate) fn of(&self, principal: Option<&Principal>) -> Arc<View> {
        if self.policies.is_empty() {
            return Arc::clone(&self.open);
        }
        let classes: Vec<Cow<'_, str>> = self.policies.iter().map(|policy| policy.class(principal)).collect();
        let mut key = String::new();
        for class in &classes {
            // Writing to a String cannot fail. The length keeps two lists of classes apart.
            let _ = write!(key, "{}:{class}", class.len());
        }
        if let Some(view) = self.by_class.read().unwrap_or_else(PoisonError::into_inner).get(key.as_str()) {
            return Arc::clone(view);
        }
        let access = |entity: &Entity| {
            let each = self.policies.iter().zip(&classes).map(|(policy, class)| policy.access(class, entity));
            each.fold(Access::all(), Access::and)
        };
        let view = Arc::new(View::new(self.whole(), &key, access));
        let mut kept = self.by_class.write().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= KEPT {
            kept.clear();
        }
        kept.insert(key.into(), Arc::clone(&view));
        view
    }
}

impl fmt::Debug for Views {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Views").field("policies", &self.policies.len()).finish_non_exhaustive()
    }
}
