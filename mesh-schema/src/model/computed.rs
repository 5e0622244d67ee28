//! Computed fields that are added in code. `SPEC §13.5`

use thiserror::Error;

use crate::{Computed, Member, Piece, Schema};

/// The reason why a computed field cannot be added.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages describe each variant")]
pub enum ComputedError {
    #[error("Entity '{entity}' not found")]
    Entity { entity: String },
    #[error("Field '{field}' not found on entity '{entity}'")]
    Field { entity: String, field: String },
    #[error("Entity '{entity}' has a '{name}' already")]
    Taken { entity: String, name: String },
    #[error("'{name}' cannot be the name of a computed field")]
    Name { name: String },
}

impl Schema {
    /// Adds a computed field that depends on the fields `from`. Its template lists these fields, so that plans fetch
    /// them.
    ///
    /// # Errors
    /// [`ComputedError`] if the entity or a field does not exist, or if the name is taken or not allowed.
    pub fn add_computed<'n>(
        &mut self,
        entity: &str,
        name: &str,
        from: impl IntoIterator<Item = &'n str>,
    ) -> Result<(), ComputedError> {
        let found = self.by_key.get(entity).and_then(|id| self.entities.get_mut(id.0 as usize));
        let found = found.ok_or_else(|| ComputedError::Entity { entity: entity.to_owned() })?;
        // Names that begin with `$` are controls.
        if name.is_empty() || name.starts_with('$') || name == "events" {
            return Err(ComputedError::Name { name: name.to_owned() });
        }
        if found.members.contains_key(name) {
            return Err(ComputedError::Taken { entity: entity.to_owned(), name: name.to_owned() });
        }
        let fields = from.into_iter().map(|field| match found.member(field) {
            Some(Member::Field(id)) => Ok(id),
            _ => Err(ComputedError::Field { entity: entity.to_owned(), field: field.to_owned() }),
        });
        let from = fields.collect::<Result<Vec<_>, _>>()?;
        let template = from.iter().map(|id| Piece::Field(*id)).collect();
        found.members.insert(name.to_owned(), Member::Computed(found.computed.len()));
        found.computed.push(Computed { name: name.to_owned(), from, template, description: None });
        Ok(())
    }
}
