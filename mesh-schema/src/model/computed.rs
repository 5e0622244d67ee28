//! Computed fields that are added in code. `SPEC §13.5`

use std::fmt;

use crate::{Computed, Member, Piece, Schema};

/// The reason why a computed field cannot be added.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages below describe each variant")]
pub enum ComputedError {
    Entity { entity: String },
    Field { entity: String, field: String },
    Taken { entity: String, name: String },
    Name { name: String },
}

impl fmt::Display for ComputedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Entity { entity } => write!(f, "Entity '{entity}' not found"),
            Self::Field { entity, field } => write!(f, "Field '{field}' not found on entity '{entity}'"),
            Self::Taken { entity, name } => write!(f, "Entity '{entity}' has a '{name}' already"),
            Self::Name { name } => write!(f, "'{name}' cannot be the name of a computed field"),
        }
    }
}

impl std::error::Error for ComputedError {}

impl Schema {
    /// Adds a computed field that depends on the fields `from`. Its template lists these fields, so that plans fetch
    /// them.
    ///
    /// # Errors
    /// If the entity or a field does not exist, or the name is taken or not allowed.
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
        found.computed.push(Computed { name: name.to_owned(), from, template });
        Ok(())
    }
}
