//! Conditions of policies as predicates.

use mesh_ql::{FilterOp, Name};
use mesh_schema::{EntityId, Schema};

use super::context::NodeContext;
use super::filter;
use super::subject::{self, Comparable};
use crate::plan::{CompareOp, Predicate};
use crate::policy::{Condition, Operand, SessionBinding, View};
use crate::{PlanError, PlanErrorKind, Principal};

/// Plans a condition over the whole schema, since it may use hidden fields. Returns also the session values that it
/// needs.
pub(crate) fn plan(
    schema: &Schema,
    entity: EntityId,
    condition: &Condition,
) -> Result<(Predicate, Vec<SessionBinding>), PlanError> {
    let mut slots = Vec::new();
    let predicate = add(schema, entity, condition, &mut slots)?;
    Ok((predicate, slots))
}

/// Plans a condition as [`plan`] does, and adds the session values that it needs to `slots`.
pub(super) fn add(
    schema: &Schema,
    entity: EntityId,
    condition: &Condition,
    slots: &mut Vec<SessionBinding>,
) -> Result<Predicate, PlanError> {
    let entity = schema.entity(entity);
    walk(&NodeContext { entity, path: &entity.key }, condition, slots)
}

/// Returns the condition of an entity with the values of a session filled in. It is for writes, whose plans are not
/// cached.
pub(crate) fn bound(
    view: &View,
    entity: EntityId,
    principal: Option<&Principal>,
) -> Result<Option<Predicate>, PlanError> {
    let Some(condition) = view.condition(entity) else { return Ok(None) };
    let (predicate, slots) = plan(&view.whole, entity, condition).map_err(|error| policy_error(&error))?;
    let values: Vec<_> = slots.iter().map(|slot| slot.bind(principal)).collect();
    Ok(Some(predicate.bound(&values).into_owned()))
}

/// Turns an error about a condition, which is a fault of the application, into one that clients see no details of.
pub(crate) fn policy_error(error: &PlanError) -> PlanError {
    let kind = PlanErrorKind::Policy { entity: error.path.clone(), fault: error.to_string() };
    PlanError::new(kind, error.path.as_str())
}

/// Conditions are as deep as the application wrote them; those of documents are bounded.
fn walk(
    node: &NodeContext<'_>,
    condition: &Condition,
    slots: &mut Vec<SessionBinding>,
) -> Result<Predicate, PlanError> {
    let mut all =
        |parts: &[Condition]| parts.iter().map(|part| walk(node, part, slots)).collect::<Result<Vec<_>, _>>();
    Ok(match condition {
        // A single condition needs no conjunction.
        Condition::All(parts) => match (all(parts)?, parts.as_slice()) {
            (planned, [_]) => planned.into_iter().next().unwrap_or(Predicate::Any(Vec::new())),
            (planned, _) => Predicate::All(planned),
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
                Operand::Session(value) => return session(node, left, *op, *value, slots),
                Operand::None => mesh_ql::Operand::None,
                Operand::One(literal) => mesh_ql::Operand::One(literal.clone().into()),
                Operand::Many(literals) => {
                    mesh_ql::Operand::Many(literals.iter().cloned().map(Into::into).collect())
                }
            };
            filter::comparison(node, &left, (*op).into(), &operand)?
        }
    })
}

fn session(
    node: &NodeContext<'_>,
    left: Comparable<'_>,
    op: FilterOp,
    value: mesh_schema::policy::SessionValue,
    slots: &mut Vec<SessionBinding>,
) -> Result<Predicate, PlanError> {
    let field = || left.name.value.clone();
    let compare = match op {
        FilterOp::Eq => CompareOp::Eq,
        FilterOp::Ne => CompareOp::Ne,
        FilterOp::Gt => CompareOp::Gt,
        FilterOp::Gte => CompareOp::Gte,
        FilterOp::Lt => CompareOp::Lt,
        FilterOp::Lte => CompareOp::Lte,
        FilterOp::In
        | FilterOp::Nin
        | FilterOp::Like
        | FilterOp::Ilike
        | FilterOp::IsNull
        | FilterOp::IsNotNull => {
            let (ty, found) = ("constants with this operator", "a value of the session".to_owned());
            return Err(node.error(None, PlanErrorKind::Literal { field: field(), ty, found }));
        }
    };
    if let Some(ty) = left.ty.filter(|ty| !filter::applies(op, *ty)) {
        return Err(node.error(None, PlanErrorKind::Operator { field: field(), op, ty }));
    }
    let slot = SessionBinding { value, ty: left.ty, time_form: left.time_form };
    let index = slots.iter().position(|other| *other == slot).unwrap_or_else(|| {
        slots.push(slot);
        slots.len() - 1
    });
    Ok(Predicate::Session { source: left.source, op: compare, value, slot: index })
}
