//! Conditions of policies as predicates.

use std::sync::Arc;

use mesh_ql::{FilterOp, Name, OrParam, Quantifier};
use mesh_schema::policy::SessionValue;
use mesh_schema::{EntityId, Schema};

use super::comparable::Comparable;
use super::context::{NodeContext, Scope};
use super::{filter, related, stored_values};
use crate::error::PlanErrorKind;
use crate::plan::{CompareOp, Node, Predicate, Related};
use crate::policy::{Condition, Operand, SessionBinding, SessionInput, View};
use crate::{PlanError, Principal};

/// The session values that conditions need.
pub(crate) struct Slots {
    pub(crate) list: Vec<SessionBinding>,
    /// The largest number of values in a list.
    in_values: usize,
}

impl Slots {
    pub(crate) fn new(in_values: usize) -> Self {
        Self { list: Vec::new(), in_values }
    }

    /// Returns the slot of a value, and adds a slot if there is none.
    fn add(&mut self, binding: SessionBinding) -> usize {
        self.list.iter().position(|other| *other == binding).unwrap_or_else(|| {
            self.list.push(binding);
            self.list.len() - 1
        })
    }
}

/// Checks that a condition fits its entity.
pub(crate) fn check(schema: &Schema, entity: EntityId, condition: &Condition) -> Result<(), PlanError> {
    let entity = schema.entity(entity);
    let mut scope = Scope::new(NodeContext { entity, path: &entity.key });
    let mut slots = Slots::new(usize::MAX);
    Conditions { schema, slots: &mut slots }.walk(&mut scope, condition).map(drop)
}

/// Plans a condition over the whole schema, since it may use hidden names. Adds the session values that it needs to `slots`,
/// and the related records that it needs to `related`. An error is a fault of the application, so clients see no details of
/// it.
pub(crate) fn plan(
    schema: &Schema,
    entity: EntityId,
    condition: &Condition,
    slots: &mut Slots,
    related: &mut Vec<Related>,
) -> Result<Predicate, PlanError> {
    let entity = schema.entity(entity);
    let mut scope = Scope::new(NodeContext { entity, path: &entity.key });
    std::mem::swap(&mut scope.related, related);
    let planned = Conditions { schema, slots }.walk(&mut scope, condition);
    std::mem::swap(&mut scope.related, related);
    planned.map_err(|error| {
        let kind = PlanErrorKind::Policy { entity: entity.key.clone(), fault: error.to_string() };
        PlanError::new(kind, error.path)
    })
}

/// Returns the records that fulfill a condition, with the values of a session filled in. This is for writes, whose plans are
/// not cached.
pub(super) fn condition_node(
    view: &View,
    entity: EntityId,
    condition: &Condition,
    principal: Option<&Principal>,
) -> Result<Arc<Node>, PlanError> {
    let mut slots = Slots::new(view.in_values);
    let mut node = Node::of_entity(view.full_schema.entity(entity));
    let predicate = plan(&view.full_schema, entity, condition, &mut slots, &mut node.related)?;
    node.restrict(Some(predicate), None);
    let values: Vec<_> = slots.list.iter().map(|slot| slot.bind(principal)).collect();
    bind(&mut node, &values);
    Ok(Arc::new(node))
}

/// Fills in the values of a session.
fn bind(node: &mut Node, values: &[SessionInput]) {
    if let Some(filter) = &mut node.filter {
        *filter = filter.bind(values, &[]).into_owned();
    }
    node.related.iter_mut().for_each(|related| bind(&mut related.node, values));
}

struct Conditions<'a> {
    schema: &'a Schema,
    slots: &'a mut Slots,
}

