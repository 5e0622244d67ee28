//! Loading of the configuration: each setting from its source with the highest precedence, and the faults that are found.

use std::collections::BTreeSet;

use mesh_schema::nearest;
use toml::Value as Toml;

use crate::config::Config;
use crate::config::parse::did_you_mean;
use crate::config::print::{EffectiveSettings, PrintedValue, SettingValue};
use crate::config::removed;
use crate::config::sources::{
    ConfigFault, Flags, Origin, PREFIX, SettingsFile, Sources, Value, WrittenValue, variable,
};

/// The variable with the path of the configuration file, for commands without `--config`.
pub(crate) const FILE_VARIABLE: &str = "MESH_CONFIG";

/// The variable with the password for `--login`. It is not a setting.
pub(crate) const PASSWORD_VARIABLE: &str = "MESH_PASSWORD";
/// The variable with the bearer of commands that send requests.
pub(crate) const BEARER_VARIABLE: &str = "MESH_BEARER";

/// The result of loading.
#[derive(Debug)]
pub(crate) struct LoadedConfig {
    /// The settings, or all their faults.
    pub(crate) config: Result<Config, Vec<ConfigFault>>,
    /// The settings, with the defaults of those that are at fault.
    pub(crate) partial: Config,
    /// Paths of the settings that are at fault.
    pub(crate) faulty: BTreeSet<&'static str>,
    /// Variables and settings that have no effect.
    pub(crate) warnings: Vec<ConfigFault>,
    /// The settings for `--print-config`.
    pub(crate) effective: EffectiveSettings,
}

impl Config {
    /// Reads the settings. A flag overrides a variable, a variable the file, and the file the default.
    pub(crate) fn load(
        flags: Flags,
        environment: impl IntoIterator<Item = (String, String)>,
        file: Option<&SettingsFile>,
    ) -> LoadedConfig {
        let mut faults = Vec::new();
        let sources = Sources::collect(flags, environment, file, &mut faults);
        let mut reader = Reader::new(&sources, faults);
        let config = Self::read(&mut reader);
        config.check(&mut reader);
        // Names in a file with syntax errors are the parser's guesses.
        if sources.invalid_lines.is_empty() {
            reader.find_unknown();
        }
        let unknown = reader.unknown_variables(&[FILE_VARIABLE, PASSWORD_VARIABLE, BEARER_VARIABLE]);
        let Reader { mut faults, mut warnings, faulty, effective, .. } = reader;
        warnings.extend(unknown);
        faults.sort();
        let partial = config.clone();
        let config = if faults.is_empty() { Ok(config) } else { Err(faults) };
        LoadedConfig { config, partial, faulty, warnings, effective }
    }
}

impl Default for Config {
    fn default() -> Self {
        Self::read(&mut Reader::new(&Sources::default(), Vec::new()))
    }
}

/// Reads settings by path, and records them with their faults.
pub(crate) struct Reader<'a> {
    sources: &'a Sources,
    faulty: BTreeSet<&'static str>,
    faults: Vec<ConfigFault>,
    warnings: Vec<ConfigFault>,
    effective: EffectiveSettings,
}

impl<'a> Reader<'a> {
    fn new(sources: &'a Sources, faults: Vec<ConfigFault>) -> Self {
        let (warnings, effective) = (Vec::new(), EffectiveSettings::default());
        Self { sources, faulty: BTreeSet::new(), faults, warnings, effective }
    }

    /// Returns the parsed value of a setting, or the default if it is not written anywhere.
    pub(super) fn read<T: SettingValue>(
        &mut self,
        path: &'static str,
        description: &'static str,
        parse: impl FnOnce(&Value) -> Result<T, String>,
        default: T,
    ) -> T {
        let (value, origin) =
            match self.sources.find(path).map(|written| (&written.origin, parse(&written.value))) {
                None => (default, None),
                Some((origin @ Origin::File(..), Ok(value))) => {
                    (value.relative_to(&self.sources.folder), Some(origin))
                }
                Some((origin, Ok(value))) => (value, Some(origin)),
                Some((origin, Err(message))) => {
                    self.faulty.insert(path);
                    self.fault(origin, format!("'{path}' {message}"));
                    (default, None)
                }
            };
        self.effective.add(path, description, &value, origin);
        value
    }

