//! The settings in effect as a file that the server can read again, for `--print-config`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use mesh_server::otlp::Endpoint;
use mesh_server::{Proxies, Rate};
use mesh_wire::BasePath;

use crate::config::parse::{Choice, DisplayDuration, SecretText};
use crate::config::sources::Origin;

/// A value in TOML.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PrintedValue {
    /// The value.
    Toml(String),
    /// No value is set.
    Unset,
    /// A value is set and must not be printed.
    Secret,
}

/// A type of setting values.
pub(crate) trait SettingValue {
    /// Returns the value in TOML.
    fn printed(&self) -> PrintedValue;
}

/// One setting in effect.
#[derive(Clone, Debug)]
pub(crate) struct EffectiveSetting {
    /// What the setting is for.
    #[cfg_attr(not(test), expect(dead_code, reason = "the reference page is written by a test"))]
    pub(crate) description: &'static str,
    /// The value.
    pub(crate) value: PrintedValue,
    /// Where the value is written; `None` for a default.
    pub(crate) origin: Option<Origin>,
}

/// All settings in effect, by path.
#[derive(Debug, Default)]
pub(crate) struct EffectiveSettings(pub(super) BTreeMap<&'static str, EffectiveSetting>);

impl EffectiveSettings {
    /// Adds a setting.
    pub(super) fn add(
        &mut self,
        path: &'static str,
        description: &'static str,
        value: &impl SettingValue,
        origin: Option<&Origin>,
    ) {
        let setting = EffectiveSetting { description, value: value.printed(), origin: origin.cloned() };
        self.0.insert(path, setting);
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

fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

/// Whether a text is a URL with a password. Such a URL is secret as a whole, since it would be another value without the
/// password.
fn has_password(text: &str) -> bool {
    let Some((_, rest)) = text.split_once("://") else { return false };
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, more) = rest.split_at(end);
    let account = authority.rsplit_once('@').map_or("", |(account, _)| account);
    account.contains(':') || more.to_ascii_lowercase().contains("password=")
}

fn list(items: impl Iterator<Item = String>) -> PrintedValue {
    let items: Vec<_> = items.map(|item| quoted(&item)).collect();
    PrintedValue::Toml(format!("[{}]", items.join(", ")))
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
    fn printed(&self) -> PrintedValue {
        self.as_ref().map_or(PrintedValue::Unset, SettingValue::printed)
    }
}

impl SettingValue for Vec<String> {
    fn printed(&self) -> PrintedValue {
        let secret = self.iter().any(|item| has_password(item));
        if secret { PrintedValue::Secret } else { list(self.iter().cloned()) }
    }
}

impl SettingValue for Vec<SecretText> {
    fn printed(&self) -> PrintedValue {
        if self.is_empty() { list(std::iter::empty()) } else { PrintedValue::Secret }
    }
}

impl SettingValue for Proxies {
    fn printed(&self) -> PrintedValue {
        list(self.texts())
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
    Duration: |time| quoted(&DisplayDuration(*time).to_string());
    Endpoint: |url| quoted(&url.to_string());
    PathBuf: |path| quoted(&path.display().to_string());
    Rate: |rate| quoted(&rate.to_string());
    SocketAddr: |address| quoted(&address.to_string());
}

#[cfg(test)]
mod tests;
