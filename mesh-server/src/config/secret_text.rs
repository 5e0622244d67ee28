//! Text that is never shown.

use std::fmt;

/// Text that no log and no message may contain; its `Debug` output is masked.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct SecretText(pub(crate) String);

impl From<String> for SecretText {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl fmt::Debug for SecretText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(hidden)")
    }
}
