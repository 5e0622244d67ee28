//! Conditions of faults: which exchanges a fault is about.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::path::{Glob, Path, has_text};

/// Alternatives, each a list of paths with a pattern that a value at the path must match.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(try_from = "Value")]
pub(crate) struct When(Vec<Vec<(Path, Pattern)>>);

/// What the values at a path must be like.
#[derive(Debug, Clone)]
enum Pattern {
    /// `null`: there is none.
    Absent,
    /// A text: one of them has it.
    Text(Glob),
    /// A list: one of the patterns matches.
    AnyOf(Vec<Self>),
    /// `{"not": …}`: the pattern does not match.
    Not(Box<Self>),
    /// `{"min": …, "max": …}`: one of them is a number, or the text of a number, in this range.
    Number(Range),
    /// `{"length": …}`: one of them is a text, list or object of this length.
    Length(Range),
    /// `{"count": …}`: there are this many.
    Count(Range),
    /// `{"nested": …}`: this many are within one another.
    Nested(Range),
}

/// A range of numbers that includes its bounds. As data it is a number or `{"min": …, "max": …}`.
#[derive(Debug, Clone, Copy)]
struct Range {
    min: f64,
    max: f64,
}

impl When {
    /// Returns the paths of all alternatives.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &Path> {
        self.0.iter().flatten().map(|(path, _)| path)
    }

    /// Returns whether a document matches one of the alternatives, or there are none.
    pub(crate) fn matches(&self, document: &Value) -> bool {
        let is_met = |(path, pattern): &(Path, Pattern)| pattern.matches(path, document);
        self.0.is_empty() || self.0.iter().any(|all| all.iter().all(is_met))
    }
}

impl TryFrom<Value> for When {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        let alternatives = match value {
            Value::Array(items) => items,
            one => vec![one],
        };
        let parse = |alternative: Value| {
            let Value::Object(members) = alternative else {
                return Err("a condition is an object".to_owned());
            };
            let pair = |(path, pattern)| Ok((Path::try_from(path)?, Pattern::try_from(pattern)?));
            members.into_iter().map(pair).collect()
        };
        Ok(Self(alternatives.into_iter().map(parse).collect::<Result<_, String>>()?))
    }
}

impl Pattern {
    fn matches(&self, path: &Path, document: &Value) -> bool {
        match self {
            Self::Not(inner) => return !inner.matches(path, document),
            Self::AnyOf(all) => return all.iter().any(|pattern| pattern.matches(path, document)),
            Self::Nested(range) => return range.contains(path.nesting(document) as f64),
            _ => {}
        }
        let found = path.find(document);
        match self {
            Self::Absent => found.iter().all(|value| value.is_null()),
            Self::Text(glob) => found.iter().any(|value| has_text(value, glob)),
            Self::Number(range) => {
                found.iter().filter_map(|value| number(value)).any(|it| range.contains(it))
            }
            Self::Length(range) => {
                found.iter().filter_map(|value| length(value)).any(|it| range.contains(it as f64))
            }
            Self::Count(range) => range.contains(found.len() as f64),
            Self::Not(_) | Self::AnyOf(_) | Self::Nested(_) => false,
        }
    }
}

impl TryFrom<Value> for Pattern {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        Ok(match value {
            Value::Null => Self::Absent,
            Value::String(text) => Self::Text(Glob::new(&text)),
            Value::Array(all) => Self::AnyOf(all.into_iter().map(Self::try_from).collect::<Result<_, _>>()?),
            Value::Object(mut members) => {
                let mut take = |name: &str| members.remove(name).filter(|_| members.is_empty());
                if let Some(inner) = take("not") {
                    return Ok(Self::Not(Box::new(Self::try_from(inner)?)));
                }
                for (name, pattern) in [
                    ("length", Self::Length as fn(Range) -> Self),
                    ("count", Self::Count),
                    ("nested", Self::Nested),
                ] {
                    if let Some(range) = take(name) {
                        return Ok(pattern(Range::parse(&range)?));
                    }
                }
                Self::Number(Range::parse(&members.into())?)
            }
            scalar => Self::Text(Glob::new(&scalar.to_string())),
        })
    }
}

impl Range {
    fn parse(value: &Value) -> Result<Self, String> {
        let of_members = |members: &Map<String, Value>| {
            let bound = |name: &str, default: f64| match members.get(name) {
                Some(bound) => bound.as_f64(),
                None => Some(default),
            };
            let is_known = members.keys().all(|name| name == "min" || name == "max") && !members.is_empty();
            Some(Self { min: bound("min", f64::MIN)?, max: bound("max", f64::MAX)? }).filter(|_| is_known)
        };
        let range = match value {
            Value::Object(members) => of_members(members),
            value => value.as_f64().map(|exact| Self { min: exact, max: exact }),
        };
        range.ok_or_else(|| format!("{value} is neither a pattern nor a range"))
    }

    fn contains(self, number: f64) -> bool {
        (self.min..=self.max).contains(&number)
    }
}

fn number(value: &Value) -> Option<f64> {
    value.as_f64().or_else(|| value.as_str()?.parse().ok())
}

fn length(value: &Value) -> Option<usize> {
    match value {
        Value::String(text) => Some(text.len()),
        Value::Array(items) => Some(items.len()),
        Value::Object(members) => Some(members.len()),
        _ => None,
    }
}
