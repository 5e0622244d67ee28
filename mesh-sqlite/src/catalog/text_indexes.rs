//! FTS5 tables, which are full-text indexes of other tables. SQLite stores their options only in the text of the
//! statements that created them.

use mesh_schema::{Table, TextIndex};
use mesh_sql::text::{self, Token};

use super::constraints::{group, is_word};

/// An FTS5 table.
#[derive(Debug)]
pub(super) struct Fts5Table {
    pub(super) name: String,
    /// Its columns, also those that it does not index.
    pub(super) columns: Vec<String>,
    unindexed: Vec<String>,
    /// The table that holds its values; empty if there is none.
    content: String,
    /// The column of that table that its row ids refer to.
    row_id: String,
    /// Whether it stores the places of words, without which phrases are not found.
    has_places: bool,
}

/// The names of options, of which FTS5 accepts every beginning that belongs to none before.
const OPTIONS: [&str; 3] = ["content", "content_rowid", "detail"];

impl Fts5Table {
    /// Parses the statement that creates a virtual table; `None` for other modules. The columns are left empty.
    pub(super) fn parse(name: &str, sql: &str) -> Option<Self> {
        let tokens = text::tokens(sql);
        let [_, _, _, _, using, module, rest @ ..] = tokens.as_slice() else { return None };
        if !is_word(using, "USING") || !is_named(module, "fts5") {
            return None;
        }
        let mut found = Self {
            name: name.to_owned(),
            columns: Vec::new(),
            unindexed: Vec::new(),
            content: String::new(),
            row_id: "rowid".to_owned(),
            has_places: true,
        };
        for argument in group(rest).split(|token| *token == Token::Symbol(',')) {
            match argument {
                [Token::Word(option), Token::Symbol('='), value @ ..] => {
                    let begins = |known: &&&str| {
                        known.get(..option.len()).is_some_and(|start| start.eq_ignore_ascii_case(option))
                    };
                    let value = value.first().and_then(name_of).unwrap_or_default();
                    match OPTIONS.iter().find(begins) {
                        Some(&"content") => value.clone_into(&mut found.content),
                        Some(&"content_rowid") => value.clone_into(&mut found.row_id),
                        Some(_) => found.has_places = value.eq_ignore_ascii_case("full"),
                        None => {}
                    }
                }
                [column, options @ ..] if options.iter().any(|option| is_named(option, "UNINDEXED")) => {
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
        let Some(table) = tables.iter_mut().find(|table| table.name.eq_ignore_ascii_case(&self.content))
        else {
            return note("it has no 'content' table");
        };
        let is_hidden =
            |alias: &str| table.columns.iter().any(|column| column.name.eq_ignore_ascii_case(alias));
        let is_alias = |alias: &&str| alias.eq_ignore_ascii_case(&self.row_id) && !is_hidden(alias);
        let is_key = |key: &String| {
            key.eq_ignore_ascii_case(&self.row_id) || ["rowid", "_rowid_", "oid"].iter().any(is_alias)
        };
        if !table.integer_key.as_ref().is_some_and(is_key) {
            return note("its 'content_rowid' is no INTEGER PRIMARY KEY");
        }
        if !self.has_places {
            return note("its 'detail' is not 'full', so it finds no phrases");
        }
        let is_indexed =
            |name: &&String| !self.unindexed.iter().any(|column| column.eq_ignore_ascii_case(name));
        let stored = |name: &String| Some(table.column(name)?.name.clone());
        let Some(columns) = self.columns.iter().filter(is_indexed).map(stored).collect() else {
            return note("its 'content' table lacks one of its columns");
        };
        let index = TextIndex { name: self.name, columns, ..TextIndex::default() };
        table.text_indexes.push(index);
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
