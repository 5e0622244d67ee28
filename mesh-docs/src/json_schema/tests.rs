//! Snapshots of definitions. Black-box tests compare the schema with a server.

use expect_test::expect;

use super::*;

fn written() -> Value {
    let document = r#"{
        "entities": {
            "post": {"fields": ["id", "data"], "types": {"id": "integer", "data": "json"},
                     "computed": {"label": {"from": ["id"], "template": "No. {id}"}}},
            "größe": {"fields": ["id"]}
        },
        "joins": {"post.size": {"entity": "größe", "on": "\"größes\".id = posts.size", "type": "one"},
                  "post.next": {"entity": "post", "on": "posts.id = posts.next_id", "type": "many"}}
    }"#;
    let schema = Schema::read(document, None).unwrap_or_else(|faults| panic!("{faults:?}"));
    of_queries(&schema, &Limits::default())
}

#[test]
fn selectable_names() {
    let written = written();
    let select = &written["$defs"]["post.select"];
    expect![[r##"
        {
          "type": "object",
          "properties": {
            "id": {
              "const": true,
              "description": "integer"
            },
            "data": {
              "const": true,
              "description": "json"
            },
            "label": {
              "const": true,
              "description": "computed"
            },
            "size": {
              "$ref": "#/$defs/gr__e.one",
              "properties": {
                "$relation": false
              },
              "description": "one of größe"
            },
            "next": {
              "$ref": "#/$defs/post.many",
              "properties": {
                "$relation": false
              },
              "description": "many of post"
            }
          },
          "propertyNames": {
            "anyOf": [
              {
                "enum": [
                  "id",
                  "data",
                  "label",
                  "size",
                  "next"
                ]
              },
              {
                "pattern": "^[A-Za-z_][A-Za-z0-9_]{0,63}$"
              }
            ]
          },
          "additionalProperties": {
            "$ref": "#/$defs/post.alias"
          }
        }"##]]
    .assert_eq(&format!("{select:#}"));
    assert_eq!(written["properties"]["größe"]["$ref"], "#/$defs/gr__e.root");
}

#[test]
fn filter_values_by_type() {
    let written = written();
    let rules = written["$defs"]["post.where"]["allOf"].as_array().unwrap();
    let rules: Vec<_> = rules.iter().map(Value::to_string).collect();
    expect![[r##"
        {"if":{"properties":{"field":{"enum":["id"]}},"required":["field"]},"then":{"$ref":"#/$defs/is.integer"}}
        {"if":{"properties":{"field":{"enum":["data"]}},"required":["field"]},"then":{"$ref":"#/$defs/is.json"}}
        {"if":{"properties":{"field":{"enum":["size.id"]}},"required":["field"]},"then":{"$ref":"#/$defs/is.scalar"}}
        {"if":{"properties":{"relation":{"const":"size"}},"required":["relation"]},"then":{"properties":{"where":{"$ref":"#/$defs/gr__e.where"}}}}
        {"if":{"properties":{"relation":{"const":"next"}},"required":["relation"]},"then":{"properties":{"where":{"$ref":"#/$defs/post.where"}}}}"##]]
    .assert_eq(&rules.join("\n"));
    expect![[r##"{"oneOf":[{"properties":{"op":{"enum":["isNull","isNotNull"]},"value":false}},{"properties":{"op":{"enum":["eq","ne"]},"value":{"anyOf":[{"type":"string","pattern":"^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$"},{"$ref":"#/$defs/param"}]}},"required":["value"]},{"properties":{"op":{"enum":["in","nin"]},"value":{"anyOf":[{"type":"array","items":{"anyOf":[{"type":"string","pattern":"^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$"},{"$ref":"#/$defs/param"}]},"maxItems":200},{"$ref":"#/$defs/param"}]}},"required":["value"]}],"properties":{"at":false}}"##]].assert_eq(&written["$defs"]["is.uuid"].to_string());
    expect![[r##"{"if":{"required":["at"]},"then":{"$ref":"#/$defs/is.found"},"else":{"oneOf":[{"properties":{"op":{"enum":["isNull","isNotNull"]},"value":false}},{"properties":{"op":{"enum":["has"]},"value":{"anyOf":[{"type":["string","number","boolean"]},{"$ref":"#/$defs/param"}]}},"required":["value"]},{"properties":{"op":{"enum":["hasAny","hasAll"]},"value":{"anyOf":[{"anyOf":[{"type":"array","items":{"anyOf":[{"type":"string"},{"$ref":"#/$defs/param"}]},"maxItems":200,"minItems":1},{"type":"array","items":{"anyOf":[{"type":"number"},{"$ref":"#/$defs/param"}]},"maxItems":200,"minItems":1},{"type":"array","items":{"anyOf":[{"type":"boolean"},{"$ref":"#/$defs/param"}]},"maxItems":200,"minItems":1}]},{"$ref":"#/$defs/param"}]}},"required":["value"]}],"properties":{"at":false}}}"##]]
        .assert_eq(&written["$defs"]["is.json"].to_string());
}

/// Panics if an enumeration in a value is empty, which validators refuse.
fn assert_enumerations(value: &Value, path: &str) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                assert!(name != "enum" || member.as_array().is_none_or(|names| !names.is_empty()), "{path}");
                assert_enumerations(member, &format!("{path}/{name}"));
            }
        }
        Value::Array(items) => items.iter().for_each(|item| assert_enumerations(item, path)),
        _ => {}
    }
}

#[test]
fn no_enumeration_is_empty() {
    let related = r#""joins": {"only.next": {"entity": "only", "on": "onlys.a = onlys.b", "type": "many"}}"#;
    for ty in FieldType::ALL {
        for joins in ["", &format!(", {related}")] {
            let document = format!(
                r#"{{"entities": {{"only": {{"fields": ["f"], "types": {{"f": "{}"}}, "idField": null}}}}{joins}}}"#,
                ty.as_str()
            );
            let schema = Schema::read(&document, None).unwrap_or_else(|faults| panic!("{faults:?}"));
            assert_enumerations(&of_queries(&schema, &Limits::default()), ty.as_str());
        }
    }
    let nothing = Schema::read(r#"{"entities": {}}"#, None).unwrap_or_else(|faults| panic!("{faults:?}"));
    assert_enumerations(&of_queries(&nothing, &Limits::default()), "no entities");
}

#[test]
fn descriptions_are_followed_by_the_type() {
    let text = r#"{"entities": {"post": {
            "fields": ["id", "title"], "computed": {"label": {"from": ["title"], "template": "{title}"}},
            "description": "An article", "descriptions": {"title": "Its headline", "label": "For lists"}}}}"#;
    let schema = Schema::read(text, None).unwrap_or_else(|faults| panic!("{faults:?}"));
    let written = of_queries(&schema, &Limits::default());
    let members = &written["$defs"]["post.select"]["properties"];
    assert_eq!(members["title"]["description"], "Its headline (scalar)");
    assert_eq!(members["label"]["description"], "For lists (computed)");
    assert_eq!(members["id"]["description"], "scalar");
}
