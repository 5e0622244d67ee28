//! `explain` and `query`.

use mesh_tests::{Cluster, Database, Server, run};
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
    assert!(scanned.contains("warning: no index can be used to find these rows of notes"), "{scanned}");
    assert!(scanned.contains("an index on (author, id) would help"), "{scanned}");
}

const SHOP: &str = "
    CREATE TABLE customers (id integer PRIMARY KEY, city text);
    CREATE TABLE orders (id integer PRIMARY KEY, customer_id integer REFERENCES customers, day text);
    CREATE TABLE tags (id integer PRIMARY KEY, label text);
    CREATE TABLE order_tags (
        order_id integer REFERENCES orders, tag_id integer REFERENCES tags, note text, PRIMARY KEY (order_id, tag_id)
    );";

/// Checks the output of `explain` for relational queries of the shop. SQLite has a separate statement for each list.
fn check_relational(url: &str, is_sqlite: bool, create_index: impl Fn(&str)) {
    let explain = |arguments: &[&str]| {
        let output = run(&[&["explain", "--database", url], arguments].concat());
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        stdout(&output)
    };
    let advice = |table: &str, column: &str| format!("an index on {table} ({column}) would help");
    let orders = json!({"relation": "orders", "op": "every", "where": {"field": "day", "op": "eq", "value": {"$param": "day"}}});
    let count = json!([{"relation": "orders", "aggregate": {"fn": "count"}, "direction": "desc"}]);
    let page = json!({"last": {"$param": "n"}, "total": true});
    let customers =
        json!({"customer": {"$select": {"id": true}, "$where": orders, "$orderBy": count, "$page": page}});
    let customers = customers.to_string();
    let customers = || explain(&["--params", r#"{"day": "Monday", "n": 3}"#, &customers]);
    let said = customers();
    for line in [
        "where   orders every (day = $0)",
        "order   orders (count) asc, id asc",
        "page    last $1, with the total",
        "params  $0 = \"Monday\", $1 = 3",
    ] {
        assert!(said.contains(line), "{line} expected in: {said}");
    }
    assert_eq!(said.contains("-- customer, the total\n"), is_sqlite, "{said}");
    assert!(said.contains(&advice("orders", "customer_id")), "{said}");
    let by_city = json!({"order": {"$select": {"id": true},
        "$where": {"or": [{"field": "customer.city", "op": "eq", "value": "Berlin"}, {"relation": "tags", "op": "none"}]},
        "$orderBy": [{"field": "customer.city", "direction": "asc"}]}});
    let by_city = explain(&[&by_city.to_string()]);
    for line in
        ["where   (customer.city = \"Berlin\" or tags none)", "order   customer.city asc nulls last, id asc"]
    {
        assert!(by_city.contains(line), "{line} expected in: {by_city}");
    }
    assert!(by_city.contains(&advice("orders", "customer_id")), "{by_city}");
    assert!(!by_city.contains("order_tags ("), "{by_city}");
    let nested = "{ tag orders { id customer { city orders { id } } } }";
    let said = explain(&[nested]);
    // The statement of a list has separate advice, which includes the order.
    let junction = if is_sqlite {
        "an index on (tag_id, order_id) would help".to_owned()
    } else {
        advice("order_tags", "tag_id")
    };
    assert!(said.contains(&junction), "{said}");
    create_index("CREATE INDEX orders_customer ON orders (customer_id)");
    create_index("CREATE INDEX order_tags_tag ON order_tags (tag_id, order_id)");
    assert!(!customers().contains("an index on"), "{}", customers());
    assert!(!explain(&[nested]).contains("warning:"), "{}", explain(&[nested]));
    let key = explain(&["--id", "1,2", "{ orderTag note }"]);
    assert!(key.starts_with("orderTag: one record of order_tags, id 1, 2\n"), "{key}");
    assert_fails(
        &run(&["explain", "--database", url, "--params", "day=Monday", "{ tag id }"]),
        2,
        &["--params", r#"'{"city": "Berlin"}'"#],
    );
}

#[test]
fn explain_names_related_records_and_the_indexes_that_their_keys_lack() {
    let database = Database::new(SHOP);
    check_relational(&database.url(), true, |index| database.connect().execute_batch(index).unwrap());
    let Some(cluster) = Cluster::start() else { return };
    cluster.execute(SHOP);
    check_relational(&cluster.url(), false, |index| cluster.execute(index));
}

#[test]
fn explain_says_that_a_server_refuses_an_order() {
    let database =
        Database::new(&format!("{SHOP} INSERT INTO customers VALUES (1, 'a'), (2, 'b'), (3, 'c');"));
    let config = database.dir.write("mesh.toml", "[limits]\nrelated_sort_rows = 2\n");
    let count = json!([{"relation": "orders", "aggregate": {"fn": "count"}, "direction": "desc"}]);
    let query = json!({"customer": {"$select": {"id": true}, "$orderBy": count}}).to_string();
    let output = run(&["explain", "--config", &config, "--database", &database.url(), &query]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let said = stdout(&output);
    assert!(
        said.contains("warning: the server refuses this query. ") && said.contains("related_sort_rows"),
        "{said}"
    );
}

#[test]
fn query_sends_the_values_of_parameters() {
    let server = Server::with_database(&Database::blog());
    let url = format!("http://{}{}", server.address, server.base);
    let ask = |arguments: &[&str]| run(&[&["query", "--url", &url], arguments].concat());
    let items = |arguments: &[&str]| {
        let output = ask(arguments);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let printed: Value = serde_json::from_slice(&output.stdout).unwrap();
        printed.get("items").cloned().unwrap_or(printed)
    };
    let page = r#"{"post":{"$select":{"id":true},"$where":{"field":"id","op":"in","value":{"$param":"ids"}},"$page":{"first":{"$param":"n"},"after":{"$param":"after"}}}}"#;
    let values = r#"{"ids": [1, 3, 4], "n": 2, "after": null}"#;
    assert_eq!(items(&["--params", values, page]), json!([{"id": 1}, {"id": 3}]));
    assert_eq!(items(&["--params", values, "--all", page]), json!([{"id": 1}, {"id": 3}, {"id": 4}]));
    let few =
        r#"{"post":{"$select":{"comments":{"$select":{"text":true},"$page":{"last":{"$param":"n"}}}}}}"#;
    assert_eq!(
        items(&["--params", r#"{"n": 1}"#, "--id", "1", few]),
        json!({"comments": [{"text": "third"}]})
    );
    // Values that are too long for a header are posted.
    let long = json!({"titles": ["A map", "x".repeat(40_000)]}).to_string();
    let titles = r#"{"post":{"$select":{"id":true},"$where":{"field":"title","op":"in","value":{"$param":"titles"}}}}"#;
    assert_eq!(items(&["--params", &long, titles]), json!([{"id": 3}]));
    // All pages from the end are printed in the order of the list.
    let back = r#"{"post":{"$select":{"id":true},"$page":{"last":3}}}"#;
    assert_eq!(items(&["--all", back]), json!([{"id": 1}, {"id": 2}, {"id": 3}, {"id": 4}]));
    assert_fails(&ask(&[page]), 1, &["'ids' has no value"]);
    assert_fails(&ask(&["--params", "[1]", page]), 2, &["--params"]);
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

#[test]
fn an_export_is_written_to_a_file_or_printed() {
    let database = Database::blog();
    let config = database.dir.write("mesh.toml", "[export]\nenabled = true\n");
    let server = Server::start(&["--database", &database.url(), "--config", &config]);
    let url = format!("http://{}/mesh", server.address);
    let ask = |arguments: &[&str]| run(&[&["query", "--url", &url][..], arguments].concat());
    let printed = ask(&["--export", "ndjson", "{ tag id label }"]);
    assert_eq!(printed.status.code(), Some(0), "{}", stderr(&printed));
    assert!(stdout(&printed).starts_with("{\"id\":1,\"label\":"), "{}", stdout(&printed));
    let file = database.dir.path().join("posts.csv");
    let path = file.display().to_string();
    let written = ask(&["--export", "csv", "-o", &path, "{ post id title author { name } }"]);
    assert_eq!(written.status.code(), Some(0), "{}", stderr(&written));
    assert!(stderr(&written).contains("posts.csv: 5 lines, "), "{}", stderr(&written));
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.starts_with("\"id\",\"title\",\"author.name\"\r\n1,\"Rust at dawn\",\"Ada\"\r\n"), "{text}");
    assert_fails(
        &ask(&["--export", "csv", "{ post title tags { label } }"]),
        1,
        &["'tags' is a list", "NDJSON"],
    );
    assert_fails(&ask(&["--export", "csv", "{ post titel }"]), 1, &["titel", "^^^^^"]);
    assert_fails(&ask(&["--export", "xml", "{ post title }"]), 2, &["csv", "ndjson"]);
    assert_fails(&ask(&["-o", &path, "{ post title }"]), 2, &["--export"]);
    let off = Server::with_database(&database);
    let url = format!("http://{}/mesh", off.address);
    assert_fails(&run(&["query", "--url", &url, "--export", "csv", "{ post id }"]), 1, &["[export]"]);
    assert!(!database.dir.path().join("posts.csv.part").exists());
}
