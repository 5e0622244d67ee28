//! What was written, where, and in which source? Settings by name, before anything is known of their meaning.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use toml::de::{DeTable, DeValue};

use crate::config::{ConfigFault, SettingsFile};

/// The settings that were given as flags: their path and the text after the flag.
pub(crate) type Flags = Vec<(&'static str, String)>;

/// The variables that are ours begin with this.
const PREFIX: &str = "MESH_";

/// Everything that was written, by source; nothing needs to be there.
#[derive(Debug, Default)]
pub(crate) struct RawConfig {
    flags: BTreeMap<&'static str, Written>,
    /// By the whole name of the variable.
    environment: BTreeMap<String, Written>,
    /// By dotted path.
    file: BTreeMap<String, Written>,
    /// The file's tables by dotted path, empty ones included.
    tables: BTreeMap<String, Place>,
    /// Lines of the file that are not TOML.
    broken: BTreeSet<usize>,
}

impl RawConfig {
    /// Collects the three sources; what the file's syntax has wrong is added to `faults`.
    pub(crate) fn collect(
        flags: Flags,
        environment: impl IntoIterator<Item = (String, String)>,
        file: Option<&SettingsFile>,
        faults: &mut Vec<ConfigFault>,
    ) -> Self {
        let mut raw = Self::default();
        for (path, text) in flags {
            let place = Place::Flag(format!("--{}", path.replace('_', "-")));
            raw.flags.insert(path, Written { place, value: Value::Text(text) });
        }
        for (name, text) in environment {
            if name.starts_with(PREFIX) {
                let place = Place::Variable(name.clone());
                raw.environment.insert(name, Written { place, value: Value::Text(text) });
            }
        }
        if let Some(file) = file {
            raw.take_file(file, faults);
        }
        raw
    }

    /// The strongest writing of a setting.
    pub(crate) fn find(&self, path: &str) -> Option<&Written> {
        self.flags.get(path).or_else(|| self.environment.get(&variable(path))).or_else(|| self.file.get(path))
    }

    /// The names of the variables that were given.
    pub(crate) fn variables(&self) -> impl Iterator<Item = &str> {
        self.environment.keys().map(String::as_str)
    }

    /// Whether the file is TOML throughout; else some of its names are the parser's guess.
    pub(crate) fn is_whole(&self) -> bool {
        self.broken.is_empty()
    }

    /// The settings of the file.
    pub(crate) fn settings(&self) -> impl Iterator<Item = (&str, &Place)> {
        self.file.iter().map(|(path, written)| (path.as_str(), &written.place))
    }

    /// The tables of the file.
    pub(crate) fn tables(&self) -> impl Iterator<Item = (&str, &Place)> {
        self.tables.iter().map(|(path, place)| (path.as_str(), place))
    }

    fn take_file(&mut self, file: &SettingsFile, faults: &mut Vec<ConfigFault>) {
        let line = |offset: usize| {
            let before = file.text.as_bytes().iter().take(offset);
            1 + before.filter(|byte| **byte == b'\n').count()
        };
        let place = |line: usize| Place::File(file.name.clone(), line);
        let (document, errors) = DeTable::parse_recoverable(&file.text);
        for error in errors {
            let line = line(error.span().map_or(0, |span| span.start));
            self.broken.insert(line);
            faults.push(ConfigFault { place: place(line), message: sentence(error.message()) });
        }
        // A stack of its own rather than the thread's: the depth of the tables is the file's choice.
        let mut open = vec![(String::new(), document.get_ref())];
        while let Some((prefix, table)) = open.pop() {
            for (key, value) in table {
                let path = join(&prefix, key.get_ref());
                let line = line(key.span().start);
                let place = place(line);
                match value.get_ref() {
                    _ if self.broken.contains(&line) => {}
                    DeValue::Table(table) => {
                        self.tables.insert(path.clone(), place);
                        open.push((path, table));
                    }
                    value => {
                        self.file.insert(path, Written { place, value: Value::from_toml(value) });
                    }
                }
            }
        }
    }
}

/// The environment variable of a setting.
pub(crate) fn variable(path: &str) -> String {
    format!("{PREFIX}{}", path.to_ascii_uppercase().replace('.', "__"))
}

fn join(prefix: &str, key: &str) -> String {
    // A quoted key with a dot in it is one name, and never the name of a setting.
    let key = if key.contains('.') { format!("\"{key}\"") } else { key.to_owned() };
    if prefix.is_empty() { key } else { format!("{prefix}.{key}") }
}

fn sentence(message: &str) -> String {
    format!("not valid TOML: {}", message.lines().collect::<Vec<_>>().join("; "))
}

/// One setting as written.
#[derive(Debug)]
pub(crate) struct Written {
    pub(crate) place: Place,
    pub(crate) value: Value,
}

/// What stands at a setting. Flags and variables always hold text.
#[derive(Debug)]
pub(crate) enum Value {
    Text(String),
    Integer(i64),
    Boolean(bool),
    List(Vec<Self>),
    /// A value that no setting takes, by the name of its type.
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
                Self::List(values.iter().map(|value| Self::from_scalar(value.get_ref())).collect())
            }
            DeValue::Table(_) => Self::Other("a table"),
        }
    }

    /// An item of a list; lists in lists mean nothing to any setting.
    fn from_scalar(value: &DeValue<'_>) -> Self {
        match value {
            DeValue::Array(_) => Self::Other("a list in a list"),
            value => Self::from_toml(value),
        }
    }
}

/// As a message cites it.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => write!(f, "'{}'", text.escape_debug()),
            Self::Integer(integer) => write!(f, "{integer}"),
            Self::Boolean(value) => write!(f, "{value}"),
            Self::List(_) => f.write_str("a list"),
            Self::Other(kind) => f.write_str(kind),
        }
    }
}

/// Where a setting is written. The order is that of strength.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Place {
    /// A flag, by its name.
    Flag(String),
    /// An environment variable, by its name.
    Variable(String),
    /// A file and the line in it, counted from 1.
    File(String, usize),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(name) | Self::Variable(name) => f.write_str(name),
            Self::File(name, line) => write!(f, "{name}:{line}"),
        }
    }
}
