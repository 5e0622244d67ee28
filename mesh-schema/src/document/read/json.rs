//! JSON values with their positions, parsed one level at a time.
//!
//! Values are slices of the text that the JSON parser has validated without recursion, so deep nesting costs nothing.
//! Only the levels that a document has are parsed further.

use std::collections::HashSet;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::Fault;
use crate::fault::{Positions, hint};

/// A JSON value that has not been parsed further.
#[derive(Clone, Copy)]
pub(super) struct Node<'t>(&'t RawValue);

impl<'t> Node<'t> {
    pub(super) fn is_null(self) -> bool {
        self.0.get() == "null"
    }

    pub(super) fn is_array(self) -> bool {
        self.0.get().starts_with('[')
    }

    pub(super) fn is_object(self) -> bool {
        self.0.get().starts_with('{')
    }

    /// Returns a string, number, boolean or null; `None` for arrays and objects.
    pub(super) fn scalar(self) -> Option<serde_json::Value> {
        if self.is_object() || self.is_array() { None } else { self.open().ok() }
    }

    pub(super) fn boolean(self) -> Option<bool> {
        self.0.get().parse().ok()
    }

    pub(super) fn number(self) -> Option<u64> {
        self.0.get().parse().ok()
    }

    fn open<T: Deserialize<'t>>(self) -> Result<T, serde_json::Error> {
        serde_json::from_str(self.0.get())
    }

    /// Returns the kind of the value, for messages.
    fn kind(self) -> &'static str {
        match self.0.get().as_bytes().first() {
            Some(b'{') => "an object",
            Some(b'[') => "a list",
            Some(b'"') => "text",
            Some(b't' | b'f') => "a boolean",
            Some(b'n') => "null",
            _ => "a number",
        }
    }
}

/// The text being parsed, and the faults found so far.
pub(super) struct Json<'t> {
    text: &'t str,
    position: Position,
    positions: Positions,
    pub(super) faults: Vec<Fault>,
    /// Number of faults that make the meaning of a part unclear.
    pub(super) unsound: usize,
}

/// A position that only moves forward, so that lines are counted once.
#[derive(Clone, Copy)]
struct Position {
    offset: usize,
    line: u32,
    column: u32,
}

const START: Position = Position { offset: 0, line: 1, column: 1 };

