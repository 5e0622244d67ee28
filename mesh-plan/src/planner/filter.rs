//! Planning of `$where` and `$having`, checked against names and types. `SPEC §3.7`

mod json;
pub(super) mod params;

use mesh_ql::{Filter, FilterOp, Literal, Operand, OrParam, Spanned, Subject};
use mesh_schema::FieldType;

use super::Planner;
use super::comparable::{self, Comparable};
use super::context::Scope;
use super::literal;
use super::stored_values;
use crate::error::PlanErrorKind;
use crate::plan::{Comparand, CompareOp, Grouping, Predicate};
use crate::value::like::{Pattern, PatternTooLong};
use crate::{PlanError, Value};

/// Plans a filter of rows, or of the groups of a grouping. The parser bounds the depth of the tree, and with it this
/// recursion.
pub(super) fn plan(
    planner: &mut Planner<'_>,
    scope: &mut Scope<'_>,
    tree: &Filter,
    grouping: Option<&Grouping>,
) -> Result<Predicate, PlanError> {
    let mut all = |list: &[Filter]| {
        list.iter().map(|tree| plan(planner, scope, tree, grouping)).collect::<Result<_, _>>()
    };
    Ok(match tree {
        Filter::And(list) => Predicate::All(all(list)?),
        Filter::Or(list) => Predicate::Any(all(list)?),
        Filter::Not(tree) => Predicate::Not(Box::new(plan(planner, scope, tree, grouping)?)),
        Filter::Condition(condition) => {
            let left = match (&condition.subject, grouping) {
                (Subject::Json { field, at }, None) => json::find(planner, scope, (field, at))?,
                (subject, _) => {
                    let control = if grouping.is_some() { "$having" } else { "$where" };
                    comparable::find(planner, scope, subject, grouping, control)?
                }
            };
            let (path, op, operand) = (scope.context.path, condition.op, &condition.value);
            match params::has_params(operand) {
                true => planner.params.condition(path, left, op, operand)?,
                false => comparison(path, &left, op, operand)?,
            }
        }
        Filter::Relation(condition) => planner.relation_condition(scope, condition)?,
        Filter::Search(text) => planner.search(scope.context, text)?,
    })
}

/// Checks that the operator can be used on the value.
pub(super) fn check_operator(path: &str, left: &Comparable, op: Spanned<FilterOp>) -> Result<(), PlanError> {
    if left.incomparable && !matches!(*op, FilterOp::IsNull | FilterOp::IsNotNull) {
        let kind = PlanErrorKind::Incomparable { field: left.name.value.clone() };
        return Err(PlanError::new(kind, path).with_span(op.span));
    }
    match left.ty {
        Some(ty) if !applies(*op, ty) => {
            let kind = PlanErrorKind::Operator { field: left.name.value.clone(), op: *op, ty };
            Err(PlanError::new(kind, path).with_span(op.span))
        }
        _ => Ok(()),
    }
}

/// Plans one condition of the node at this path. The parser has checked that the operand has the form that the operator
/// takes. The operand has no parameters.
pub(super) fn comparison(
    path: &str,
    left: &Comparable,
    op: Spanned<FilterOp>,
    operand: &Operand,
) -> Result<Predicate, PlanError> {
    check_operator(path, left, op)?;
    if op.is_of_arrays() {
        return json::array(path, left, op, operand);
    }
    let error = |span, kind| PlanError::new(kind, path).with_span(span);
    let refused =
        |span, (ty, found)| error(span, PlanErrorKind::Literal { field: left.name.value.clone(), ty, found });
    let value = |literal: &Spanned<OrParam<Literal>>| match &literal.value {
        OrParam::Value(value) => literal::value(left.ty, left.time_form, value)
            .map(Comparand::Value)
            .map_err(|error| refused(literal.span, error)),
        OrParam::Param { name } => {
            Err(error(literal.span, PlanErrorKind::NoParameter { name: name.value.clone() }))
        }
    };
    let source = json::typed(path, left, operand)?;
    let predicate = match (*op, operand) {
        (FilterOp::IsNull | FilterOp::IsNotNull, _) => {
            Predicate::IsNull { source, negated: *op == FilterOp::IsNotNull }
        }
        (FilterOp::In | FilterOp::Nin, _) => {
            let list = if let Operand::Many(list) = operand { list.as_slice() } else { &[] };
            let values = list.iter().map(value).collect::<Result<Vec<_>, _>>()?;
            match (values.is_empty(), *op == FilterOp::Nin) {
                (false, negated) => Predicate::In { source, values, negated },
                (true, false) => Predicate::Any(Vec::new()),
                (true, true) => Predicate::All(Vec::new()),
            }
        }
        (FilterOp::Like | FilterOp::Ilike, operand) => match operand {
            Operand::One(Spanned { value: OrParam::Value(Literal::Text(pattern)), span }) => {
                let too_long = |PatternTooLong { chars }| {
                    error(*span, PlanErrorKind::Pattern { field: left.name.value.clone(), chars })
                };
                Pattern::check(pattern).map_err(too_long)?;
                let pattern = Comparand::Value(pattern.clone());
                Predicate::Like { source, pattern, ignore_case: *op == FilterOp::Ilike }
            }
            Operand::One(Spanned { value: OrParam::Value(other), span }) => {
                return Err(refused(*span, ("a text pattern", literal::describe(other))));
            }
            Operand::One(other @ Spanned { value: OrParam::Param { .. }, .. }) => {
                return value(other).map(|_| Predicate::Any(Vec::new()));
            }
            Operand::None | Operand::Many(_) => {
                return Err(refused(op.span, ("a text pattern", "a list".to_owned())));
            }
        },
        (other, operand) => {
            let value = match operand {
                Operand::One(literal) => value(literal)?,
                Operand::None | Operand::Many(_) => Comparand::Value(Value::Null),
            };
            let op = CompareOp::from_filter(other).unwrap_or(CompareOp::Eq);
            Predicate::Compare { source, op, value }
        }
    };
    Ok(stored_values::comparison(left, predicate))
}

/// Returns whether an operator can be used on values of a type. `SPEC §3.7`
pub(super) fn applies(op: FilterOp, ty: FieldType) -> bool {
    use FilterOp::{Eq, Ilike, In, IsNotNull, IsNull, Like, Ne, Nin};
    match (op, ty) {
        (IsNull | IsNotNull, _) => true,
        (op, ty) if op.is_of_arrays() => ty == FieldType::Json,
        (_, FieldType::Json | FieldType::Binary) => false,
        (Like | Ilike, ty) => ty == FieldType::String,
        (op, FieldType::Uuid) => matches!(op, Eq | Ne | In | Nin),
        _ => true,
    }
}
