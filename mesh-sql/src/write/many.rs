//! Creation of several records in one statement.

use sea_query::{Cond, Expr, Query};

use super::select::id_parts;
use super::{Action, Mutation, PARENT, Statement, WriteSteps, column};
use crate::dialect::{Dialect, ParamOf};
use mesh_plan::Key;
use mesh_plan::Node;
use mesh_plan::mutation::{Assignment, GuardedEntity};

/// Lowers the leading creations that are alike to one statement that returns their ids in the same order: they set the same
/// columns of one table, and their order does not matter. Returns the statement and the number of these creations; `None` if the
/// first two are not alike.
///
/// Databases insert the rows of `VALUES` one after the other, and return them in this order.
pub fn create_many<D: Dialect>(
    mutations: &[Mutation],
    dialect: &D,
) -> Option<(Statement<ParamOf<D>>, usize)> {
    let first = mutations.first()?;
    let columns: Vec<&str> = plain_columns(first)?.collect();
    let is_alike = |mutation: &&Mutation| {
        mutation.subject().table() == first.subject().table()
            && plain_columns(mutation).is_some_and(|other| other.eq(columns.iter().copied()))
    };
    let fitting =
        D::CREATED_PARAMS_MAX.checked_div(columns.len())?.min(D::CREATED_ROWS_MAX.unwrap_or(usize::MAX));
    let mut count = mutations.iter().take(fitting).take_while(is_alike).count();
    if D::CREATED_ROWS_MAX.is_some() {
        count = 1 << count.checked_ilog2()?;
    }
    let alike = mutations.get(..count).filter(|alike| alike.len() > 1)?;
    let mut steps = WriteSteps::new(dialect);
    let mut insert = Query::insert();
    insert.into_table(dialect.table(first.subject().table())).columns(columns.into_iter().map(str::to_owned));
    for mutation in alike {
        let cells = steps.cells(first.subject(), mutation.action().values());
        // There are as many cells as columns.
        insert.values(cells.into_iter().map(|(_, cell)| cell)).ok()?;
    }
    insert.returning(steps.id_of(first.subject()));
    let mut statement = steps.params.render(&insert, dialect.builder());
    let ids = steps.shown_ids(first.subject(), Expr::col);
    statement.sql.extend(dialect.returning(ids));
    dialect.complete_write(&mut statement.sql, first);
    Some((statement, count))
}

/// Returns the columns that a creation sets; `None` if its success may depend on another creation.
fn plain_columns(mutation: &Mutation) -> Option<impl Iterator<Item = &str>> {
    let subject = mutation.subject();
    let is_plain = |check: &Node| check.related.is_empty();
    match mutation.action() {
        Action::Create { values }
            if mutation.references().is_empty()
                && subject.checked().is_none_or(is_plain)
                && !refers_to_own_table(subject, values) =>
        {
            Some(values.iter().map(|value| &*value.column))
        }
        _ => None,
    }
}

/// Returns whether a new record may refer to another record of its table. In a shared statement, it could refer to a record
/// that is created after it, because foreign keys are checked at the end of a statement.
fn refers_to_own_table(subject: &GuardedEntity, values: &[Assignment]) -> bool {
    let sets = |column: &str| values.iter().any(|value| value.column.eq_ignore_ascii_case(column));
    let mut keys = subject.entity().foreign_keys.iter();
    keys.any(|key| {
        key.table.name.eq_ignore_ascii_case(&subject.table().name)
            && key.pairs.iter().any(|pair| sets(&pair.parent))
    })
}

/// Returns the statement that finds those of the new records with these `ids` that policies permit; `None` if all are
/// permitted.
pub fn permitted<D: Dialect>(
    subject: &GuardedEntity,
    ids: &[Key],
    dialect: &D,
) -> Option<Statement<ParamOf<D>>> {
    let check = subject.checked()?;
    let mut steps = WriteSteps::new(dialect);
    let mut select = steps.select(subject, Some(check), None);
    let mut is_one = Cond::any();
    for id in ids {
        let id = steps.is_id(subject, |name| column(PARENT, name), id_parts(id));
        is_one = is_one.add(id);
    }
    select.cond_where(is_one);
    Some(steps.params.render(&select, steps.dialect.builder()))
}
