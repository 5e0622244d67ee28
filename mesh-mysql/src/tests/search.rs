//! Full-text indexes in the catalog, and the statements that create them.

use mesh_schema::{Catalog, Schema, infer, search_notes};
use mesh_tests::MariaDb;

use crate::{Database, Settings};

const TABLES: &str = "
CREATE TABLE posts (id int PRIMARY KEY, title varchar(50), body text, number int, doc json, mood enum('a', 'b'),
    token varchar(9), FULLTEXT INDEX c (title), FULLTEXT INDEX B (body, title), FULLTEXT INDEX a (token), INDEX (title)) COLLATE utf8mb4_general_ci;
CREATE TABLE `odd ``name` (id int PRIMARY KEY, `a ``column` text CHARACTER SET utf8mb4 COLLATE utf8mb4_bin);
CREATE VIEW seen AS SELECT id, body FROM posts;
";

async fn catalog(server: &MariaDb) -> Catalog {
    let database = Database::connect(&server.url(), &Settings::default()).await.unwrap();
    database.contents(&[]).await.unwrap().catalog
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_search_needs_an_index_over_exactly_its_columns() {
    let Some(server) = MariaDb::start() else { return };
    server.execute(TABLES);
    let catalog = catalog(&server).await;
    let inferred = infer(&catalog).document;
    let search = inferred.entities.get("post").unwrap().search.as_ref().unwrap();
    assert_eq!(search.fields, ["body", "title"]);
    let schema = inferred.load(Some(&catalog)).unwrap();
    assert_eq!(search_notes(&schema, &catalog), [""; 0]);

    let post = |fields: &str| {
        format!(
            r#"{{"entities": {{"post": {{"fields": ["id", "title", "body", "number", "doc", "mood"],
                "search": {{"fields": [{fields}], "language": "unheard", "table": "ignored"}}}}}}}}"#
        )
    };
    for fields in [r#""title""#, r#""title", "body""#] {
        assert!(Schema::read(&post(fields), Some(&catalog)).is_ok(), "{fields}");
    }
    let faults = [r#""body""#, r#""number", "doc", "mood""#];
    let faults = faults.map(|fields| Schema::read(&post(fields), Some(&catalog)).unwrap_err().to_string());
    let expected = "\
        entities.post.search: 'posts' has no FULLTEXT index over exactly these columns: body; this creates one:\n\
        ALTER TABLE `posts` ADD FULLTEXT INDEX (`body`);\n\
        entities.post.search.fields[0]: The field 'number' is no text, so it cannot be searched\n\
        entities.post.search.fields[1]: The field 'doc' is no text, so it cannot be searched\n\
        entities.post.search.fields[2]: The field 'mood' is no text, so it cannot be searched";
    assert_eq!(faults.join("\n"), expected);
    let seen = r#"{"entities": {"seen": {"table": "seen", "fields": ["id", "body"], "search": {"fields": ["body"]}}}}"#;
    let fault = Schema::read(seen, Some(&catalog)).unwrap_err().to_string();
    assert!(fault.ends_with("columns: body; a view or foreign table cannot have one"), "{fault}");

    let odd = r#"{"entities": {"odd": {"table": "odd `name", "fields": ["id", "text"], "columns": {"text": "a `column"},
        "search": {"fields": ["text"]}}}}"#;
    let fault = Schema::read(odd, Some(&catalog)).unwrap_err().to_string();
    server.execute(fault.split_once(":\n").unwrap().1);
    let catalog = self::catalog(&server).await;
    let schema = Schema::read(odd, Some(&catalog)).unwrap();
    let expected = ["entities.odd.search: case counts, because of the collation of column 'a `column'"];
    assert_eq!(search_notes(&schema, &catalog), expected);
}
