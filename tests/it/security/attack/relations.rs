//! Exhaustion by relational queries: conditions that visit every combination of records, and orders by values of related
//! records.

use mesh_tests::{Cluster, Database, Request, Server, wait_until};
use serde_json::{Value, json};

use super::work::{beside, with_deadline};

/// Sixty posts with sixty tags each, and 20,000 notes with as many replies that no index finds.
const DATA: &str = "
    CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT);
    CREATE TABLE posts (id INTEGER PRIMARY KEY);
    CREATE TABLE tags (id INTEGER PRIMARY KEY);
    CREATE TABLE post_tags (post_id INTEGER REFERENCES posts, tag_id INTEGER REFERENCES tags, PRIMARY KEY (post_id, tag_id));
    CREATE INDEX post_tags_tag ON post_tags (tag_id);
    CREATE TABLE notes (id INTEGER PRIMARY KEY);
    CREATE TABLE replies (id INTEGER PRIMARY KEY, note_id INTEGER REFERENCES notes);
    INSERT INTO users VALUES (1, 'Ada');
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60) INSERT INTO posts SELECT i FROM n;
    INSERT INTO tags SELECT id FROM posts;
    INSERT INTO post_tags SELECT posts.id, tags.id FROM posts, tags;
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) INSERT INTO notes SELECT i FROM n;
    INSERT INTO replies SELECT id, id FROM notes;";

const USER: &str = r#"{"user":{"$select":{"name":true}}}"#;

/// Posts all of whose tags have only posts all of whose tags …, in this many conditions.
fn nested_every(conditions: usize) -> Value {
    let mut filter = json!({"field": "id", "op": "gt", "value": 0});
    for level in (0..conditions).rev() {
        let relation = if level % 2 == 0 { "tags" } else { "posts" };
        filter = json!({"relation": relation, "op": "every", "where": filter});
    }
    json!({"post": {"$select": {"id": true}, "$where": filter}})
}

/// Returns a query of records ordered by the number of their related records.
fn by_count(entity: &str, relation: &str) -> Value {
    let order = json!([{"relation": relation, "aggregate": {"fn": "count"}, "direction": "desc"}]);
    json!({entity: {"$select": {"id": true}, "$orderBy": order, "$page": {"first": 2}}})
}

fn posted(query: &Value) -> Request {
    Request::post("/mesh", &json!({"query": query.to_string()}).to_string())
}

/// Runs expensive queries until their deadline, with light reads beside them. `ended` waits until the database has ended one.
fn check_deadline(url: &str, deadline: &str, ended: impl Fn()) {
    let folder = mesh_tests::TempDir::new();
    let config = folder.write("mesh.toml", "[limits]\nrelated_sort_rows = 1000000000000\n");
    let server = with_deadline(deadline, &["--config", &config, "--database", url]);
    let mut connection = server.connect();
    for query in [nested_every(7), by_count("note", "replies")] {
        let (reply, reads) = beside(&server, &posted(&query), || {
            assert_eq!(connection.send(&Request::get("/mesh/user/1", USER)).status, 200);
        });
        assert_eq!((reply.status, &reply.json()["code"]), (500, &json!("TIMEOUT")), "{}", reply.text());
        assert!(reads > 0, "no read was answered beside {query}");
        ended();
    }
}

/// Attack with a session of few rights: queries that take long: patterns, combinations of relations, sorts,
/// answers of many bytes.
#[test]
fn expensive_relational_reads_end_at_the_deadline_and_do_not_delay_others() {
    let database = Database::new(DATA);
    check_deadline(&database.url(), "2s", || ());
}

#[test]
fn expensive_relational_reads_of_postgresql_end_at_the_deadline_and_do_not_delay_others() {
    let Some(cluster) = Cluster::start() else { return };
    // No index finds the pairs of a note.
    cluster.execute(
        "CREATE TABLE users (id integer PRIMARY KEY, name text);
         CREATE TABLE posts (id integer PRIMARY KEY);
         CREATE TABLE tags (id integer PRIMARY KEY);
         CREATE TABLE post_tags (post_id integer, tag_id integer, PRIMARY KEY (post_id, tag_id));
         CREATE TABLE notes (id integer PRIMARY KEY);
         CREATE TABLE replies (id integer PRIMARY KEY);
         CREATE TABLE note_replies (note_id integer, reply_id integer, PRIMARY KEY (reply_id, note_id));
         INSERT INTO users VALUES (1, 'Ada');
         INSERT INTO posts SELECT generate_series(1, 1000);
         INSERT INTO tags SELECT id FROM posts;
         INSERT INTO post_tags SELECT posts.id, tags.id FROM posts, tags;
         INSERT INTO notes SELECT generate_series(1, 20000);
         INSERT INTO replies SELECT id FROM notes;
         INSERT INTO note_replies SELECT id, id FROM notes;
         ALTER TABLE post_tags ADD FOREIGN KEY (post_id) REFERENCES posts NOT VALID,
             ADD FOREIGN KEY (tag_id) REFERENCES tags NOT VALID;
         ALTER TABLE note_replies ADD FOREIGN KEY (note_id) REFERENCES notes NOT VALID,
             ADD FOREIGN KEY (reply_id) REFERENCES replies NOT VALID;
         ANALYZE;",
    );
    check_deadline(&cluster.url(), "2s", || {
        let active = "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND application_name = 'mesh-server'";
        wait_until("the statement has ended", || cluster.query(active).as_deref() == Some("0"));
    });
}

