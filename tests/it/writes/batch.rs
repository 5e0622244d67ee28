//! Batches of writes and reads. `SPEC §18.4`

use std::fs;

use mesh_tests::{Cluster, Connection, Database, Request, Response, Server, TempDir, wait_until};
use serde_json::{Value, json};

use super::Shop;
use crate::events::stream::Stream;

/// Orders with their lines, in both databases.
const TABLES: &str = "CREATE TABLE customers (id integer PRIMARY KEY, name text NOT NULL UNIQUE);
    CREATE TABLE orders (id integer PRIMARY KEY, note text, customer_id integer REFERENCES customers (id));
    CREATE TABLE lines (order_id integer REFERENCES orders (id), n integer, item text NOT NULL, PRIMARY KEY (order_id, n));
    CREATE TABLE tags (slug text PRIMARY KEY, label text);
    CREATE TABLE order_tags (order_id integer REFERENCES orders (id), tag text REFERENCES tags (slug), PRIMARY KEY (order_id, tag));
    INSERT INTO customers VALUES (1, 'Ada');
    INSERT INTO tags VALUES ('a/b', 'Slash');";
const SCHEMA: &str = r#"{"entities": {
    "customer": {"fields": ["id", "name"], "writable": true},
    "order": {"fields": ["id", "note", "customerId"], "columns": {"customerId": "customer_id"}, "writable": true},
    "line": {"fields": ["orderId", "n", "item"], "columns": {"orderId": "order_id"}, "idField": ["orderId", "n"], "writable": true},
    "tag": {"fields": ["slug", "label"], "idField": "slug", "writable": true}
  }, "joins": {
    "order.customer": {"entity": "customer", "on": "customers.id = orders.customer_id", "type": "one"},
    "order.lines": {"entity": "line", "on": "lines.order_id = orders.id", "type": "many"},
    "order.tags": {"entity": "tag", "type": "many", "through": {"table": "order_tags", "from": "order_id", "to": "tag"}}
  }}"#;

struct Orders(Server);

impl Orders {
    fn start(url: &str, folder: &TempDir) -> Self {
        let schema = folder.write("schema.json", SCHEMA);
        Self(Server::start(&["--database", url, "--schema", &schema, "--mutations"]))
    }

    fn run(&self, steps: &Value) -> Response {
        self.0.send(&Request::post(&self.0.path("/batch"), &json!({"steps": steps}).to_string()))
    }

    #[track_caller]
    fn refused(&self, steps: &Value, status: u16, step: u32, message: &str) {
        let reply = self.run(steps);
        let body = reply.json();
        assert_eq!((reply.status, &body["step"]), (status, &json!(step)), "{body}");
        assert!(body["message"].as_str().unwrap().contains(message), "{body}");
    }

    fn all(&self, entity: &str, select: &Value) -> Value {
        let query = json!({entity: {"$select": select}}).to_string();
        self.0.send(&Request::get(&self.0.path(&format!("/{entity}")), &query)).json()["items"].clone()
    }
}

/// Runs a test on both databases.
fn on_both(test: impl Fn(&Orders)) {
    on_both_engines(|url, folder| test(&Orders::start(url, folder)));
}

fn on_both_engines(test: impl Fn(&str, &TempDir)) {
    let folder = TempDir::new();
    let database = Database::new(TABLES);
    test(&database.url(), &folder);
    let Some(cluster) = Cluster::start() else { return };
    cluster.execute(TABLES);
    test(&cluster.url(), &folder);
}

/// Attack with a session of few rights: a batch without a right to write that blocks the writes of others.
#[test]
fn a_batch_of_reads_takes_no_lock() {
    let folder = TempDir::new();
    let database = Database::new(TABLES);
    let orders = Orders::start(&database.url(), &folder);
    let read = |path: &str| {
        let query = r#"{"customer": {"$select": {"name": true}}}"#;
        json!({"method": "GET", "path": path, "query": query})
    };
    let reads = json!([read("/customer/1"), read("/customer")]);
    // Another writer holds the lock, which neither a batch of reads nor the reads in it need.
    let other = database.connect();
    other.execute_batch("BEGIN IMMEDIATE; INSERT INTO customers VALUES (2, 'Bo')").unwrap();
    let reply = orders.run(&reads);
    assert_eq!(reply.status, 200, "{}", reply.text());
    assert_eq!(reply.json()["results"][1]["body"]["items"], json!([{"name": "Ada"}]));
    other.execute_batch("COMMIT").unwrap();
    assert_eq!(
        orders.run(&reads).json()["results"][1]["body"]["items"],
        json!([{"name": "Ada"}, {"name": "Bo"}])
    );
}

