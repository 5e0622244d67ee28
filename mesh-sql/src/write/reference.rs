//! Selects of the records that foreign keys refer to, for databases that do not report which foreign key was violated.

use mesh_schema::KeyReference;
use sea_query::{Expr, ExprTrait as _, Query};

use super::{Action, GuardedEntity, LinkLocation, Mutation, OTHER, WriteSteps};
use crate::dialect::{Dialect, IdPart, ParamOf};
use crate::statement::Statement;
use mesh_plan::Value;
use mesh_plan::plan::CompareOp;

/// A foreign key that a write sets.
#[derive(Clone, Debug, PartialEq)]
pub struct SetReference<P> {
    /// The fields of its columns that the principal may see.
    pub fields: Vec<String>,
    /// A select that returns a row if the record that the key refers to exists.
    pub statement: Statement<P>,
}

/// Returns the foreign keys of which the write sets a column, and none to NULL. A record that a key refers to is searched for
/// with the values of its other columns before the write.
pub fn references<D: Dialect>(mutation: &Mutation, dialect: &D) -> Vec<SetReference<ParamOf<D>>> {
    let action = mutation.action();
    let Some(subject) = action.assigned(mutation.subject()) else { return Vec::new() };
    let keys = subject.entity().foreign_keys.iter();
    keys.filter_map(|key| reference(mutation, subject, key, dialect)).collect()
}

fn reference<D: Dialect>(
    mutation: &Mutation,
    subject: &GuardedEntity,
    key: &KeyReference,
    dialect: &D,
) -> Option<SetReference<ParamOf<D>>> {
    let mut steps = WriteSteps::new(dialect);
    let mut target = Query::select();
    target.expr(Expr::Constant(1.into())).from(dialect.table(&key.table));
    // A key with NULL refers to nothing.
    let mut refers_to_nothing = Vec::new();
    let mut fields = Vec::new();
    let values = mutation.action().values();
    for pair in &key.pairs {
        let value = match values.iter().find(|value| value.column.eq_ignore_ascii_case(&pair.parent)) {
            Some(set) if set.value == Value::Null => return None,
            Some(set) => {
                fields.extend(subject.field_of_column(&set.column).map(str::to_owned));
                IdPart::Value(&set.value)
            }
            None => {
                let current = steps.unset_value(mutation, &pair.parent)?;
                refers_to_nothing.push(current.clone().is_null());
                IdPart::Expr(current)
            }
        };
        // The two columns have the same type.
        let (column, native) = (Expr::col(pair.target.clone()), subject.entity().native.get(&pair.parent));
        let is_equal = steps.dialect.compare_id(&mut steps.params, column, CompareOp::Eq, value, native);
        target.and_where(is_equal);
    }
    if fields.is_empty() {
        return None;
    }
    let found = refers_to_nothing.into_iter().fold(Expr::exists(target), Expr::or);
    let mut select = Query::select();
    select.expr(Expr::Constant(1.into())).and_where(found);
    Some(SetReference { fields, statement: steps.params.render(&select, dialect.builder()) })
}

impl<D: Dialect> WriteSteps<'_, D> {
    /// Returns the value of a column that a write does not set; `None` if it is unknown.
    fn unset_value(&mut self, mutation: &Mutation, column: &str) -> Option<Expr> {
        let subject = mutation.subject();
        match mutation.action() {
            Action::Update { id, .. } => Some(self.cell(subject, id, OTHER, column)),
            Action::CreateChild { id, other, .. } => {
                let LinkLocation::InRelated(key) = &other.link else { return None };
                let pair = key.all().find(|pair| pair.target.eq_ignore_ascii_case(column))?;
                Some(self.cell(subject, id, OTHER, &pair.parent))
            }
            _ => None,
        }
    }
}