    /// Returns whether a setting has a value other than `false` and nothing.
    pub(super) fn has_value(&self, path: &str) -> bool {
        self.effective.0.get(path).is_some_and(|setting| match &setting.value {
            PrintedValue::Toml(Toml::Boolean(value)) => *value,
            PrintedValue::Toml(Toml::String(text)) => !text.is_empty(),
            PrintedValue::Toml(Toml::Array(items)) => !items.is_empty(),
            PrintedValue::Toml(_) | PrintedValue::Secret => true,
            PrintedValue::Unset => false,
        })
    }

    /// Reports two settings that conflict, unless one of them is already at fault.
    pub(super) fn conflict(&mut self, paths: [&'static str; 2], message: &str) {
        if paths.iter().any(|path| self.faulty.contains(path)) {
            return;
        }
        if let Some(written) = paths.iter().find_map(|path| self.sources.find(path)) {
            self.fault(&written.origin, format!("'{}' {message}", paths[0]));
        }
    }

    /// Reports a setting that has no effect.
    pub(super) fn warn(&mut self, path: &str, message: &str) {
        if let Some(written) = self.sources.find(path) {
            let warning =
                ConfigFault { origin: written.origin.clone(), message: format!("'{path}' {message}") };
            self.warnings.push(warning);
        }
    }

    fn fault(&mut self, origin: &Origin, message: String) {
        self.faults.push(ConfigFault { origin: origin.clone(), message });
    }

    /// Reports the names in the file that are neither settings nor sections.
    fn find_unknown(&mut self) {
        let sections: BTreeSet<_> = self.effective.paths().flat_map(prefixes).collect();
        let former: BTreeSet<_> = removed::paths().flat_map(prefixes).collect();
        // A name within an unknown section is not reported again, and one within a setting belongs to its value.
        let mut reported = BTreeSet::new();
        for (path, WrittenValue { origin, value }) in &self.sources.file {
            let path = path.as_str();
            let is_inside = |prefix| self.effective.contains(prefix) || reported.contains(prefix);
            if self.effective.contains(path) || prefixes(path).any(is_inside) {
                continue;
            }
            let message = match (value, sections.contains(path)) {
                (Value::Table(_), true) => continue,
                (Value::Table(_), false) if former.contains(path) => continue,
                (Value::Table(_), false) => {
                    reported.insert(path);
                    let hint = nearest(path, sections.iter().copied()).map(|name| format!("[{name}]"));
                    format!("there is no section [{path}]{}", did_you_mean(hint))
                }
                (_, true) => format!("'{path}' is a section with several settings: write [{path}]"),
                (_, false) => removed::explain(path).unwrap_or_else(|| {
                    let hint = self.nearest_setting(path).map(|name| format!("'{name}'"));
                    format!("there is no setting '{path}'{}", did_you_mean(hint))
                }),
            };
            self.faults.push(ConfigFault { origin: origin.clone(), message });
        }
    }

    /// Returns the setting that was probably meant. A setting of this name in another section is preferred to a
    /// similar spelling.
    fn nearest_setting(&self, path: &str) -> Option<&'static str> {
        let name = last_part(path);
        let named = |name: &str| self.effective.paths().find(|known| last_part(known) == name);
        named(name)
            .or_else(|| nearest(path, self.effective.paths()))
            .or_else(|| named(nearest(name, self.effective.paths().map(last_part))?))
    }

    /// Returns a warning for each variable with the prefix of settings that is neither a setting nor one of `others`.
    fn unknown_variables(&self, others: &[&str]) -> Vec<ConfigFault> {
        let mut known: BTreeSet<_> = self.effective.paths().map(variable).collect();
        known.extend(others.iter().map(|name| (*name).to_owned()));
        let unknown = self.sources.environment.keys().filter(|name| !known.contains(*name));
        unknown
            .map(|name| {
                let path = name.trim_start_matches(PREFIX).to_ascii_lowercase().replace("__", ".");
                let other = || nearest(name, others.iter().copied()).map(str::to_owned);
                let hint = || self.nearest_setting(&path).map(variable).or_else(other);
                let why = removed::explain(&path)
                    .unwrap_or_else(|| format!("no setting has this name{}", did_you_mean(hint())));
                let message = format!("ignored, because {why}");
                ConfigFault { origin: Origin::Variable(name.clone()), message }
            })
            .collect()
    }
}

/// Returns the sections that contain a path, outermost first.
fn prefixes(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('.').filter_map(|(at, _)| path.get(..at))
}

fn last_part(path: &str) -> &str {
    path.rsplit('.').next().unwrap_or(path)
}
