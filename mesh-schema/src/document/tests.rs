//! Parsing and printing of documents.

mod faults;
mod random;

use expect_test::{Expect, expect};

use super::*;
use crate::Field;

fn check(text: &str, expected: Expect) {
    let shown = match Document::parse(text) {
        Ok(document) => document.to_json(),
        Err(faults) => show(&faults),
    };
    expected.assert_eq(&shown);
}

fn show(faults: &[crate::Fault]) -> String {
    let line = |fault: &crate::Fault| {
        let position = fault.line.zip(fault.column).map(|(line, column)| format!("{line}:{column} "));
        format!("{}{fault}\n", position.unwrap_or_default())
    };
    faults.iter().map(line).collect()
}

#[test]
fn every_property_is_parsed_in_order() {
    let text = r#"{
  "entities": {
    "post": {
      "fields": [
        "slug",
        "title",
        "cover"
      ],
      "table": "blog posts",
      "columns": {
        "title": "Title"
      },
      "idField": "slug",
      "types": {
        "title": "string",
        "cover": "binary"
      },
      "uploads": {
        "cover": {
          "maxBytes": 1000,
          "contentTypes": [
            "image/png"
          ]
        }
      },
      "writable": [
        "title"
      ],
      "computed": {
        "label": {
          "from": [
            "title"
          ],
          "template": "<{title}>"
        }
      }
    },
    "__proto__": {
      "fields": [
        "constructor"
      ],
      "idField": null,
      "writable": true
    }
  },
  "joins": {
    "post.tags": {
      "entity": "__proto__",
      "on": "a.b = c.d",
      "type": "many",
      "through": {
        "table": "post_tags",
        "from": "post_id",
        "to": "tag_id"
      }
    },
    "post.one": {
      "entity": "post",
      "on": "a.b = a.c",
      "type": "one"
    }
  }
}"#;
    let document = Document::parse(text).unwrap();
    assert_eq!(document.to_json(), text);
    assert_eq!(document.entities.get("post").unwrap().uploads.get("cover").unwrap().max_bytes, Some(1000));
    assert_eq!(Document::parse(&document.to_json()), Ok(document));
}

#[test]
fn descriptions_are_parsed_and_printed() {
    check(
        r#"{"entities": {"post": {"descriptions": {"id": "Counts up"}, "fields": ["id"], "description": "An article"}}}"#,
        expect![[r#"
            {
              "entities": {
                "post": {
                  "fields": [
                    "id"
                  ],
                  "description": "An article",
                  "descriptions": {
                    "id": "Counts up"
                  }
                }
              }
            }"#]],
    );
}

#[test]
fn each_kind_of_write_has_its_rights() {
    let entity = |writable: &str| {
        let text =
            format!(r#"{{"entities": {{"post": {{"fields": ["id", "title"], "writable": {writable}}}}}}}"#);
        let document = Document::parse(&text).unwrap();
        assert_eq!(Document::parse(&document.to_json()).as_ref(), Ok(&document));
        let schema = document.load(None).unwrap();
        let post = schema.entity(schema.find("post").unwrap());
        let names = |has_right: fn(&Field) -> bool| {
            let fields = post.fields.iter().filter(|field| has_right(field));
            fields.map(|field| field.name.as_str()).collect::<Vec<_>>().join(" ")
        };
        let (create, update) = (names(|field| field.writable.create), names(|field| field.writable.update));
        format!("{create}/{update}/{}", post.deletable)
    };
    assert_eq!(entity("true"), "id title/id title/true");
    assert_eq!(entity("false"), "//false");
    assert_eq!(entity("[\"title\"]"), "title/title/false", "a list permits no deletion");
    assert_eq!(entity("{}"), "//false");
    assert_eq!(entity(r#"{"create": true, "update": ["title"]}"#), "id title/title/false");
    assert_eq!(entity(r#"{"update": ["title"], "delete": true}"#), "/title/true");
    assert_eq!(entity(r#"{"delete": true}"#), "//true");
}

#[test]
fn defaults_are_not_printed() {
    check(
        "\u{feff}{\"joins\": {}, \"entities\": {\"post\": {\"fields\": [\"id\"], \"writable\": false, \"types\": {}}}}",
        expect![[r#"
            {
              "entities": {
                "post": {
                  "fields": [
                    "id"
                  ]
                }
              }
            }"#]],
    );
}
