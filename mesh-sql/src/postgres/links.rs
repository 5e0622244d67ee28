//! Properties of to-one relations.

use mesh_schema::Link;
use sea_query::Expr;

use super::Operand;
use super::type_class::TypeClass;
use mesh_plan::Join;

/// Returns whether the database itself ensures that a relation has at most one row for each parent.
pub(super) fn leads_to_one(join: &Join) -> bool {
    let unique = |column: &String| join.node.native.get(column).is_some_and(|native| native.unique);
    matches!(&join.link, Link::Direct { pairs } if pairs.iter().any(|pair| unique(&pair.target)))
}

/// Returns an expression that is never NULL if a to-one relation has a record. A number that the link compares costs the
/// database less than a constant, which it must distinguish from an absent row.
pub(super) fn presence(join: &Join, alias: &str) -> Operand {
    let number = match &join.link {
        Link::Direct { pairs } => pairs.iter().find_map(|pair| {
            let class = TypeClass::new(join.node.native.get(&pair.target));
            let expr = Expr::col((alias.to_owned(), pair.target.clone()));
            matches!(class, TypeClass::Integer(_)).then(|| Operand::new(expr, class))
        }),
        Link::Through { .. } => None,
    };
    number.unwrap_or_else(|| Operand::new(Expr::Constant(true.into()), TypeClass::Boolean))
}
