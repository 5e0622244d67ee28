//! How do flags, environment and file become one configuration? The stronger source hides the weaker one.

use std::collections::BTreeSet;

use mesh_schema::nearest;

use crate::config::print::{Printed, Setting};
use crate::config::sources::{Flags, RawConfig, Value, variable};
use crate::config::{Config, ConfigFault};

/// The variable that names the configuration file where no flag does.
pub(crate) const FILE_VARIABLE: &str = "MESH_CONFIG";

/// The variable that has the password for `--login`. It is no setting, and is no mistake either.
pub(crate) const PASSWORD_VARIABLE: &str = "MESH_PASSWORD";

/// A configuration file that was read.
#[derive(Clone, Debug)]
pub(crate) struct SettingsFile {
    /// As messages name it.
    pub(crate) name: String,
    /// Its whole text.
    pub(crate) text: String,
}

/// What came of loading.
#[derive(Debug)]
pub(crate) struct Loaded {
    /// The settings, or everything that is wrong with them.
    pub(crate) config: Result<Config, Vec<ConfigFault>>,
    /// What was ignored and should be said.
    pub(crate) warnings: Vec<ConfigFault>,
    /// The settings as a file.
    pub(crate) printed: Printed,
}

impl Config {
    /// Reads the settings: a flag is stronger than a variable, a variable stronger than the file, the file
    /// stronger than the defaults.
    pub(crate) fn load(
        flags: Flags,
        environment: impl IntoIterator<Item = (String, String)>,
        file: Option<&SettingsFile>,
    ) -> Loaded {
        let mut faults = Vec::new();
        let raw = RawConfig::collect(flags, environment, file, &mut faults);
        let mut reader = Reader::new(&raw, faults);
        let config = Self::read(&mut reader);
        if raw.is_whole() {
            reader.find_unknown();
        }
        let warnings = reader.unknown_variables();
        let (mut faults, printed) = (reader.faults, reader.printed);
        faults.sort();
        Loaded { config: if faults.is_empty() { Ok(config) } else { Err(faults) }, warnings, printed }
    }
}

/// The names of all settings.
#[cfg(test)]
pub(crate) fn names() -> BTreeSet<&'static str> {
    let raw = RawConfig::default();
    let mut reader = Reader::new(&raw, Vec::new());
    Config::read(&mut reader);
    reader.known
}

/// Gives out settings by path and remembers which were asked for: those are the ones there are.
pub(crate) struct Reader<'a> {
    raw: &'a RawConfig,
    known: BTreeSet<&'static str>,
    faulty: BTreeSet<&'static str>,
    faults: Vec<ConfigFault>,
    printed: Printed,
}

impl<'a> Reader<'a> {
    fn new(raw: &'a RawConfig, faults: Vec<ConfigFault>) -> Self {
        Self { raw, known: BTreeSet::new(), faulty: BTreeSet::new(), faults, printed: Printed::default() }
    }
}

impl Reader<'_> {
    /// A setting as `parse` understands it, or the default where it is not written.
    pub(crate) fn read<T: Setting>(
        &mut self,
        path: &'static str,
        parse: impl FnOnce(&Value) -> Result<T, String>,
        default: T,
    ) -> T {
        self.known.insert(path);
        let Some(written) = self.raw.find(path) else {
            self.printed.add(path, &default, None);
            return default;
        };
        match parse(&written.value) {
            Ok(value) => {
                self.printed.add(path, &value, Some(&written.place));
                value
            }
            Err(message) => {
                self.faulty.insert(path);
                let message = format!("'{path}' {message}");
                self.faults.push(ConfigFault { place: written.place.clone(), message });
                default
            }
        }
    }

    /// Notes that two settings do not go together, unless one of them is wrong by itself.
    pub(crate) fn conflict(&mut self, paths: [&'static str; 2], message: String) {
        if paths.iter().any(|path| self.faulty.contains(path)) {
            return;
        }
        if let Some(written) = paths.iter().find_map(|path| self.raw.find(path)) {
            let message = format!("'{}' {message}", paths[0]);
            self.faults.push(ConfigFault { place: written.place.clone(), message });
        }
    }

    fn find_unknown(&mut self) {
        let sections: BTreeSet<_> = self.known.iter().flat_map(|path| prefixes(path)).collect();
        let mut unknown = BTreeSet::new();
        for (path, place) in self.raw.tables() {
            if sections.contains(path) || prefixes(path).any(|prefix| unknown.contains(prefix)) {
                continue;
            }
            unknown.insert(path);
            let message = if self.known.contains(path) {
                format!("'{path}' is a setting with one value, not a section")
            } else {
                let hint = nearest(path, sections.iter().copied()).map(|name| format!("[{name}]"));
                format!("there is no section [{path}]{}", did_you_mean(hint))
            };
            self.faults.push(ConfigFault { place: place.clone(), message });
        }
        for (path, place) in self.raw.settings() {
            if self.known.contains(path) || prefixes(path).any(|prefix| unknown.contains(prefix)) {
                continue;
            }
            let message = if sections.contains(path) {
                format!("'{path}' is a section with settings of its own: write [{path}]")
            } else {
                let hint = self.nearest_setting(path).map(|name| format!("'{name}'"));
                format!("there is no setting '{path}'{}", did_you_mean(hint))
            };
            self.faults.push(ConfigFault { place: place.clone(), message });
        }
    }

    /// A setting of the same name elsewhere is likelier meant than one that is spelled alike.
    fn nearest_setting(&self, path: &str) -> Option<&'static str> {
        let name = last_part(path);
        let namesake = self.known.iter().find(|known| last_part(known) == name);
        namesake.copied().or_else(|| nearest(path, self.known.iter().copied())).or_else(|| {
            let names = self.known.iter().map(|known| last_part(known));
            let nearest = nearest(name, names)?;
            self.known.iter().find(|known| last_part(known) == nearest).copied()
        })
    }

    fn unknown_variables(&self) -> Vec<ConfigFault> {
        let mut known: BTreeSet<_> = self.known.iter().map(|path| variable(path)).collect();
        known.extend([FILE_VARIABLE, PASSWORD_VARIABLE].map(str::to_owned));
        let unknown = self.raw.variables().filter(|name| !known.contains(*name));
        unknown
            .map(|name| {
                let hint = nearest(name, known.iter().map(String::as_str)).map(str::to_owned);
                ConfigFault {
                    place: crate::config::Place::Variable(name.to_owned()),
                    message: format!("no setting has this variable, it is ignored{}", did_you_mean(hint)),
                }
            })
            .collect()
    }
}

/// The sections that a path lies in, outermost first.
fn prefixes(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('.').filter_map(|(at, _)| path.get(..at))
}

fn last_part(path: &str) -> &str {
    path.rsplit('.').next().unwrap_or(path)
}

fn did_you_mean(hint: Option<String>) -> String {
    hint.map_or_else(String::new, |hint| format!("; did you mean {hint}?"))
}
