//! What does a target say about itself? Its `profile.toml`: claims, addresses, and choices that are left open.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use super::case::Level;
use super::trouble::Trouble;

/// A profile as written.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// What reports call the target.
    pub name: String,
    /// The highest level that it claims.
    pub level: Level,
    /// The optional profiles that it claims.
    #[serde(default)]
    pub profiles: Vec<String>,
    /// Settings → URL of a server that runs with them.
    #[serde(default)]
    pub servers: BTreeMap<String, String>,
    /// Case → why the target is known not to pass it yet. Such a failure does not fail the run, but stands in
    /// the way of the claim; passing such a case fails the run, so that the list stays true.
    #[serde(default)]
    pub known: BTreeMap<String, String>,
    /// What the protocol leaves open, and how this target decides it.
    #[serde(default)]
    choices: toml::Table,
}

impl Profile {
    /// Reads a profile's text.
    pub fn parse(text: &str) -> Result<Self, String> {
        toml::from_str(text).map_err(|error| format!("profile: {error}"))
    }

    /// Reads a profile's file.
    pub fn read(path: &Path) -> Result<Self, String> {
        let text = std::fs::read_to_string(path);
        Self::parse(&text.map_err(|error| format!("cannot read {}: {error}", path.display()))?)
    }

    /// The profile of the reference server, which is the default of every choice.
    pub fn ours() -> Result<Self, String> {
        Self::read(&super::case::folder().join("profile.toml"))
    }

    /// A choice by its dotted name.
    pub fn choice(&self, name: &str) -> Result<Value, Trouble> {
        let mut names = name.split('.');
        let first = names.next().and_then(|first| self.choices.get(first));
        let found = names.fold(first, |value, name| value.and_then(|value| value.get(name)));
        let found = found
            .ok_or_else(|| Trouble::Undeclared(format!("the profile does not declare choices.{name}")))?;
        serde_json::to_value(found).map_err(|error| Trouble::Setup(format!("choices.{name}: {error}")))
    }

    /// A choice that is text.
    pub fn choice_text(&self, name: &str) -> Result<String, Trouble> {
        Ok(super::expression::plain(&self.choice(name)?))
    }

    /// Takes a choice back, as if it had not been declared.
    pub fn forget(&mut self, name: &str) {
        if let Some((section, name)) = name.split_once('.') {
            if let Some(section) = self.choices.get_mut(section).and_then(toml::Value::as_table_mut) {
                section.remove(name);
            }
        } else {
            self.choices.remove(name);
        }
    }

    /// Whether the target claims what is in a group of cases.
    #[must_use]
    pub fn claims(&self, level: Level, profile: Option<&str>) -> bool {
        level <= self.level && profile.is_none_or(|name| self.profiles.iter().any(|own| own == name))
    }
}
