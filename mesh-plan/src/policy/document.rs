//! Policies of schema documents.

use std::sync::Arc;

use mesh_ql::{FilterOp, Literal, Quantifier};
use mesh_schema::policy::{
    ANY_ROLE, ConditionDocument, Constant, ListedDocument, OperandDocument, RoleDocument, RuleDocument,
};
use mesh_schema::{Entity, Entries, Fault, Faults, FieldList, Schema, Writable};

use super::{Access, Condition, Operand, Policy};
use crate::planner::policy_condition;

/// The policy of a schema document: what each role, and `*` for all others, may read and write.
/// [`crate::MeshBuilder::build`] adds it.
#[derive(Clone, Debug)]
pub struct SchemaPolicy {
    roles: Arc<Entries<RoleDocument>>,
}

impl SchemaPolicy {
    /// Creates the policy of a schema, if its document has one.
    ///
    /// # Errors
    /// Reports all conditions with operators that do not fit a field's type, or values that it cannot hold.
    pub fn from_schema(schema: &Schema) -> Result<Option<Self>, Faults> {
        let Some(roles) = schema.policies() else { return Ok(None) };
        let mut faults = Vec::new();
        for (role, document) in roles.iter() {
            let RoleDocument::Entities(rules) = document else { continue };
            for (key, rule) in rules.iter() {
                let RuleDocument::Listed(ListedDocument { condition: Some(condition), .. }) = rule else {
                    continue;
                };
                let checked =
                    schema.find(key).map(|id| policy_condition::check(schema, id, &read(condition)));
                let message = match checked {
                    Some(Ok(())) => continue,
                    Some(Err(error)) => error.to_string(),
                    None => format!("Entity '{key}' not found"),
                };
                let path = format!("policies.{role}.{key}.$where");
                faults.push(Fault { path, message, line: None, column: None });
            }
        }
        if faults.is_empty() { Ok(Some(Self { roles: Arc::new(roles.clone()) })) } else { Err(faults.into()) }
    }
}

impl Policy for SchemaPolicy {
    fn access(&self, class: &str, entity: &Entity) -> Access {
        match self.roles.get(class).or_else(|| self.roles.get(ANY_ROLE)) {
            Some(RoleDocument::All) => Access::all(),
            Some(RoleDocument::Entities(rules)) => match rules.get(&entity.key) {
                Some(RuleDocument::All) => Access::all(),
                Some(RuleDocument::Listed(listed)) => access(listed),
                None => Access::none(),
            },
            None => Access::none(),
        }
    }
}

fn access(listed: &ListedDocument) -> Access {
    let mut access = Access::all();
    if let Some(fields) = &listed.fields {
        access = access.only(fields.iter().map(String::as_str));
    }
    if let Some(condition) = &listed.condition {
        access = access.when(read(condition));
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

/// Converts a condition. The loader of documents bounds the depth of the recursion.
fn read(condition: &ConditionDocument) -> Condition {
    match condition {
        ConditionDocument::And(parts) => Condition::All(parts.iter().map(read).collect()),
        ConditionDocument::Or(parts) => Condition::Any(parts.iter().map(read).collect()),
        ConditionDocument::Not(part) => Condition::Not(Box::new(read(part))),
        ConditionDocument::Related { relation, op, condition } => match Quantifier::parse(op) {
            Some(op) => Condition::related(relation, op, condition.as_deref().map(read)),
            None => Condition::Any(Vec::new()),
        },
        ConditionDocument::Compare { field, op, value } => match FilterOp::parse(op) {
            Some(op) => Condition::Field { field: field.clone(), op, value: operand(value) },
            // The loader accepts the operators of queries only; a condition with another one would hold for no record.
            None => Condition::Any(Vec::new()),
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
    use super::*;

    #[test]
    fn documents_and_queries_have_the_same_operators() {
        assert_eq!(mesh_schema::policy::OPERATORS, FilterOp::ALL.map(FilterOp::name));
        assert_eq!(mesh_schema::policy::QUANTIFIERS, Quantifier::ALL.map(Quantifier::name));
    }
}
