//! The property `writable` of entities and of the rules of roles.

use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};

/// The writes that are permitted: `true`, `false`, a list of fields, or an object with `create`, `update` and `delete`.
/// No writes are permitted by default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Writable {
    /// The fields that may be set when a record is created.
    pub create: FieldList,
    /// The fields that may be changed.
    pub update: FieldList,
    /// Whether records may be deleted.
    pub delete: bool,
}

impl Writable {
    /// Returns the value for `true`: all fields can be set on creation and update, and records can be deleted.
    pub fn all() -> Self {
        Self { create: FieldList::All, update: FieldList::All, delete: true }
    }

    /// Returns the value for a list: these fields can be set on creation and update, and records cannot be deleted.
    pub fn fields<'n>(names: impl IntoIterator<Item = &'n str>) -> Self {
        let fields = FieldList::Fields(names.into_iter().map(str::to_owned).collect());
        Self { create: fields.clone(), update: fields, delete: false }
    }

    /// Returns the names of the fields if the short form, a list, can express this value.
    pub(crate) fn listed(&self) -> Option<&[String]> {
        match &self.create {
            FieldList::Fields(names) if self.create == self.update && !self.delete => Some(names),
            _ => None,
        }
    }
}

/// The fields that a kind of write may set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum FieldList {
    /// `false` or absent: there are no such writes.
    #[default]
    None,
    /// `true`: all fields.
    All,
    /// The fields listed.
    Fields(Vec<String>),
}

impl Serialize for Writable {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if *self == Self::default() || *self == Self::all() {
            return serializer.serialize_bool(self.delete);
        }
        if let Some(names) = self.listed() {
            return names.serialize(serializer);
        }
        let mut each = serializer.serialize_map(Some(3))?;
        each.serialize_entry("create", &self.create)?;
        each.serialize_entry("update", &self.update)?;
        each.serialize_entry("delete", &self.delete)?;
        each.end()
    }
}

impl Serialize for FieldList {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::None => serializer.serialize_bool(false),
            Self::All => serializer.serialize_bool(true),
            Self::Fields(names) => names.serialize(serializer),
        }
    }
}
