//! Snapshots of the types for each kind of field and relation.

use expect_test::{Expect, expect};
use mesh_schema::policy::Restriction;
use mesh_schema::{Catalog, Column, Table};

use super::*;

/// A document, checked against a catalog with nullable columns.
fn schema(document: &str) -> Schema {
    Schema::read(document, None).unwrap_or_else(|faults| panic!("{faults:?}"))
}

/// Compares the text between the import and the part that is the same for all schemas.
#[track_caller]
fn check(document: &str, expected: &Expect) {
    let written = types(&schema(document));
    let own = written.strip_prefix(HEAD).and_then(|rest| rest.strip_suffix(TAIL)).unwrap();
    expected.assert_eq(own);
}

#[test]
fn fields_of_every_kind() {
    check(
        r#"{"entities": {"thing": {
            "fields": ["id", "s", "i", "big", "n", "b", "at", "day", "j", "bytes", "u", "d", "unknown", "not plain"],
            "types": {"id": "integer", "s": "string", "i": "integer", "big": "bigint", "n": "number", "b": "boolean",
                "at": "datetime", "day": "date", "j": "json", "bytes": "binary", "u": "uuid", "d": "decimal"},
            "computed": {"label": {"from": ["s", "i"], "template": "{s} {i}"}},
            "uploads": {"s": {}, "not plain": {}}}}}"#,
        &expect![[r#"

            /** A record of `thing`. */
            export interface Thing {
              id: number | null;
              s: string | null;
              i: number | null;
              big: string | null;
              n: number | null;
              b: boolean | null;
              at: string | null;
              day: string | null;
              j: mesh.Json | null;
              bytes: string | null;
              u: string | null;
              d: string | null;
              unknown: string | number | boolean | null;
              "not plain": string | number | boolean | null;
              label: string;
            }

            /** Every entity, with the meaning of its names. */
            export interface Entities {
              thing: {
                fields: Thing;
                id: "id";
                kinds: { id: "integer"; s: "string"; i: "integer"; big: "bigint"; n: "number"; b: "boolean"; at: "datetime"; day: "date"; j: "json"; bytes: "binary"; u: "uuid"; d: "decimal"; unknown: "scalar"; "not plain": "scalar" };
                relations: {};
                uploads: "s" | "not plain";
                creatable: never;
                updatable: never;
                deletable: false;
                required: never;
              };
            }
        "#]],
    );
}

