//! Checks that are repeated at the end of a write. A concurrent transaction may have changed their results while a statement
//! waited for it.

use super::{Action, EmptyResult, LinkLocation, Mutation, WriteSteps};
use crate::dialect::Dialect;

impl<D: Dialect> WriteSteps<'_, D> {
    /// Repeats the checks of the records that the write needs but does not lock.
    pub(super) fn recheck(&mut self, mutation: &Mutation) {
        let checked = self.list.len();
        self.references(mutation);
        self.recheck_ends(mutation);
        self.list.iter_mut().skip(checked).for_each(|step| step.repeats = true);
    }

    /// Adds the checks of those ends of a link that are not written.
    fn recheck_ends(&mut self, mutation: &Mutation) {
        let Some(other) = mutation.action().other() else { return };
        if let Some(id) = mutation.action().id()
            && mutation.subject().guarded().is_some()
            && !matches!(
                (mutation.action(), &other.link),
                (Action::Connect { .. } | Action::Disconnect { .. }, LinkLocation::InParent(_))
            )
        {
            self.find(mutation.subject(), id, EmptyResult::Subject);
        }
        let is_written = matches!(
            (mutation.action(), &other.link),
            (Action::Connect { .. }, LinkLocation::InRelated(_))
                | (Action::Remove { .. }, LinkLocation::InRelated(_) | LinkLocation::InParent(_))
        );
        if let Some(id) = mutation.action().other_id()
            && other.subject.guarded().is_some()
            && !is_written
        {
            self.find(&other.subject, id, EmptyResult::Other);
        }
    }
}
