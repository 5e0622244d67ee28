//! The settings in effect as a file that the server can read again, for `--print-config`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use mesh_server::{HttpUrl, Proxies, Rate};
use mesh_wire::BasePath;
use mesh_wire::response::CacheControl;
use toml::Value as Toml;

use crate::config::location::{Location, Pooler};
use crate::config::parse::{Choice, DisplayDuration, SecretText};
use crate::config::sources::Origin;

/// A value in TOML.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum PrintedValue {
    /// The value. Paths in it are absolute, so that the meaning of a file does not depend on its folder.
    Toml(Toml),
    /// No value is set.
    Unset,
    /// A value is set and must not be printed.
    Secret,
}

/// A type of setting values.
pub(crate) trait SettingValue: Clone {
    /// Returns the value in TOML.
    fn printed(&self) -> PrintedValue;

    /// Resolves relative paths in the value against `folder`.
    fn relative_to(self, _folder: &Path) -> Self {
        self
    }
}

/// One setting in effect.
#[derive(Clone, Debug)]
pub(crate) struct EffectiveSetting {
    /// The purpose of the setting.
    #[cfg_attr(not(test), expect(dead_code, reason = "the reference page is written by a test"))]
    pub(crate) description: &'static str,
    /// The value.
    pub(crate) value: PrintedValue,
    /// The source that the value is written in; `None` for a default.
    pub(crate) origin: Option<Origin>,
}

/// All settings in effect, by path.
#[derive(Debug, Default)]
pub(crate) struct EffectiveSettings(pub(super) BTreeMap<&'static str, EffectiveSetting>);

impl EffectiveSettings {
    /// Adds a setting.
    pub(super) fn add<T: SettingValue>(
        &mut self,
        path: &'static str,
        description: &'static str,
        value: &T,
        origin: Option<&Origin>,
    ) {
        // The working directory may no longer exist.
        let folder = std::env::current_dir().unwrap_or_default();
        let value = match value.clone().relative_to(&folder).printed() {
            PrintedValue::Toml(value) if has_password(&value) => PrintedValue::Secret,
            value => value,
        };
        self.0.insert(path, EffectiveSetting { description, value, origin: origin.cloned() });
    }

    /// Returns the paths of all settings.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &'static str> {
        self.0.keys().copied()
    }

    /// Returns whether a setting has this path.
    pub(super) fn contains(&self, path: &str) -> bool {
        self.0.contains_key(path)
    }

    /// Returns the file: first the settings without a section, then each section.
    pub(crate) fn to_toml(&self) -> String {
        let mut out = String::new();
        let mut sections = BTreeMap::<&str, Vec<_>>::new();
        for (path, setting) in &self.0 {
            let (section, name) = path.rsplit_once('.').unwrap_or(("", path));
            sections.entry(section).or_default().push((name, setting));
        }
        for (section, settings) in sections {
            if !section.is_empty() {
                // Writing to a String cannot fail.
                let _ = write!(out, "\n[{section}]\n");
            }
            for (name, EffectiveSetting { value, origin, .. }) in settings {
                let origin = origin.as_ref().map_or_else(|| "default".to_owned(), ToString::to_string);
                let _ = match value {
                    PrintedValue::Toml(value) => writeln!(out, "{name} = {value} # {origin}"),
                    PrintedValue::Unset => writeln!(out, "# {name} is not set"),
                    PrintedValue::Secret => writeln!(out, "# {name} = \"********\" # {origin}, not shown"),
                };
            }
        }
        out
    }
}

/// Returns whether a value is a URL with a password, or a list with one. The whole URL is treated as secret, since without the
/// password it would be a different value.
fn has_password(value: &Toml) -> bool {
    let text = match value {
        Toml::String(text) => text,
        Toml::Array(items) => return items.iter().any(has_password),
        _ => return false,
    };
    let Some((_, rest)) = text.split_once("://") else { return false };
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, more) = rest.split_at(end);
    let account = authority.rsplit_once('@').map_or("", |(account, _)| account);
    account.contains(':') || more.to_ascii_lowercase().contains("password=")
}

impl SettingValue for SecretText {
    fn printed(&self) -> PrintedValue {
        PrintedValue::Secret
    }
}

impl<T: SettingValue> SettingValue for Vec<T> {
    fn printed(&self) -> PrintedValue {
        let mut items = Vec::new();
        for item in self {
            match item.printed() {
                PrintedValue::Toml(item) => items.push(item),
                PrintedValue::Unset => {}
                PrintedValue::Secret => return PrintedValue::Secret,
            }
        }
        PrintedValue::Toml(Toml::Array(items))
    }

    fn relative_to(self, folder: &Path) -> Self {
        self.into_iter().map(|item| item.relative_to(folder)).collect()
    }
}

impl<T: SettingValue> SettingValue for Option<T> {
    fn printed(&self) -> PrintedValue {
        self.as_ref().map_or(PrintedValue::Unset, SettingValue::printed)
    }

    fn relative_to(self, folder: &Path) -> Self {
        self.map(|value| value.relative_to(folder))
    }
}

impl SettingValue for PathBuf {
    fn printed(&self) -> PrintedValue {
        PrintedValue::Toml(self.display().to_string().into())
    }

    fn relative_to(self, folder: &Path) -> Self {
        folder.join(self)
    }
}

impl SettingValue for Location {
    fn printed(&self) -> PrintedValue {
        PrintedValue::Toml(self.to_string().into())
    }

    fn relative_to(self, folder: &Path) -> Self {
        self.relative_to(folder)
    }
}

impl SettingValue for Pooler {
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

impl<T: Choice> SettingValue for T {
    fn printed(&self) -> PrintedValue {
        let name = Self::CHOICES.iter().find(|(_, choice)| choice == self);
        name.map_or(PrintedValue::Unset, |(name, _)| PrintedValue::Toml((*name).into()))
    }
}

/// Implements [`SettingValue`] by a function that returns the TOML.
macro_rules! printed {
    ($($type:ty: $toml:expr;)+) => {$(
        impl SettingValue for $type {
            fn printed(&self) -> PrintedValue {
                let toml: fn(&Self) -> Toml = $toml;
                PrintedValue::Toml(toml(self))
            }
        }
    )+};
}

printed! {
    bool: |value| (*value).into();
    u32: |value| (*value).into();
    u64: |value| integer(*value);
    usize: |value| integer(*value);
    String: text;
    BasePath: |path| path.as_str().into();
    BTreeMap<String, CacheControl>: |controls| {
        Toml::Table(controls.iter().map(|(entity, control)| (entity.clone(), text(control))).collect())
    };
    CacheControl: text;
    Duration: |time| text(&DisplayDuration(*time));
    HttpUrl: text;
    Proxies: |proxies| Toml::Array(proxies.texts().map(Toml::String).collect());
    Rate: text;
    SocketAddr: text;
}

fn text(value: &impl ToString) -> Toml {
    Toml::String(value.to_string())
}

fn integer(value: impl TryInto<i64>) -> Toml {
    Toml::Integer(value.try_into().unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests;
