//! Conditions of policies as predicates.

use mesh_ql::{FilterOp, Name, OrParam};
use mesh_schema::policy::SessionValue;
use mesh_schema::{EntityId, Schema};

use super::context::NodeContext;
use super::subject::{self, Comparable};
use super::{filter, stored};
use crate::plan::{CompareOp, Predicate};
use crate::policy::{Condition, Operand, SessionBinding, View};
use crate::{PlanError, PlanErrorKind, Principal};

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

    /// Returns the slot of a value, which is added if there is none.
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
    walk(&NodeContext { entity, path: &entity.key }, condition, &mut Slots::new(usize::MAX)).map(drop)
}

/// Plans a condition over the whole schema, since it may use hidden fields. Adds the session values that it needs to
/// `slots`. An error is a fault of the application, of which clients see no details.
pub(crate) fn plan(
    schema: &Schema,
    entity: EntityId,
    condition: &Condition,
    slots: &mut Slots,
) -> Result<Predicate, PlanError> {
    let entity = schema.entity(entity);
    walk(&NodeContext { entity, path: &entity.key }, condition, slots).map_err(|error| {
        let kind = PlanErrorKind::Policy { entity: error.path.clone(), fault: error.to_string() };
        PlanError::new(kind, error.path)
    })
}

/// Returns the condition of an entity with the values of a session filled in, for writes, whose plans are not cached.
pub(super) fn bound(
    view: &View,
    entity: EntityId,
    principal: Option<&Principal>,
) -> Result<Option<Predicate>, PlanError> {
    let Some(condition) = view.condition(entity) else { return Ok(None) };
    let mut slots = Slots::new(view.in_values);
    let predicate = plan(&view.whole, entity, condition, &mut slots)?;
    let values: Vec<_> = slots.list.iter().map(|slot| slot.bind(principal)).collect();
    Ok(Some(predicate.bound(&values, &[]).into_owned()))
}

/// The depth of the recursion is bounded for conditions of documents. Other conditions are written by the application.
fn walk(node: &NodeContext<'_>, condition: &Condition, slots: &mut Slots) -> Result<Predicate, PlanError> {
    let mut all =
        |parts: &[Condition]| parts.iter().map(|part| walk(node, part, slots)).collect::<Result<Vec<_>, _>>();
    Ok(match condition {
        Condition::All(parts) => match parts.as_slice() {
            // A single condition needs no conjunction.
            [part] => walk(node, part, slots)?,
            parts => Predicate::All(all(parts)?),
        },
        Condition::Any(parts) => Predicate::Any(all(parts)?),
        Condition::Not(part) => Predicate::Not(Box::new(walk(node, part, slots)?)),
        Condition::Field { field, op, value } => {
            let name = Name::from(field.clone());
            let left = subject::field(node, &name, "$where")?;
            // The parser checks this for queries. A mismatch must not change the meaning of a condition.
            let fits = match op {
                FilterOp::IsNull | FilterOp::IsNotNull => matches!(value, Operand::None),
                FilterOp::In | FilterOp::Nin => matches!(value, Operand::Many(_) | Operand::Session(_)),
                _ => matches!(value, Operand::One(_) | Operand::Session(_)),
            };
            if !fits {
                let (field, found) = (field.clone(), "another number of values".to_owned());
                let ty = "what its operator takes";
                return Err(node.error(None, PlanErrorKind::Literal { field, ty, found }));
            }
            let operand = match value {
                Operand::Session(value) => return session(node, left, *op, value, slots),
                Operand::None => mesh_ql::Operand::None,
                Operand::One(literal) => mesh_ql::Operand::One(OrParam::Value(literal.clone()).into()),
                Operand::Many(literals) => {
                    let values = literals.iter().cloned().map(OrParam::Value);
                    mesh_ql::Operand::Many(values.map(Into::into).collect())
                }
            };
            filter::comparison(node.path, &left, (*op).into(), &operand)?
        }
    })
}

/// Plans a comparison with a value of the session.
fn session(
    node: &NodeContext<'_>,
    left: Comparable<'_>,
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
    if stored::is_rewritten(&left) {
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
