//! Rules that writes violate: the error of the caller, and that nothing is written.

use mesh_plan::error::Rule;
use mesh_plan::{Context, Error, Fields, Mesh, RecordId, WriteError, WriteRequest, WriteTarget};
use mesh_schema::Document;

use crate::tests::File;

const TABLES: &str = "
    CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT);
    CREATE TABLE profiles (user_id INTEGER PRIMARY KEY REFERENCES users (id), bio TEXT);
    CREATE TABLE customers (tenant INTEGER, id INTEGER, PRIMARY KEY (tenant, id));
    CREATE TABLE orders (tenant INTEGER NOT NULL, id INTEGER NOT NULL, customer INTEGER, note TEXT, PRIMARY KEY (tenant, id),
        FOREIGN KEY (tenant, customer) REFERENCES customers (tenant, id));
    CREATE TABLE replaces (id INTEGER PRIMARY KEY ON CONFLICT REPLACE, code TEXT UNIQUE ON CONFLICT REPLACE);
    CREATE TABLE ignores (id INTEGER PRIMARY KEY, code TEXT UNIQUE ON CONFLICT IGNORE);
    CREATE TABLE rolls (id INTEGER PRIMARY KEY, code TEXT UNIQUE ON CONFLICT ROLLBACK);
    CREATE TABLE codes (code TEXT PRIMARY KEY, n INTEGER);
    CREATE TABLE plain (id INTEGER PRIMARY KEY, code TEXT UNIQUE);
    CREATE TABLE seen (code TEXT PRIMARY KEY);
    CREATE TRIGGER sees AFTER INSERT ON plain BEGIN INSERT OR IGNORE INTO seen VALUES (new.code); END;
    INSERT INTO users VALUES (1, 'Ada'); INSERT INTO profiles VALUES (1, 'b');
    INSERT INTO customers VALUES (1, 1); INSERT INTO orders VALUES (1, 1, 1, NULL);
    INSERT INTO replaces VALUES (1, 'a'), (2, 'b'); INSERT INTO ignores VALUES (1, 'a'), (2, 'b');
    INSERT INTO rolls VALUES (1, 'a'), (2, 'b'); INSERT INTO seen VALUES ('s');
    INSERT INTO codes VALUES (CAST(x'e9' AS TEXT), 1), (CAST(x'ff' AS TEXT), 2);";

const DOCUMENT: &str = r#"{"entities": {
    "user": {"table": "users", "fields": ["id", "name"], "writable": true},
    "profile": {"table": "profiles", "fields": ["userId", "bio"], "idField": "userId", "columns": {"userId": "user_id"},
        "writable": true},
    "customer": {"table": "customers", "fields": ["tenant", "id"], "idField": ["tenant", "id"], "writable": true},
    "order": {"table": "orders", "fields": ["tenant", "id", "customer", "note"], "idField": ["tenant", "id"], "writable": true},
    "replaces": {"table": "replaces", "fields": ["id", "code"], "writable": true},
    "ignores": {"table": "ignores", "fields": ["id", "code"], "writable": true},
    "rolls": {"table": "rolls", "fields": ["id", "code"], "writable": true},
    "code": {"table": "codes", "fields": ["code", "n"], "idField": "code", "writable": true},
    "plain": {"table": "plain", "fields": ["id", "code"], "writable": true}
}, "joins": {"user.profile": {"entity": "profile", "type": "one", "on": "profiles.user_id = users.id"}}}"#;

/// Writes, and returns the violated rule with the fields that are named.
async fn violates(target: WriteTarget<'_>, body: &str) -> Option<(Rule, String)> {
    let file = File::new(TABLES);
    let database = file.database();
    let catalog = database.contents(&[]).unwrap().catalog;
    let schema = Document::parse(DOCUMENT).unwrap().load(Some(&catalog)).unwrap();
    let writer = database.writer().unwrap();
    let mesh = Mesh::builder(schema).default_resolver(database).default_mutator(writer).build().unwrap();
    let before = contents(&file);
    let fields = Fields::parse(if body.is_empty() { "{}" } else { body }.as_bytes()).unwrap();
    let mut request = WriteRequest::new(target);
    if !body.is_empty() {
        request = request.with_fields(&fields);
    }
    let mutation = mesh.plan_write(&request).unwrap();
    match mesh.write(mutation, &Context::new("test")).await.into_result() {
        Ok(_) => None,
        Err(Error::Write(WriteError::Conflict { rule, fields, .. })) => {
            assert_eq!(contents(&file), before, "{body}: nothing is written");
            Some((rule, fields.join(",")))
        }
        Err(error) => panic!("{body}: {error:?}"),
    }
}

