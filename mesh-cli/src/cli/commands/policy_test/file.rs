//! The file of expectations as it is written.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use mesh_ql::ParamValues;
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value as Json};
use toml::{Spanned, Value as Toml};

use super::expected::Denial;

/// The whole file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SuiteFile {
    #[serde(default)]
    pub(super) sessions: BTreeMap<String, SessionTable>,
    #[serde(default, rename = "case")]
    pub(super) cases: Vec<Spanned<CaseTable>>,
}

/// A named session.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct SessionTable {
    pub(super) role: Option<Spanned<String>>,
    pub(super) user: Option<Id>,
    pub(super) tenant: Option<Id>,
    pub(super) claims: BTreeMap<String, Spanned<Toml>>,
}

/// A case. It tests a query, a write or the rights on an entity, and each of them has keys of its own.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct CaseTable {
    pub(super) name: Option<String>,
    /// The name of a session; without one, the four keys of a session.
    #[serde(rename = "as")]
    pub(super) session: Option<Spanned<String>>,
    pub(super) role: Option<Spanned<String>>,
    pub(super) user: Option<Id>,
    pub(super) tenant: Option<Id>,
    pub(super) claims: BTreeMap<String, Spanned<Toml>>,
    pub(super) allowed: Option<Spanned<bool>>,
    pub(super) denied: Option<Spanned<Denied>>,

    pub(super) query: Option<Spanned<String>>,
    pub(super) id: Option<Spanned<Id>>,
    pub(super) params: Option<Spanned<Object<ParamValues>>>,
    pub(super) rows: Option<Spanned<u64>>,
    pub(super) ids: Option<Spanned<Vec<Id>>>,

    pub(super) write: Option<Spanned<String>>,
    pub(super) body: Option<Spanned<Object<Map<String, Json>>>>,

    pub(super) entity: Option<Spanned<String>>,
    pub(super) fields: Option<Spanned<BTreeSet<String>>>,
    pub(super) relations: Option<Spanned<BTreeSet<String>>>,
    pub(super) creates: Option<Spanned<BTreeSet<String>>>,
    pub(super) updates: Option<Spanned<BTreeSet<String>>>,
    pub(super) deletes: Option<Spanned<bool>>,
}

impl CaseTable {
    /// Returns the written keys that only one kind of case has, each with that kind and the position of its value.
    pub(super) fn keys_of_kinds(&self) -> impl Iterator<Item = (&'static str, &'static str, Range<usize>)> {
        let keys = [
            ("id", "query", span(&self.id)),
            ("params", "query", span(&self.params)),
            ("rows", "query", span(&self.rows)),
            ("ids", "query", span(&self.ids)),
            ("body", "write", span(&self.body)),
            ("fields", "entity", span(&self.fields)),
            ("relations", "entity", span(&self.relations)),
            ("creates", "entity", span(&self.creates)),
            ("updates", "entity", span(&self.updates)),
            ("deletes", "entity", span(&self.deletes)),
        ];
        keys.into_iter().filter_map(|(key, kind, span)| Some((key, kind, span?)))
    }
}

fn span<T>(value: &Option<Spanned<T>>) -> Option<Range<usize>> {
    value.as_ref().map(Spanned::span)
}

/// An id, whose type in the database does not matter.
#[derive(Clone, Deserialize)]
#[serde(untagged, expecting = "expected text or an integer")]
pub(super) enum Id {
    Text(String),
    Integer(i64),
}

impl Id {
    pub(super) fn to_text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Integer(integer) => integer.to_string(),
        }
    }
}

/// The refusal that a case expects.
#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "expected true, a part of the message, or a table of status, error, code and message"
)]
pub(super) enum Denied {
    Any(bool),
    Message(String),
    Parts(Denial),
}

/// A JSON object, written as a table or as text.
pub(super) struct Object<T>(pub(super) T);

impl<'de, T: DeserializeOwned> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let object = match Toml::deserialize(deserializer)? {
            Toml::String(text) => serde_json::from_str(&text),
            value => serde_json::from_value(to_json(&value)),
        };
        object.map(Self).map_err(|error| {
            D::Error::custom(format_args!("expected a table, or the text of a JSON object: {error}"))
        })
    }
}

/// Returns a value as JSON. Dates become text. The parser bounds the depth of the recursion.
pub(super) fn to_json(value: &Toml) -> Json {
    match value {
        Toml::String(text) => text.as_str().into(),
        Toml::Integer(integer) => (*integer).into(),
        Toml::Float(float) => (*float).into(),
        Toml::Boolean(value) => (*value).into(),
        Toml::Datetime(time) => time.to_string().into(),
        Toml::Array(items) => items.iter().map(to_json).collect(),
        Toml::Table(table) => table.iter().map(|(name, value)| (name.clone(), to_json(value))).collect(),
    }
}
