//! Conditions on scalars and arrays in JSON fields. `SPEC §14.8`, `SPEC §22.2`

use mesh_ql::{FilterOp, Literal, Name, Operand, OrParam, Spanned};
use mesh_schema::FieldType;

use crate::PlanError;
use crate::error::PlanErrorKind;
use crate::plan::{ColumnSource, Comparand, Predicate};
use crate::planner::Planner;
use crate::planner::comparable::Comparable;
use crate::planner::context::Scope;
use crate::planner::literal::{as_written, describe};
use crate::value::json::{JsonPointer, JsonType};

/// Returns the value at a location in a JSON field, of any type.
pub(super) fn find(
    planner: &mut Planner<'_>,
    scope: &mut Scope<'_>,
    (field, at): (&Name, &Name),
) -> Result<Comparable, PlanError> {
    let found = planner.path(scope, field, "$where")?;
    if found.ty != Some(FieldType::Json) {
        let kind = PlanErrorKind::NotJson { field: field.value.clone() };
        return Err(scope.context.error(field.span, kind));
    }
    let (of, at) = (Box::new(found.source), JsonPointer::new(at));
    let source = ColumnSource::Json { of, at, ty: JsonType::Any };
    Ok(Comparable { source, ty: None, stored: None, time_form: None, nullable: true, ..found })
}

/// Returns the source of a comparison: a scalar in a JSON field has the type of the literals that it is compared with.
pub(super) fn typed(path: &str, left: &Comparable, operand: &Operand) -> Result<ColumnSource, PlanError> {
    let ColumnSource::Json { of, at, .. } = &left.source else { return Ok(left.source.clone()) };
    let ty = type_of_all(path, left, literals(operand))?;
    Ok(ColumnSource::Json { of: of.clone(), at: at.clone(), ty })
}

/// Plans a condition on the elements of an array, which is a JSON field or a value in it.
pub(super) fn array(
    path: &str,
    left: &Comparable,
    op: Spanned<FilterOp>,
    operand: &Operand,
) -> Result<Predicate, PlanError> {
    let field = || left.name.value.clone();
    let error = |span, kind| PlanError::new(kind, path).with_span(span);
    let (of, at) = match &left.source {
        ColumnSource::Json { of, at, .. } => ((**of).clone(), at.clone()),
        _ if left.ty != Some(FieldType::Json) => {
            return Err(error(left.name.span, PlanErrorKind::NotJson { field: field() }));
        }
        stored => (stored.clone(), JsonPointer::new("")),
    };
    let list = literals(operand);
    let ty = type_of_all(path, left, list)?;
    let values = list.iter().map(|Spanned { value, span }| match value {
        OrParam::Value(literal) => Ok(Comparand::Value(as_written(literal))),
        OrParam::Param { name } => Err(error(*span, PlanErrorKind::NoParameter { name: name.value.clone() })),
    });
    let values = values.collect::<Result<Vec<_>, _>>()?;
    if values.is_empty() {
        let (ty, found) = ("at least one value", "an empty list".to_owned());
        return Err(error(op.span, PlanErrorKind::Literal { field: field(), ty, found }));
    }
    Ok(Predicate::Has { of, at, ty, values, all: *op != FilterOp::HasAny })
}

fn literals(operand: &Operand) -> &[Spanned<OrParam<Literal>>] {
    match operand {
        Operand::None => &[],
        Operand::One(literal) => std::slice::from_ref(literal),
        Operand::Many(list) => list,
    }
}

/// Returns the type of literals, which must be the same for all.
fn type_of_all(
    path: &str,
    left: &Comparable,
    literals: &[Spanned<OrParam<Literal>>],
) -> Result<JsonType, PlanError> {
    let mut ty = JsonType::Any;
    for Spanned { value, span } in literals {
        let OrParam::Value(literal) = value else { continue };
        match type_of(literal) {
            same if same == ty => {}
            first if ty == JsonType::Any => ty = first,
            _ => {
                let (field, found) = (left.name.value.clone(), describe(literal));
                let kind = PlanErrorKind::Literal { field, ty: takes(ty), found };
                return Err(PlanError::new(kind, path).with_span(*span));
            }
        }
    }
    Ok(ty)
}

fn type_of(literal: &Literal) -> JsonType {
    match literal {
        Literal::Text(_) => JsonType::Text,
        Literal::Integer(_) | Literal::Unsigned(_) | Literal::Number(_) => JsonType::Number,
        Literal::Boolean(_) => JsonType::Boolean,
    }
}

/// Describes the values that a list takes if its first literal has that type.
fn takes(ty: JsonType) -> &'static str {
    match ty {
        JsonType::Text => "texts only, as the first value is one",
        JsonType::Number => "numbers only, as the first value is one",
        JsonType::Boolean => "booleans only, as the first value is one",
        JsonType::Any => "a scalar",
    }
}
