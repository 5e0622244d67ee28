//! Loading of the searches of entities, and of the indexes that serve them. `SPEC §20.1`

use super::Loader;
use super::lookup::{Tables, is_default, is_searchable};
use crate::{
    Entity, FieldId, Member, Search, SearchDocument, SearchIndex, Table, TableName, TextIndex, TextSearch,
    index_statements,
};

impl Loader<'_> {
    /// Loads the property `search` of an entity whose fields are loaded.
    pub(super) fn search(
        &mut self,
        path: &str,
        document: &SearchDocument,
        stored: Option<&Table>,
        entity: &mut Entity,
    ) {
        let before = self.faults.len();
        let path = format!("{path}.search");
        let fields = self.search_fields(&path, document, stored, entity);
        let language = document.language.clone().unwrap_or_else(|| Search::DEFAULT_LANGUAGE.to_owned());
        let mut search = Search { fields, language, index: None };
        if let Some(stored) = stored.filter(|_| self.faults.len() == before) {
            let columns = search.columns(entity);
            match self.find_index(document, stored, &columns, &mut search.language) {
                Ok(index) => search.index = index,
                Err((key, message)) => self.fault(path + key, message),
            }
        }
        entity.search = Some(search);
    }

    /// Returns the index that statements name, or the key of the document with a fault, and its message. Replaces the
    /// language with the name that the server prints.
    fn find_index(
        &self,
        document: &SearchDocument,
        stored: &Table,
        columns: &[&str],
        language: &mut String,
    ) -> Result<Option<SearchIndex>, (&'static str, String)> {
        let mut indexes = stored.text_indexes.iter();
        match (self.text_search, &self.tables) {
            (TextSearch::Fts5, Some(tables)) => fts5(tables, document, stored, columns).map(Some),
            (TextSearch::Configurations(known), _) => {
                let is_named = |written: &str| written.eq_ignore_ascii_case(language);
                let found = known.iter().find(|known| is_named(&known.name) || is_named(&known.qualified));
                let found = found.ok_or_else(|| {
                    let hint = self.hint(language, known.iter().map(|known| known.name.as_str()));
                    (".language", format!("The database has no text search configuration '{language}'{hint}"))
                })?;
                language.clone_from(&found.name);
                let is_in_language = |index: &TextIndex| index.language.as_ref() == Some(&found.name);
                let index = indexes.find(|index| is_in_language(index) && index.is_over(columns));
                Ok(index.map(|index| SearchIndex::Vector(index.vector.clone())))
            }
            (TextSearch::FullText, _) if !indexes.any(|index| index.is_over(columns)) => {
                let (table, listed) = (stored.full_name(), columns.join(", "));
                let create = index_statements::full_text(stored, columns);
                let message =
                    format!("'{table}' has no FULLTEXT index over exactly these columns: {listed}{create}");
                Err(("", message))
            }
            (TextSearch::Fts5 | TextSearch::FullText | TextSearch::Unknown, _) => Ok(None),
        }
    }

    fn search_fields(
        &mut self,
        path: &str,
        document: &SearchDocument,
        stored: Option<&Table>,
        entity: &Entity,
    ) -> Vec<FieldId> {
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
                    let field = entity.field(id);
                    let column = stored.and_then(|table| table.column(&field.column));
                    if !is_searchable(field.ty, column) {
                        self.fault(inner, format!("The field '{name}' is no text, so it cannot be searched"));
                    }
                    fields.push(id);
                }
                _ => self.fault_unknown_field(inner, name, entity),
            }
        }
        fields
    }
}

/// Returns the FTS5 table that the document names, or the key of the document with a fault, and its message.
fn fts5(
    tables: &Tables<'_>,
    document: &SearchDocument,
    stored: &Table,
    columns: &[&str],
) -> Result<SearchIndex, (&'static str, String)> {
    let table = stored.full_name();
    let key = stored.integer_key.as_ref().ok_or_else(|| {
        ("", format!("'{table}' has no INTEGER PRIMARY KEY, by which an FTS5 table refers to its rows"))
    })?;
    let lacking = |index: &TextIndex| {
        let lacking = columns.iter().filter(|name| !index.has_column(name)).copied();
        lacking.collect::<Vec<_>>().join(", ")
    };
    let Some(written) = &document.table else {
        let found = match stored.text_indexes.as_slice() {
            [] => index_statements::fts5(stored, &format!("{}_fts", stored.name), key, columns),
            [index, ..] => format!("; there is '{}'", index.table_name()),
        };
        return Err(("", format!("A search needs 'table', an FTS5 table over '{table}'{found}")));
    };
    let name = TableName::parse(written).map_err(|message| (".table", message))?;
    let is_main = name.schema.as_deref().is_none_or(is_default);
    let is_named = |index: &&TextIndex| is_main && index.name.eq_ignore_ascii_case(&name.name);
    let message = match stored.text_indexes.iter().find(is_named) {
        Some(index) if lacking(index).is_empty() => {
            return Ok(SearchIndex::Fts5 { table: index.table_name(), key: key.clone() });
        }
        Some(index) => {
            format!("The FTS5 table '{written}' does not index the columns: {}", lacking(index))
        }
        None if !is_main || tables.uses(&name) => format!("'{written}' is no FTS5 table over '{table}'"),
        None => {
            let create = index_statements::fts5(stored, &name.name, key, columns);
            format!("The database has no FTS5 table '{written}' over '{table}'{create}")
        }
    };
    Err((".table", message))
}
