//! `explain` and `query`.

use mesh_tests::{Database, Server, run};
use serde_json::{Value, json};

use super::{assert_fails, introspect, stderr, stdout};

#[test]
fn explain_shows_the_plan_and_runs_nothing() {
    let blog = Database::blog();
    let url = blog.url();
    for arguments in [
        &["{ post title author { name } }"][..],
        &["--format", "ql", "{ post title author { name } }"],
        &["--id", "1", r#"{"post":{"$select":{"title":true,"author":{"$select":{"name":true}}}}}"#],
    ] {
        let mut all = vec!["explain", "--database", &url];
        all.extend_from_slice(arguments);
        let output = run(&all);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let said = stdout(&output);
        for word in ["post", "title", "author", "name", "SELECT"] {
            assert!(said.contains(word), "{word} expected in: {said}");
        }
        assert!(!said.contains("Rust at dawn") && !said.contains("likes"), "{said}");
    }
    let schema = blog.dir.write("schema.json", &introspect(&blog).to_string());
    assert_eq!(run(&["explain", "--schema", &schema, "{ post title }"]).status.code(), Some(0));
    assert_fails(&run(&["explain", "--database", &url, "{ post titel }"]), 1, &["titel", "title"]);
    assert_fails(&run(&["explain", "--database", &url, "{ post "]), 1, &["1"]);
}

#[test]
fn explain_recommends_no_index_that_cannot_exist_or_is_not_needed() {
    let database = Database::new(
        "CREATE TABLE notes (id INTEGER PRIMARY KEY, author TEXT, body TEXT);
         CREATE VIEW signed_notes AS SELECT id, author, body FROM notes WHERE author IS NOT NULL;
         INSERT INTO notes VALUES (1, 'a', 'x'), (2, NULL, 'y');",
    );
    let explain = |query: &str| {
        let output = run(&["explain", "--database", &database.url(), query]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        stdout(&output)
    };
    let filtered = |entity: &str| {
        let filter = json!({"field": "author", "op": "eq", "value": "a"});
        json!({entity: {"$select": {"body": true}, "$where": filter}}).to_string()
    };
    let view = explain(&filtered("signedNote"));
    assert!(view.contains("of the view signed_notes, so whole tables are scanned"), "{view}");
    assert!(!view.contains("an index on"), "{view}");
    assert!(!explain(&filtered("note")).contains("warning:"), "two rows in key order");
    let many = "WITH RECURSIVE n(i) AS (SELECT 3 UNION ALL SELECT i + 1 FROM n WHERE i < 1100) \
        INSERT INTO notes SELECT i, 'b', 'z' FROM n";
    database.connect().execute_batch(many).unwrap();
    let scanned = explain(&filtered("note"));
    assert!(scanned.contains("warning: no index matches these rows of notes"), "{scanned}");
    assert!(scanned.contains("an index on (author, id) would help"), "{scanned}");
}

#[test]
fn query_prints_the_answer_of_a_server() {
    let server = Server::with_database(&Database::blog());
    let url = format!("http://{}{}", server.address, server.base);
    let ask = |arguments: &[&str]| {
        let mut all = vec!["query", "--url", &url];
        all.extend_from_slice(arguments);
        run(&all)
    };
    let point = ask(&["--id", "1", "{ post title author { name } }"]);
    assert_eq!(point.status.code(), Some(0), "{}", stderr(&point));
    let printed: Value = serde_json::from_slice(&point.stdout).unwrap();
    assert_eq!(printed, json!({"title": "Rust at dawn", "author": {"name": "Ada"}}));
    let all = ask(&["--format", "json", r#"{"post":{"$select":{"id":true}}}"#]);
    assert_eq!(all.status.code(), Some(0), "{}", stderr(&all));
    assert!(stdout(&all).contains("\"id\""), "{}", stdout(&all));
    assert_fails(&ask(&["{ post titel }"]), 1, &["titel"]);
    assert_fails(&ask(&["{ nosuch id }"]), 1, &["nosuch"]);
    drop(server);
    assert_fails(&ask(&["{ post id }"]), 1, &[]);
    assert_fails(&run(&["query", "--url", "ftp://x", "{ post id }"]), 2, &["ftp"]);
}
