//! The schema as each class of principals sees it.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt::Write as _;
use std::sync::Arc;

use mesh_schema::policy::Restriction;
use mesh_schema::{Entity, EntityId, Schema};

use super::{Access, Condition, Policy, Preset, RecordUse, Visibility};
use crate::cache::Cache;
use crate::planner::policy_condition::{self, Slots};
use crate::planner::write::{References, preset};
use crate::{PlanError, Principal};

/// The number of classes with a cached view. With more classes, views are created again and again, which is slow.
const MAX_CACHED_VIEWS: usize = 256;

/// The schema and the conditions of one class.
#[derive(Clone)]
pub(crate) struct View {
    /// The schema without hidden names.
    pub(crate) schema: Arc<Schema>,
    /// The whole schema, which conditions refer to. Both schemas have the same ids.
    pub(crate) full_schema: Arc<Schema>,
    /// Identifies the class; empty without policies.
    pub(crate) class: Box<str>,
    /// The largest number of values in a list of the session.
    pub(crate) in_values: usize,
    /// The references between the records of the whole schema.
    pub(crate) references: Arc<References>,
    conditions: HashMap<EntityId, Condition>,
    /// The conditions of writes that differ from those of reads; `None` means no condition.
    write_conditions: HashMap<(EntityId, RecordUse), Option<Condition>>,
    presets: HashMap<EntityId, Vec<Preset>>,
    dropped: HashSet<(EntityId, String)>,
}

impl View {
    /// Creates the view of a schema without policies.
    fn unrestricted(schema: Arc<Schema>, in_values: usize) -> Self {
        Self {
            references: Arc::new(References::new(&schema)),
            full_schema: Arc::clone(&schema),
            schema,
            class: Box::default(),
            in_values,
            conditions: HashMap::new(),
            write_conditions: HashMap::new(),
            presets: HashMap::new(),
            dropped: HashSet::new(),
        }
    }

    /// Creates the view of a class from the view of the whole schema, which has no conditions.
    fn new(unrestricted: &Self, class: &str, access: impl Fn(&Entity) -> Access) -> Self {
        let full_schema = &unrestricted.full_schema;
        let mut view = Self { class: class.into(), ..unrestricted.clone() };
        let mut restrictions = HashMap::new();
        for (id, entity) in full_schema.entities() {
            let access = access(entity);
            restrictions.insert(entity.key.clone(), view.restriction(id, entity, &access));
            let all = |conditions: &[Condition]| {
                (!conditions.is_empty()).then(|| Condition::All(conditions.to_vec()))
            };
            for (record_use, conditions) in &access.write_conditions {
                view.write_conditions.insert((id, *record_use), all(conditions));
            }
            view.conditions.extend(all(&access.conditions).map(|condition| (id, condition)));
            if !access.presets.is_empty() {
                view.presets.insert(id, access.presets);
            }
        }
        let hidden = || Restriction { hidden: true, ..Restriction::default() };
        let restriction = |entity: &Entity| restrictions.get(&entity.key).cloned().unwrap_or_else(hidden);
        view.schema = Arc::new(full_schema.restricted(restriction));
        view
    }

    fn restriction(&mut self, id: EntityId, entity: &Entity, access: &Access) -> Restriction {
        let mut restriction = Restriction { hidden: !access.allowed, ..Restriction::default() };
        for name in entity.names() {
            let Some(member) = entity.member(name) else { continue };
            let visibility = access.visibility(entity, name, member);
            if visibility == Visibility::Dropped {
                self.dropped.insert((id, name.to_owned()));
            }
            if visibility != Visibility::Shown {
                restriction.hidden_names.insert(name.to_owned());
            }
        }
        let allowed =
            |names: &Option<BTreeSet<String>>| names.as_ref().map(|it| it.iter().cloned().collect());
        restriction.create = allowed(&access.create);
        restriction.update = allowed(&access.update);
        for preset in &access.presets {
            if preset.on_create {
                restriction.denied_on_create.insert(preset.field.clone());
            }
            if preset.on_update {
                restriction.denied_on_update.insert(preset.field.clone());
            }
        }
        restriction.denies_deletion = access.denies_deletion;
        restriction
    }

