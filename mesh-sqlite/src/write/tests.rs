//! Updates of tables, whose changed rows are counted, and of views, which return them.

use mesh_plan::mutation::WriteReply;
use mesh_plan::{Context, Error, Fields, Mesh, RecordId, WriteError, WriteRequest, WriteTarget};
use mesh_schema::Document;

use crate::tests::File;

const TABLES: &str = "CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER NOT NULL);
    INSERT INTO t VALUES (1, 10), (2, 20);
    CREATE TRIGGER frozen BEFORE UPDATE ON t WHEN old.n = 20 BEGIN SELECT RAISE(IGNORE); END;
    CREATE VIEW v AS SELECT id, n FROM t;
    CREATE TRIGGER of_view INSTEAD OF UPDATE ON v BEGIN
        UPDATE t SET n = new.n + 1 WHERE id = old.id;
    END;";
const DOCUMENT: &str = r#"{"entities": {
    "t": {"table": "t", "fields": ["id", "n"], "writable": true},
    "v": {"table": "v", "fields": ["id", "n"], "writable": ["n"]}
}}"#;

/// Updates a record. Also returns the rows of the table.
async fn update(entity: &str, id: &str, body: &str) -> (Result<WriteReply, Error>, Vec<(i64, i64)>) {
    let file = File::new(TABLES);
    let database = file.database();
    let catalog = database.contents(&[]).unwrap().catalog;
    let schema = Document::parse(DOCUMENT).unwrap().load(Some(&catalog)).unwrap();
    let writer = database.writer().unwrap();
    let mesh = Mesh::builder(schema).default_resolver(database).default_mutator(writer).build().unwrap();
    let fields = Fields::parse(body.as_bytes()).unwrap();
    let request = WriteRequest::new(WriteTarget::Update { entity, id: RecordId::Text(id) });
    let mutation = mesh.plan_write(&request.with_fields(&fields)).unwrap();
    let written = mesh.write(mutation, &Context::default()).await.into_result();
    let connection = file.connect();
    let mut statement = connection.prepare("SELECT id, n FROM t ORDER BY id").unwrap();
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    (written, rows.map(Result::unwrap).collect())
}

#[tokio::test]
async fn updates_of_tables_and_views_reply_with_the_record() {
    for (entity, body, reply, rows) in [
        ("t", r#"{"n": 11}"#, r#"{"id":1,"n":11}"#, [(1, 11), (2, 20)]),
        ("t", r#"{"id": 7}"#, r#"{"id":7,"n":10}"#, [(2, 20), (7, 10)]),
        ("v", r#"{"n": 11}"#, r#"{"id":1,"n":12}"#, [(1, 12), (2, 20)]),
    ] {
        let (written, found) = update(entity, "1", body).await;
        let written = written.unwrap_or_else(|error| panic!("{entity} {body}: {error}"));
        assert_eq!(written.body.unwrap().unwrap().bytes, reply, "{entity} {body}");
        assert_eq!(found, rows, "{entity} {body}");
    }
}

#[tokio::test]
async fn a_missing_record_is_not_found_and_one_that_a_trigger_keeps_is_skipped() {
    for (entity, id) in [("t", "3"), ("v", "3"), ("t", "2")] {
        let (written, rows) = update(entity, id, r#"{"n": 11}"#).await;
        let is_expected = match &written {
            Err(Error::Write(WriteError::NotFound { .. })) => id == "3",
            Err(Error::Write(WriteError::Skipped { .. })) => id == "2",
            _ => false,
        };
        assert!(is_expected, "{entity} {id}: {written:?}");
        assert_eq!(rows, [(1, 10), (2, 20)], "{entity} {id}");
    }
}
