//! Creation of several records in one statement.

use sea_query::Query;

use super::{Action, Mutation, Statement, Steps, id_of};
use crate::mutation::Assignment;
use crate::sql::dialect::Dialect;

/// Returns how many of the first creations are alike: they set the same columns of one table, and need no further checks.
/// At most as many as statements with so many parameters can have.
pub(in crate::sql) fn alike(mutations: &[Mutation], params_max: usize) -> usize {
    let Some(columns) = mutations.first().and_then(plain_columns) else { return 0 };
    let first: Vec<&str> = columns.collect();
    let is_alike = |mutation: &&Mutation| {
        plain_columns(mutation).is_some_and(|columns| columns.eq(first.iter().copied()))
    };
    let most = params_max.checked_div(first.len()).unwrap_or(0);
    mutations.iter().take(most).take_while(is_alike).count()
}

/// Returns the columns that a creation sets; `None` if it needs more than one statement.
fn plain_columns(mutation: &Mutation) -> Option<impl Iterator<Item = &str>> {
    match &mutation.action {
        Action::Create { values } if mutation.references.is_empty() && mutation.subject.check.is_none() => {
            Some(values.iter().map(|value| value.column.as_str()))
        }
        _ => None,
    }
}

/// Returns the parameters of a creation, in the order in which the statement of [`create`] has them.
pub(in crate::sql) fn params<D: Dialect>(mutation: &Mutation, dialect: &D) -> Vec<D::Param> {
    mutation.action.values().iter().map(|Assignment { value, .. }| dialect.value(value)).collect()
}

/// Returns the statement that creates the records of creations that are [`alike`] and returns their ids in this order.
pub(in crate::sql) fn create<D: Dialect>(mutations: &[Mutation], dialect: D) -> Option<Statement<D::Param>> {
    let first = mutations.first()?;
    let mut steps = Steps::new(dialect);
    let mut insert = Query::insert();
    insert.into_table(steps.dialect.table(first.subject.table()));
    insert.columns(plain_columns(first)?.map(str::to_owned));
    for mutation in mutations {
        let cells = steps.cells(&first.subject, mutation.action.values());
        // They are as many as the columns.
        insert.values(cells.into_iter().map(|(_, cell)| cell)).ok()?;
    }
    insert.returning(id_of(&first.subject));
    Some(steps.params.render(&insert, steps.dialect.builder()))
}
