//! Adoption of catalog properties, and faults for missing tables and columns.

use expect_test::expect;
use proptest::prelude::*;

use super::*;
use crate::load::tests::{load, shown};
use crate::{Document, FieldType, ForeignKey, KeyColumn, TimeForm};

fn bare_table(schema: Option<&str>, name: &str) -> Table {
    Table { schema: schema.map(str::to_owned), name: name.to_owned(), ..Table::default() }
}

#[test]
fn exact_table_names_win_over_other_letter_case() {
    let catalog = Catalog {
        tables: vec![
            bare_table(None, "users"),
            bare_table(None, "Users"),
            bare_table(Some("sales"), "Orders"),
        ],
        ..Catalog::default()
    };
    let tables = Tables::new(&catalog);
    let find = |text: &str| {
        let found = tables.find(&TableName::parse(text).unwrap());
        found.map(|table| format!("{}.{}", table.schema.as_deref().unwrap_or("-"), table.name))
    };
    assert_eq!(find("users").as_deref(), Some("-.users"));
    assert_eq!(find("Users").as_deref(), Some("-.Users"));
    assert_eq!(find("USERS").as_deref(), Some("-.users"));
    assert_eq!(find("public.users").as_deref(), Some("-.users"));
    assert_eq!(find("main.Users").as_deref(), Some("-.Users"));
    assert_eq!(find("SALES.orders").as_deref(), Some("sales.Orders"));
    assert_eq!(find("orders"), None);
    assert_eq!(find("other.users"), None);
}

fn column(name: &str, ty: Option<FieldType>, nullable: bool) -> Column {
    Column { name: name.into(), ty, nullable, ..Column::default() }
}

fn blog() -> Catalog {
    let id = || column("Id", Some(FieldType::Integer), false);
    let time = TimeForm::Text { separator: ' ', fraction: 0, zulu: false };
    let created = Column {
        time_form: Some(time),
        description: Some("When it was written".into()),
        ..column("created_at", Some(FieldType::Datetime), true)
    };
    let posts = Table {
        name: "Posts".into(),
        columns: vec![
            id(),
            column("Title", Some(FieldType::String), true),
            created,
            column("author_id", None, true),
        ],
        primary_key: vec!["Id".into()],
        row_id: Some("rowid".into()),
        description: Some("What people write".into()),
        ..Table::default()
    };
    let users = Table {
        name: "Users".into(),
        columns: vec![id(), column("Name", Some(FieldType::String), true)],
        primary_key: vec!["Id".into()],
        ..Table::default()
    };
    let likes = Table {
        name: "Likes".into(),
        columns: vec![column("PostId", None, false), column("UserId", None, false)],
        primary_key: vec!["PostId".into(), "UserId".into()],
        foreign_keys: vec![ForeignKey::default()],
        ..Table::default()
    };
    Catalog { tables: vec![posts, users, likes], ..Catalog::default() }
}

#[test]
fn catalog_supplies_types_spelling_and_descriptions() {
    let text = r#"{"entities": {
        "post": {"fields": ["id", "title", "createdAt", "row"], "table": "posts", "types": {"title": "json"},
                 "columns": {"createdAt": "CREATED_AT", "row": "ROWID"}},
        "user": {"fields": ["id"], "table": "main.users"}
    }, "joins": {
        "post.author": {"entity": "user", "type": "one", "on": "users.ID = posts.AUTHOR_ID"},
        "user.likes": {"entity": "post", "type": "many", "through": {"table": "likes", "from": "userid", "to": "postid"}}
    }}"#;
    let schema = load(text, Some(&blog())).unwrap();
    let post = schema.entity(schema.find("post").unwrap());
    assert_eq!((post.table.name.as_str(), post.description.as_deref()), ("Posts", Some("What people write")));
    let fields: Vec<_> = post
        .fields
        .iter()
        .map(|field| (field.column.as_str(), field.ty.map(FieldType::as_str), field.nullable))
        .collect();
    assert_eq!(
        fields,
        [
            ("Id", Some("integer"), false),
            ("Title", Some("json"), true),
            ("created_at", Some("datetime"), true),
            ("rowid", Some("integer"), false),
        ]
    );
    assert!(post.fields[2].time_form.is_some());
    assert_eq!(post.fields[2].description.as_deref(), Some("When it was written"));
    assert_eq!(shown(&post.relations[0].link), "parent.author_id = target.Id");
    let user = schema.entity(schema.find("user").unwrap());
    assert_eq!(user.table.to_string(), "Users");
    assert_eq!(shown(&user.relations[0].link), "parent.Id = Likes.UserId, Likes.PostId = target.Id");
}

