//! `Cache-Control` of reads by GET, for each entity. `SPEC §12.3`

use std::collections::HashMap;

use http::{HeaderName, HeaderValue};
use mesh_plan::{Change, Plan};
use mesh_schema::Schema;
use mesh_wire::BasePath;
use mesh_wire::response::{CacheControl, CacheTags, TagHeader};

/// Maximum length in bytes of the tags of a reply. Proxies limit the size of a reply's head to 4 KiB by default.
const MAX_TAGS: usize = 2_048;

/// How long caches may keep replies to reads by GET.
#[derive(Clone, Debug, Default)]
pub struct Caching {
    /// The directives of all reads.
    pub control: CacheControl,
    /// The directives of the reads whose root is one of these entities.
    pub entities: HashMap<String, CacheControl>,
    /// A header with tags, which is added to replies to reads by GET that shared caches may store. The tags name the data
    /// that a reply was read from; the tags of `/mesh/post/7` may be `/mesh /mesh/post/* /mesh/post/7 /mesh/user`.
    pub tags: Option<TagHeader>,
}

impl Caching {
    /// Returns the values of the header. Private values forbid shared caches to store the reply.
    pub(crate) fn values(&self, private: bool, base: &BasePath) -> CacheControlValues {
        let value =
            |control: &CacheControl| if private { control.private() } else { control.clone() }.value();
        let entities = self.entities.iter().map(|(key, control)| (key.clone(), value(control)));
        CacheControlValues {
            get: value(&self.control),
            other: value(&CacheControl::default()),
            entities: entities.collect(),
            tags: self.tags.filter(|_| !private).map(|header| (header, CacheTags::new(base))),
        }
    }
}

/// Values of `Cache-Control`.
#[derive(Debug)]
pub(crate) struct CacheControlValues {
    /// For reads by GET.
    get: HeaderValue,
    /// For reads by other methods.
    pub(crate) other: HeaderValue,
    /// For reads by GET of the entities with their own directives.
    entities: HashMap<String, HeaderValue>,
    tags: Option<(TagHeader, CacheTags)>,
}

impl CacheControlValues {
    /// Returns the value for a read by GET of an entity.
    pub(crate) fn get(&self, entity: &str) -> &HeaderValue {
        // Most servers have no values for entities, and need no lookup.
        let value = if self.entities.is_empty() { None } else { self.entities.get(entity) };
        value.unwrap_or(&self.get)
    }

    /// Returns the header with the tags of a read by GET, if replies have one.
    pub(crate) fn tags(&self, plan: &Plan, schema: &Schema) -> Option<(HeaderName, HeaderValue)> {
        let (header, tags) = self.tags.as_ref()?;
        let mut list = vec![tags.all()];
        for source in plan.sources(schema) {
            match source {
                Change { entity: Some(entity), id: Some(id), .. } => {
                    list.extend([tags.records(&entity), tags.record(&entity, &id)]);
                }
                Change { entity: Some(entity), .. } => list.push(tags.entity(&entity)),
                _ => {}
            }
        }
        if list.iter().map(|tag| tag.len() + 1).sum::<usize>() > MAX_TAGS {
            list = vec![tags.all(), tags.many()];
        }
        Some((header.name(), header.value(&list)))
    }
}
