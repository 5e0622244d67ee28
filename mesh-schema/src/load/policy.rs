//! Checks of the names in policies.

use std::borrow::Cow;
use std::collections::HashSet;

use super::Loader;
use crate::policy::{ANY_ROLE, ConditionDocument, ListedDocument, RoleDocument, RuleDocument};
use crate::{Cardinality, Entity, Entries, Field, FieldList, Member, Writable};

impl Loader<'_> {
    pub(super) fn policies(&mut self, roles: &Entries<RoleDocument>) {
        let mut seen = HashSet::new();
        for (role, document) in roles.iter() {
            let path = format!("policies.{role}");
            let before = self.faults.len();
            if !seen.insert(role) {
                self.fault(&path, format!("The role '{role}' is given twice"));
            }
            if role.is_empty() {
                self.fault(
                    &path,
                    format!("A role needs a name; use '{ANY_ROLE}' for roles that are not listed"),
                );
            }
            self.inherited(&path, role, roles);
            for (key, rule) in document.rules().into_iter().flat_map(Entries::iter) {
                self.rule(&format!("{path}.{key}"), key, rule);
            }
            if self.unsound.contains(&path) {
                self.faults.truncate(before);
            }
        }
        self.schema.policies = Some(roles.clone());
    }

    /// Checks the roles that a role inherits.
    fn inherited(&mut self, path: &str, role: &str, roles: &Entries<RoleDocument>) {
        let inherits = roles.get(role).map_or(&[][..], RoleDocument::inherits);
        for (index, name) in inherits.iter().enumerate() {
            let path = format!("{path}.$inherits[{index}]");
            if roles.get(name).is_none() {
                let hint = self.hint(name, roles.keys());
                self.fault(path, format!("Role '{name}' not found{hint}"));
            } else if is_inherited(roles, name, role) {
                self.fault(path, format!("The role '{role}' inherits itself"));
            }
        }
    }

    fn rule(&mut self, path: &str, key: &str, rule: &RuleDocument) {
        let Some(id) = self.entity_id(path, key) else { return };
        // Faults of the entity itself have been reported already.
        if self.unsound.contains(&format!("entities.{key}")) {
            return;
        }
        let entity = self.schema.entity(id).clone();
        if let RuleDocument::Listed(listed) = rule {
            self.listed(path, &entity, listed);
        }
    }

    fn listed(&mut self, path: &str, entity: &Entity, listed: &ListedDocument) {
        let mut seen = HashSet::new();
        for (index, name) in listed.fields.iter().flatten().enumerate() {
            let inner = format!("{path}.fields[{index}]");
            match entity.member(name) {
                _ if !seen.insert(name) => self.fault(inner, format!("The field '{name}' is listed twice")),
                Some(Member::Field(_) | Member::Computed(_)) => {}
                Some(Member::Relation(_)) => self.fault(
                    inner,
                    format!("'{name}' is a relation, not a field; a role can read it if it can read the related entity"),
                ),
                None => {
                    let fields = entity.fields.iter().map(|field| field.name.as_str());
                    let computed = entity.computed.iter().map(|computed| computed.name.as_str());
                    let hint = self.hint(name, fields.chain(computed));
                    self.fault(inner, format!("Field '{name}' not found on entity '{}'{hint}", entity.key));
                }
            }
        }
        for (index, name) in listed.except.iter().enumerate() {
            if entity.member(name).is_none() {
                let hint = self.hint(name, entity.names());
                let message = format!("'{name}' not found on entity '{}'{hint}", entity.key);
                self.fault(format!("{path}.except[{index}]"), message);
            }
        }
        self.presets(path, entity, listed);
        let path_of_list = format!("{path}.writable");
        let rule = (entity, listed);
        if listed.writable.listed().is_some() {
            // A list applies to both kinds of writes.
            self.field_list_of_role(&path_of_list, &listed.writable.create, rule, false, |field| {
                field.writable.create || field.writable.update
            });
        } else {
            let Writable { create, update, delete } = &listed.writable;
            self.field_list_of_role(&format!("{path_of_list}.create"), create, rule, true, |field| {
                field.writable.create
            });
            self.field_list_of_role(&format!("{path_of_list}.update"), update, rule, false, |field| {
                field.writable.update
            });
            // `true` grants the writes that the entity permits.
            if *delete && listed.writable != Writable::all() && !entity.deletable {
                let message = format!("The records of entity '{}' cannot be deleted", entity.key);
                self.fault(format!("{path_of_list}.delete"), message);
            }
        }
        for (key, condition) in [("$where", &listed.condition), ("$check", &listed.check)] {
            if let Some(condition) = condition {
                self.condition(&format!("{path}.{key}"), condition, entity);
            }
        }
    }

    /// Checks the presets: the fields whose values a role cannot choose.
    fn presets(&mut self, path: &str, entity: &Entity, listed: &ListedDocument) {
        let mut seen = HashSet::new();
        for (key, presets) in listed.presets() {
            for (name, _) in presets.iter() {
                let path = format!("{path}.{key}.{name}");
                let Some(Member::Field(id)) = entity.member(name) else {
                    self.fault_unknown_field(path, name, entity);
                    continue;
                };
                if !seen.insert(name) {
                    self.fault(path, format!("The field '{name}' is given twice"));
                } else if entity.field(id).upload.is_some() {
                    self.fault(path, format!("The field '{name}' is set by uploads"));
                }
            }
        }
    }

    /// Checks the fields of a list. Each field must permit the write that the role is granted, or accept files.
    fn field_list_of_role(
        &mut self,
        path: &str,
        list: &FieldList,
        (entity, listed): (&Entity, &ListedDocument),
        is_create: bool,
        has_right: fn(&Field) -> bool,
    ) {
        let FieldList::Fields(names) = list else { return };
        for (index, name) in names.iter().enumerate() {
            let path = format!("{path}[{index}]");
            let Some(Member::Field(id)) = entity.member(name) else {
                self.fault_unknown_field(path, name, entity);
                continue;
            };
            let field = entity.field(id);
            if !has_right(field) && field.upload.is_none() {
                self.fault(path, format!("The field '{name}' is not writable on entity '{}'", entity.key));
            } else if listed.set.get(name).is_some() || is_create && listed.set_on_create.get(name).is_some()
            {
                self.fault(
                    path,
                    format!("The field '{name}' has a preset value, so the role cannot write it"),
                );
            } else if listed.except.contains(name) {
                let message = format!("The field '{name}' can be written only if the role can read it");
                self.fault(path, message);
            } else if listed.fields.as_ref().is_some_and(|fields| !fields.contains(&field.name)) {
                let message = format!(
                    "The field '{name}' can be written only if the role can read it; add it to 'fields'"
                );
                self.fault(path, message);
            }
        }
    }

    /// Checks a condition. The parser bounds its depth; code that builds conditions has to bound it itself.
    fn condition(&mut self, path: &str, condition: &ConditionDocument, entity: &Entity) {
        match condition {
            ConditionDocument::And(parts) | ConditionDocument::Or(parts) => {
                for (index, part) in parts.iter().enumerate() {
                    self.condition(&format!("{path}[{index}]"), part, entity);
                }
            }
            ConditionDocument::Not(part) => self.condition(path, part, entity),
            ConditionDocument::Related { relation, condition, .. } => {
                let Some(target) = self.relation_target(&format!("{path}.relation"), relation, entity, false)
                else {
                    return;
                };
                if let Some(condition) = condition {
                    self.condition(&format!("{path}.where"), condition, &target);
                }
            }
            ConditionDocument::Compare { field, .. } => {
                let path = format!("{path}.field");
                let mut entity = Cow::Borrowed(entity);
                let mut name = field.as_str();
                while let Some((step, rest)) = name.split_once('.') {
                    let Some(target) = self.relation_target(&path, step, &entity, true) else { return };
                    (entity, name) = (Cow::Owned(target), rest);
                }
                if !matches!(entity.member(name), Some(Member::Field(_))) {
                    self.fault_unknown_field(path, name, &entity);
                }
            }
        }
    }

    /// Returns the target entity of a relation. Paths can use to-one relations only.
    fn relation_target(&mut self, path: &str, name: &str, entity: &Entity, is_path: bool) -> Option<Entity> {
        match entity.member(name) {
            Some(Member::Relation(id)) => {
                let relation = entity.relation(id);
                if is_path && relation.cardinality == Cardinality::Many {
                    let message =
                        format!("The relation '{name}' leads to many records; use a condition on it");
                    self.fault(path, message);
                    return None;
                }
                let target = self.schema.entity(relation.target).clone();
                // Faults of the entity itself have been reported already.
                (!self.unsound.contains(&format!("entities.{}", target.key))).then_some(target)
            }
            Some(Member::Field(_) | Member::Computed(_)) => {
                self.fault(path, format!("'{name}' is a field of entity '{}', not a relation", entity.key));
                None
            }
            None => {
                let names = entity.relations.iter().map(|relation| relation.name.as_str());
                let hint = self.hint(name, names);
                self.fault(path, format!("Relation '{name}' not found on entity '{}'{hint}", entity.key));
                None
            }
        }
    }
}

/// Returns whether `inherited` is `role` itself or a role that it inherits, directly or indirectly.
fn is_inherited(roles: &Entries<RoleDocument>, role: &str, inherited: &str) -> bool {
    let mut names = vec![role];
    let mut next = 0;
    while let Some(name) = names.get(next).copied() {
        next += 1;
        let others = roles.get(name).map_or(&[][..], RoleDocument::inherits).iter().map(String::as_str);
        let new: Vec<_> = others.filter(|other| !names.contains(other)).collect();
        names.extend(new);
    }
    names.contains(&inherited)
}
