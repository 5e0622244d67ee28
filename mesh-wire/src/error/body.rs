//! The body of an error.

use std::fmt;

#[cfg(doc)]
use super::{Code, Effect, ErrorKind};
use mesh_ql::Position;
use serde::{Deserialize, Serialize};

/// The body of an error reply. Kind and code are strings, because newer servers may send values that [`ErrorKind`] and
/// [`Code`] do not have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ErrorBody {
    /// The kind, such as the name of an [`ErrorKind`].
    pub error: String,
    /// A human-readable sentence.
    pub message: String,
    /// The id of the request in the server's log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// The code, such as the name of a [`Code`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The location in the query, as dotted refs from the root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The 1-based line of the query's text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The 1-based column, in characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
    /// The members of a write's body that are at fault, if known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<FieldError>,
    /// The step of a batch that failed, counted from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<u32>,
    /// What became of the write, such as the name of an [`Effect`]; `None` if the request is no write.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect: Option<String>,
}

/// A member of a write's body that is at fault. `SPEC §12.1`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FieldError {
    /// The name of the member.
    pub path: String,
    /// A human-readable sentence.
    pub message: String,
}

impl fmt::Display for ErrorBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.error, self.message)?;
        if let Some(code) = &self.code {
            write!(f, " [{code}]")?;
        }
        let position = self.line.zip(self.column).map(|(line, column)| Position { line, column });
        let location = [
            self.step.map(|step| format!("step {step}")),
            self.path.as_ref().map(|path| format!("in {path}")),
            position.map(|position| position.to_string()),
        ];
        let location: Vec<String> = location.into_iter().flatten().collect();
        match location.as_slice() {
            [] => Ok(()),
            location => write!(f, " ({})", location.join(", ")),
        }
    }
}
