//! Which settings are in effect, and who set them? All of them as a file that the server can read again.
//!
//! What a setting may look like is known by the type of its value, so a new setting is printed without a word here.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use mesh_docs::{Sql, Theme};
use mesh_integrity::Binding;
use mesh_plan::Registration;
use mesh_server::{Proxies, Rate};
use mesh_wire::Base;

use crate::config::LogFormat;
use crate::config::parse::Span;
use crate::config::sections::features::{Docs, DocsAuth, Hidden, Integrity, Persisted, State, Store};
use crate::config::sources::Place;

/// How a value stands in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Shown {
    /// As this text.
    Value(String),
    /// Not at all, since there is none.
    Nothing,
    /// There is one that nobody is to see.
    Secret,
}

/// A value of a setting.
pub(crate) trait Setting {
    /// The value as it could be written.
    fn shown(&self) -> Shown;
}

/// All settings in effect, each with the place that it comes from, where there is one.
#[derive(Debug, Default)]
pub(crate) struct Printed(BTreeMap<&'static str, (Shown, Option<Place>)>);

impl Printed {
    /// Takes in a setting.
    pub(super) fn add(&mut self, path: &'static str, value: &impl Setting, place: Option<&Place>) {
        self.0.insert(path, (value.shown(), place.cloned()));
    }

    /// The file: settings without a section, then each section with its own.
    pub(crate) fn to_toml(&self) -> String {
        let mut out = String::new();
        let mut of_section = BTreeMap::<&str, Vec<_>>::new();
        for (path, setting) in &self.0 {
            let (section, name) = path.rsplit_once('.').unwrap_or(("", path));
            of_section.entry(section).or_default().push((name, setting));
        }
        for (section, settings) in of_section {
            if !section.is_empty() {
                // Writing into a text cannot fail.
                let _ = write!(out, "\n[{section}]\n");
            }
            for (name, (shown, place)) in settings {
                let place = place.as_ref().map_or_else(|| "default".to_owned(), ToString::to_string);
                let _ = match shown {
                    Shown::Value(value) => writeln!(out, "{name} = {value} # {place}"),
                    Shown::Nothing => writeln!(out, "# {name} is not set"),
                    Shown::Secret => writeln!(out, "# {name} = \"********\" # {place}, not shown"),
                };
            }
        }
        out
    }
}

fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

/// A URL with a password in it is a secret as a whole: without its password it would be another setting.
fn has_password(text: &str) -> bool {
    let Some((_, rest)) = text.split_once("://") else { return false };
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, more) = rest.split_at(end);
    let account = authority.rsplit_once('@').map_or("", |(account, _)| account);
    account.contains(':') || more.to_ascii_lowercase().contains("password=")
}

fn list(items: impl Iterator<Item = String>) -> Shown {
    let items: Vec<_> = items.map(|item| quoted(&item)).collect();
    Shown::Value(format!("[{}]", items.join(", ")))
}

/// A word of a table of words.
fn word<T: PartialEq>(choices: &[(&'static str, T)], value: &T) -> Shown {
    let found = choices.iter().find(|(_, choice)| choice == value);
    found.map_or(Shown::Nothing, |(word, _)| Shown::Value(quoted(word)))
}

impl Setting for String {
    fn shown(&self) -> Shown {
        if has_password(self) { Shown::Secret } else { Shown::Value(quoted(self)) }
    }
}

impl Setting for PathBuf {
    fn shown(&self) -> Shown {
        Shown::Value(quoted(&self.display().to_string()))
    }
}

impl Setting for Hidden {
    fn shown(&self) -> Shown {
        Shown::Secret
    }
}

impl<T: Setting> Setting for Option<T> {
    fn shown(&self) -> Shown {
        self.as_ref().map_or(Shown::Nothing, Setting::shown)
    }
}

impl Setting for Vec<String> {
    fn shown(&self) -> Shown {
        if self.iter().any(|item| has_password(item)) { Shown::Secret } else { list(self.iter().cloned()) }
    }
}

impl Setting for Vec<Hidden> {
    fn shown(&self) -> Shown {
        if self.is_empty() { list(std::iter::empty()) } else { Shown::Secret }
    }
}

impl Setting for bool {
    fn shown(&self) -> Shown {
        Shown::Value(self.to_string())
    }
}

impl Setting for usize {
    fn shown(&self) -> Shown {
        Shown::Value(self.to_string())
    }
}

impl Setting for u32 {
    fn shown(&self) -> Shown {
        Shown::Value(self.to_string())
    }
}

impl Setting for Duration {
    fn shown(&self) -> Shown {
        Shown::Value(quoted(&Span(*self).to_string()))
    }
}

impl Setting for SocketAddr {
    fn shown(&self) -> Shown {
        Shown::Value(quoted(&self.to_string()))
    }
}

impl Setting for Base {
    fn shown(&self) -> Shown {
        Shown::Value(quoted(self.as_str()))
    }
}

impl Setting for Rate {
    fn shown(&self) -> Shown {
        Shown::Value(quoted(&self.to_string()))
    }
}

impl Setting for Proxies {
    fn shown(&self) -> Shown {
        list(self.texts())
    }
}

impl Setting for LogFormat {
    fn shown(&self) -> Shown {
        word(&Self::ALL, self)
    }
}

impl Setting for Binding {
    fn shown(&self) -> Shown {
        word(&Integrity::BINDINGS, self)
    }
}

impl Setting for Registration {
    fn shown(&self) -> Shown {
        word(&Persisted::REGISTRATIONS, &Some(*self))
    }
}

impl Setting for DocsAuth {
    fn shown(&self) -> Shown {
        word(&Docs::AUTHS, self)
    }
}

impl Setting for Sql {
    fn shown(&self) -> Shown {
        word(&Docs::SQL, self)
    }
}

impl Setting for Theme {
    fn shown(&self) -> Shown {
        word(&Docs::THEMES, self)
    }
}

impl Setting for Store {
    fn shown(&self) -> Shown {
        word(&State::STORES, self)
    }
}

#[cfg(test)]
mod tests;
