//! The sources of settings: flags, environment variables and the configuration file, by name and uninterpreted.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};

use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

/// Settings given as flags: the path and the argument.
pub(crate) type Flags = Vec<(&'static str, String)>;

/// The text of a configuration file.
#[derive(Clone, Debug)]
pub(crate) struct SettingsFile {
    /// The file. Relative paths in it are relative to its folder.
    pub(crate) path: PathBuf,
    /// The whole text.
    pub(crate) text: String,
}

/// Prefix of the environment variables that are settings.
pub(super) const PREFIX: &str = "MESH_";

/// Variables of OpenTelemetry that stand for settings unless the variable of the setting is set.
const STANDARD_VARIABLES: [(&str, &str); 2] =
    [("OTEL_EXPORTER_OTLP_ENDPOINT", "otlp.endpoint"), ("OTEL_EXPORTER_OTLP_HEADERS", "otlp.headers")];

/// Values from all sources.
#[derive(Debug, Default)]
pub(crate) struct Sources {
    /// By path.
    flags: BTreeMap<&'static str, WrittenValue>,
    /// By name of the variable.
    pub(super) environment: BTreeMap<String, WrittenValue>,
    /// By dotted path; the values of tables are there twice, once in the value of the table.
    pub(super) file: BTreeMap<String, WrittenValue>,
    /// The folder of the file.
    pub(super) folder: PathBuf,
    /// Lines of the file that are not valid TOML.
    pub(super) invalid_lines: BTreeSet<usize>,
}

impl Sources {
    /// Collects the values. Syntax errors of the file are added to `faults`.
    pub(crate) fn collect(
        flags: Flags,
        environment: impl IntoIterator<Item = (String, String)>,
        file: Option<&SettingsFile>,
        faults: &mut Vec<ConfigFault>,
    ) -> Self {
        let mut sources = Self::default();
        for (path, text) in flags {
            let origin = Origin::Flag(format!("--{}", path.replace('_', "-")));
            sources.flags.insert(path, WrittenValue { origin, value: Value::Text(text) });
        }
        for (name, text) in environment {
            let is_empty = text.is_empty();
            let written = WrittenValue { origin: Origin::Variable(name.clone()), value: Value::Text(text) };
            if name.starts_with(PREFIX) {
                sources.environment.insert(name, written);
            } else if let Some((_, path)) = STANDARD_VARIABLES.iter().find(|(standard, _)| *standard == name)
                && !is_empty
            {
                sources.environment.entry(variable(path)).or_insert(written);
            }
        }
        if let Some(file) = file {
            sources.add_file(file, faults);
        }
        sources
    }

    /// Returns the value from the source with the highest precedence.
    pub(crate) fn find(&self, path: &str) -> Option<&WrittenValue> {
        self.flags.get(path).or_else(|| self.environment.get(&variable(path))).or_else(|| self.file.get(path))
    }

    fn add_file(&mut self, SettingsFile { path, text }: &SettingsFile, faults: &mut Vec<ConfigFault>) {
        path.parent().unwrap_or_else(|| Path::new("")).clone_into(&mut self.folder);
        let name = path.display().to_string();
        let line = |offset: usize| {
            let before = text.as_bytes().iter().take(offset);
            1 + before.filter(|byte| **byte == b'\n').count()
        };
        let origin = |line: usize| Origin::File(name.clone(), line);
        let (document, errors) = DeTable::parse_recoverable(text);
        for error in errors {
            let line = line(error.span().map_or(0, |span| span.start));
            self.invalid_lines.insert(line);
            let message = error.message().lines().collect::<Vec<_>>().join("; ");
            faults.push(ConfigFault { origin: origin(line), message: format!("not valid TOML: {message}") });
        }
        // An explicit stack, because the file determines how deep tables are nested.
        let mut open = vec![(String::new(), document.get_ref())];
        while let Some((prefix, table)) = open.pop() {
            for (key, value) in table {
                let path = join(&prefix, key.get_ref());
                let line = line(key.span().start);
                if self.invalid_lines.contains(&line) {
                    continue;
                }
                let value = match value.get_ref() {
                    DeValue::Table(table) => {
                        open.push((path.clone(), table));
                        let entry = |(key, value): (&Spanned<DeString<'_>>, &Spanned<DeValue<'_>>)| {
                            (key.get_ref().to_string(), Value::from_toml(value.get_ref()))
                        };
                        Value::Table(table.iter().map(entry).collect())
                    }
                    value => Value::from_toml(value),
                };
                self.file.insert(path, WrittenValue { origin: origin(line), value });
            }
        }
    }
}

/// Returns the environment variable of a setting.
pub(crate) fn variable(path: &str) -> String {
    format!("{PREFIX}{}", path.to_ascii_uppercase().replace('.', "__"))
}

fn join(prefix: &str, key: &str) -> String {
    // A quoted key that contains a dot is one name, and is not the name of any setting.
    let key = if key.contains('.') { format!("\"{key}\"") } else { key.to_owned() };
    if prefix.is_empty() { key } else { format!("{prefix}.{key}") }
}

/// A value and where it was written.
#[derive(Debug)]
pub(crate) struct WrittenValue {
    pub(crate) origin: Origin,
    pub(crate) value: Value,
}

/// An uninterpreted value. Flags and variables are always text.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    Text(String),
    Integer(i64),
    Boolean(bool),
    List(Vec<Self>),
    Table(Vec<(String, Self)>),
    /// A value of a type that no setting has; the name of the type.
    Other(&'static str),
}

impl Value {
    fn from_toml(value: &DeValue<'_>) -> Self {
        match value {
            DeValue::String(text) => Self::Text(text.to_string()),
            DeValue::Integer(integer) => i64::from_str_radix(integer.as_str(), integer.radix())
                .map_or(Self::Other("an integer beyond 64 bits"), Self::Integer),
            DeValue::Float(_) => Self::Other("a number with a fraction"),
            DeValue::Boolean(value) => Self::Boolean(*value),
            DeValue::Datetime(_) => Self::Other("a date or time"),
            DeValue::Array(values) => {
                // No setting has nested lists.
                let item = |value: &DeValue<'_>| match value {
                    DeValue::Array(_) => Self::Other("a list in a list"),
                    value => Self::from_toml(value),
                };
                Self::List(values.iter().map(|value| item(value.get_ref())).collect())
            }
            DeValue::Table(_) => Self::Other("a table"),
        }
    }
}

/// The value as messages quote it.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // The account may have a password.
            Self::Text(text) if text.contains("://") && text.contains('@') => {
                f.write_str("a URL with an account")
            }
            Self::Text(text) => write!(f, "'{}'", text.escape_debug()),
            Self::Integer(integer) => write!(f, "{integer}"),
            Self::Boolean(value) => write!(f, "{value}"),
            Self::List(_) => f.write_str("a list"),
            Self::Table(_) => f.write_str("a table"),
            Self::Other(kind) => f.write_str(kind),
        }
    }
}

/// The source that a setting is written in. The least value has the highest precedence.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Origin {
    /// A flag, by its name.
    Flag(String),
    /// An environment variable, by its name.
    Variable(String),
    /// A file and a line in it, counted from 1.
    File(String, usize),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(name) | Self::Variable(name) => f.write_str(name),
            Self::File(name, line) => write!(f, "{name}:{line}"),
        }
    }
}

/// A fault of the configuration.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
#[error("{origin}: {message}")]
pub(crate) struct ConfigFault {
    /// The source of the setting.
    pub(crate) origin: Origin,
    /// The fault, and the allowed values.
    pub(crate) message: String,
}
