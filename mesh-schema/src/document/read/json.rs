//! JSON values with their paths, parsed one level at a time.
//!
//! Values are slices of the text that the JSON parser has validated without recursion, so deep nesting costs nothing.
//! Only the levels that a document has are parsed further.

use std::collections::HashSet;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::Fault;
use crate::fault::{Positions, hint};

/// The path of the whole text.
const ROOT: &str = "document";

/// A JSON value that has not been parsed further.
pub(super) struct Node<'t> {
    /// The path in the document.
    pub(super) path: String,
    raw: &'t RawValue,
}

impl<'t> Node<'t> {
    pub(super) fn is_null(&self) -> bool {
        self.raw.get() == "null"
    }

    pub(super) fn is_array(&self) -> bool {
        self.raw.get().starts_with('[')
    }

    pub(super) fn is_object(&self) -> bool {
        self.raw.get().starts_with('{')
    }

    /// Returns a string, number, boolean or null; `None` for arrays and objects.
    pub(super) fn scalar(&self) -> Option<serde_json::Value> {
        if self.is_object() || self.is_array() { None } else { self.parse().ok() }
    }

    pub(super) fn boolean(&self) -> Option<bool> {
        self.raw.get().parse().ok()
    }

    pub(super) fn number(&self) -> Option<u64> {
        self.raw.get().parse().ok()
    }

    fn parse<T: Deserialize<'t>>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_str(self.raw.get())
    }

    /// Returns the kind of the value, for messages.
    fn kind(&self) -> &'static str {
        match self.raw.get().as_bytes().first() {
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
    /// The parts that have been parsed, with the offsets of their values.
    parts: Vec<(usize, String)>,
    /// The faults, without positions.
    faults: Vec<Fault>,
    /// Number of faults that make the meaning of a part unclear.
    pub(super) unsound: usize,
}

