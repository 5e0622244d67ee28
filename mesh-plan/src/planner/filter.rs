//! Planning of `$where` and `$having`, checked against names and types. `SPEC §3.7`

mod json;

use mesh_ql::{Filter, FilterOp, Literal, Operand, OrParam, Spanned, Subject};
use mesh_schema::FieldType;

use super::Planner;
use super::context::{NodeContext, Scope};
use super::literal;
use super::stored;
use super::subject::{self, Comparable};
use crate::plan::{CompareOp, Grouping, Predicate};
use crate::{Pattern, PatternTooLong, PlanError, PlanErrorKind, Value};

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
            if let (Subject::Json { field, at }, None) = (&condition.subject, grouping) {
                let left = json::find(planner, scope, (field, at), &condition.value)?;
                return comparison(&scope.context, &left, condition.op, &condition.value);
            }
            let control = if grouping.is_some() { "$having" } else { "$where" };
            let left = subject::find(planner, scope, &condition.subject, grouping, control)?;
            comparison(&scope.context, &left, condition.op, &condition.value)?
        }
        Filter::Relation(condition) => planner.relation_condition(scope, condition)?,
    })
}

/// Plans one condition. The parser has checked that the operand has the form that the operator takes.
pub(super) fn comparison(
    node: &NodeContext<'_>,
    left: &Comparable<'_>,
    op: Spanned<FilterOp>,
    operand: &Operand,
) -> Result<Predicate, PlanError> {
    if let Some(ty) = left.ty
        && !applies(*op, ty)
    {
        let kind = PlanErrorKind::Operator { field: left.name.value.clone(), op: *op, ty };
        return Err(node.error(op.span, kind));
    }
    let refused = |span, (ty, found)| {
        node.error(span, PlanErrorKind::Literal { field: left.name.value.clone(), ty, found })
    };
    let value = |literal: &Spanned<OrParam<Literal>>| -> Result<Value, PlanError> {
        match &literal.value {
            OrParam::Value(value) => {
                literal::value(left.ty, left.time_form, value).map_err(|error| refused(literal.span, error))
            }
            OrParam::Param { name } => {
                Err(node.error(literal.span, PlanErrorKind::NoParameter { name: name.value.clone() }))
            }
        }
    };
    let source = left.source.clone();
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
                    node.error(*span, PlanErrorKind::Pattern { field: left.name.value.clone(), chars })
                };
                Pattern::check(pattern).map_err(too_long)?;
                Predicate::Like { source, pattern: pattern.clone(), ignore_case: *op == FilterOp::Ilike }
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
            let value = if let Operand::One(literal) = operand { value(literal)? } else { Value::Null };
            let op = CompareOp::from_filter(other).unwrap_or(CompareOp::Eq);
            Predicate::Compare { source, op, value }
        }
    };
    Ok(stored::comparison(left, predicate))
}

/// Returns whether an operator can be used on values of a type. `SPEC §3.7`
pub(super) fn applies(op: FilterOp, ty: FieldType) -> bool {
    use FilterOp::{Eq, Ilike, In, IsNotNull, IsNull, Like, Ne, Nin};
    match (op, ty) {
        (IsNull | IsNotNull, _) => true,
        (_, FieldType::Json | FieldType::Binary) => false,
        (Like | Ilike, ty) => ty == FieldType::String,
        (op, FieldType::Uuid) => matches!(op, Eq | Ne | In | Nin),
        _ => true,
    }
}