/// Where the profile of writes is off, a batch reads.
#[test]
fn a_batch_reads_from_each_engine_without_writes() {
    on_both_engines(|url, folder| {
        let schema = folder.write("schema.json", SCHEMA);
        let orders = Orders(Server::start(&["--database", url, "--schema", &schema]));
        let query = r#"{"customer": {"$select": {"id": true, "name": true}}}"#;
        let named = r#"{"customer": {"$select": {"id": true}, "$where": {"field": "name", "op": "eq", "value": {"$param": "name"}}}}"#;
        let reply = orders.run(&json!([
            {"method": "GET", "path": "/customer/1", "query": query, "as": "c"},
            {"method": "GET", "path": "/customer", "query": named, "params": {"name": "$c.name"}},
            {"method": "GET", "path": "/customer/x", "query": query},
        ]));
        assert_eq!(reply.status, 200, "{}", reply.text());
        let body = reply.json();
        assert_eq!(body["results"][0]["body"], json!({"id": 1, "name": "Ada"}));
        assert_eq!(body["results"][1]["body"]["items"], json!([{"id": 1}]));
        assert_eq!(body["results"][2]["body"], json!(null));
        orders.refused(&json!([{"method": "DELETE", "path": "/customer/1"}]), 405, 0, "turned off");
    });
}

/// Attack with a session of few rights: references in a batch that expand to much more text than the batch
/// contains.
#[test]
fn the_values_of_references_are_bounded_together() {
    on_both(|orders| {
        let text = "x".repeat(400_000);
        let create = json!({"method": "POST", "path": "/order", "body": {"id": 7, "note": text}, "as": "c"});
        let update =
            |id: i64| json!({"method": "PUT", "path": format!("/order/{id}"), "body": {"note": "$c.note"}});
        let insert = json!({"method": "POST", "path": "/order", "body": {"id": 1, "note": "$c.note"}});
        let all = json!([create, insert, update(1), update(1)]);
        orders.refused(&all, 400, 3, "the values of all references exceed the limit of a body");
        let reply = orders.run(&json!([create, insert, update(1)]));
        assert_eq!(reply.status, 200, "{}", reply.text());
    });
}

#[test]
fn reads_see_the_writes_before_them_and_others_see_all_or_nothing() {
    on_both(|orders| {
        let (address, path) = (orders.0.address, orders.0.path("/batch"));
        let step =
            |n: i64| json!({"method": "PUT", "path": "/customer/1", "body": {"name": format!("n{n}")}});
        let writer = std::thread::spawn(move || {
            let mut connection = Connection::connect(address);
            for _ in 0..50 {
                let steps: Vec<Value> = (0..10).map(step).collect();
                let reply = connection.send(&Request::post(&path, &json!({"steps": steps}).to_string()));
                assert_eq!(reply.status, 200, "{}", reply.text());
            }
        });
        wait_until("the batches are done", || {
            let names = orders.all("customer", &json!({"name": true}));
            assert!(["Ada", "n9"].contains(&names[0]["name"].as_str().unwrap()), "{names}");
            writer.is_finished()
        });
        writer.join().unwrap();
    });
}

