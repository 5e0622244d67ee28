//! Which records are there at all? A policy's condition as a predicate.

use mesh_ql::{FilterOp, Subject};
use mesh_schema::{EntityId, Schema};

use super::{At, filter};
use crate::plan::{CompareOp, Predicate};
use crate::policy::{Condition, Operand, SessionBinding, View};
use crate::{PlanError, PlanErrorKind, Principal};

/// Plans a condition over the whole schema: it may use what is hidden. The slots are the values of the session
/// that it needs.
pub(crate) fn plan(
    schema: &Schema,
    entity: EntityId,
    condition: &Condition,
) -> Result<(Predicate, Vec<SessionBinding>), PlanError> {
    let mut slots = Vec::new();
    let predicate = add(schema, entity, condition, &mut slots)?;
    Ok((predicate, slots))
}

/// The same for a plan that has slots already.
pub(super) fn add(
    schema: &Schema,
    entity: EntityId,
    condition: &Condition,
    slots: &mut Vec<SessionBinding>,
) -> Result<Predicate, PlanError> {
    let entity = schema.entity(entity);
    walk(&At { entity, path: &entity.key }, condition, slots)
}

/// The condition of an entity with the values of a session in it, for writes, whose plans are not kept.
pub(crate) fn bound(
    view: &View,
    entity: EntityId,
    principal: Option<&Principal>,
) -> Result<Option<Predicate>, PlanError> {
    let Some(condition) = view.condition(entity) else { return Ok(None) };
    let (predicate, slots) = plan(&view.whole, entity, condition).map_err(|error| of_policy(&error))?;
    let values: Vec<_> = slots.iter().map(|slot| slot.bind(principal)).collect();
    Ok(Some(predicate.bound(&values).into_owned()))
}

/// A condition that does not fit is the application's fault, and the client is told nothing of it.
pub(crate) fn of_policy(error: &PlanError) -> PlanError {
    let kind = PlanErrorKind::Policy { entity: error.path.clone(), fault: error.to_string() };
    PlanError { kind, path: error.path.clone() }
}

/// Conditions are nested as deep as their author wrote them; documents are bounded.
fn walk(at: &At<'_>, condition: &Condition, slots: &mut Vec<SessionBinding>) -> Result<Predicate, PlanError> {
    let mut all =
        |parts: &[Condition]| parts.iter().map(|part| walk(at, part, slots)).collect::<Result<Vec<_>, _>>();
    Ok(match condition {
        // An access without conditions but one is that one.
        Condition::All(parts) => match (all(parts)?, parts.as_slice()) {
            (planned, [_]) => planned.into_iter().next().unwrap_or(Predicate::Any(Vec::new())),
            (planned, _) => Predicate::All(planned),
        },
        Condition::Any(parts) => Predicate::Any(all(parts)?),
        Condition::Not(part) => Predicate::Not(Box::new(walk(at, part, slots)?)),
        Condition::Field { field, op, value } => {
            let left = filter::field(at, field, "$where")?;
            // An operand that does not fit its operator must not come to mean something else.
            let fits = match op {
                FilterOp::IsNull | FilterOp::IsNotNull => matches!(value, Operand::None),
                FilterOp::In | FilterOp::Nin => matches!(value, Operand::Many(_) | Operand::Session(_)),
                _ => matches!(value, Operand::One(_) | Operand::Session(_)),
            };
            if !fits {
                let (field, found) = (field.clone(), "another number of values".to_owned());
                return Err(at.error(PlanErrorKind::Literal { field, ty: "what its operator takes", found }));
            }
            let value = match value {
                Operand::Session(value) => return session(at, left, *op, *value, slots),
                Operand::None => mesh_ql::Operand::None,
                Operand::One(literal) => mesh_ql::Operand::One(literal.clone()),
                Operand::Many(literals) => mesh_ql::Operand::Many(literals.clone()),
            };
            let subject = Subject::Field(field.clone());
            filter::comparison(at, &mesh_ql::Condition { subject, op: *op, value }, left)?
        }
    })
}

fn session(
    at: &At<'_>,
    left: filter::Left<'_>,
    op: FilterOp,
    value: mesh_schema::policy::SessionValue,
    slots: &mut Vec<SessionBinding>,
) -> Result<Predicate, PlanError> {
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
            let found = "a value of the session".to_owned();
            let field = left.name.to_owned();
            return Err(at.error(PlanErrorKind::Literal {
                field,
                ty: "constants with this operator",
                found,
            }));
        }
    };
    if let Some(ty) = left.ty.filter(|ty| !filter::applies(op, *ty)) {
        return Err(at.error(PlanErrorKind::Operator { field: left.name.to_owned(), op, ty }));
    }
    let slot = SessionBinding { value, ty: left.ty, time_form: left.time_form };
    let place = slots.iter().position(|there| *there == slot).unwrap_or_else(|| {
        slots.push(slot);
        slots.len() - 1
    });
    Ok(Predicate::Session { source: left.source, op: compare, value, slot: place })
}
