//! The settings in effect as a file that the server can read again, for `--print-config`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use mesh_server::otlp::CollectorUrl;
use mesh_server::{Proxies, Rate};
use mesh_wire::BasePath;
use mesh_wire::response::CacheControl;

use crate::config::location::Location;
use crate::config::parse::{Choice, DisplayDuration, SecretText};
use crate::config::sources::Origin;

/// A value in TOML.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PrintedValue {
    /// The value.
    Toml(String),
    /// A value that names files: as it is, and with absolute paths.
    Path(String, String),
    /// No value is set.
    Unset,
    /// A value is set and must not be printed.
    Secret,
}

/// A type of setting values.
pub(crate) trait SettingValue: Sized {
    /// Whether values of this type may name files.
    const NAMES_FILES: bool = false;

    /// Whether values are tables with names that are not settings.
    const IS_TABLE: bool = false;

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
    /// Whether the value may name files.
    #[cfg_attr(not(test), expect(dead_code, reason = "a test lists the settings that name files"))]
    pub(crate) names_files: bool,
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
        let (value, origin) = (value.printed(), origin.cloned());
        let setting = EffectiveSetting { description, names_files: T::NAMES_FILES, value, origin };
        self.0.insert(path, setting);
    }

    /// Returns the paths of all settings.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &'static str> {
        self.0.keys().copied()
    }

    /// Returns the file: first the settings without a section, then each section. Paths are absolute, so that the meaning of
    /// the file does not depend on its folder.
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
                    PrintedValue::Toml(value) | PrintedValue::Path(_, value) => {
                        writeln!(out, "{name} = {value} # {origin}")
                    }
                    PrintedValue::Unset => writeln!(out, "# {name} is not set"),
                    PrintedValue::Secret => writeln!(out, "# {name} = \"********\" # {origin}, not shown"),
                };
            }
        }
        out
    }
}

pub(super) fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

/// Returns whether a text is a URL with a password. The whole URL is treated as secret, since without the password it
/// would be a different value.
fn has_password(text: &str) -> bool {
    let Some((_, rest)) = text.split_once("://") else { return false };
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, more) = rest.split_at(end);
    let account = authority.rsplit_once('@').map_or("", |(account, _)| account);
    account.contains(':') || more.to_ascii_lowercase().contains("password=")
}

fn list(items: impl Iterator<Item = String>) -> String {
    let items: Vec<_> = items.map(|item| quoted(&item)).collect();
    format!("[{}]", items.join(", "))
}

/// Returns the working directory, or an empty path if it no longer exists.
fn current_folder() -> PathBuf {
    std::env::current_dir().unwrap_or_default()
}

impl SettingValue for String {
    fn printed(&self) -> PrintedValue {
        if has_password(self) { PrintedValue::Secret } else { PrintedValue::Toml(quoted(self)) }
    }
}

impl SettingValue for SecretText {
    fn printed(&self) -> PrintedValue {
        PrintedValue::Secret
    }
}

impl<T: SettingValue> SettingValue for Option<T> {
    const NAMES_FILES: bool = T::NAMES_FILES;

    fn printed(&self) -> PrintedValue {
        self.as_ref().map_or(PrintedValue::Unset, SettingValue::printed)
    }

    fn relative_to(self, folder: &Path) -> Self {
        self.map(|value| value.relative_to(folder))
    }
}

impl SettingValue for PathBuf {
    const NAMES_FILES: bool = true;

    fn printed(&self) -> PrintedValue {
        let absolute = self.clone().relative_to(&current_folder());
        PrintedValue::Path(quoted(&self.display().to_string()), quoted(&absolute.display().to_string()))
    }

    fn relative_to(self, folder: &Path) -> Self {
        folder.join(self)
    }
}

impl SettingValue for Location {
    const NAMES_FILES: bool = true;

    fn printed(&self) -> PrintedValue {
        let absolute = self.clone().relative_to(&current_folder());
        if has_password(self) {
            PrintedValue::Secret
        } else {
            PrintedValue::Path(quoted(self), quoted(&absolute))
        }
    }

    fn relative_to(self, folder: &Path) -> Self {
        self.relative_to(folder)
    }
}

impl SettingValue for Vec<Location> {
    const NAMES_FILES: bool = true;

    fn printed(&self) -> PrintedValue {
        if self.iter().any(|item| has_password(item)) {
            return PrintedValue::Secret;
        }
        let folder = current_folder();
        let absolute = self.iter().map(|item| item.clone().relative_to(&folder).to_string());
        PrintedValue::Path(list(self.iter().map(ToString::to_string)), list(absolute))
    }

    fn relative_to(self, folder: &Path) -> Self {
        self.into_iter().map(|item| item.relative_to(folder)).collect()
    }
}

impl SettingValue for Vec<String> {
    fn printed(&self) -> PrintedValue {
        let secret = self.iter().any(|item| has_password(item));
        if secret { PrintedValue::Secret } else { PrintedValue::Toml(list(self.iter().cloned())) }
    }
}

impl SettingValue for Vec<SecretText> {
    fn printed(&self) -> PrintedValue {
        if self.is_empty() { PrintedValue::Toml(list(std::iter::empty())) } else { PrintedValue::Secret }
    }
}

impl SettingValue for Proxies {
    fn printed(&self) -> PrintedValue {
        PrintedValue::Toml(list(self.texts()))
    }
}

impl<T: Choice> SettingValue for T {
    fn printed(&self) -> PrintedValue {
        let name = Self::CHOICES.iter().find(|(_, choice)| choice == self);
        name.map_or(PrintedValue::Unset, |(name, _)| PrintedValue::Toml(quoted(name)))
    }
}

/// Implements [`SettingValue`] by a function that returns the TOML.
macro_rules! printed {
    ($($type:ty: $toml:expr;)+) => {$(
        impl SettingValue for $type {
            fn printed(&self) -> PrintedValue {
                let toml: fn(&Self) -> String = $toml;
                PrintedValue::Toml(toml(self))
            }
        }
    )+};
}

printed! {
    bool: |value| value.to_string();
    u32: |value| value.to_string();
    u64: |value| value.to_string();
    usize: |value| value.to_string();
    BasePath: |path| quoted(path.as_str());
    CacheControl: |control| quoted(&control.to_string());
    Duration: |time| quoted(&DisplayDuration(*time).to_string());
    CollectorUrl: |url| quoted(&url.to_string());
    Rate: |rate| quoted(&rate.to_string());
    SocketAddr: |address| quoted(&address.to_string());
}

#[cfg(test)]
mod tests;