/// Attack with a session of few rights: a batch without a right to write that blocks the writes of others.
#[test]
fn policies_hold_for_each_step() {
    let database = Database::new(
        "CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT, open BOOLEAN);
         INSERT INTO notes VALUES (1, 'a', true), (2, 'b', false);",
    );
    let schema = database.dir.write(
        "schema.json",
        r#"{"entities": {"note": {"table": "notes", "fields": ["id", "text", "open"], "writable": {"update": ["text", "open"]}}},
            "policies": {"*": {"note": {"writable": true, "$where": {"field": "open", "op": "eq", "value": true}}}}}"#,
    );
    let config = database.dir.write("mesh.toml", "[mutations]\nenabled = true\n");
    let orders =
        Orders(Server::start(&["--config", &config, "--database", &database.url(), "--schema", &schema]));
    let read = |id: i64| json!({"method": "GET", "path": format!("/note/{id}"), "query": r#"{"note": {"$select": {"text": true}}}"#});
    let put = |id: i64, body: Value| json!({"method": "PUT", "path": format!("/note/{id}"), "body": body});
    orders.refused(
        &json!([put(1, json!({"text": "x"})), put(2, json!({"text": "x"}))]),
        404,
        1,
        "There is no 'note'",
    );
    let reply = orders.run(&json!([put(1, json!({"text": "a"})), read(1), read(2)])).json();
    let expected = json!([{"status": 200, "body": {"text": "a"}}, {"status": 200, "body": null}]);
    assert_eq!(reply["results"].as_array().unwrap()[1..], *expected.as_array().unwrap());
    // The second step is refused before the first one runs.
    let delete = json!({"method": "DELETE", "path": "/note/1"});
    orders.refused(&json!([put(2, json!({"text": "x"})), delete]), 400, 1, "deleted");
    orders.refused(&json!([put(1, json!({"open": false}))]), 403, 0, "not one that you may write");
    assert_eq!(orders.all("note", &json!({"text": true})), json!([{"text": "a"}]));
}

#[test]
fn streams_send_the_result_of_a_batch_once() {
    let shop = Shop::open();
    let query = r#"{"post": {"$select": {"title": true}}}"#;
    let request = Request::get(&shop.server.path("/post/1/events"), query);
    let mut stream = Stream::try_open(shop.server.address, &request).unwrap();
    assert_eq!(stream.event().data, r#"{"title":"One"}"#);
    let step = |title: &str| json!({"method": "PUT", "path": "/post/1", "body": {"title": title}});
    let batch = |steps: Value| shop.write("POST", "/batch", &json!({"steps": steps}).to_string());
    let failing = json!({"method": "DELETE", "path": "/post/99"});
    assert_eq!(batch(json!([step("lost"), failing])).status, 404);
    assert_eq!(batch(json!([step("A"), step("B"), step("C")])).status, 200);
    assert_eq!(stream.event().data, r#"{"title":"C"}"#);
}

#[test]
fn the_audit_log_has_the_steps_of_a_batch_and_the_records_of_a_list() {
    let folder = TempDir::new();
    let log = folder.path().join("audit.ndjson");
    let settings = format!("[mutations]\nenabled = true\n[audit]\nstore = \"file:{}\"\n", log.display());
    let config = folder.write("mesh.toml", &settings);
    let shop = Shop::with(&["--config", &config]);
    let steps = json!({"steps": [
        {"method": "POST", "path": "/user", "body": {"name": "Di"}, "as": "u"},
        {"method": "DELETE", "path": "/user/$u.id"},
    ]});
    assert_eq!(shop.write("POST", "/batch", &steps.to_string()).status, 200);
    assert_eq!(shop.write("POST", "/user", r#"[{"name": "E"}, {"email": "f", "name": "F"}]"#).status, 201);
    let mut entries = Vec::new();
    wait_until("the entries are written", || {
        let text = fs::read_to_string(&log).unwrap_or_default();
        entries = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()).collect();
        entries.len() == 2
    });
    let steps = json!([
        {"method": "POST", "entity": "user", "id": "4", "fields": ["name"]},
        {"method": "DELETE", "entity": "user", "id": "4"},
    ]);
    assert_eq!((&entries[0]["event"], &entries[0]["steps"]), (&json!("write"), &steps));
    let expected = json!({"entity": "user", "count": 2, "ids": ["4", "5"], "fields": ["name", "email"]});
    for (name, value) in expected.as_object().unwrap() {
        assert_eq!(&entries[1][name], value, "{}", entries[1]);
    }
}
