//! Loading of the searches of entities.

use super::Loader;
use crate::{Entity, FieldType, Member, Search, SearchDocument};

impl Loader<'_> {
    /// Loads the property `search` of an entity whose fields are loaded.
    pub(super) fn search(&mut self, path: &str, document: &SearchDocument, entity: &mut Entity) {
        let path = format!("{path}.search");
        if document.fields.is_empty() {
            self.fault(format!("{path}.fields"), "A search needs at least one field");
        }
        let mut fields = Vec::new();
        for (index, name) in document.fields.iter().enumerate() {
            let inner = format!("{path}.fields[{index}]");
            match entity.member(name) {
                Some(Member::Field(id)) if fields.contains(&id) => {
                    self.fault(inner, format!("The field '{name}' is listed twice"));
                }
                Some(Member::Field(id)) => {
                    if !matches!(entity.field(id).ty, None | Some(FieldType::String)) {
                        self.fault(inner, format!("The field '{name}' is no text, so it cannot be searched"));
                    }
                    fields.push(id);
                }
                _ => self.fault_unknown_field(inner, name, entity),
            }
        }
        let language = document.language.clone().unwrap_or_else(|| Search::DEFAULT_LANGUAGE.to_owned());
        entity.search = Some(Search { fields, language, index: None });
    }
}
