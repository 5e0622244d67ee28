//! `Cache-Control` of reads by GET, for each entity. `SPEC §12.3`

use std::collections::HashMap;

use http::HeaderValue;
use mesh_wire::response::CacheControl;

/// How long caches may keep replies to reads by GET.
#[derive(Clone, Debug, Default)]
pub struct Caching {
    control: CacheControl,
    entities: HashMap<String, CacheControl>,
}

impl Caching {
    /// Sets the directives of all reads.
    pub fn new(control: CacheControl) -> Self {
        Self { control, entities: HashMap::new() }
    }

    /// Sets the directives of reads whose root is this entity.
    #[must_use]
    pub fn entity(mut self, key: impl Into<String>, control: CacheControl) -> Self {
        self.entities.insert(key.into(), control);
        self
    }

    /// Returns the entities that have directives of their own.
    pub(crate) fn entities(&self) -> impl Iterator<Item = &str> {
        self.entities.keys().map(String::as_str)
    }

    /// Returns the values of the header. Private ones forbid shared caches to store the reply.
    pub(crate) fn values(&self, private: bool) -> CacheControlValues {
        let value =
            |control: &CacheControl| if private { control.private() } else { control.clone() }.value();
        let entities = self.entities.iter().map(|(key, control)| (key.clone(), value(control)));
        CacheControlValues {
            get: value(&self.control),
            other: value(&CacheControl::default()),
            entities: entities.collect(),
        }
    }
}

/// Values of `Cache-Control`.
#[derive(Debug)]
pub(crate) struct CacheControlValues {
    /// Of reads by GET.
    get: HeaderValue,
    /// Of reads by other methods.
    other: HeaderValue,
    /// Of reads by GET of some entities.
    entities: HashMap<String, HeaderValue>,
}

impl CacheControlValues {
    /// Returns the value for a read by GET of an entity.
    pub(crate) fn get(&self, entity: &str) -> &HeaderValue {
        // Most servers have no values for entities, and look nothing up.
        let value = if self.entities.is_empty() { None } else { self.entities.get(entity) };
        value.unwrap_or(&self.get)
    }

    /// Returns the value for a read by another method.
    pub(crate) fn other(&self) -> &HeaderValue {
        &self.other
    }
}
