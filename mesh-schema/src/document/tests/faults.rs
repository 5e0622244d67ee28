//! Faults of the structure of documents, with their paths and positions.

use expect_test::{Expect, expect};

use super::show;
use crate::load::tests::check_faults;
use crate::{Document, Schema};

/// Checks documents with one entity that has the given properties, which begin on the second line.
fn entities(table: Expect) {
    let entity =
        |properties: &str| format!("{{\"entities\": {{\"post\": {{\"fields\": [\"id\"],\n{properties}}}}}}}");
    check_faults(&table, |properties| faults(&entity(properties)));
}

/// Checks documents with one join that has the given properties, which begin on the second line.
fn joins(table: Expect) {
    let join = |properties: &str| {
        format!("{{\"entities\": {{}}, \"joins\": {{\"post.author\":\n{{{properties}}}}}}}")
    };
    check_faults(&table, |properties| faults(&join(properties)));
}

fn texts(table: Expect) {
    check_faults(&table, faults);
}

fn faults(text: &str) -> String {
    show(&Document::parse(text).expect_err(text))
}

#[test]
fn invalid_json_is_refused_with_its_position() {
    assert_eq!(faults(""), "1:1 document: The text is empty\n");
    let after_comma = "2:1 document: The text is not JSON: key must be a string\n";
    assert_eq!(faults("{\"entities\": {},\n}"), after_comma);
    texts(expect![[r#"
        {"entities": {}
            1:15 document: The text is not JSON: EOF while parsing an object
        {} {}
            1:4 document: The text is not JSON: trailing characters
        {"entities": {"a": {"fields": ["\ud800"]}}}
            1:32 entities.a.fields[0]: The text is not JSON: unexpected end of hex escape
        {"entities": {"a\ud800": {}}}
            1:14 entities: The text is not JSON: unexpected end of hex escape
    "#]]);
}

#[test]
fn wrong_shapes_are_refused() {
    texts(expect![[r#"
        []
            1:1 document: Expected an object, found a list
        {}
            1:1 document: 'entities' is missing
        {"entities": []}
            1:14 entities: Expected an object, found a list
        {"entities": {}, "joins": []}
            1:27 joins: Expected an object, found a list
        {"entities": {"post": null}}
            1:23 entities.post: Expected an object, found null
        {"entities": {"post": {}}}
            1:23 entities.post: 'fields' is missing
        {"entities": {"post": {"fields": "id"}}}
            1:34 entities.post.fields: Expected a list, found text
        {"entities": {"post": {"fields": ["id", 7, null]}}}
            1:41 entities.post.fields[1]: Expected text, found a number
            1:44 entities.post.fields[2]: Expected text, found null
    "#]]);
}

#[test]
fn wrong_values_of_entities_are_refused() {
    entities(expect![[r#"
        "table": null
            2:10 entities.post.table: Expected text, found null
        "idField": 1
            2:12 entities.post.idField: Expected text, found a number
        "columns": {"id": true}
            2:19 entities.post.columns.id: Expected text, found a boolean
        "types": {"id": "int"}
            2:17 entities.post.types.id: Unknown type 'int'; expected one of string, integer, bigint, number, boolean, datetime, date, json, binary, uuid, decimal
        "types": {"id": "strng"}
            2:17 entities.post.types.id: Unknown type 'strng'; did you mean 'string'?
        "uploads": {"id": true}
            2:19 entities.post.uploads.id: Expected an object, found a boolean
        "uploads": {"id": {"maxBytes": -1, "contentTypes": []}}
            2:32 entities.post.uploads.id.maxBytes: Expected a whole number of bytes, at least 1
            2:52 entities.post.uploads.id.contentTypes: Expected one or more content types; leave 'contentTypes' out to allow any type
        "writable": "all"
            2:13 entities.post.writable: Expected true, false, a list of fields, or an object of create, update and delete, found text
        "writable": {"create": 1, "update": [2], "delete": [], "read": true}
            2:64 entities.post.writable.read: Unknown key 'read'; expected one of create, update, delete
            2:24 entities.post.writable.create: Expected true, false or a list of fields, found a number
            2:38 entities.post.writable.update[0]: Expected text, found a number
            2:52 entities.post.writable.delete: Expected true or false, found a list
        "computed": {"x": {}, "y": {"from": {}, "template": []}}
            2:19 entities.post.computed.x: 'from' is missing
            2:19 entities.post.computed.x: 'template' is missing
            2:37 entities.post.computed.y.from: Expected a list, found an object
            2:53 entities.post.computed.y.template: Expected text, found a list
    "#]]);
}

#[test]
fn wrong_values_of_joins_are_refused() {
    joins(expect![[r#"
        "on": "a.b = c.d"
            2:1 joins.post.author: 'entity' is missing
            2:1 joins.post.author: 'type' is missing
        "entity": "user", "type": "oen"
            2:28 joins.post.author.type: Unknown type 'oen'; did you mean 'one'?
        "entity": 1, "on": 2, "type": 3, "through": 4
            2:12 joins.post.author.entity: Expected text, found a number
            2:21 joins.post.author.on: Expected text, found a number
            2:32 joins.post.author.type: Expected text, found a number
            2:46 joins.post.author.through: Expected an object, found a number
        "entity": "user", "type": "many", "through": {"table": "a"}
            2:47 joins.post.author.through: 'from' is missing
            2:47 joins.post.author.through: 'to' is missing
    "#]]);
}

#[test]
fn unknown_keys_are_refused_with_the_nearest_known_one() {
    texts(expect![[r#"
        {"entites": {}, "entities": {}, "$schema": "x"}
            1:13 entites: Unknown key 'entites'; did you mean 'entities'?
            1:44 $schema: Unknown key '$schema'; expected one of entities, joins, policies
    "#]]);
    entities(expect![[r#"
        "idfield": "id", "colour": 1
            2:12 entities.post.idfield: Unknown key 'idfield'; did you mean 'idField'?
            2:28 entities.post.colour: Unknown key 'colour'; expected one of fields, table, columns, idField, types, uploads, writable, search, computed, description, descriptions
        "uploads": {"id": {"maxBites": 1}}
            2:32 entities.post.uploads.id.maxBites: Unknown key 'maxBites'; did you mean 'maxBytes'?
        "computed": {"x": {"from": [], "template": "", "templates": ""}}
            2:61 entities.post.computed.x.templates: Unknown key 'templates'; did you mean 'template'?
    "#]]);
    joins(expect![[r#"
        "entity": "user", "type": "one", "On": "a.b = c.d"
            2:41 joins.post.author.On: Unknown key 'On'; did you mean 'on'?
        "entity": "u", "type": "many", "through": {"table": "a", "from": "b", "to": "c", "too": "d"}
            2:90 joins.post.author.through.too: Unknown key 'too'; did you mean 'to'?
    "#]]);
}

#[test]
fn duplicate_keys_are_refused_at_every_level() {
    texts(expect![[r#"
        {"entities": {}, "entities": {}}
            1:1 document: The key 'entities' is given twice
        {"entities": {"a": {"fields": ["id"]}, "a": {"fields": ["id"]}}}
            1:14 entities: The key 'a' is given twice
    "#]]);
    entities(expect![[r#"
        "table": "a", "table": "b"
            1:23 entities.post: The key 'table' is given twice
        "types": {"id": "string", "\u0069d": "string"}
            2:10 entities.post.types: The key 'id' is given twice
    "#]]);
}

#[test]
fn faults_of_structure_and_meaning_are_reported_together() {
    let text = r#"{
  "entities": {
    "post": {"fields": ["id", "titel"], "colums": {"title": "t"}},
    "user": {"fields": ["name"]},
    "files": {"fields": ["id"]}
  },
  "joins": {
    "post.author": {"entity": "user", "on": "nothing", "type": "one"},
    "user.files": {"entity": "fils", "on": "users.id = files.user", "type": "many"}
  }
}"#;
    expect![[r#"
        3:51 entities.post.colums: Unknown key 'colums'; did you mean 'columns'?
        4:13 entities.user.idField: There is no field 'id'; set idField to the field that identifies a row, or to null if none does
        5:14 entities.files: The entity key 'files' is reserved for a route; rename it
        8:45 joins.post.author.on: Expected table.column at character 1, found 'n'; write table.column = table.column, with further equalities joined by AND
        9:30 joins.user.files.entity: Entity 'fils' not found; did you mean 'files'?
    "#]].assert_eq(&show(&Schema::read(text, None).unwrap_err()));
    assert!(Schema::read(r#"{"entities": {"post": {"fields": ["id"]}}}"#, None).is_ok());
}

#[test]
fn deep_nesting_is_harmless() {
    let deep = "[".repeat(200_000) + &"]".repeat(200_000);
    let faults =
        Document::parse(&format!("{{\"entities\": {{\"post\": {{\"fields\": {deep}}}}}}}")).unwrap_err();
    assert_eq!(faults.len(), 1);
    assert_eq!(faults[0].path, "entities.post.fields[0]");
    assert!(Document::parse(&"[".repeat(200_000)).is_err());
    assert!(Document::parse(&"{\"a\":".repeat(200_000)).is_err());
}
