//! A pooler between the server and PostgreSQL.

use std::path::Path;

use crate::config::location::Location;
use crate::config::parse;
use crate::config::print::{PrintedValue, SettingValue};
use crate::config::sources::Value;

/// Whether a pooler assigns a connection to each transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Pooler {
    /// There is none.
    None,
    /// There is one, and changes are polled for.
    Polling,
    /// There is one, and connections that listen for changes go to this URL of the primary itself.
    Listening(Location),
}

impl Pooler {
    /// Parses `true`, `false` or a URL.
    pub(super) fn parse(value: &Value) -> Result<Self, String> {
        match value {
            Value::Text(text) if text.contains("://") => Ok(Self::Listening(text.clone().into())),
            value => match parse::boolean(value) {
                Ok(true) => Ok(Self::Polling),
                Ok(false) => Ok(Self::None),
                Err(_) => Err(format!("must be true, false or the URL of the primary, not {value}")),
            },
        }
    }
}

impl SettingValue for Pooler {
    const NAMES_FILES: bool = true;

    fn printed(&self) -> PrintedValue {
        match self {
            Self::None => false.printed(),
            Self::Polling => true.printed(),
            Self::Listening(url) => url.printed(),
        }
    }

    fn relative_to(self, folder: &Path) -> Self {
        match self {
            Self::Listening(url) => Self::Listening(url.relative_to(folder)),
            other => other,
        }
    }
}
