//! Which rows? `$where` and `$having`, checked against names and types. `SPEC §3.7`

use mesh_ql::{Condition, Filter, FilterOp, Literal, Operand, Subject};
use mesh_schema::{FieldType, Member, TimeForm};

use super::literal::{self, pattern_of};
use super::{At, group};
use crate::plan::{ColumnSource, CompareOp, Grouping, Predicate};
use crate::{PlanError, PlanErrorKind, Value};

/// The left side of a comparison, with what is known of its values.
pub(super) struct Left<'a> {
    pub(super) name: &'a str,
    pub(super) source: ColumnSource,
    pub(super) ty: Option<FieldType>,
    pub(super) time_form: Option<TimeForm>,
}

/// Plans `$where`, whose conditions name fields.
pub(super) fn plan(at: &At<'_>, tree: &Filter) -> Result<Predicate, PlanError> {
    walk(at, tree, &|condition| match &condition.subject {
        Subject::Field(name) => field(at, name, "$where"),
        Subject::Aggregate(alias) => {
            Err(at.error(PlanErrorKind::UnknownAggregate { alias: alias.clone(), control: "$where" }))
        }
    })
}

/// Plans `$having`, whose conditions name aggregates and group keys.
pub(super) fn plan_having(at: &At<'_>, tree: &Filter, grouping: &Grouping) -> Result<Predicate, PlanError> {
    walk(at, tree, &|condition| group::subject(at, &condition.subject, grouping, "$having"))
}

/// The scalar field of that name.
pub(super) fn field<'a>(at: &At<'_>, name: &'a str, control: &'static str) -> Result<Left<'a>, PlanError> {
    match at.entity.member(name) {
        Some(Member::Field(id)) => {
            let field = at.entity.field(id);
            Ok(Left {
                name,
                source: ColumnSource::Column(field.column.clone()),
                ty: field.ty,
                time_form: field.time_form,
            })
        }
        Some(Member::Relation(_)) => Err(at.error(PlanErrorKind::RelationAsField {
            entity: at.entity.key.clone(),
            relation: name.to_owned(),
            control,
        })),
        Some(Member::Computed(_)) => {
            Err(at.error(PlanErrorKind::ComputedAsField { field: name.to_owned(), control }))
        }
        None => Err(at.unknown(name)),
    }
}

type Lookup<'f, 'q> = dyn Fn(&'q Condition) -> Result<Left<'q>, PlanError> + 'f;

/// The tree's depth is bounded by the parser, and so is this recursion.
fn walk<'q>(at: &At<'_>, tree: &'q Filter, lookup: &Lookup<'_, 'q>) -> Result<Predicate, PlanError> {
    let all = |list: &'q [Filter]| list.iter().map(|tree| walk(at, tree, lookup)).collect::<Result<_, _>>();
    Ok(match tree {
        Filter::And(list) => Predicate::All(all(list)?),
        Filter::Or(list) => Predicate::Any(all(list)?),
        Filter::Not(tree) => Predicate::Not(Box::new(walk(at, tree, lookup)?)),
        Filter::Condition(condition) => comparison(at, condition, lookup(condition)?)?,
    })
}

pub(super) fn comparison(at: &At<'_>, condition: &Condition, left: Left<'_>) -> Result<Predicate, PlanError> {
    let op = condition.op;
    if let Some(ty) = left.ty
        && !applies(op, ty)
    {
        let field = left.name.to_owned();
        return Err(at.error(PlanErrorKind::Operator { field, op, ty }));
    }
    let value = |literal: &Literal| -> Result<Value, PlanError> {
        literal::value(left.ty, left.time_form, literal).map_err(|(ty, found)| {
            at.error(PlanErrorKind::Literal { field: left.name.to_owned(), ty, found })
        })
    };
    let source = left.source.clone();
    let one = || match &condition.value {
        Operand::One(literal) => value(literal),
        Operand::None | Operand::Many(_) => Ok(Value::Null),
    };
    let many = || match &condition.value {
        Operand::Many(list) => list.iter().map(value).collect(),
        Operand::None | Operand::One(_) => Ok(Vec::new()),
    };
    let compare = |op| one().map(|value| Predicate::Compare { source: source.clone(), op, value });
    let like = |ignore_case| {
        pattern_of(&condition.value)
            .map(|pattern| Predicate::Like { source: source.clone(), pattern, ignore_case })
            .map_err(|found| {
                at.error(PlanErrorKind::Literal { field: left.name.to_owned(), ty: "a text pattern", found })
            })
    };
    match op {
        FilterOp::Eq => compare(CompareOp::Eq),
        FilterOp::Ne => compare(CompareOp::Ne),
        FilterOp::Gt => compare(CompareOp::Gt),
        FilterOp::Gte => compare(CompareOp::Gte),
        FilterOp::Lt => compare(CompareOp::Lt),
        FilterOp::Lte => compare(CompareOp::Lte),
        FilterOp::In | FilterOp::Nin => {
            let (values, negated) = (many()?, op == FilterOp::Nin);
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

/// Whether an operator can be used on values of a type. `SPEC §3.7`
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