fn contents(file: &File) -> String {
    let tables = ["users", "profiles", "orders", "replaces", "ignores", "rolls", "codes"];
    let connection = file.connect();
    let rows = tables.map(|table| {
        let columns = "SELECT group_concat('hex(' || name || ')', ' || ') FROM pragma_table_info(?1)";
        let columns: String = connection.query_row(columns, [table], |row| row.get(0)).unwrap();
        let rows = format!("SELECT coalesce(group_concat({columns}), '') FROM {table}");
        connection.query_row(&rows, [], |row| row.get::<_, String>(0)).unwrap()
    });
    rows.join("\n")
}

fn update<'a>(entity: &'a str, id: &'a str) -> WriteTarget<'a> {
    WriteTarget::Update { entity, id: RecordId::Text(id) }
}

#[tokio::test]
async fn a_key_that_may_not_be_empty_is_a_conflict_that_names_its_field() {
    let not_empty = |field: &str| Some((Rule::NotEmpty, field.to_owned()));
    assert_eq!(violates(update("user", "1"), r#"{"id": null}"#).await, not_empty("id"));
    let of_user = WriteTarget::Disconnect { entity: "user", id: RecordId::Text("1"), relation: "profile" };
    assert_eq!(violates(of_user, "").await, not_empty("userId"));
}

#[tokio::test]
async fn a_foreign_key_of_several_columns_names_those_that_are_set() {
    let reference = |fields: &str| Some((Rule::Reference, fields.to_owned()));
    assert_eq!(violates(update("order", "1,1"), r#"{"customer": 9}"#).await, reference("customer"));
    assert_eq!(violates(update("order", "1,1"), r#"{"tenant": 9}"#).await, reference("tenant"));
    let create = WriteTarget::Create { entity: "order" };
    let body = r#"{"tenant": 1, "id": 2, "customer": 9}"#;
    assert_eq!(violates(create, body).await, reference("tenant,customer"));
    assert_eq!(violates(update("order", "1,1"), r#"{"customer": null}"#).await, None);
}

#[tokio::test]
async fn a_table_that_resolves_conflicts_replaces_no_records() {
    for entity in ["replaces", "ignores", "rolls"] {
        let unique = Some((Rule::Unique, "code".to_owned()));
        let create = || WriteTarget::Create { entity };
        assert_eq!(violates(create(), r#"{"id": 3, "code": "a"}"#).await, unique, "{entity}");
        assert_eq!(violates(update(entity, "2"), r#"{"code": "a"}"#).await, unique, "{entity}");
        let merge = WriteTarget::Merge { entity, id: RecordId::Text("3") };
        assert_eq!(violates(merge, r#"{"code": "a"}"#).await, unique, "{entity}");
        let id = Some((Rule::Unique, "id".to_owned()));
        assert_eq!(violates(create(), r#"{"id": 1, "code": "c"}"#).await, id, "{entity}");
        assert_eq!(violates(update(entity, "2"), r#"{"id": 1}"#).await, id, "{entity}");
    }
    let plain = WriteTarget::Create { entity: "plain" };
    assert_eq!(
        violates(plain, r#"{"code": "s"}"#).await,
        None,
        "the statements of triggers resolve their own"
    );
}

#[tokio::test]
async fn an_id_that_two_records_have_writes_neither() {
    let unique = Some((Rule::Unique, String::new()));
    assert_eq!(violates(update("code", "\u{fffd}"), r#"{"n": 3}"#).await, unique);
    let delete = WriteTarget::Delete { entity: "code", id: RecordId::Text("\u{fffd}") };
    assert_eq!(violates(delete, "").await, unique);
}