#[test]
fn to_one_and_to_many() {
    check(
        r#"{"entities": {"post": {"fields": ["id"]}, "user": {"fields": ["id"]}},
            "joins": {"post.author": {"entity": "user", "on": "users.id = posts.author_id", "type": "one"},
                      "user.posts": {"entity": "post", "on": "posts.author_id = users.id", "type": "many"}}}"#,
        &expect![[r#"

            /** A record of `post`. */
            export interface Post {
              id: string | number | boolean | null;
            }

            /** A record of `user`. */
            export interface User {
              id: string | number | boolean | null;
            }

            /** Every entity, with the meaning of its names. */
            export interface Entities {
              post: {
                fields: Post;
                id: "id";
                kinds: { id: "scalar" };
                relations: { author: mesh.One<"user"> };
                uploads: never;
                creatable: never;
                updatable: never;
                deletable: false;
                required: never;
              };
              user: {
                fields: User;
                id: "id";
                kinds: { id: "scalar" };
                relations: { posts: mesh.Many<"post"> };
                uploads: never;
                creatable: never;
                updatable: never;
                deletable: false;
                required: never;
              };
            }
        "#]],
    );
}

#[test]
fn many_to_many() {
    check(
        r#"{"entities": {"post": {"fields": ["id"]}, "tag": {"fields": ["label"], "idField": "label"}},
            "joins": {"post.tags": {"entity": "tag", "type": "many",
                          "through": {"table": "post_tags", "from": "post_id", "to": "tag"}},
                      "tag.posts": {"entity": "post", "type": "many",
                          "through": {"table": "post_tags", "from": "tag", "to": "post_id"}}}}"#,
        &expect![[r#"

            /** A record of `post`. */
            export interface Post {
              id: string | number | boolean | null;
            }

            /** A record of `tag`. */
            export interface Tag {
              label: string | number | boolean | null;
            }

            /** Every entity, with the meaning of its names. */
            export interface Entities {
              post: {
                fields: Post;
                id: "id";
                kinds: { id: "scalar" };
                relations: { tags: mesh.Many<"tag"> };
                uploads: never;
                creatable: never;
                updatable: never;
                deletable: false;
                required: never;
              };
              tag: {
                fields: Tag;
                id: "label";
                kinds: { label: "scalar" };
                relations: { posts: mesh.Many<"post"> };
                uploads: never;
                creatable: never;
                updatable: never;
                deletable: false;
                required: never;
              };
            }
        "#]],
    );
}

#[test]
fn self_relation() {
    check(
        r#"{"entities": {"user": {"fields": ["id"]}},
            "joins": {"user.manager": {"entity": "user", "on": "users.id = users.manager_id", "type": "one"},
                      "user.staff": {"entity": "user", "on": "users.manager_id = users.id", "type": "many"}}}"#,
        &expect![[r#"

            /** A record of `user`. */
            export interface User {
              id: string | number | boolean | null;
            }

            /** Every entity, with the meaning of its names. */
            export interface Entities {
              user: {
                fields: User;
                id: "id";
                kinds: { id: "scalar" };
                relations: { manager: mesh.One<"user">; staff: mesh.Many<"user"> };
                uploads: never;
                creatable: never;
                updatable: never;
                deletable: false;
                required: never;
              };
            }
        "#]],
    );
}

#[test]
fn description_cannot_end_its_comment() {
    let mut out = String::new();
    comment(&mut out, "  ", "What was\nwritten. */ evil() /*");
    comment(&mut out, "", "Ends *\u{200b}/ here.");
    assert_eq!(out, "  /** What was written. * / evil() /* */\n/** Ends * / here. */\n");
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
    let written = types(&seen);
    assert!(
        written.contains("interface Post") && !written.contains("User") && !written.contains("secret"),
        "{written}"
    );
}

#[test]
fn type_names_are_unique() {
    for (key, name) in [
        ("post", "Post"),
        ("orderDetail", "OrderDetail"),
        ("order details", "OrderDetails"),
        ("sales.order_2", "SalesOrder2"),
        ("größe", "Größe"),
        ("日本", "_日本"),
        ("2nd", "_2nd"),
        ("Ⓐ", "_"),
        ("***", "_"),
    ] {
        assert_eq!(type_name(key), name, "{key}");
    }
    let schema = schema(
        r#"{"entities": {"a b": {"fields": ["id"], "table": "x"}, "a-b": {"fields": ["id"], "table": "y"},
            "result": {"fields": ["id"]}}}"#,
    );
    let written = types(&schema);
    for name in ["interface AB {", "interface AB_ {", "interface Result_ {", "export type Result<Q>"] {
        assert_eq!(written.matches(name).count(), 1, "{name}: {written}");
    }
}

#[test]
fn an_id_of_several_fields_is_a_list_of_names() {
    let document = r#"{"entities": {"detail": {"fields": ["order", "part"], "idField": ["order", "part"]}}}"#;
    assert!(types(&schema(document)).contains("    id: [\"order\",\"part\"];\n"));
}

#[test]
fn descriptions_are_comments_of_the_types() {
    let written = types(&schema(
        r#"{"entities": {"post": {
            "fields": ["id", "title"], "computed": {"label": {"from": ["title"], "template": "{title}"}},
            "description": "An article", "descriptions": {"title": "Its headline", "label": "For lists"}}}}"#,
    ));
    for part in [
        "/** An article */\nexport interface Post {",
        "/** Its headline */\n  title:",
        "/** For lists */\n  label: string;",
    ] {
        assert!(written.contains(part), "{part}: {written}");
    }
}

#[test]
fn numbers_that_json_lacks_are_null() {
    let column = |name: &str, ty, not_finite| Column {
        name: name.to_owned(),
        ty: Some(ty),
        not_finite,
        ..Column::default()
    };
    let columns = vec![
        column("id", FieldType::Integer, false),
        column("ratio", FieldType::Number, true),
        column("price", FieldType::Decimal, false),
    ];
    let table = Table { name: "things".to_owned(), columns, ..Table::default() };
    let document = r#"{"entities": {"thing": {"fields": ["id", "ratio", "price"]}}}"#;
    let schema =
        Schema::read(document, Some(&Catalog { tables: vec![table], ..Catalog::default() })).unwrap();
    let written = types(&schema);
    assert!(written.contains("  ratio: number | null;\n  price: string;\n"), "{written}");
}