#[test]
fn an_order_that_scans_too_much_is_refused_until_an_index_serves_it() {
    let database = Database::new(DATA);
    let server = Server::with_database(&database);
    let query = by_count("note", "replies");
    // A range that excludes nothing scans as many rows.
    let mut ranged = query.clone();
    ranged["note"]["$where"] = json!({"field": "id", "op": "gt", "value": 0});
    for query in [&query, &ranged] {
        let refused = server.send(&posted(query));
        let body = refused.json();
        assert_eq!((refused.status, &body["code"]), (400, &json!("SORT_TOO_LARGE")), "{body}");
        let message = body["message"].as_str().unwrap();
        assert!(message.contains("related_sort_rows") && message.contains("'note.replies'"), "{message}");
        // The names of tables and columns are not shown.
        assert!(!message.contains("note_id"), "{message}");
    }
    database.connect().execute_batch("CREATE INDEX replies_note ON replies (note_id)").unwrap();
    let answered = server.send(&posted(&query));
    assert_eq!(answered.status, 200, "{}", answered.text());
}

/// 3,000 posts, with up to three comments each.
const COMMENTED: &str = "
    CREATE TABLE posts (id integer PRIMARY KEY, title text);
    CREATE TABLE comments (id integer PRIMARY KEY, post_id integer REFERENCES posts);
    CREATE INDEX comments_post ON comments (post_id);
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000) INSERT INTO posts SELECT i, 't' || i FROM n;
    INSERT INTO comments SELECT id, id % 1000 + 1 FROM posts;";

/// Orders of 3,000 posts by the number of their comments, within bounds of 2,000 and of 100,000 rows.
fn check_bound(database: &str) {
    let folder = mesh_tests::TempDir::new();
    let start = |bound: u64| {
        let config = folder.write("mesh.toml", &format!("[limits]\nrelated_sort_rows = {bound}\n"));
        Server::start(&["--config", &config, "--database", database, "--docs"])
    };
    let all = by_count("post", "comments");
    let mut few = all.clone();
    few["post"]["$where"] = json!({"field": "id", "op": "in", "value": [1, 2, 3]});
    let by_path = json!({"comment": {"$select": {"id": true},
        "$orderBy": [{"field": "post.title", "direction": "asc"}], "$page": {"first": 2}}});
    let nested = json!({"post": {"$select": {"comments": {"$select": {"id": true},
        "$orderBy": [{"field": "post.title", "direction": "asc"}]}}}});
    for (bound, is_refused) in [(2_000, true), (100_000, false)] {
        let server = start(bound);
        for query in [&all, &by_path] {
            let text = json!({"query": query.to_string()}).to_string();
            for target in ["/mesh", "/docs/execute"] {
                // The second request finds the cached plan.
                for _ in 0..2 {
                    let reply = server.send(&Request::post(target, &text));
                    let shown = format!("{bound} {target} {query}: {}", reply.text());
                    assert_eq!(reply.status, if is_refused { 400 } else { 200 }, "{shown}");
                    assert_eq!(reply.json()["code"] == "SORT_TOO_LARGE", is_refused, "{shown}");
                }
            }
        }
        for query in [&few, &nested] {
            let reply = server.send(&posted(query));
            assert_eq!(reply.status, 200, "{bound} {query}: {}", reply.text());
        }
    }
}

#[test]
fn orders_by_values_of_related_records_are_bounded_by_the_rows_that_are_scanned() {
    let database = Database::new(COMMENTED);
    check_bound(&database.url());
    database.connect().execute_batch("ANALYZE").unwrap();
    check_bound(&database.url());
    let Some(cluster) = Cluster::start() else { return };
    cluster.execute(&format!("{COMMENTED} ANALYZE;"));
    check_bound(&cluster.url());
}
