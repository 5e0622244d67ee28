//! The statement that finds, and optionally locks, the record of a write.

use sea_query::LockType;

use super::{Statement, Steps};
use crate::Key;
use crate::mutation::Subject;
use crate::sql::dialect::Dialect;

/// Returns the statement that finds a record if it may be written. With `locks`, it keeps other transactions from writing the
/// record.
pub(in crate::sql) fn find<D: Dialect>(
    subject: &Subject,
    id: &Key,
    locks: bool,
    dialect: D,
) -> Statement<D::Param> {
    let mut steps = Steps::new(dialect);
    let id = steps.key(id);
    let mut select = steps.select_writable_record(subject, id);
    if locks {
        select.lock(LockType::Update);
    }
    steps.params.render(&select, steps.dialect.builder())
}
