//! Properties of to-one relations.

use mesh_schema::Link;
use sea_query::Expr;

use super::Operand;
use super::type_class::TypeClass;
use crate::class::Class as _;
use mesh_plan::Join;

/// Returns an expression that is never NULL if a to-one relation has a record. A number that the link compares costs the
/// database less than a constant, which it must distinguish from an absent row.
pub(super) fn presence(join: &Join, alias: &str) -> Operand {
    let number = match &join.link {
        Link::Direct { pairs } => pairs.iter().find_map(|pair| {
            let class = TypeClass::of(join.node.native.get(&pair.target));
            let expr = Expr::col((alias.to_owned(), pair.target.clone()));
            matches!(class, TypeClass::Integer(_)).then(|| Operand::new(expr, class))
        }),
        Link::Through { .. } => None,
    };
    number.unwrap_or_else(|| Operand::new(Expr::Constant(true.into()), TypeClass::Boolean))
}
