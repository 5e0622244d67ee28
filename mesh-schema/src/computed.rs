//! How does a field get into a schema that code makes of others? `SPEC §13.5`

use std::fmt;

use crate::{Computed, Member, Piece, Schema};

/// Why a field cannot be added.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the sentences below say what each means")]
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
    /// Adds a computed field whose value code makes of the fields `from`. Its template is those fields in
    /// turn, so that whoever plans a read fetches them.
    pub fn add_computed<'n>(
        &mut self,
        entity: &str,
        name: &str,
        from: impl IntoIterator<Item = &'n str>,
    ) -> Result<(), ComputedError> {
        let found = self.by_key.get(entity).and_then(|id| self.entities.get_mut(id.0 as usize));
        let found = found.ok_or_else(|| ComputedError::Entity { entity: entity.to_owned() })?;
        // Those that begin with `$` are controls.
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
