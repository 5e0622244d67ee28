//! Faults of schema documents with their positions, and suggestions for misspelled names.

use std::collections::HashMap;
use std::ops::Deref;

use thiserror::Error;

/// A fault of a schema document. Loading reports all faults at once.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{path}: {message}")]
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

/// The faults of a schema document, at least one.
///
/// It dereferences to a slice, and its `Display` output has a line for each fault.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{}", .0.iter().map(Fault::to_string).collect::<Vec<_>>().join("\n"))]
pub struct Faults(Vec<Fault>);

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
    pub(crate) fn record(&mut self, path: String, line: u32, column: u32) {
        self.0.insert(path, (line, column));
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

/// Maximum number of faults with hints, because searching for hints in hostile documents would be expensive.
const HINTED_FAULTS: usize = 100;

/// Returns `; did you mean 'x'?` with the nearest name, or an empty string if no name is near.
pub(crate) fn hint<'n>(faults: &[Fault], name: &str, names: impl IntoIterator<Item = &'n str>) -> String {
    if faults.len() >= HINTED_FAULTS {
        return String::new();
    }
    nearest(name, names).map(|near| format!("; did you mean '{near}'?")).unwrap_or_default()
}

/// Maximum length of a name that gets a suggestion. The comparison takes time proportional to the product of both
/// lengths, and clients choose one of them.
const MAX_LENGTH: usize = 48;

/// Maximum number of names that are compared.
const MAX_NAMES: usize = 2_000;

/// Returns the name with the smallest edit distance to `word`. A swap of neighboring letters counts as one edit, and
/// letter case is ignored. At most a third of the letters may differ; of equally near names the first wins.
///
/// ```
/// use mesh_schema::nearest;
///
/// assert_eq!(nearest("titel", ["title", "author"]), Some("title"));
/// assert_eq!(nearest("zebra", ["title", "author"]), None);
/// ```
pub fn nearest<'n>(word: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let letters = word.chars().take(MAX_LENGTH + 1).count();
    if letters > MAX_LENGTH {
        return None;
    }
    let (wanted, allowed) = (word.to_lowercase(), (letters / 3).max(1));
    let steps = |name: &'n str| {
        let length = name.chars().take(letters + allowed + 1).count();
        if length.abs_diff(letters) > allowed {
            return None;
        }
        let steps = strsim::osa_distance(&wanted, &name.to_lowercase());
        (steps <= allowed && steps < length).then_some((steps, name))
    };
    let near = names.into_iter().take(MAX_NAMES).filter_map(steps);
    near.min_by_key(|(steps, _)| *steps).map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fault_has_the_position_of_the_enclosing_part() {
        let mut positions = Positions::default();
        positions.record("entities.post".to_owned(), 3, 5);
        let fault = positions.fault("entities.post.fields[2]", "wrong");
        assert_eq!((fault.line, fault.column), (Some(3), Some(5)));
        assert_eq!(fault.to_string(), "entities.post.fields[2]: wrong");
        assert_eq!(positions.fault("joins.x", "wrong").line, None);
    }

    #[test]
    fn only_near_names_are_suggested() {
        let names = ["listen", "limits", "log", "log_format", "base", "createdAt"];
        assert_eq!(nearest("lisen", names), Some("listen"));
        assert_eq!(nearest("bsae", names), Some("base"), "swapped letters are one change");
        assert_eq!(nearest("LISTEN", names), Some("listen"));
        assert_eq!(nearest("log-format", names), Some("log_format"));
        assert_eq!(nearest("limit", names), Some("limits"));
        assert_eq!(nearest("bse", names), Some("base"));
        assert_eq!(nearest("created_at", names), Some("createdAt"));
        assert_eq!(nearest("replicas", names), None);
        assert_eq!(nearest("", ["x"]), None);
        assert_eq!(nearest("é", ["e"]), None);
        assert_eq!(nearest(&"l".repeat(49), ["l"; 1]), None);
    }
}
