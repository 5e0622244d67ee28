//! Forms of writes. Writes of the same form have the same statements.

use std::mem::{Discriminant, discriminant};
use std::sync::Arc;

use mesh_schema::{EntityId, Schema};

use super::{Param, write_steps};
use crate::write::Step;
use mesh_plan::backend::ByAddress;
use mesh_plan::{Action, Mutation, Subject};
use mesh_plan::{Key, Value};

/// The form of a write, which determines its statements. Writes of the same form differ only in their values and ids, so a back
/// end can cache the statements of a form ([`WriteForm::steps`]).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WriteForm {
    schema: ByAddress<Schema>,
    entity: EntityId,
    action: Discriminant<Action>,
    relation: Option<String>,
    columns: Vec<Arc<str>>,
    counts_updated: bool,
}

impl WriteForm {
    /// Returns the form of a write; `None` if the write does not share its statements with other writes, for example because
    /// conditions of policies have values that belong to one write. `counts_updated` is as in [`write_steps`].
    pub fn from_mutation(mutation: &Mutation, counts_updated: bool) -> Option<Self> {
        let (subject, action) = (mutation.subject(), mutation.action());
        let is_free = |subject: &Subject| subject.guarded().is_none() && subject.checked().is_none();
        let other = action.other();
        let has_form = mutation.references().is_empty()
            && is_free(subject)
            && other.is_none_or(|other| is_free(&other.subject))
            && ids(action).all(|id| !id.is_impossible())
            && !matches!(action, Action::Merge { .. });
        has_form.then(|| Self {
            schema: ByAddress(Arc::clone(subject.schema())),
            entity: subject.entity_id(),
            action: discriminant(action),
            relation: other.map(|other| other.relation.clone()),
            columns: action.values().iter().map(|value| Arc::clone(&value.column)).collect(),
            counts_updated,
        })
    }

    /// Returns the statements of all writes of this form, of which `mutation` is any one. The parameters refer to the values
    /// and ids of a write ([`Param::Written`]).
    pub fn steps(&self, mutation: &Mutation) -> Vec<Step<Param>> {
        let mut steps = write_steps(&numbered(mutation), self.counts_updated);
        for param in steps.iter_mut().flat_map(|step| &mut step.statement.params) {
            if let Param::Value(Value::Integer(number)) = param {
                *param = Param::Written(usize::try_from(*number).unwrap_or(usize::MAX));
            }
        }
        steps
    }
}

impl Param {
    /// Returns the value to bind in a write; `None` if there is none. `id` is the id that an earlier step has returned.
    pub fn for_write<'m>(&'m self, mutation: &'m Mutation, id: &'m Key) -> Option<&'m Value> {
        match self {
            Self::Value(value) => Some(value),
            Self::Id(part) => id.get(*part),
            Self::Written(number) => {
                let action = mutation.action();
                let values = action.values();
                match values.get(*number) {
                    Some(assigned) => Some(&assigned.value),
                    None => ids(action).flat_map(|id| id.iter()).nth(number - values.len()),
                }
            }
            _ => None,
        }
    }
}

/// Returns the ids that a write names.
fn ids(action: &Action) -> impl Iterator<Item = &Key> {
    action.id().into_iter().chain(action.other_id())
}

/// Returns a copy of a write in which each value and then each part of its ids is replaced by its position.
fn numbered(mutation: &Mutation) -> Mutation {
    let mut numbers = (0..).map(Value::Integer);
    mutation.map_values(|_| numbers.next().unwrap_or(Value::Null))
}
