//! Policies of schema documents.

use std::sync::Arc;

use mesh_ql::Literal;
use mesh_schema::policy::{
    ANY_ROLE, ConditionDocument, Constant, ListedDocument, OperandDocument, RoleDocument, RuleDocument,
    rules_for,
};
use mesh_schema::{Entity, Entries, Fault, Faults, FieldList, Schema, Writable};

use super::{Access, Condition, Operand, Policy, union};
use crate::planner::policy_condition;
use crate::planner::write::preset;

/// The policy of a schema document: the rights of each role, and of `*` for all other roles, to read and write.
/// [`crate::MeshBuilder::build`] adds it.
#[derive(Clone, Debug)]
pub struct SchemaPolicy {
    roles: Arc<Entries<RoleDocument>>,
}

impl SchemaPolicy {
    /// Creates the policy of a schema, if its document has one.
    ///
    /// # Errors
    /// Reports all conditions with operators that do not fit a field's type, or with values that the field cannot hold.
    pub fn from_schema(schema: &Schema) -> Result<Option<Self>, Faults> {
        let Some(roles) = schema.policies() else { return Ok(None) };
        let mut faults = Vec::new();
        for (role, document) in roles.iter() {
            for (key, rule) in document.rules().into_iter().flat_map(Entries::iter) {
                let RuleDocument::Listed(listed) = rule else { continue };
                for (name, message) in misfits(schema, key, listed) {
                    let path = format!("policies.{role}.{key}.{name}");
                    faults.push(Fault { path, message, line: None, column: None });
                }
            }
        }
        let policy = Self { roles: Arc::new(roles.clone()) };
        if faults.is_empty() {
            for (role, _) in roles.iter().filter(|(_, document)| !document.inherits().is_empty()) {
                for (_, entity) in schema.entities() {
                    if let Err(message) = policy.access_of(role, entity) {
                        let path = format!("policies.{role}.{}", entity.key);
                        faults.push(Fault { path, message, line: None, column: None });
                    }
                }
            }
        }
        if faults.is_empty() { Ok(Some(policy)) } else { Err(faults.into()) }
    }

    /// Returns the rights of a role of the document on an entity: everything that at least one of its rules grants. An error
    /// states why the rules cannot be combined.
    fn access_of(&self, role: &str, entity: &Entity) -> Result<Access, String> {
        let rules = rules_for(&self.roles, role, &entity.key);
        let mut granted: Vec<_> = rules.into_iter().map(|(role, rule)| (role, access(rule))).collect();
        match granted.len() {
            0 => Ok(Access::none()),
            1 => Ok(granted.pop().map_or_else(Access::none, |(_, access)| access)),
            _ => union::any_of(entity, &granted),
        }
    }
}

impl Policy for SchemaPolicy {
    fn access(&self, class: &str, entity: &Entity) -> Access {
        let role = if self.roles.get(class).is_some() { class } else { ANY_ROLE };
        // A policy exists only if the rules of each role can be combined.
        self.access_of(role, entity).unwrap_or_default()
    }
}

/// Returns the members of a rule whose operators or values do not fit the types of fields.
fn misfits(schema: &Schema, key: &str, listed: &ListedDocument) -> Vec<(String, String)> {
    let conditions = [("$where", &listed.condition), ("$check", &listed.check)];
    let Some(id) = schema.find(key) else {
        return vec![("$where".to_owned(), format!("Entity '{key}' not found"))];
    };
    let mut found = Vec::new();
    for (name, condition) in conditions {
        if let Some(Err(error)) =
            condition.as_ref().map(|condition| policy_condition::check(schema, id, &read(condition)))
        {
            found.push((name.to_owned(), error.to_string()));
        }
    }
    for (name, presets) in listed.presets() {
        for (field, value) in presets.iter() {
            if let Err(error) = preset::check(schema, id, field, &operand(value)) {
                found.push((format!("{name}.{field}"), error.to_string()));
            }
        }
    }
    found
}

fn access(rule: &RuleDocument) -> Access {
    let RuleDocument::Listed(listed) = rule else { return Access::all() };
    let mut access = Access::all();
    if let Some(fields) = &listed.fields {
        access = access.only(fields.iter().map(String::as_str));
    }
    access = access.except(listed.except.iter().map(String::as_str));
    if let Some(condition) = &listed.condition {
        access = access.when(read(condition));
    }
    if let Some(check) = &listed.check {
        access = access.checking(read(check));
    }
    for (field, value) in listed.set.iter() {
        access = access.setting(field, operand(value));
    }
    for (field, value) in listed.set_on_create.iter() {
        access = access.setting_on_create(field, operand(value));
    }
    let Writable { create, update, delete } = &listed.writable;
    if let Some(fields) = names(create) {
        access = access.creating(fields);
    }
    if let Some(fields) = names(update) {
        access = access.updating(fields);
    }
    if *delete { access } else { access.keeping() }
}

/// Returns the names of a list; `None` for all fields.
fn names(list: &FieldList) -> Option<impl Iterator<Item = &str>> {
    let names = match list {
        FieldList::All => return None,
        FieldList::None => &[][..],
        FieldList::Fields(names) => names,
    };
    Some(names.iter().map(String::as_str))
}

/// Converts a condition. The recursion is bounded by the loader of documents.
fn read(condition: &ConditionDocument) -> Condition {
    match condition {
        ConditionDocument::And(parts) => Condition::All(parts.iter().map(read).collect()),
        ConditionDocument::Or(parts) => Condition::Any(parts.iter().map(read).collect()),
        ConditionDocument::Not(part) => Condition::Not(Box::new(read(part))),
        ConditionDocument::Related { relation, op, condition } => match op.parse() {
            Ok(op) => Condition::related(relation, op, condition.as_deref().map(read)),
            Err(_) => Condition::Any(Vec::new()),
        },
        ConditionDocument::Compare { field, op, value } => match op.parse() {
            Ok(op) => Condition::Field { field: field.clone(), op, value: operand(value) },
            // The loader accepts only the operators of queries. A condition with another operator would hold for no record.
            Err(_) => Condition::Any(Vec::new()),
        },
    }
}

fn operand(value: &OperandDocument) -> Operand {
    match value {
        OperandDocument::None => Operand::None,
        OperandDocument::One(constant) => Operand::One(literal(constant)),
        OperandDocument::Many(constants) => Operand::Many(constants.iter().map(literal).collect()),
        OperandDocument::Session(value) => Operand::Session(value.clone()),
    }
}

fn literal(constant: &Constant) -> Literal {
    match constant {
        Constant::Boolean(value) => Literal::Boolean(*value),
        Constant::Integer(value) => Literal::Integer(*value),
        Constant::Number(value) => Literal::Number(*value),
        Constant::Text(value) => Literal::Text(value.clone()),
    }
}

#[cfg(test)]
mod tests {
    use mesh_ql::{FilterOp, Quantifier};

    #[test]
    fn documents_and_queries_have_the_same_operators() {
        assert_eq!(mesh_schema::policy::OPERATORS, FilterOp::ALL.map(FilterOp::as_str));
        assert_eq!(mesh_schema::policy::QUANTIFIERS, Quantifier::ALL.map(Quantifier::as_str));
    }
}