impl Conditions<'_> {
    /// Plans a condition. The recursion is bounded for conditions of documents. Other conditions are written by the
    /// application.
    fn walk(&mut self, scope: &mut Scope<'_>, condition: &Condition) -> Result<Predicate, PlanError> {
        let mut all = |parts: &[Condition]| {
            parts.iter().map(|part| self.walk(scope, part)).collect::<Result<Vec<_>, _>>()
        };
        Ok(match condition {
            Condition::All(parts) => match parts.as_slice() {
                // A single condition needs no conjunction.
                [part] => self.walk(scope, part)?,
                parts => Predicate::All(all(parts)?),
            },
            Condition::Any(parts) => Predicate::Any(all(parts)?),
            Condition::Not(part) => Predicate::Not(Box::new(self.walk(scope, part)?)),
            Condition::Related { relation, op, condition } => {
                self.related(scope, relation, *op, condition.as_deref())?
            }
            Condition::Field { field, op, value } => self.comparison(scope, field, *op, value)?,
        })
    }

    /// Plans a condition on related records. Policies do not restrict the related records, since a condition may depend on
    /// records that the role does not see.
    fn related(
        &mut self,
        scope: &mut Scope<'_>,
        relation: &str,
        op: Quantifier,
        condition: Option<&Condition>,
    ) -> Result<Predicate, PlanError> {
        let relation = related::relation(scope.context, relation, None)?;
        let (entity, path) = (self.schema.entity(relation.target), scope.path_of(relation));
        let mut below = Scope::new(NodeContext { entity, path: &path });
        let filter = condition.map(|condition| self.walk(&mut below, condition)).transpose()?;
        let mut node = Node { related: below.related, ..Node::of_entity(entity) };
        let negate = |filter| match op {
            Quantifier::Every => Predicate::NotTrue(Box::new(filter)),
            Quantifier::Some | Quantifier::None => filter,
        };
        node.restrict(None, filter.map(negate));
        node.path = path;
        let related = scope.add(relation, entity, node);
        Ok(Predicate::Exists { related, negated: op != Quantifier::Some })
    }

    fn comparison(
        &mut self,
        scope: &mut Scope<'_>,
        field: &str,
        op: FilterOp,
        value: &Operand,
    ) -> Result<Predicate, PlanError> {
        let name = Name::from(field.to_owned());
        let schema = self.schema;
        let mut unrestricted = |scope: Scope<'_>, _| {
            let node = Node::of_entity(scope.context.entity);
            Ok(Node { path: scope.context.path.to_owned(), ..node })
        };
        let left = related::path(schema, scope, field, (&name, "$where", "policy"), &mut unrestricted)?;
        let node = scope.context;
        // The parser checks this for queries. A mismatch must not change the meaning of a condition.
        let fits = match op {
            FilterOp::IsNull | FilterOp::IsNotNull => matches!(value, Operand::None),
            op if op.takes_list() => matches!(value, Operand::Many(_) | Operand::Session(_)),
            _ => matches!(value, Operand::One(_) | Operand::Session(_)),
        };
        if !fits {
            let (field, found) = (field.to_owned(), "another number of values".to_owned());
            let ty = "what its operator takes";
            return Err(node.error(None, PlanErrorKind::Literal { field, ty, found }));
        }
        let operand = match value {
            Operand::Session(value) => return session(&node, left, op, value, self.slots),
            Operand::None => mesh_ql::Operand::None,
            Operand::One(literal) => mesh_ql::Operand::One(OrParam::Value(literal.clone()).into()),
            Operand::Many(literals) => {
                let values = literals.iter().cloned().map(OrParam::Value);
                mesh_ql::Operand::Many(values.map(Into::into).collect())
            }
        };
        filter::comparison(node.path, &left, op.into(), &operand)
    }
}

/// Plans a comparison with a value of the session.
fn session(
    node: &NodeContext<'_>,
    left: Comparable,
    op: FilterOp,
    value: &SessionValue,
    slots: &mut Slots,
) -> Result<Predicate, PlanError> {
    let field = || left.name.value.clone();
    let refused = |ty| {
        let found = format!("'{value}' of the session");
        Err(node.error(None, PlanErrorKind::Literal { field: field(), ty, found }))
    };
    if let Some(ty) = left.ty.filter(|ty| !filter::applies(op, *ty)) {
        return Err(node.error(None, PlanErrorKind::Operator { field: field(), op, ty }));
    }
    if stored_values::is_rewritten(&left) {
        return refused("constants, since its column stores values in another form");
    }
    let binding =
        |list| SessionBinding { value: value.clone(), ty: left.ty, time_form: left.time_form, list };
    match (CompareOp::from_filter(op), op, value) {
        (Some(op), ..) => {
            let slot = slots.add(binding(None));
            Ok(Predicate::Session { source: left.source, op, value: value.clone(), slot })
        }
        (None, FilterOp::In | FilterOp::Nin, SessionValue::Claim(_)) => {
            let slot = slots.add(binding(Some(slots.in_values)));
            let negated = op == FilterOp::Nin;
            Ok(Predicate::SessionIn { source: left.source, value: value.clone(), slot, negated })
        }
        (None, FilterOp::In | FilterOp::Nin, _) => refused("a list or a claim with this operator"),
        _ => refused("constants with this operator"),
    }
}
