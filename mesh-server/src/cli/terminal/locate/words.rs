//! Which names stand where in a query? Read without judging: the query may be wrong, and only its names are wanted.

use std::ops::Range;

use mesh_ql::Format;

/// A name, or a text, with the place where it stands.
#[derive(Debug)]
pub(super) struct Word<'t> {
    /// As written, without quotes.
    pub(super) name: &'t str,
    /// Its bytes, without quotes.
    pub(super) at: Range<usize>,
    /// The path of the read node around it; empty for the entity.
    pub(super) path: String,
    /// The control around it.
    pub(super) control: Option<&'t str>,
}

/// The words of a query in their order.
pub(super) fn words(format: Format, text: &str) -> Vec<Word<'_>> {
    match format {
        Format::Json => json(text),
        Format::Ql => ql(text),
    }
}

/// An object or an array that is open.
struct Open<'t> {
    /// The key whose value is being read, in an object.
    key: Option<&'t str>,
    is_object: bool,
}

fn json(text: &str) -> Vec<Word<'_>> {
    let mut all = Vec::new();
    let mut open: Vec<Open<'_>> = Vec::new();
    let mut rest = text.char_indices();
    while let Some((at, letter)) = rest.next() {
        match letter {
            '{' | '[' => open.push(Open { key: None, is_object: letter == '{' }),
            '}' | ']' => drop(open.pop()),
            ',' => open.last_mut().into_iter().for_each(|open| open.key = None),
            '"' => {
                let from = at + 1;
                let mut escaped = false;
                let end = rest.find(|(_, letter)| {
                    let closes = *letter == '"' && !escaped;
                    escaped = *letter == '\\' && !escaped;
                    closes
                });
                let to = end.map_or(text.len(), |(at, _)| at);
                let name = text.get(from..to).unwrap_or_default();
                let keys = open.iter().filter_map(|open| open.key);
                let control = keys.clone().find(|key| key.starts_with('$') && *key != "$select");
                let nodes = keys.take_while(|key| Some(*key) != control).filter(|key| *key != "$select");
                let path = nodes.collect::<Vec<_>>().join(".");
                all.push(Word { name, at: from..to, path, control });
                if let Some(open) = open.last_mut().filter(|open| open.is_object && open.key.is_none()) {
                    open.key = Some(name);
                }
            }
            _ => {}
        }
    }
    all
}

fn ql(text: &str) -> Vec<Word<'_>> {
    let mut all: Vec<Word<'_>> = Vec::new();
    let mut around: Vec<&str> = Vec::new();
    let mut at = 0;
    let is_name = |letter: char| letter.is_alphanumeric() || letter == '_';
    // After the entity a brace may stand or not.
    let mut just_entity = false;
    while let Some(letter) = text.get(at..).and_then(|rest| rest.chars().next()) {
        let mut next = at + letter.len_utf8();
        match letter {
            '{' if all.is_empty() || just_entity => just_entity = false,
            '{' => around.extend(all.last().map(|word| word.name)),
            '}' => drop(around.pop()),
            letter if is_name(letter) => {
                let rest = text.get(at..).unwrap_or_default();
                next = at + rest.find(|letter| !is_name(letter)).unwrap_or(rest.len());
                let name = text.get(at..next).unwrap_or_default();
                just_entity = all.is_empty();
                all.push(Word { name, at: at..next, path: around.join("."), control: None });
                if just_entity {
                    around.push(name);
                }
            }
            _ => {}
        }
        at = next;
    }
    all
}
