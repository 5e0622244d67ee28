//! What a write changes: its table, its record and its values.

use mesh_schema::TableName;

use super::{Action, LinkLocation, Mutation};
use crate::{Key, WriteError};

impl Mutation {
    /// Returns the error of a write whose statement a trigger or rule of the storage has skipped or replaced.
    pub fn skipped(&self) -> WriteError {
        let (subject, action) = match &self.action {
            Action::Create { .. } => (&self.subject, "create"),
            Action::CreateChild { other, .. } => (&other.subject, "create"),
            Action::Update { .. } | Action::Merge { .. } => (&self.subject, "update"),
            Action::Delete { .. } => (&self.subject, "delete"),
            Action::Remove { other, .. } => match other.link {
                LinkLocation::Junction { .. } => (&other.subject, "unlink"),
                _ => (&other.subject, "delete"),
            },
            Action::AddPair { other, .. } | Action::Connect { other, .. } => (&other.subject, "link"),
            Action::Disconnect { .. } => (&self.subject, "unlink"),
        };
        WriteError::Skipped { entity: subject.key().to_owned(), action }
    }

    /// Returns the table whose rows the write changes.
    pub fn written_table(&self) -> &TableName {
        match &self.action {
            Action::AddPair { other, .. } | Action::Connect { other, .. } | Action::Remove { other, .. } => {
                match &other.link {
                    LinkLocation::Junction { table, .. } => table,
                    LinkLocation::InParent(_) if matches!(self.action, Action::Connect { .. }) => {
                        self.subject.table()
                    }
                    _ => other.subject.table(),
                }
            }
            Action::CreateChild { other, .. } => other.subject.table(),
            _ => self.subject.table(),
        }
    }

    /// Returns the id of the record that the reply shows, if it is known before the write.
    pub fn expected_id(&self) -> Key {
        match &self.action {
            Action::Create { .. } | Action::CreateChild { .. } => Key::default(),
            action => action.other_id().or_else(|| action.id()).cloned().unwrap_or_default(),
        }
    }
}
