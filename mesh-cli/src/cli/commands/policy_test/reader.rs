//! Typed access to the tables of a TOML file, which collects all faults with their positions.

use std::ops::Range;

use mesh_schema::nearest;
use serde_json::{Map, Value as Json};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A value with its position.
pub(super) type Item<'t> = Spanned<DeValue<'t>>;

/// The text of a file, and the faults that were found in it.
pub(super) struct TomlReader<'f> {
    file: &'f str,
    text: &'f str,
    /// The faults, each with the offset by which it is sorted.
    faults: Vec<(usize, String)>,
}

impl<'f> TomlReader<'f> {
    pub(super) fn new(file: &'f str, text: &'f str) -> Self {
        Self { file, text, faults: Vec::new() }
    }

    /// Parses the text. Syntax errors become faults.
    pub(super) fn parse(&mut self) -> DeTable<'f> {
        let (document, errors) = DeTable::parse_recoverable(self.text);
        for error in errors {
            let message = error.message().lines().collect::<Vec<_>>().join("; ");
            self.fault(error.span().unwrap_or_default(), &format!("not valid TOML: {message}"));
        }
        document.into_inner()
    }

    /// Adds a fault.
    pub(super) fn fault(&mut self, span: Range<usize>, message: &str) {
        let (line, column) = self.position(span.start);
        self.faults.push((span.start, format!("{}:{line}:{column}: {message}", self.file)));
    }

    /// Returns the faults in the order of the text.
    pub(super) fn into_faults(mut self) -> Vec<String> {
        self.faults.sort_by_key(|(offset, _)| *offset);
        self.faults.into_iter().map(|(_, fault)| fault).collect()
    }

    /// Returns the line and the column of an offset, from 1.
    pub(super) fn position(&self, offset: usize) -> (usize, usize) {
        let before = self.text.get(..offset).unwrap_or(self.text);
        let line_start = before.rfind('\n').map_or(0, |end| end + 1);
        let column = before.get(line_start..).unwrap_or_default().chars().count();
        (1 + before.matches('\n').count(), 1 + column)
    }

    /// Reports the keys of a table that are not in `keys`.
    pub(super) fn check_keys(&mut self, table: &DeTable<'_>, keys: &[&str]) {
        for key in table.keys() {
            let name: &str = key.get_ref();
            if !keys.contains(&name) {
                let hint = match nearest(name, keys.iter().copied()) {
                    Some(near) => format!("did you mean '{near}'?"),
                    None => format!("the keys are {}", keys.join(", ")),
                };
                self.fault(key.span(), &format!("unknown key '{name}'; {hint}"));
            }
        }
    }

    fn wrong(&mut self, item: &Item<'_>, key: &str, wanted: &str) {
        let found = match item.get_ref() {
            DeValue::Array(_) => "a list",
            DeValue::Table(_) => "a table",
            _ => self.text.get(item.span()).unwrap_or_default(),
        };
        self.fault(item.span(), &format!("'{key}' takes {wanted}, not {found}"));
    }

    /// Returns a table; reports a value of another type.
    pub(super) fn table<'t, 'd>(&mut self, key: &str, item: &'t Item<'d>) -> Option<&'t DeTable<'d>> {
        match item.get_ref() {
            DeValue::Table(table) => Some(table),
            _ => {
                self.wrong(item, key, "a table");
                None
            }
        }
    }

    /// Returns the text of a key; reports a value of another type.
    pub(super) fn text(&mut self, table: &DeTable<'_>, key: &str) -> Option<String> {
        let item = table.get(key)?;
        match item.get_ref() {
            DeValue::String(text) => Some(text.to_string()),
            _ => {
                self.wrong(item, key, "text");
                None
            }
        }
    }

    /// Returns a text or an integer as text, such as an id; reports a value of another type.
    pub(super) fn id(&mut self, key: &str, item: &Item<'_>) -> Option<String> {
        match json(item.get_ref()) {
            Some(Json::String(text)) => Some(text),
            Some(Json::Number(number)) if number.is_i64() => Some(number.to_string()),
            _ => {
                self.wrong(item, key, "text or an integer");
                None
            }
        }
    }

    /// Returns the boolean of a key; reports a value of another type.
    pub(super) fn boolean(&mut self, table: &DeTable<'_>, key: &str) -> Option<bool> {
        let item = table.get(key)?;
        match item.get_ref() {
            DeValue::Boolean(value) => Some(*value),
            _ => {
                self.wrong(item, key, "true or false");
                None
            }
        }
    }

    /// Returns the non-negative number of a key; reports any other value.
    pub(super) fn count(&mut self, table: &DeTable<'_>, key: &str) -> Option<u64> {
        let item = table.get(key)?;
        let count = json(item.get_ref()).and_then(|json| json.as_u64());
        if count.is_none() {
            self.wrong(item, key, "a whole number from 0");
        }
        count
    }

    /// Returns a list of texts or integers as texts; reports a value of another type.
    pub(super) fn list(&mut self, table: &DeTable<'_>, key: &str) -> Option<Vec<String>> {
        let item = table.get(key)?;
        match item.get_ref() {
            DeValue::Array(items) => items.iter().map(|item| self.id(key, item)).collect(),
            _ => {
                self.wrong(item, key, "a list");
                None
            }
        }
    }

    /// Returns an object, written as a table or as JSON text; reports any other value.
    pub(super) fn object(&mut self, table: &DeTable<'_>, key: &str) -> Option<Map<String, Json>> {
        let item = table.get(key)?;
        let object = match item.get_ref() {
            DeValue::String(text) => serde_json::from_str(text).ok(),
            value => json(value),
        };
        match object {
            Some(Json::Object(object)) => Some(object),
            _ => {
                self.wrong(item, key, "a table, or the text of a JSON object");
                None
            }
        }
    }
}

/// Returns a value as JSON; `None` for numbers beyond 64 bits and infinite ones. Dates become text. The parser bounds the
/// depth of the recursion.
pub(super) fn json(value: &DeValue<'_>) -> Option<Json> {
    Some(match value {
        DeValue::String(text) => Json::String(text.to_string()),
        DeValue::Integer(integer) => i64::from_str_radix(integer.as_str(), integer.radix()).ok()?.into(),
        DeValue::Float(float) => Json::Number(serde_json::Number::from_f64(float.as_str().parse().ok()?)?),
        DeValue::Boolean(value) => Json::Bool(*value),
        DeValue::Datetime(time) => Json::String(time.to_string()),
        DeValue::Array(items) => {
            items.iter().map(|item| json(item.get_ref())).collect::<Option<Vec<_>>>()?.into()
        }
        DeValue::Table(table) => {
            let member = |(key, item): (&Spanned<_>, &Item<'_>)| {
                let key: &std::borrow::Cow<'_, str> = key.get_ref();
                Some((key.to_string(), json(item.get_ref())?))
            };
            Json::Object(table.iter().map(member).collect::<Option<_>>()?)
        }
    })
}
