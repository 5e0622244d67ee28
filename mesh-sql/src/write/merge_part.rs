//! The parts of a merge: an update or a creation runs, depending on whether the record exists. `SPEC §18.2`

use mesh_plan::Mutation;
use mesh_plan::mutation::Action;

/// The part of an [`Action::Merge`] that a step belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MergePart {
    /// No part: the write is not a merge.
    #[default]
    Whole,
    /// The search for the record. Whether it returns a row decides which of the other parts is run.
    Find,
    /// The update.
    Update,
    /// The creation.
    Create,
}

impl MergePart {
    /// Returns whether the steps of this part are run. `found` is whether [`MergePart::Find`] has returned a row.
    pub fn is_run(self, found: bool) -> bool {
        match self {
            Self::Whole | Self::Find => true,
            Self::Update => found,
            Self::Create => !found,
        }
    }

    /// Returns the write that the steps of this part carry out.
    pub fn of(self, mutation: &Mutation) -> &Mutation {
        match (self, mutation.action()) {
            (Self::Update, Action::Merge { update, .. }) => update,
            (Self::Create, Action::Merge { create, .. }) => create,
            _ => mutation,
        }
    }
}
