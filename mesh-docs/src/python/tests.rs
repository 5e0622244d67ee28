//! Snapshots of the module for each kind of field and relation.

use std::collections::HashSet;

use expect_test::{ExpectFile, expect_file};
use mesh_schema::policy::Restriction;

use super::*;

/// A document, checked against a catalog with nullable columns.
fn schema(document: &str) -> Schema {
    Schema::read(document, None).unwrap_or_else(|faults| panic!("{faults:?}"))
}

/// Compares the part of the module after the imports.
#[track_caller]
fn check(document: &str, expected: &ExpectFile) {
    let written = types(&schema(document), Import::Absolute);
    expected.assert_eq(written.split_once(CLIENT_IMPORT).map_or("", |(_, rest)| rest));
}

#[test]
fn fields_of_every_kind() {
    check(
        r#"{"entities": {"thing": {
            "fields": ["id", "s", "i", "big", "n", "b", "at", "day", "j", "bytes", "u", "d", "unknown", "not plain"],
            "types": {"id": "integer", "s": "string", "i": "integer", "big": "bigint", "n": "number", "b": "boolean",
                "at": "datetime", "day": "date", "j": "json", "bytes": "binary", "u": "uuid", "d": "decimal"},
            "computed": {"label": {"from": ["s", "i"], "template": "{s} {i}"}},
            "writable": {"update": true}, "uploads": {"s": {}}}}}"#,
        &expect_file!["./tests/kinds.py"],
    );
}

#[test]
fn relations_and_new_records() {
    check(
        r#"{"entities": {
                "post": {"fields": ["id", "authorId"], "types": {"id": "integer"}, "writable": true},
                "user": {"fields": ["name"], "idField": null},
                "tag": {"fields": ["label"], "idField": "label"}},
            "joins": {"post.author": {"entity": "user", "on": "users.id = posts.authorId", "type": "one"},
                      "user.posts": {"entity": "post", "on": "posts.authorId = users.id", "type": "many"},
                      "post.tags": {"entity": "tag", "type": "many",
                          "through": {"table": "post_tags", "from": "post_id", "to": "tag"}}}}"#,
        &expect_file!["./tests/relations.py"],
    );
}

#[test]
fn description_cannot_end_its_docstring() {
    let mut out = String::new();
    docstring(&mut out, "    ", "What was\nwritten. \"\"\" \\");
    assert_eq!(out, "    \"\"\"What was written. \\\"\\\"\\\" \\\\\"\"\"\n");
}

#[test]
fn entity_key_cannot_end_a_docstring() {
    let key = r#"a\"\"\"b\\c\nd"#;
    let schema = schema(&format!(
        r#"{{"entities": {{"{key}": {{"fields": ["id"], "table": "a"}}, "user": {{"fields": ["id"]}}}},
            "joins": {{"user.a": {{"entity": "{key}", "on": "a.id = users.id", "type": "one"}}}}}}"#
    ));
    let written = types(&schema, Import::Absolute);
    for text in ["A record of", "The fields of", "A relation to a record of", "The entity"] {
        let line = format!(r#"    """{text} `a\"\"\"b\\c d`.""""#);
        assert_eq!(written.lines().filter(|other| **other == line).count(), 1, "{line}: {written}");
    }
}

#[test]
fn names_hidden_by_policies_are_omitted() {
    let schema =
        schema(r#"{"entities": {"post": {"fields": ["id", "secret"]}, "user": {"fields": ["id"]}}}"#);
    let seen = schema.restricted(|entity| Restriction {
        hidden: entity.key == "user",
        hidden_names: HashSet::from(["secret".to_owned()]),
        ..Restriction::default()
    });
    let written = types(&seen, Import::Absolute);
    assert!(
        written.contains("class Post(") && !written.contains("user") && !written.contains("secret"),
        "{written}"
    );
}

#[test]
fn objects_have_names_of_python() {
    let schema = schema(
        r#"{"entities": {"class": {"fields": ["id", "class", "class_", "_id", "2nd", "größe", "日本", "new", "str"], "table": "a"},
            "Post": {"fields": ["id"], "table": "b"}, "post": {"fields": ["id"], "table": "c"},
            "a b": {"fields": ["id"], "table": "d"}, "a-b": {"fields": ["id"], "table": "e"},
            "int": {"fields": ["id"], "table": "f"}, "***": {"fields": ["id"], "table": "g"}}}"#,
    );
    let written = types(&schema, Import::Absolute);
    for line in [
        "class_ = ClassEntity(_schema, \"class\")",
        "Post = PostEntity(_schema, \"Post\")",
        "a_b = ABEntity(_schema, \"a b\")",
        "a_b_ = ABEntity_(_schema, \"a-b\")",
        "int_ = IntEntity(_schema, \"int\")",
        "n___ = NEntity(_schema, \"***\")",
        "    class_: mesh.ScalarField[E]",
        "    class__: mesh.ScalarField[E]",
        "    n_id: mesh.ScalarField[E]",
        "    n2nd: mesh.ScalarField[E]",
        "    größe: mesh.ScalarField[E]",
        "    n日本: mesh.ScalarField[E]",
        "    new_: mesh.ScalarField[E]",
        "    str_: mesh.ScalarField[E]",
    ] {
        assert_eq!(written.lines().filter(|other| *other == line).count(), 1, "{line}: {written}");
    }
}

#[test]
fn module_of_a_package_imports_the_client_from_it() {
    let schema = schema(r#"{"entities": {"post": {"fields": ["id"]}}}"#);
    assert!(types(&schema, Import::Relative).contains("\nfrom . import mesh_client as mesh\n"));
    assert!(types(&schema, Import::Absolute).contains("\nimport mesh_client as mesh\n"));
}

#[test]
fn client_begins_with_a_docstring_and_has_each_part_once() {
    assert!(CLIENT.starts_with("\"\"\"A client of a Mesh server."));
    for class in ["Client", "AsyncClient", "Page", "MeshError", "Stream"] {
        assert_eq!(
            CLIENT
                .matches(&format!("\nclass {class}("))
                .count()
                .max(CLIENT.matches(&format!("\nclass {class}:")).count()),
            1
        );
    }
}

#[test]
fn descriptions_are_docstrings() {
    let written = types(
        &schema(
            r#"{"entities": {"post": {
            "fields": ["id", "title"], "computed": {"label": {"from": ["title"], "template": "{title}"}},
            "description": "An article", "descriptions": {"title": "Its headline", "label": "For lists"}}}}"#,
        ),
        Import::Absolute,
    );
    for part in [
        "\"\"\"An article\"\"\"",
        "\"\"\"Its headline\"\"\"",
        "mesh.ComputedField[E]\n    \"\"\"For lists\"\"\"",
    ] {
        assert!(written.contains(part), "{part}: {written}");
    }
}
