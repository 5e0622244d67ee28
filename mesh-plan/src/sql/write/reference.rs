//! Selects of the records that foreign keys refer to, for databases that do not report which foreign key was violated.

use sea_query::{Expr, ExprTrait as _, Query};

use super::super::dialect::Dialect;
use super::super::statement::{Params, Statement};
use crate::mutation::{Mutation, Subject};
use crate::{Value, mutation::Assignment};
use mesh_schema::KeyReference;

/// A foreign key that a write sets.
#[derive(Clone, Debug, PartialEq)]
pub struct SetReference<P> {
    /// The fields of its columns that the principal may see.
    pub fields: Vec<String>,
    /// A select that returns a row if the record that the key refers to exists.
    pub statement: Statement<P>,
}

/// Returns the foreign keys whose columns are all set to values other than NULL.
pub(in crate::sql) fn references<D: Dialect>(
    mutation: &Mutation,
    dialect: &D,
) -> Vec<SetReference<D::Param>> {
    let action = mutation.action();
    let Some(subject) = action.assigned(mutation.subject()) else { return Vec::new() };
    let keys = subject.entity().foreign_keys.iter();
    keys.filter_map(|key| reference(subject, key, action.values(), dialect)).collect()
}

fn reference<D: Dialect>(
    subject: &Subject,
    key: &KeyReference,
    values: &[Assignment],
    dialect: &D,
) -> Option<SetReference<D::Param>> {
    let mut params = Params::new(None);
    let mut select = Query::select();
    select.expr(Expr::Constant(1.into())).from(dialect.table(&key.table));
    let mut fields = Vec::new();
    for pair in &key.pairs {
        let set = values.iter().find(|value| value.column.eq_ignore_ascii_case(&pair.parent))?;
        // A key with NULL refers to nothing.
        if set.value == Value::Null {
            return None;
        }
        fields.extend(subject.field_of_column(&set.column).map(str::to_owned));
        let value = params.add(dialect.value(&set.value));
        select.and_where(Expr::col(pair.target.clone()).eq(value));
    }
    Some(SetReference { fields, statement: params.render(&select, dialect.builder()) })
}
