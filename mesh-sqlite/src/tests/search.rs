//! Searches that are declared, and the statements that create their FTS5 tables.

use expect_test::expect;
use mesh_schema::{Catalog, Schema, SearchIndex, infer};
use rusqlite::Connection;

use crate::catalog;

fn read(connection: &mut Connection) -> Catalog {
    catalog::read(connection, &[]).unwrap().0
}

#[test]
fn faults_have_the_statements_that_create_the_table() {
    let mut connection = Connection::open_in_memory().unwrap();
    let tables = r#"
        CREATE TABLE "odd ""n' name" ("the ""key" INTEGER PRIMARY KEY, "a, 'column'" TEXT, body, secret TEXT);
        INSERT INTO "odd ""n' name" VALUES (7, 'old words', 'body', NULL);"#;
    connection.execute_batch(tables).unwrap();
    let document = r#"{"entities": {"post": {"table": "odd \"n' name", "fields": ["id", "title", "body"],
        "columns": {"id": "the \"key", "title": "a, 'column'"}, "search": {"fields": ["title", "body"], "table": "main.\"f.'\""}}}}"#;
    let fault = Schema::read(document, Some(&read(&mut connection))).unwrap_err().to_string();
    expect![[r#"
        entities.post.search.table: The database has no FTS5 table 'main."f.'"' over 'odd "n' name'; these statements create it:
        CREATE VIRTUAL TABLE "f.'" USING fts5("a, 'column'", "body", content='odd "n'' name', content_rowid='the "key');
        CREATE TRIGGER "f.'_insert" AFTER INSERT ON "odd ""n' name" BEGIN INSERT INTO "f.'"(rowid, "a, 'column'", "body") VALUES (new."the ""key", new."a, 'column'", new."body"); END;
        CREATE TRIGGER "f.'_delete" AFTER DELETE ON "odd ""n' name" BEGIN INSERT INTO "f.'"("f.'", rowid, "a, 'column'", "body") VALUES ('delete', old."the ""key", old."a, 'column'", old."body"); END;
        CREATE TRIGGER "f.'_update" AFTER UPDATE ON "odd ""n' name" BEGIN INSERT INTO "f.'"("f.'", rowid, "a, 'column'", "body") VALUES ('delete', old."the ""key", old."a, 'column'", old."body"); INSERT INTO "f.'"(rowid, "a, 'column'", "body") VALUES (new."the ""key", new."a, 'column'", new."body"); END;
        INSERT INTO "f.'"("f.'") VALUES ('rebuild');"#]].assert_eq(&fault);
    connection.execute_batch(fault.split_once(":\n").unwrap().1).unwrap();
    let catalog = read(&mut connection);
    let schema = Schema::read(document, Some(&catalog)).unwrap();
    let search = schema.entity(schema.find("post").unwrap()).search.clone().unwrap();
    let Some(SearchIndex::Fts5 { table, key }) = &search.index else { panic!("{search:?}") };
    assert_eq!((table.name.as_str(), key.as_str()), ("f.'", "the \"key"));
    let inferred = infer(&catalog).document;
    expect![[r#"{"fields":["aColumn","body"],"table":"\"f.'\""}"#]]
        .assert_eq(&serde_json::to_string(&inferred.entities.iter().next().unwrap().1.search).unwrap());
    assert!(inferred.load(Some(&catalog)).is_ok());

    let found = |word: &str| {
        let sql = r#"SELECT group_concat(rowid) FROM "f.'" WHERE "f.'" MATCH ?1"#;
        connection.query_row(sql, [word], |row| row.get::<_, Option<String>>(0)).unwrap().unwrap_or_default()
    };
    assert_eq!(found("OLD"), "7");
    let writes = r#"INSERT INTO "odd ""n' name" VALUES (8, 'new words', 'old', NULL);"#;
    connection.execute_batch(writes).unwrap();
    assert_eq!((found("words"), found("old")), ("7,8".to_owned(), "7,8".to_owned()));
    let writes = r#"UPDATE "odd ""n' name" SET "the ""key" = 9, "a, 'column'" = 'changed' WHERE body = 'old';
        DELETE FROM "odd ""n' name" WHERE "the ""key" = 7"#;
    connection.execute_batch(writes).unwrap();
    assert_eq!([found("words"), found("old"), found("changed")], ["", "9", "9"]);
    connection.execute_batch(r#"INSERT INTO "f.'"("f.'", rank) VALUES ('integrity-check', 1)"#).unwrap();
}

#[test]
fn a_search_needs_an_fts5_table_over_its_table() {
    let mut connection = Connection::open_in_memory().unwrap();
    let tables = "CREATE TABLE posts (id INTEGER PRIMARY KEY, title TEXT, body TEXT, number INT);
        CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT); CREATE TABLE keyless (id INT PRIMARY KEY, title TEXT);
        CREATE VIRTUAL TABLE posts_fts USING fts5(title, content=posts);
        CREATE VIRTUAL TABLE notes_fts USING fts5(title, content=notes);";
    connection.execute_batch(tables).unwrap();
    let catalog = read(&mut connection);
    let post = |search: &str| {
        let document = format!(
            r#"{{"entities": {{"post": {{"fields": ["id", "title", "body", "number"], "search": {{{search}}}}}}}}}"#
        );
        Schema::read(&document, Some(&catalog))
            .map_or_else(|faults| faults.to_string(), |_| "fits".to_owned())
    };
    let searches = [
        r#""fields": ["title"], "table": "posts_fts""#,
        r#""fields": ["title"], "table": "MAIN.Posts_FTS", "language": "unheard""#,
        r#""fields": ["title"]"#,
        r#""fields": ["body"]"#,
        r#""fields": ["body", "title"], "table": "posts_fts""#,
        r#""fields": ["title"], "table": "notes_fts""#,
        r#""fields": ["title"], "table": "notes""#,
        r#""fields": ["title"], "table": "other.posts_fts""#,
        r#""fields": ["title"], "table": "a.b.c""#,
        r#""fields": ["title", "number", "title"], "table": "posts_fts""#,
        r#""fields": [], "table": "posts_fts""#,
    ];
    expect![[r#"
        fits
        fits
        entities.post.search: A search needs 'table', an FTS5 table over 'posts'; there is 'posts_fts'
        entities.post.search: A search needs 'table', an FTS5 table over 'posts'; there is 'posts_fts'
        entities.post.search.table: The FTS5 table 'posts_fts' does not index the columns: body
        entities.post.search.table: 'notes_fts' is no FTS5 table over 'posts'
        entities.post.search.table: 'notes' is no FTS5 table over 'posts'
        entities.post.search.table: 'other.posts_fts' is no FTS5 table over 'posts'
        entities.post.search.table: The table 'a.b.c' has more than one dot; put names with dots in double quotes
        entities.post.search.fields[1]: The field 'number' is no text, so it cannot be searched
        entities.post.search.fields[2]: The field 'title' is listed twice
        entities.post.search.fields: A search needs at least one field"#]].assert_eq(&searches.map(post).join("\n"));
    let keyless = r#"{"entities": {"keyless": {"table": "keyless", "fields": ["id", "title"], "search": {"fields": ["title"]}}}}"#;
    expect!["entities.keyless.search: 'keyless' has no INTEGER PRIMARY KEY, by which an FTS5 table refers to its rows"].assert_eq(&Schema::read(keyless, Some(&catalog)).unwrap_err().to_string());
}
