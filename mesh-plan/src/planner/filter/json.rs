//! Conditions on scalars in JSON fields. `SPEC §14.8`

use mesh_ql::{Literal, Name, Operand, OrParam, Spanned};
use mesh_schema::FieldType;

use crate::PlanError;
use crate::error::PlanErrorKind;
use crate::plan::ColumnSource;
use crate::planner::Planner;
use crate::planner::comparable::Comparable;
use crate::planner::context::Scope;
use crate::planner::literal::describe;
use crate::value::json::{JsonPointer, JsonType};

/// Returns the scalar at a location in a JSON field, of any type.
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
    let literals = match operand {
        Operand::None => &[],
        Operand::One(literal) => std::slice::from_ref(literal),
        Operand::Many(list) => list.as_slice(),
    };
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
    Ok(ColumnSource::Json { of: of.clone(), at: at.clone(), ty })
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
