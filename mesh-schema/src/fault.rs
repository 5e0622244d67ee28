//! What is wrong with a schema, and where?

use std::collections::HashMap;
use std::fmt;
use std::ops::Deref;

use crate::nearest;

/// One thing that is wrong with a schema document. Loading reports all of them at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Where in the document, e.g. `entities.post.idField`; `document` for the text as a whole.
    pub place: String,
    /// What is wrong and what to do about it.
    pub message: String,
    /// The line in the text, from 1, where the document was parsed from text.
    pub line: Option<u32>,
    /// The column in that line, from 1, counting characters.
    pub column: Option<u32>,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.message)
    }
}

impl std::error::Error for Fault {}

/// Everything that is wrong with a schema document, at least one thing.
///
/// It reads like a slice, and prints a line for each fault, so that `?` alone tells a developer all of them.
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

/// Where the parts of a document stood in the text it was parsed from.
///
/// Two documents that say the same are equal wherever it was written, so places never differ.
#[derive(Clone, Debug, Default)]
pub(crate) struct Places(HashMap<String, (u32, u32)>);

impl PartialEq for Places {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Places {
    pub(crate) fn record(&mut self, place: &str, line: u32, column: u32) {
        self.0.insert(place.to_owned(), (line, column));
    }

    /// A fault at that place, with the position of the innermost part around it that stands in the text.
    pub(crate) fn fault(&self, place: impl Into<String>, message: impl Into<String>) -> Fault {
        let place = place.into();
        let mut part = place.as_str();
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
        Fault { place, message: message.into(), line, column }
    }
}

/// Past that many faults no more hints are looked for: hostile documents would make them expensive.
const HINTED_FAULTS: usize = 100;

/// `; did you mean 'x'?` with the nearest of the names, or nothing if none is near.
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
    fn a_fault_takes_the_position_of_the_part_around_it() {
        let mut places = Places::default();
        places.record("entities.post", 3, 5);
        let fault = places.fault("entities.post.fields[2]", "wrong");
        assert_eq!((fault.line, fault.column), (Some(3), Some(5)));
        assert_eq!(fault.to_string(), "entities.post.fields[2]: wrong");
        assert_eq!(places.fault("joins.x", "wrong").line, None);
    }
}
