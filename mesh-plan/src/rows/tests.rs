//! Tests of nesting: flat rows and their parents.

mod controls;

use mesh_ql::Format;
use mesh_schema::{FieldType, JoinDocument, Schema, SchemaBuilder};

use crate::memory::Tables;
use crate::{Mesh, Request};

fn mesh(schema: SchemaBuilder) -> Mesh {
    Mesh::builder(schema.build().unwrap()).build().unwrap()
}

#[track_caller]
fn check(schema: SchemaBuilder, tables: &Tables, query: &str, items: &str) {
    let plan = mesh(schema).plan(&Request::collection(Format::Ql, query)).unwrap();
    let body = plan.nest(tables.rows(&plan).unwrap()).unwrap();
    let body: serde_json::Value = serde_json::from_slice(&body.bytes).unwrap();
    assert_eq!(body["items"].to_string(), items);
}

#[test]
fn a_field_with_the_name_of_a_key_column_does_not_replace_it() {
    let schema = Schema::builder()
        .entity("post", |post| {
            let post = post.field("id", FieldType::Integer).field("author", FieldType::String);
            post.column("author", "author_name")
        })
        .entity("user", |user| user.field("id", FieldType::Integer).field("name", FieldType::String))
        .relation("post.writer", JoinDocument::one("user", "users.id = posts.author"))
        .relation("user.posts", JoinDocument::many("post", "posts.author = users.id"));
    let tables = Tables::new()
        .with("posts", ["id", "author_name", "author"], [vec![1.into(), "Ada L.".into(), 7.into()]])
        .with("users", ["id", "name"], [vec![7.into(), "Ada".into()]]);
    let post = r#"[{"author":"Ada L.","writer":{"name":"Ada"}}]"#;
    check(schema.clone(), &tables, "{ post author writer { name } }", post);
    check(schema, &tables, "{ user posts { author } }", r#"[{"posts":[{"author":"Ada L."}]}]"#);
}

#[test]
fn equal_rows_without_a_key_are_two_rows() {
    let schema = Schema::builder().entity("reading", |it| it.field("value", FieldType::Integer).no_id());
    let tables = Tables::new().with("readings", ["value"], [vec![3.into()], vec![3.into()]]);
    check(schema, &tables, "{ reading value }", r#"[{"value":3},{"value":3}]"#);
}