impl<'t> Json<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        Self { text, position: START, positions: Positions::default(), faults: Vec::new(), unsound: 0 }
    }

    pub(super) fn finish(self) -> (Positions, Vec<Fault>) {
        (self.positions, self.faults)
    }

    /// Returns the whole text as a value, if it is valid JSON.
    pub(super) fn root(&mut self) -> Option<Node<'t>> {
        match serde_json::from_str(self.text) {
            Ok(raw) => {
                self.enter("document", Node(raw));
                Some(Node(raw))
            }
            Err(error) => {
                let fault = Fault {
                    path: "document".to_owned(),
                    message: format!("The text is not JSON: {}", reason(&error)),
                    line: u32::try_from(error.line()).ok(),
                    column: self.column_of(&error),
                };
                self.faults.push(match self.text.trim_ascii().is_empty() {
                    true => Fault {
                        message: "The text is empty".to_owned(),
                        line: Some(1),
                        column: Some(1),
                        ..fault
                    },
                    false => fault,
                });
                None
            }
        }
    }

    /// Converts the byte column of the parser to a column in characters, from 1.
    fn column_of(&self, error: &serde_json::Error) -> Option<u32> {
        let line = self.text.split('\n').nth(error.line().saturating_sub(1))?;
        let end = error.column().saturating_sub(1);
        let before = line.char_indices().take_while(|(offset, _)| *offset < end).count();
        u32::try_from(before + 1).ok()
    }

    /// Records the position of a path. Must be called before a fault is reported for it.
    pub(super) fn enter(&mut self, path: &str, node: Node<'t>) {
        let offset = (node.0.get().as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize);
        if offset < self.position.offset {
            self.position = START;
        }
        for c in self.text.get(self.position.offset..offset).unwrap_or_default().chars() {
            if c == '\n' {
                self.position.line += 1;
                self.position.column = 1;
            } else {
                self.position.column += 1;
            }
        }
        self.position.offset = offset;
        self.positions.record(path, self.position.line, self.position.column);
    }

    pub(super) fn fault(&mut self, path: &str, message: impl Into<String>) {
        self.faults.push(self.positions.fault(path, message));
        self.unsound += 1;
    }

    pub(super) fn wrong(&mut self, path: &str, expected: &str, node: Node<'t>) {
        self.fault(path, format!("Expected {expected}, found {}", node.kind()));
    }

    pub(super) fn missing(&mut self, path: &str, key: &str) {
        self.fault(path, format!("'{key}' is missing"));
    }

    pub(super) fn unknown(&mut self, path: &str, key: &str, node: Node<'t>, known: &[&str]) {
        let inner = if path == "document" { key.to_owned() } else { format!("{path}.{key}") };
        self.enter(&inner, node);
        // A part with an unknown key can still be checked.
        let unsound = self.unsound;
        self.unknown_word(&inner, "key", key, known);
        self.unsound = unsound;
    }

    pub(super) fn unknown_word(&mut self, path: &str, what: &str, word: &str, known: &[&str]) {
        let hint = match hint(&self.faults, word, known.iter().copied()) {
            near if !near.is_empty() => near,
            _ => format!("; expected one of {}", known.join(", ")),
        };
        self.fault(path, format!("Unknown {what} '{word}'{hint}"));
    }

    /// Returns the entries of an object. The second occurrence of a key is a fault.
    pub(super) fn object(&mut self, path: &str, node: Node<'t>) -> Option<Vec<(String, Node<'t>)>> {
        if !node.0.get().starts_with('{') {
            self.wrong(path, "an object", node);
            return None;
        }
        let Pairs(pairs) = self.opened(path, node)?;
        let mut seen = HashSet::new();
        let mut entries = Vec::with_capacity(pairs.len());
        for (key, raw) in pairs {
            if seen.insert(key.clone()) {
                entries.push((key, Node(raw)));
            } else {
                self.fault(path, format!("The key '{key}' is given twice"));
            }
        }
        Some(entries)
    }

    pub(super) fn text(&mut self, path: &str, node: Node<'t>) -> Option<String> {
        if !node.0.get().starts_with('"') {
            self.wrong(path, "text", node);
            return None;
        }
        self.opened(path, node)
    }

    /// Returns the items of a list.
    pub(super) fn list(&mut self, path: &str, node: Node<'t>) -> Option<Vec<Node<'t>>> {
        if !node.is_array() {
            self.wrong(path, "a list", node);
            return None;
        }
        let items: Vec<&'t RawValue> = self.opened(path, node)?;
        Some(items.into_iter().map(Node).collect())
    }

    /// Returns the strings of a list. Other items are faults.
    pub(super) fn texts(&mut self, path: &str, node: Node<'t>) -> Vec<String> {
        if !node.is_array() {
            self.wrong(path, "a list", node);
            return Vec::new();
        }
        let items: Vec<&'t RawValue> = self.opened(path, node).unwrap_or_default();
        let read = |(index, raw)| {
            let inner = format!("{path}[{index}]");
            self.enter(&inner, Node(raw));
            self.text(&inner, Node(raw))
        };
        items.into_iter().enumerate().filter_map(read).collect()
    }

    /// Parses a value further. Valid JSON can still fail here, for example on an unpaired surrogate.
    fn opened<T: Deserialize<'t>>(&mut self, path: &str, node: Node<'t>) -> Option<T> {
        node.open()
            .map_err(|error| self.fault(path, format!("The text is not JSON: {}", reason(&error))))
            .ok()
    }
}

/// Returns the message of the parser without the position, which the fault contains.
fn reason(error: &serde_json::Error) -> String {
    let words = error.to_string();
    words.rsplit_once(" at line ").map_or_else(|| words.clone(), |(reason, _)| reason.to_owned())
}

/// The entries of an object in order, including duplicate keys.
struct Pairs<'t>(Vec<(String, &'t RawValue)>);

impl<'de: 't, 't> Deserialize<'de> for Pairs<'t> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(PairsVisitor).map(Pairs)
    }
}

struct PairsVisitor;

impl<'de> Visitor<'de> for PairsVisitor {
    type Value = Vec<(String, &'de RawValue)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut pairs = Vec::new();
        while let Some(pair) = map.next_entry()? {
            pairs.push(pair);
        }
        Ok(pairs)
    }
}