#[test]
fn tables_and_columns_missing_from_the_catalog_are_faults() {
    let text = r#"{"entities": {
        "post": {"fields": ["id", "titel", "text"], "columns": {"text": "body"}},
        "user": {"fields": ["id"]},
        "tag": {"fields": ["id"]},
        "sold": {"fields": ["id"], "table": "sales.posts"}
    }, "joins": {
        "post.author": {"entity": "user", "type": "one", "on": "users.key = posts.autor_id"},
        "user.liked": {"entity": "post", "type": "many", "through": {"table": "like", "from": "user", "to": "post"}},
        "user.likes": {"entity": "post", "type": "many", "through": {"table": "Likes", "from": "user", "to": "PostId"}}
    }}"#;
    expect![[r#"
        entities.post.fields[1]: The table 'Posts' has no column 'titel'; did you mean 'Title'?
        entities.post.columns.text: The table 'Posts' has no column 'body'
        entities.tag.table: The database has no table 'tags'
        entities.sold.table: The database has no table 'sales.posts'; did you mean 'Posts'?
        joins.post.author.on: The table 'Posts' has no column 'autor_id'; did you mean 'author_id'?
        joins.post.author.on: The table 'Users' has no column 'key'
        joins.user.liked.through.table: The database has no table 'like'; did you mean 'Likes'?
        joins.user.likes.through.from: The table 'Likes' has no column 'user'
    "#]]
    .assert_eq(&load(text, Some(&blog())).unwrap_err());
}

/// Returns the tie-breaking columns of an entity over a table; `?` marks columns that can be NULL.
fn keys_of(entity: &str, table: Table) -> String {
    let catalog = Catalog { tables: vec![Table { name: "ts".into(), ..table }], ..Catalog::default() };
    let schema = load(&format!(r#"{{"entities": {{"t": {{{entity}}}}}}}"#), Some(&catalog)).unwrap();
    let keys = &schema.entity(schema.find("t").unwrap()).tie_break;
    let shown = |key: &KeyColumn| format!("{}{}", key.column, if key.nullable { "?" } else { "" });
    keys.iter().map(shown).collect::<Vec<_>>().join(" ")
}

#[test]
fn tie_break_columns_make_orders_total() {
    let columns = |nullable| {
        vec![
            column("a", None, nullable),
            column("b", None, nullable),
            column("j", Some(FieldType::Json), true),
        ]
    };
    let table = |key: &[&str], row_id: Option<&str>, nullable| Table {
        columns: columns(nullable),
        primary_key: key.iter().map(|&name| name.to_owned()).collect(),
        row_id: row_id.map(str::to_owned),
        ..Table::default()
    };
    let by_a = r#""fields": ["a"], "idField": "a""#;
    let none = r#""fields": ["b"], "idField": null"#;
    let both = r#""fields": ["a", "j", "b"], "idField": null"#;
    assert_eq!(keys_of(by_a, table(&["a"], Some("rowid"), false)), "");
    assert_eq!(keys_of(by_a, table(&["a"], Some("rowid"), true)), "rowid");
    assert_eq!(keys_of(by_a, table(&["a"], None, true)), "");
    assert_eq!(keys_of(by_a, table(&["b"], None, false)), "b");
    assert_eq!(keys_of(by_a, table(&["a", "b"], None, false)), "b");
    assert_eq!(keys_of(by_a, table(&[], None, false)), "");
    assert_eq!(keys_of(both, table(&["B", "a"], Some("rowid"), false)), "b a");
    assert_eq!(keys_of(none, table(&["B", "a"], Some("rowid"), false)), "rowid");
    assert_eq!(keys_of(none, table(&["B", "a"], None, false)), "b a");
    assert_eq!(keys_of(none, table(&["a", "b"], Some("_rowid_"), true)), "_rowid_");
    assert_eq!(keys_of(none, table(&["a", "b"], None, true)), "a? b?");
    assert_eq!(keys_of(none, table(&[], Some("oid"), true)), "oid");
    assert_eq!(keys_of(both, table(&[], None, true)), "a? b?");
    assert_eq!(keys_of(none, table(&[], None, true)), "b?");
    let json = Table { columns: vec![column("j", Some(FieldType::Json), true)], ..Table::default() };
    assert_eq!(keys_of(r#""fields": ["j"], "idField": null"#, json), "j?");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn loading_never_panics(
        keys in prop::collection::vec("[ab$.\"]{0,3}", 1..4),
        names in prop::collection::vec("[ab$.{}\"]{0,3}", 0..4),
        on in "[ab.\" =AND]{0,30}",
    ) {
        let mut document = Document::default();
        for key in &keys {
            let entity = crate::EntityDocument {
                fields: names.clone(),
                table: names.first().cloned(),
                writable: crate::Writable::fields(keys.iter().map(String::as_str)),
                ..crate::EntityDocument::default()
            };
            document.entities.push(key, entity);
            document.joins.push(format!("{key}.x"), crate::JoinDocument::many(key, &on));
        }
        let catalog = blog();
        let first = document.load(Some(&catalog));
        // The document names no table of the catalog.
        prop_assert!(first.is_err());
        let _ = document.load(None);
    }
}
