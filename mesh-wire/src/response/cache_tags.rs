//! Tags of replies, with which shared caches find the replies that a change makes stale.
//!
//! For the record 7 of `post` under `/mesh`: `/mesh` tags every reply, `/mesh/post` tags replies that depend on any
//! post, `/mesh/post/7` tags replies that depend on no post except this one, and `/mesh/post/*` tags replies that
//! depend on any single post.

use http::HeaderValue;
use http::header::HeaderName;

use crate::route::percent;
use crate::{BasePath, headers};

/// The header that lists the tags of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TagHeader {
    /// `Surrogate-Key`, with blanks between the tags: Fastly, and Varnish with `xkey`.
    SurrogateKey,
    /// `Cache-Tag`, with commas: Cloudflare, Akamai, and the CDN of Google Cloud.
    CacheTag,
}

impl TagHeader {
    /// Returns the name of the header.
    pub fn name(self) -> HeaderName {
        match self {
            Self::SurrogateKey => HeaderName::from_static("surrogate-key"),
            Self::CacheTag => HeaderName::from_static("cache-tag"),
        }
    }

    /// Returns the value of the header.
    pub fn value(self, tags: &[String]) -> HeaderValue {
        let separator = match self {
            Self::SurrogateKey => " ",
            Self::CacheTag => ",",
        };
        headers::ascii(tags.join(separator))
    }

    /// Returns the member of a JSON body that lists the tags of the replies to remove.
    pub fn member(self) -> &'static str {
        match self {
            Self::SurrogateKey => "surrogate_keys",
            Self::CacheTag => "tags",
        }
    }
}

/// The tags of one deployment, which begin with its base path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheTags {
    prefix: String,
}

impl CacheTags {
    /// Creates the tags of a deployment.
    pub fn new(base: &BasePath) -> Self {
        // A comma separates tags.
        Self { prefix: base.as_str().replace(',', "%2C") }
    }

    /// Returns the tag of every reply.
    pub fn all(&self) -> String {
        if self.prefix.is_empty() { "/".to_owned() } else { self.prefix.clone() }
    }

    /// Returns the tag of replies that depend on too many entities to list them. Every change makes them stale.
    pub fn many(&self) -> String {
        format!("{}/*", self.prefix)
    }

    /// Returns the tag of replies that depend on any record of an entity.
    pub fn entity(&self, entity: &str) -> String {
        format!("{}/{}", self.prefix, percent::encode(entity))
    }

    /// Returns the tag of replies that depend on any single record of an entity.
    pub fn records(&self, entity: &str) -> String {
        format!("{}/*", self.entity(entity))
    }

    /// Returns the tag of replies that depend on this record of an entity. It is lowercase, because UUIDs have two
    /// spellings.
    pub fn record(&self, entity: &str, id: &str) -> String {
        format!("{}/{}", self.entity(entity), percent::encode(&id.to_lowercase()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tags(base: &str) -> CacheTags {
        CacheTags::new(&BasePath::parse(base).unwrap())
    }

    #[test]
    fn tags_are_paths() {
        let tags_of = |tags: CacheTags| {
            [tags.all(), tags.many(), tags.entity("post"), tags.records("post"), tags.record("post", "7")]
        };
        assert_eq!(
            tags_of(tags("/mesh")),
            ["/mesh", "/mesh/*", "/mesh/post", "/mesh/post/*", "/mesh/post/7"]
        );
        assert_eq!(tags_of(tags("")), ["/", "/*", "/post", "/post/*", "/post/7"]);
    }

    #[test]
    fn tags_contain_no_separator() {
        let tags = tags("/a,b");
        assert_eq!(tags.record("böse, Gäste", "A B,c"), "/a%2Cb/b%C3%B6se%2C%20G%C3%A4ste/a%20b%2Cc");
        let list = [tags.all(), tags.entity("post")];
        assert_eq!(TagHeader::SurrogateKey.value(&list), "/a%2Cb /a%2Cb/post");
        assert_eq!(TagHeader::CacheTag.value(&list), "/a%2Cb,/a%2Cb/post");
    }
}
