//! The statements that find the record of a write, and optionally lock it.

use sea_query::LockType;

use super::{Parent, Statement, WriteSteps};
use crate::dialect::{Dialect, ParamOf};
use mesh_plan::Key;
use mesh_plan::Mutation;
use mesh_plan::mutation::{Action, GuardedEntity, LinkLocation};

/// Returns the statement that finds a record if it may be written. With `locks`, it keeps other transactions from writing the
/// record, for which a database may require the privilege to update it.
pub fn find<D: Dialect>(
    subject: &GuardedEntity,
    id: &Key,
    locks: bool,
    dialect: &D,
) -> Statement<ParamOf<D>> {
    let mut steps = WriteSteps::new(dialect);
    let mut select = steps.select_writable_record(subject, id);
    if locks {
        select.lock(LockType::Update);
    }
    steps.params.render(&select, steps.dialect.builder())
}

/// Returns the statement that finds the record or the pair of a junction that a write changes or deletes; `None` if it does
/// neither.
pub fn find_written<D: Dialect>(mutation: &Mutation, dialect: &D) -> Option<Statement<ParamOf<D>>> {
    let mut steps = WriteSteps::new(dialect);
    let subject = mutation.subject();
    let (written, id) = match mutation.action() {
        Action::Update { id, .. } | Action::Delete { id } => (subject, id),
        Action::Connect { id, other, .. } | Action::Disconnect { id, other }
            if matches!(other.link, LinkLocation::InParent(_)) =>
        {
            (subject, id)
        }
        Action::Connect { other, to, .. } => (&other.subject, to),
        Action::Remove { id, other, child } => {
            let select = steps.select_linked(&Parent { subject, id, other }, child);
            return Some(steps.params.render(&select, steps.dialect.builder()));
        }
        _ => return None,
    };
    let select = steps.select_writable_record(written, id);
    Some(steps.params.render(&select, steps.dialect.builder()))
}
