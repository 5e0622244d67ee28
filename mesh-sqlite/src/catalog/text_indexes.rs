//! FTS5 tables, which are full-text indexes of other tables. SQLite stores their options only in the text of the
//! statements that created them.

use mesh_schema::{Table, TextIndex};
use mesh_sql::text::{self, Token};

use super::constraints::{group, is_word};

/// An FTS5 table.
#[derive(Debug, Default)]
pub(super) struct Fts5Table {
    pub(super) name: String,
    /// Its columns, also those that it does not index.
    pub(super) columns: Vec<String>,
    unindexed: Vec<String>,
    /// The table that holds its values; empty if there is none.
    content: String,
    /// The column of that table that its row ids refer to.
    row_id: String,
    /// How much it stores about the places of words, without which phrases are not found; empty for all.
    detail: String,
}

impl Fts5Table {
    /// Parses the statement that creates a virtual table; `None` for other modules. The columns are left empty.
    pub(super) fn parse(name: &str, sql: &str) -> Option<Self> {
        let tokens = text::tokens(sql);
        let [_, _, _, _, using, module, rest @ ..] = tokens.as_slice() else { return None };
        if !is_word(using, "USING") || !is_named(module, "fts5") {
            return None;
        }
        let mut found = Self { name: name.to_owned(), row_id: "rowid".to_owned(), ..Self::default() };
        for argument in group(rest).split(|token| *token == Token::Symbol(',')) {
            match argument {
                [Token::Word(option), Token::Symbol('='), value] => {
                    let value = name_of(value).unwrap_or_default();
                    match option.to_ascii_lowercase().as_str() {
                        "content" => value.clone_into(&mut found.content),
                        "content_rowid" => value.clone_into(&mut found.row_id),
                        "detail" => value.clone_into(&mut found.detail),
                        _ => {}
                    }
                }
                [column, option] if is_named(option, "UNINDEXED") => {
                    found.unindexed.extend(name_of(column).map(str::to_owned));
                }
                _ => {}
            }
        }
        Some(found)
    }

    /// Adds the index to its table, or returns a note that states why searches cannot use it.
    pub(super) fn move_to(self, tables: &mut [Table]) -> Option<String> {
        let note = |why: &str| Some(format!("FTS5 table '{}' is left out: {why}", self.name));
        let is_content = |table: &&mut Table| table.name.eq_ignore_ascii_case(&self.content);
        let Some(table) = tables.iter_mut().find(is_content) else {
            return note("it has no 'content' table");
        };
        let mut names = table.integer_key.iter().chain(&table.row_id);
        let is_key = names.any(|name| name.eq_ignore_ascii_case(&self.row_id));
        if table.integer_key.is_none() || !is_key {
            return note("its 'content_rowid' is no INTEGER PRIMARY KEY");
        }
        if !matches!(self.detail.to_ascii_lowercase().as_str(), "" | "full") {
            return note("its 'detail' is not 'full', so it finds no phrases");
        }
        let is_indexed =
            |name: &&String| !self.unindexed.iter().any(|column| column.eq_ignore_ascii_case(name));
        let stored = |name: &String| Some(table.column(name)?.name.clone());
        let Some(columns) = self.columns.iter().filter(is_indexed).map(stored).collect() else {
            return note("its 'content' table lacks one of its columns");
        };
        table.text_indexes.push(TextIndex { name: self.name, columns, ..TextIndex::default() });
        table.text_indexes.sort_by(|one, other| one.name.cmp(&other.name));
        None
    }
}

/// Returns a name or value, which SQLite accepts in any quotation marks.
fn name_of(token: &Token) -> Option<&str> {
    match token {
        Token::Word(name) | Token::Quoted(name) | Token::Text(name) => Some(name),
        Token::Symbol(_) => None,
    }
}

fn is_named(token: &Token, name: &str) -> bool {
    name_of(token).is_some_and(|text| text.eq_ignore_ascii_case(name))
}