impl<'t> Json<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        Self { text, parts: Vec::new(), faults: Vec::new(), unsound: 0 }
    }

    /// Returns the positions of all parts, and the faults.
    pub(super) fn finish(mut self) -> (Positions, Vec<Fault>) {
        self.parts.sort_unstable();
        let mut positions = Positions::default();
        let (mut line, mut column, mut start) = (1, 1, 0);
        for (offset, path) in self.parts {
            for c in self.text.get(start..offset).unwrap_or_default().chars() {
                (line, column) = if c == '\n' { (line + 1, 1) } else { (line, column + 1) };
            }
            start = offset;
            positions.record(path, line, column);
        }
        let located = |fault: Fault| match fault.line {
            Some(_) => fault,
            None => positions.fault(fault.path, fault.message),
        };
        let faults = self.faults.into_iter().map(located).collect();
        (positions, faults)
    }

    /// Returns the whole text as a value, if it is valid JSON.
    pub(super) fn root(&mut self) -> Option<Node<'t>> {
        match serde_json::from_str(self.text) {
            Ok(raw) => Some(self.node(ROOT.to_owned(), raw)),
            Err(error) => {
                let (message, line, column) = match self.text.trim_ascii() {
                    "" => ("The text is empty".to_owned(), Some(1), Some(1)),
                    _ => (not_json(&error), u32::try_from(error.line()).ok(), self.column_of(&error)),
                };
                self.faults.push(Fault { path: ROOT.to_owned(), message, line, column });
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

    fn node(&mut self, path: String, raw: &'t RawValue) -> Node<'t> {
        let offset = (raw.get().as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize);
        self.parts.push((offset, path.clone()));
        Node { path, raw }
    }

    pub(super) fn fault(&mut self, path: impl Into<String>, message: impl Into<String>) {
        self.faults.push(Fault { path: path.into(), message: message.into(), line: None, column: None });
        self.unsound += 1;
    }

    pub(super) fn wrong_kind(&mut self, node: &Node<'t>, expected: &str) {
        self.fault(&node.path, format!("Expected {expected}, found {}", node.kind()));
    }

    pub(super) fn unknown(&mut self, node: &Node<'t>, what: &str, name: &str, known: &[&str]) {
        let hint = match hint(&self.faults, name, known.iter().copied()) {
            near if !near.is_empty() => near,
            _ => format!("; expected one of {}", known.join(", ")),
        };
        self.fault(&node.path, format!("Unknown {what} '{name}'{hint}"));
    }

    /// Returns the entries of an object. The second occurrence of a key is a fault.
    pub(super) fn object(&mut self, node: &Node<'t>) -> Option<Vec<(String, Node<'t>)>> {
        if !node.is_object() {
            self.wrong_kind(node, "an object");
            return None;
        }
        let Pairs(pairs) = self.parse_node(node)?;
        let mut seen = HashSet::new();
        let mut entries = Vec::with_capacity(pairs.len());
        for (key, raw) in pairs {
            if seen.insert(key.clone()) {
                let path = if node.path == ROOT { key.clone() } else { format!("{}.{key}", node.path) };
                entries.push((key, self.node(path, raw)));
            } else {
                self.fault(&node.path, format!("The key '{key}' is given twice"));
            }
        }
        Some(entries)
    }

    /// Returns the values of the known keys of an object, of which the first `required` must be present.
    pub(super) fn members<const N: usize>(
        &mut self,
        node: &Node<'t>,
        known: [&str; N],
        required: usize,
    ) -> Option<[Option<Node<'t>>; N]> {
        let mut members = [const { None }; N];
        for (key, member) in self.object(node)? {
            if let Some((_, slot)) = known.iter().zip(&mut members).find(|(known, _)| **known == key) {
                *slot = Some(member);
            } else {
                // A part with an unknown key can still be checked.
                let unsound = self.unsound;
                self.unknown(&member, "key", &key, &known);
                self.unsound = unsound;
            }
        }
        for (key, _) in known.iter().zip(&members).take(required).filter(|(_, member)| member.is_none()) {
            self.fault(&node.path, format!("'{key}' is missing"));
        }
        Some(members)
    }

    pub(super) fn text(&mut self, node: &Node<'t>) -> Option<String> {
        if !node.raw.get().starts_with('"') {
            self.wrong_kind(node, "text");
            return None;
        }
        self.parse_node(node)
    }

    /// Parses a name. Names that `parse` rejects are faults.
    pub(super) fn name<T>(
        &mut self,
        node: &Node<'t>,
        what: &str,
        parse: impl FnOnce(&str) -> Option<T>,
        known: &[&str],
    ) -> Option<T> {
        let name = self.text(node)?;
        let parsed = parse(&name);
        if parsed.is_none() {
            self.unknown(node, what, &name, known);
        }
        parsed
    }

    /// Returns the items of a list.
    pub(super) fn list(&mut self, node: &Node<'t>) -> Option<Vec<Node<'t>>> {
        if !node.is_array() {
            self.wrong_kind(node, "a list");
            return None;
        }
        let items: Vec<&'t RawValue> = self.parse_node(node)?;
        let item = |(index, raw)| self.node(format!("{}[{index}]", node.path), raw);
        Some(items.into_iter().enumerate().map(item).collect())
    }

    /// Returns the strings of a list. Other items are faults.
    pub(super) fn texts(&mut self, node: &Node<'t>) -> Vec<String> {
        let items = self.list(node).unwrap_or_default();
        items.iter().filter_map(|item| self.text(item)).collect()
    }

    /// Parses a value further. Valid JSON can still fail here, for example on an unpaired surrogate.
    fn parse_node<T: Deserialize<'t>>(&mut self, node: &Node<'t>) -> Option<T> {
        node.parse().map_err(|error| self.fault(&node.path, not_json(&error))).ok()
    }
}

/// Returns the message of the JSON parser without its position, which the fault contains.
fn not_json(error: &serde_json::Error) -> String {
    let message = error.to_string();
    format!(
        "The text is not JSON: {}",
        message.rsplit_once(" at line ").map_or(&*message, |(reason, _)| reason)
    )
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
        std::iter::from_fn(|| map.next_entry().transpose()).collect()
    }
}
