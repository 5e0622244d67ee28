//! Planning of `$where` and `$having`, checked against names and types. `SPEC §3.7`

use mesh_ql::{Filter, FilterOp, Literal, Operand, Spanned, Subject};
use mesh_schema::FieldType;

use super::context::NodeContext;
use super::literal;
use super::subject::Comparable;
use crate::plan::{CompareOp, Predicate};
use crate::{PlanError, PlanErrorKind, Value};

/// Finds what a condition compares.
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

/// Plans one condition. Its operator and its operand go together, which the parser has checked.
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
    let value = |literal: &Spanned<Literal>| -> Result<Value, PlanError> {
        literal::value(left.ty, left.time_form, literal).map_err(|(ty, found)| {
            let kind = PlanErrorKind::Literal { field: left.name.value.clone(), ty, found };
            node.error(literal.span, kind)
        })
    };
    let source = left.source.clone();
    let one = || match operand {
        Operand::One(literal) => value(literal),
        Operand::None | Operand::Many(_) => Ok(Value::Null),
    };
    let many = || match operand {
        Operand::Many(list) => list.iter().map(value).collect(),
        Operand::None | Operand::One(_) => Ok(Vec::new()),
    };
    let compare = |op| one().map(|value| Predicate::Compare { source: source.clone(), op, value });
    let like = |ignore_case| match operand {
        Operand::One(Spanned { value: Literal::Text(pattern), .. }) => {
            Ok(Predicate::Like { source: source.clone(), pattern: pattern.clone(), ignore_case })
        }
        other => {
            let (span, found) = match other {
                Operand::One(literal) => (literal.span, literal::describe(literal)),
                Operand::None | Operand::Many(_) => (op.span, "a list".to_owned()),
            };
            let field = left.name.value.clone();
            Err(node.error(span, PlanErrorKind::Literal { field, ty: "a text pattern", found }))
        }
    };
    match *op {
        FilterOp::Eq => compare(CompareOp::Eq),
        FilterOp::Ne => compare(CompareOp::Ne),
        FilterOp::Gt => compare(CompareOp::Gt),
        FilterOp::Gte => compare(CompareOp::Gte),
        FilterOp::Lt => compare(CompareOp::Lt),
        FilterOp::Lte => compare(CompareOp::Lte),
        FilterOp::In | FilterOp::Nin => {
            let (values, negated) = (many()?, *op == FilterOp::Nin);
            Ok(match (values.is_empty(), negated) {
                (false, _) => Predicate::In { source, values, negated },
                (true, false) => Predicate::Any(Vec::new()),
                (true, true) => Predicate::All(Vec::new()),
            })
        }
        FilterOp::Like => like(false),
        FilterOp::Ilike => like(true),
        FilterOp::IsNull => Ok(Predicate::IsNull { source, negated: false }),
        FilterOp::IsNotNull => Ok(Predicate::IsNull { source, negated: true }),
    }
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
