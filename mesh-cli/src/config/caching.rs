//! Types of the settings of caches.

use std::collections::BTreeMap;

use mesh_wire::response::{CacheControl, TagHeader};

use crate::config::parse::{self, Choice};
use crate::config::print::{PrintedValue, SettingValue, quoted};
use crate::config::sources::Value;

/// `Cache-Control` by entity.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct EntityControls(pub(crate) BTreeMap<String, CacheControl>);

impl EntityControls {
    /// Parses a table, or text such as `post = max-age=60; user = no-store`, the form in environment variables.
    pub(super) fn parse(value: &Value) -> Result<Self, String> {
        let entries: Vec<(String, Value)> = match value {
            Value::Table(entries) => entries.clone(),
            Value::Text(text) => {
                let parts = text.split(';').filter(|part| !part.trim().is_empty());
                let entries = parts.map(|part| {
                    let (entity, control) =
                        part.split_once('=').ok_or("must be 'entity = value', separated by ';'")?;
                    Ok((entity.trim().to_owned(), Value::Text(control.trim().to_owned())))
                });
                entries.collect::<Result<_, &str>>()?
            }
            other => {
                return Err(format!(
                    "must be a table such as {{ post = \"public, max-age=60\" }}, not {other}"
                ));
            }
        };
        let control = |(entity, value): (String, Value)| match parse::cache_control(&value) {
            Ok(control) => Ok((entity, control)),
            Err(error) => Err(format!("of '{entity}' {error}")),
        };
        Ok(Self(entries.into_iter().map(control).collect::<Result<_, _>>()?))
    }

    /// Returns whether any value allows caches to answer without a request to the server.
    pub(super) fn any_reusable(&self) -> bool {
        self.0.values().any(CacheControl::is_reusable)
    }

    /// Returns whether any value allows shared caches to store answers.
    pub(super) fn any_shared(&self) -> bool {
        self.0.values().any(CacheControl::is_shared)
    }
}

impl SettingValue for EntityControls {
    const IS_TABLE: bool = true;

    fn printed(&self) -> PrintedValue {
        let entries = self
            .0
            .iter()
            .map(|(entity, control)| format!("{} = {}", quoted(entity), quoted(&control.to_string())));
        let entries: Vec<_> = entries.collect();
        let toml = if entries.is_empty() { "{}".to_owned() } else { format!("{{ {} }}", entries.join(", ")) };
        PrintedValue::Toml(toml)
    }
}

/// The header that names the data that a reply was read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tags {
    /// There is none.
    Off,
    /// `Surrogate-Key`
    SurrogateKey,
    /// `Cache-Tag`
    CacheTag,
}

impl Tags {
    /// Returns the header, if there is one.
    pub(crate) fn header(self) -> Option<TagHeader> {
        match self {
            Self::Off => None,
            Self::SurrogateKey => Some(TagHeader::SurrogateKey),
            Self::CacheTag => Some(TagHeader::CacheTag),
        }
    }
}

impl Choice for Tags {
    const CHOICES: &[(&'static str, Self)] =
        &[("off", Self::Off), ("surrogate-key", Self::SurrogateKey), ("cache-tag", Self::CacheTag)];
}