    /// Returns the condition that the visible records of an entity fulfill.
    pub(crate) fn condition(&self, entity: EntityId) -> Option<&Condition> {
        self.conditions.get(&entity)
    }

    /// Returns the condition of one use of an entity's records.
    pub(crate) fn condition_of(&self, entity: EntityId, record_use: RecordUse) -> Option<&Condition> {
        match self.write_conditions.get(&(entity, record_use)) {
            Some(condition) => condition.as_ref(),
            None => self.condition(entity),
        }
    }

    /// Returns the values that clients cannot choose in the records of an entity.
    pub(crate) fn presets(&self, entity: EntityId) -> &[Preset] {
        self.presets.get(&entity).map_or(&[], Vec::as_slice)
    }

    /// Returns the faults of conditions and presets that do not fit their entity.
    pub(crate) fn faults(&self) -> impl Iterator<Item = PlanError> {
        let presets =
            self.presets.iter().flat_map(|(entity, presets)| presets.iter().map(|it| (*entity, it)));
        let presets =
            presets.filter_map(|(id, it)| preset::check(&self.full_schema, id, &it.field, &it.value).err());
        let written = self.write_conditions.iter();
        let written = written.filter_map(|((entity, _), condition)| Some((entity, condition.as_ref()?)));
        let conditions = self.conditions.iter().chain(written).filter_map(|(entity, condition)| {
            let mut slots = Slots::new(self.in_values);
            policy_condition::plan(&self.full_schema, *entity, condition, &mut slots, &mut Vec::new()).err()
        });
        conditions.chain(presets)
    }

    /// Returns whether a selection may name this hidden member without an error.
    pub(crate) fn is_dropped(&self, entity: EntityId, name: &str) -> bool {
        !self.dropped.is_empty() && self.dropped.contains(&(entity, name.to_owned()))
    }
}

/// The views of a schema.
pub(crate) struct Views {
    unrestricted: Arc<View>,
    policies: Vec<Arc<dyn Policy>>,
    by_class: Cache<Box<str>, Arc<View>>,
}

impl Views {
    pub(crate) fn new(schema: Arc<Schema>, policies: Vec<Arc<dyn Policy>>, in_values: usize) -> Self {
        let by_class = Cache::new(if policies.is_empty() { 0 } else { MAX_CACHED_VIEWS });
        Self { unrestricted: Arc::new(View::unrestricted(schema, in_values)), policies, by_class }
    }

    /// Returns the view of the whole schema, without policies.
    pub(crate) fn unrestricted(&self) -> &View {
        &self.unrestricted
    }

    pub(crate) fn has_policies(&self) -> bool {
        !self.policies.is_empty()
    }

    /// Returns the view of a principal's class.
    pub(crate) fn find(&self, principal: Option<&Principal>) -> Arc<View> {
        if !self.has_policies() {
            return Arc::clone(&self.unrestricted);
        }
        let classes: Vec<Cow<'_, str>> = self.policies.iter().map(|policy| policy.class(principal)).collect();
        let mut key = String::new();
        for class in &classes {
            // Writing to a String cannot fail. The length makes lists of classes unambiguous.
            let _ = write!(key, "{}:{class}", class.len());
        }
        if let Some(view) = self.by_class.get(key.as_str()) {
            return view;
        }
        let access = |entity: &Entity| {
            let each = self.policies.iter().zip(&classes).map(|(policy, class)| policy.access(class, entity));
            each.fold(Access::all(), Access::and)
        };
        let view = Arc::new(View::new(&self.unrestricted, &key, access));
        self.by_class.insert(key.into(), Arc::clone(&view), 1);
        view
    }
}
