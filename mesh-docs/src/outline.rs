//! A compact outline of a schema for agents, whose context is small. Descriptions in it are cleaned and limited in
//! length.

use mesh_schema::{Cardinality, Entity, FieldType, Schema};
use serde_json::{Map, Value, json};

use crate::json::{set, set_some};
use crate::text::one_line;
use crate::{members, rights};

/// The maximum number of characters of a description.
const DESCRIPTION: usize = 300;

/// Returns the outline of the entities whose names follow `after`, at most `first` of them: `{entities, next?}`. `next`
/// is the name to continue after. `schema` must be the schema of the caller, without anything that policies hide.
///
/// ```
/// use mesh_docs::outline;
/// use mesh_schema::{FieldType, Schema};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let schema = Schema::builder()
///     .entity("post", |post| post.field("id", FieldType::Integer).field("title", FieldType::String))
///     .build()?;
/// let expected = r#"{"entities":[{"name":"post","id":"id","fields":{"id":"integer","title":"string?"}}]}"#;
/// assert_eq!(outline::page(&schema, None, 10, false).to_string(), expected);
/// # Ok(())
/// # }
/// ```
pub fn page(schema: &Schema, after: Option<&str>, first: usize, with_writes: bool) -> Value {
    let mut entities: Vec<_> = visible(schema).collect();
    entities.sort_by(|one, other| one.key.cmp(&other.key));
    entities.retain(|entity| after.is_none_or(|after| entity.key.as_str() > after));
    let next = entities.get(first.saturating_sub(1)).filter(|_| entities.len() > first);
    let next = next.map(|entity| entity.key.clone());
    entities.truncate(first);
    let entities = entities.into_iter().map(|entity| outlined(schema, entity, with_writes));
    let mut page = json!({"entities": entities.collect::<Vec<_>>()});
    set_some(&mut page, "next", next);
    page
}

/// Returns the outline of one entity; `None` if the caller has no entity of that name.
pub fn entity(schema: &Schema, key: &str, with_writes: bool) -> Option<Value> {
    let entity = schema.entity(schema.find(key)?);
    Some(outlined(schema, entity, with_writes))
}

/// Returns the names of all entities.
pub fn names(schema: &Schema) -> impl Iterator<Item = &str> {
    visible(schema).map(|entity| entity.key.as_str())
}

fn visible(schema: &Schema) -> impl Iterator<Item = &Entity> {
    schema.entities().filter(|(_, entity)| schema.find(&entity.key).is_some()).map(|(_, entity)| entity)
}

fn outlined(schema: &Schema, entity: &Entity, with_writes: bool) -> Value {
    let mut fields = Map::new();
    let mut descriptions = Map::new();
    let mut describe = |name: &str, text: Option<&str>| {
        if let Some(text) = text {
            descriptions.insert(name.to_owned(), cleaned(text, DESCRIPTION).into());
        }
    };
    let id = members::id_fields(entity);
    for field in members::fields(entity) {
        let ty = field.ty.map_or("any", FieldType::as_str);
        let is_id = id.iter().any(|part| part.name == field.name);
        let mark = if field.nullable && !is_id { "?" } else { "" };
        fields.insert(field.name.clone(), format!("{ty}{mark}").into());
        describe(&field.name, field.description.as_deref());
    }
    for computed in members::computed(entity) {
        fields.insert(computed.name.clone(), "computed".into());
        describe(&computed.name, computed.description.as_deref());
    }
    let relations = members::relations(entity).map(|relation| {
        let target = schema.entity(relation.target).key.as_str();
        let shown = match relation.cardinality {
            Cardinality::One => target.to_owned(),
            Cardinality::Many => format!("[{target}]"),
        };
        (relation.name.clone(), Value::from(shown))
    });
    let relations: Map<_, _> = relations.collect();
    let mut outline = json!({"name": entity.key});
    let description = entity.description.as_deref().map(|text| cleaned(text, DESCRIPTION));
    set_some(&mut outline, "description", description);
    set(&mut outline, "id", members::id_names(entity));
    set_some(&mut outline, "search", entity.search.is_some().then_some(true));
    set(&mut outline, "fields", fields);
    let filled = |map: Map<String, Value>| Some(map).filter(|map| !map.is_empty());
    set_some(&mut outline, "relations", filled(relations));
    set_some(&mut outline, "descriptions", filled(descriptions));
    set_some(&mut outline, "writes", with_writes.then(|| rights::record_writes(entity)).flatten());
    outline
}

/// Returns a text on one line, without invisible characters, and of at most `length` characters.
pub fn cleaned(text: &str, length: usize) -> String {
    let line = one_line(text);
    match line.char_indices().nth(length) {
        None => line,
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default().trim_end()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema() -> Schema {
        let document = r#"{
            "entities": {
                "user": {"fields": ["id", "name"], "writable": ["name"]},
                "post": {"fields": ["id", "title"], "types": {"id": "integer"}},
                "tag": {"fields": ["id"]}
            },
            "joins": {
                "post.author": {"entity": "user", "type": "one", "on": "users.id = posts.author_id"},
                "user.posts": {"entity": "post", "type": "many", "on": "posts.author_id = users.id"}
            }
        }"#;
        Schema::read(document, None).unwrap()
    }

    #[test]
    fn an_outline_has_types_relations_and_writes() {
        let outline = entity(&schema(), "post", false).unwrap().to_string();
        expect_test::expect![[r#"{"name":"post","id":"id","fields":{"id":"integer","title":"any?"},"relations":{"author":"user"}}"#]]
            .assert_eq(&outline);
        let user = entity(&schema(), "user", true).unwrap();
        assert_eq!(user["relations"], json!({"posts": "[post]"}));
        assert_eq!(user["writes"]["update"], json!(["name"]));
        assert!(entity(&schema(), "secret", true).is_none());
    }

    #[test]
    fn pages_continue_after_a_name() {
        let schema = schema();
        let names = |page: &Value| {
            let entities = page["entities"].as_array().unwrap();
            entities.iter().map(|it| it["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        let first = page(&schema, None, 2, false);
        assert_eq!((names(&first), first["next"].as_str()), (vec!["post".into(), "tag".into()], Some("tag")));
        let second = page(&schema, Some("tag"), 2, false);
        assert_eq!((names(&second), second.get("next")), (vec!["user".into()], None));
    }

    #[test]
    fn texts_of_people_are_one_bounded_line_without_hidden_characters() {
        assert_eq!(cleaned("pay\n\u{200b}attention", 50), "pay attention");
        assert_eq!(cleaned("ééééé", 3), "ééé…");
    }
}
