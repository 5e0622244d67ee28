//! Faults of schema documents, with their position.

use std::collections::HashMap;
use std::fmt;
use std::ops::Deref;

use crate::nearest;

/// A fault of a schema document. Loading reports all faults at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The path in the document, such as `entities.post.idField`; `document` for the whole text.
    pub path: String,
    /// What is wrong and how to correct it.
    pub message: String,
    /// The line, from 1, if the document was parsed from text.
    pub line: Option<u32>,
    /// The column, from 1, in characters.
    pub column: Option<u32>,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.message)
    }
}

impl std::error::Error for Fault {}

/// The faults of a schema document, at least one.
///
/// It dereferences to a slice, and its `Display` output has a line for each fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Faults(Vec<Fault>);

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, fault) in self.0.iter().enumerate() {
            let line_break = if index == 0 { "" } else { "\n" };
            write!(f, "{line_break}{fault}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Faults {}

impl Deref for Faults {
    type Target = [Fault];

    fn deref(&self) -> &[Fault] {
        &self.0
    }
}

impl From<Vec<Fault>> for Faults {
    fn from(faults: Vec<Fault>) -> Self {
        Self(faults)
    }
}

impl From<Faults> for Vec<Fault> {
    fn from(faults: Faults) -> Self {
        faults.0
    }
}

impl IntoIterator for Faults {
    type Item = Fault;
    type IntoIter = std::vec::IntoIter<Fault>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

/// Positions of the parts of a document in its text.
///
/// Positions always compare as equal, so that equality of documents does not depend on their formatting.
#[derive(Clone, Debug, Default)]
pub(crate) struct Positions(HashMap<String, (u32, u32)>);

impl PartialEq for Positions {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Positions {
    pub(crate) fn record(&mut self, path: &str, line: u32, column: u32) {
        self.0.insert(path.to_owned(), (line, column));
    }

    /// Creates a fault with the position of the innermost enclosing part that is in the text.
    pub(crate) fn fault(&self, path: impl Into<String>, message: impl Into<String>) -> Fault {
        let path = path.into();
        let mut part = path.as_str();
        let position = loop {
            if let Some(position) = self.0.get(part) {
                break Some(*position);
            }
            match part.rfind(['.', '[']).and_then(|end| part.get(..end)) {
                Some(outer) => part = outer,
                None => break None,
            }
        };
        let (line, column) = position.unzip();
        Fault { path, message: message.into(), line, column }
    }
}

/// Maximum number of faults with hints, because searching hints for hostile documents would be expensive.
const HINTED_FAULTS: usize = 100;

/// Returns `; did you mean 'x'?` with the nearest name, or an empty string if no name is near.
pub(crate) fn hint<'n>(faults: &[Fault], name: &str, names: impl IntoIterator<Item = &'n str>) -> String {
    if faults.len() >= HINTED_FAULTS {
        return String::new();
    }
    nearest(name, names).map(|near| format!("; did you mean '{near}'?")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fault_has_the_position_of_the_enclosing_part() {
        let mut positions = Positions::default();
        positions.record("entities.post", 3, 5);
        let fault = positions.fault("entities.post.fields[2]", "wrong");
        assert_eq!((fault.line, fault.column), (Some(3), Some(5)));
        assert_eq!(fault.to_string(), "entities.post.fields[2]: wrong");
        assert_eq!(positions.fault("joins.x", "wrong").line, None);
    }
}
