//! How is the JSON format read? Text to tree in one pass, without a tree of JSON values in between, so that
//! duplicate keys are seen and every bound stops the work where it is passed.

mod aggregate;
mod controls;
mod filter;
mod locate;
mod node;
mod value;

use serde::de::{DeserializeSeed, MapAccess};

use crate::json::node::Node;
use crate::json::value::{Context, Key, Object, Read, Reading, Seed};
use crate::place::Place;
use crate::{Limits, Query, SyntaxError};

/// Reads a query. The bounds on nesting in `limits` bound the recursion, so they must be clamped already.
pub(crate) fn parse(text: &str, limits: &Limits) -> Result<Query, SyntaxError> {
    let reading = Reading::new(text, limits);
    let mut json = serde_json::Deserializer::from_str(text);
    // Its bound of 128 levels is below what 32 relations around a filter of depth 32 take. Ours hold instead:
    // no reader goes deeper than them, and none skips a value unread.
    json.disable_recursion_limit();
    let root = Root { context: Context { reading: &reading, place: None } };
    let query = Seed(root).deserialize(&mut json).and_then(|query| json.end().map(|()| query));
    query.map_err(|error| locate::explain(&reading, &error))
}

/// The whole query. `SPEC §3.1`
struct Root<'a, 'de> {
    context: Context<'a, 'de>,
}

impl<'de> Root<'_, 'de> {
    /// Refuses keys that are no entity's.
    fn check_key<E: serde::de::Error>(&self, key: &Key<'de>) -> Result<(), E> {
        if key.name.starts_with('$') {
            let message =
                format!("{} cannot stand at the root; it belongs inside the entity's object", key.quoted());
            return Err(self.context.refuse(key.at, message));
        }
        Ok(())
    }
}

impl<'de> Read<'de> for Root<'_, 'de> {
    type Out = Query;

    fn context(&self) -> Context<'_, 'de> {
        self.context
    }

    fn wanted(&self) -> String {
        "A query must be an object with one key, the entity".to_owned()
    }

    fn object<A: MapAccess<'de>>(self, map: A) -> Result<Query, A::Error> {
        let mut object = Object::new(self.context, map);
        let Some(key) = object.next()? else {
            return Err(self
                .context
                .refuse(None, "The query names no entity; its one root key is the entity key"));
        };
        self.check_key(&key)?;
        let place = Place { parent: None, name: &key.name };
        let context = Context { place: Some(&place), ..self.context };
        let root = object.value(Node { context, subject: "entity", depth: 0 })?;
        if let Some(second) = object.next()? {
            self.check_key(&second)?;
            let message = format!("A query has one root key; {} is a second one", second.quoted());
            return Err(self.context.refuse(second.at, message));
        }
        Ok(Query { entity: key.name.into_owned(), root })
    }
}
