//! Planning of `$where` and `$having`, checked against names and types. `SPEC §3.7`

use mesh_ql::{Filter, FilterOp, Literal, Operand, Spanned, Subject};
use mesh_schema::FieldType;

use super::context::NodeContext;
use super::literal;
use super::stored;
use super::subject::Comparable;
use crate::plan::{CompareOp, Predicate};
use crate::{Pattern, PatternTooLong, PlanError, PlanErrorKind, Value};

/// Finds the left side of a condition.
type Lookup<'f, 'q> = dyn Fn(&'q Subject) -> Result<Comparable<'q>, PlanError> + 'f;

/// Plans a filter. The parser bounds the depth of the tree, and with it this recursion.
pub(super) fn plan<'q>(
    node: &NodeContext<'_>,
    tree: &'q Filter,
    lookup: &Lookup<'_, 'q>,
) -> Result<Predicate, PlanError> {
    let all = |list: &'q [Filter]| list.iter().map(|tree| plan(node, tree, lookup)).collect::<Result<_, _>>();
    Ok(match tree {
        Filter::And(list) => Predicate::All(all(list)?),
        Filter::Or(list) => Predicate::Any(all(list)?),
        Filter::Not(tree) => Predicate::Not(Box::new(plan(node, tree, lookup)?)),
        Filter::Condition(condition) => {
            comparison(node, &lookup(&condition.subject)?, condition.op, &condition.value)?
        }
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
    let value = |literal: &Spanned<Literal>| -> Result<Value, PlanError> {
        literal::value(left.ty, left.time_form, literal).map_err(|error| refused(literal.span, error))
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
            Operand::One(Spanned { value: Literal::Text(pattern), span }) => {
                let too_long = |PatternTooLong { chars }| {
                    node.error(*span, PlanErrorKind::Pattern { field: left.name.value.clone(), chars })
                };
                Pattern::check(pattern).map_err(too_long)?;
                Predicate::Like { source, pattern: pattern.clone(), ignore_case: *op == FilterOp::Ilike }
            }
            Operand::One(other) => {
                return Err(refused(other.span, ("a text pattern", literal::describe(other))));
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
