//! The profile of a target: its claims, its servers, and its decisions where the protocol leaves a choice.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use crate::case::Level;
use crate::expression;
use crate::failure::Failure;
use crate::files;

/// A parsed `profile.toml`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// The name of the target in reports.
    pub name: String,
    /// The highest level that the target claims.
    pub level: Level,
    /// The optional profiles that the target claims.
    #[serde(default)]
    pub profiles: Vec<String>,
    /// The URLs of the servers by the name of their settings.
    #[serde(default)]
    pub servers: BTreeMap<String, String>,
    /// The cases that the target is known to fail, each with the reason. Such a failure does not fail the run but
    /// prevents the claim. If such a case passes, the run fails, which keeps the list up to date.
    #[serde(default)]
    pub known: BTreeMap<String, String>,
    /// The decisions of the target where the protocol leaves a choice.
    #[serde(default)]
    choices: toml::Table,
}

impl Profile {
    /// Parses a profile. A choice that it does not make is that of the reference server, which are the defaults of the
    /// protocol.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut profile: Self = toml::from_str(text).map_err(|error| format!("profile: {error}"))?;
        let mut choices = Self::reference()?.choices;
        for (name, choice) in std::mem::take(&mut profile.choices) {
            match (choices.get_mut(&name), choice) {
                (Some(toml::Value::Table(all)), toml::Value::Table(own)) => all.extend(own),
                (_, choice) => drop(choices.insert(name, choice)),
            }
        }
        profile.choices = choices;
        Ok(profile)
    }

    /// Reads a profile from a file.
    pub fn read(path: &Path) -> Result<Self, String> {
        let text = std::fs::read_to_string(path);
        Self::parse(&text.map_err(|error| format!("cannot read {}: {error}", path.display()))?)
    }

    /// Reads the profile of the reference server.
    pub fn reference() -> Result<Self, String> {
        toml::from_str(files::text("profile.toml")?).map_err(|error| format!("profile.toml: {error}"))
    }

    /// Returns a choice by its dotted name.
    pub fn choice(&self, name: &str) -> Result<Value, Failure> {
        let mut names = name.split('.');
        let first = names.next().and_then(|first| self.choices.get(first));
        let found = names.fold(first, |value, name| value.and_then(|value| value.get(name)));
        let found = found
            .ok_or_else(|| Failure::Undeclared(format!("the profile does not declare choices.{name}")))?;
        serde_json::to_value(found).map_err(|error| Failure::Setup(format!("choices.{name}: {error}")))
    }

    /// Returns a choice as text.
    pub fn choice_text(&self, name: &str) -> Result<String, Failure> {
        Ok(expression::plain(&self.choice(name)?))
    }

    /// Declares a choice that is a list of texts.
    pub fn declare(&mut self, name: &str, value: Vec<String>) {
        self.choices.insert(name.to_owned(), value.into());
    }

    /// Removes a choice.
    pub fn undeclare(&mut self, name: &str) {
        if let Some((section, name)) = name.split_once('.') {
            if let Some(section) = self.choices.get_mut(section).and_then(toml::Value::as_table_mut) {
                section.remove(name);
            }
        } else {
            self.choices.remove(name);
        }
    }

    /// Returns whether the target claims a level and, if given, an optional profile.
    #[must_use]
    pub fn claims(&self, level: Level, profile: Option<&str>) -> bool {
        level <= self.level && profile.is_none_or(|name| self.claims_profile(name))
    }

    /// Returns whether the target claims an optional profile.
    #[must_use]
    pub fn claims_profile(&self, name: &str) -> bool {
        self.profiles.iter().any(|claimed| claimed == name)
    }
}
