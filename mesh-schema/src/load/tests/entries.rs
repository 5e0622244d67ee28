//! Properties of entities that contain field names: columns, types, uploads, writes, descriptions.

use expect_test::expect;

use super::{entities, entity, load};
use crate::{Catalog, Column, FieldType, FieldWrites, Table};

#[test]
fn descriptions_of_the_document_replace_comments_of_the_database() {
    let column = |name: &str| Column {
        name: name.to_owned(),
        description: Some(format!("{name} in storage")),
        ..Column::default()
    };
    let table = Table {
        name: "posts".into(),
        columns: vec![column("id"), column("title")],
        description: Some("the table".into()),
        ..Table::default()
    };
    let catalog = Catalog { tables: vec![table], ..Catalog::default() };
    let described = |more: &str| {
        let schema = load(&entity(more), Some(&catalog)).unwrap();
        let post = schema.entity(schema.find("post").unwrap()).clone();
        let members = post.fields.iter().map(|field| field.description.clone());
        let computed = post.computed.iter().map(|computed| computed.description.clone());
        [post.description.clone()]
            .into_iter()
            .chain(members)
            .chain(computed)
            .map(Option::unwrap_or_default)
            .collect::<Vec<_>>()
    };
    assert_eq!(described(""), ["the table", "id in storage", "title in storage"]);
    let more = r#", "computed": {"label": {"from": ["title"], "template": "{title}"}},
        "description": "An article", "descriptions": {"title": "Its headline", "label": "For lists"}"#;
    assert_eq!(described(more), ["An article", "id in storage", "Its headline", "For lists"]);
    entities(expect![[r#"
        "description": "", "descriptions": {"titel": "?"}
            entities.post.descriptions.titel: Field 'titel' not found on entity 'post'; did you mean 'title'?
    "#]]);
}

#[test]
fn entries_of_maps_must_name_fields() {
    entities(expect![[r#"
        "columns": {"titel": "t", "title": ""}, "types": {"x": "string"}, "uploads": {"y": {}}, "writable": ["id", "z", "id"]
            entities.post.columns.titel: Field 'titel' not found on entity 'post'; did you mean 'title'?
            entities.post.columns.title: A column needs a name
            entities.post.types.x: Field 'x' not found on entity 'post'
            entities.post.uploads.y: Field 'y' not found on entity 'post'
            entities.post.writable[1]: Field 'z' not found on entity 'post'
            entities.post.writable[2]: The field 'id' is listed twice
    "#]]);
    let schema = load(
        &entity(
            r#", "columns": {"title": "t"}, "types": {"title": "json"}, "uploads": {"title": {}}, "writable": ["title"]"#,
        ),
        None,
    );
    let schema = schema.unwrap();
    let title = schema.entity(schema.find("post").unwrap()).fields[1].clone();
    assert_eq!((title.column.as_str(), title.ty), ("t", Some(FieldType::Json)));
    assert_eq!(title.writable, FieldWrites { create: true, update: true });
    assert!(title.upload.is_some() && title.nullable);
}
