//! The catalog and the schema inferred from it.

use mesh_tests::MariaDb;

use crate::{Backend as _, Database, Settings};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_defaults_and_comments_are_read() {
    let Some(server) = MariaDb::start() else { return };
    server.execute(
        "CREATE TABLE `odd ``name` (
             id int AUTO_INCREMENT PRIMARY KEY COMMENT 'the key', needed int NOT NULL, given int NOT NULL DEFAULT 3,
             sum int AS (needed + given) STORED, size int CHECK (size > 0), doc json, UNIQUE KEY pair (needed, given),
             UNIQUE KEY part (doc(5))
         ) COMMENT 'odd things';
         CREATE TABLE parts (a int, b varchar(5), odd_id int, PRIMARY KEY (b, a), CONSTRAINT to_odd FOREIGN KEY (odd_id) REFERENCES `odd ``name` (id));
         CREATE VIEW counts AS SELECT COUNT(*) AS n FROM parts;
         CREATE TABLE shapes (id int PRIMARY KEY, area polygon);",
    );
    let database = Database::connect(&server.url(), &Settings::default()).await.unwrap();
    let contents = database.contents(&[]).await.unwrap();
    let table = |name: &str| contents.catalog.tables.iter().find(|table| table.name == name).unwrap();
    let odd = table("odd `name");
    assert_eq!(odd.description.as_deref(), Some("odd things"));
    assert_eq!(odd.primary_key, ["id"]);
    assert_eq!(odd.unique, [["needed", "given"]], "a key of a part of a column identifies no row");
    let column = |name: &str| odd.column(name).unwrap();
    assert_eq!(column("id").description.as_deref(), Some("the key"));
    let required: Vec<_> = odd.columns.iter().filter(|it| it.required).map(|it| it.name.as_str()).collect();
    assert_eq!(required, ["needed"]);
    assert!(column("sum").generated && !column("given").generated);
    assert_eq!(column("doc").ty, Some(mesh_schema::FieldType::Json));
    let rule = odd.constraints.iter().find(|rule| rule.columns == ["size"]);
    assert!(rule.is_some(), "{:?}", odd.constraints);
    let parts = table("parts");
    assert_eq!(parts.primary_key, ["b", "a"]);
    assert_eq!(parts.foreign_keys[0].target, "odd `name");
    assert!(table("counts").columns.iter().all(|column| column.generated));
    assert_eq!(table("shapes").columns.len(), 1);
    let has_index = async |columns: &[&str]| {
        let columns: Vec<String> = columns.iter().map(|column| (*column).to_owned()).collect();
        database.has_index(&parts.full_name(), &columns).await.unwrap()
    };
    assert_eq!(has_index(&["a", "b"]).await, Some(true));
    assert_eq!(has_index(&["a"]).await, Some(false));
    assert_eq!(database.has_index(&table("counts").full_name(), &["n".to_owned()]).await.unwrap(), None);
}
