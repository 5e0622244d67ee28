//! Tests of the names of query tools, and of their visibility.

use mesh_plan::Principal;
use mesh_plan::policy::Access;
use mesh_ql::Format;
use mesh_schema::{Entity, FieldType, Schema};

use super::*;

fn mesh(entity: &str) -> Mesh {
    let schema = Schema::builder().entity(entity, |it| it.field("id", FieldType::Integer)).build().unwrap();
    Mesh::builder(schema).build().unwrap()
}

fn prepared(mesh: &Mesh, entity: &str) -> PreparedTools {
    let text = format!(r#"{{"{entity}":{{"$select":{{"id":true}}}}}}"#);
    let query = PersistedQuery::new(Format::Json, text);
    let tool = QueryTool { name: String::new(), description: String::new(), query };
    Mcp { queries: vec![tool], ..Mcp::default() }.prepare(mesh, &BasePath::default(), false).unwrap()
}

#[test]
fn a_derived_name_is_valid_for_any_entity() {
    let long = "e".repeat(80);
    for (entity, expected) in
        [("post", "post_"), ("größe", "gr__e_"), (long.as_str(), &format!("{}_", "e".repeat(55)))]
    {
        let tools = prepared(&mesh(entity), entity);
        let name = tools.queries[0].name();
        assert!(name.starts_with(expected), "{name}");
        assert_eq!(name.len(), expected.len() + 8, "{name}");
        assert!(name[expected.len()..].bytes().all(|digit| digit.is_ascii_hexdigit()), "{name}");
    }
}

#[test]
fn only_queries_that_a_caller_could_register_are_visible() {
    let schema = Schema::builder().entity("post", |it| it.field("id", FieldType::Integer)).build().unwrap();
    let editors_only = |role: &str, _: &Entity| if role == "editor" { Access::all() } else { Access::none() };
    let mesh = Mesh::builder(schema).policy(editors_only).build().unwrap();
    let tools = prepared(&mesh, "post");
    let mut principal = Principal::new("1", "");
    assert!(!tools.queries[0].is_visible(&mesh, Some(&principal)));
    principal.role = Some("editor".to_owned());
    assert!(tools.queries[0].is_visible(&mesh, Some(&principal)));
}
