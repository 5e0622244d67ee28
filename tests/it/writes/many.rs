//! Creation of several records by one request. `SPEC §18.1`

use mesh_tests::{Cluster, Database, Request, Response, Server, TempDir};
use serde_json::{Value, json};

/// A table with all kinds of constraints, in both databases.
const TABLES: &str = "CREATE TABLE kinds (id integer PRIMARY KEY, name text NOT NULL);
    CREATE TABLE items (code text PRIMARY KEY, n integer CHECK (n >= 0), kind_id integer REFERENCES kinds (id));
    CREATE TABLE places (a integer, b integer, kind_id integer REFERENCES kinds (id) DEFERRABLE INITIALLY DEFERRED, PRIMARY KEY (a, b));
    INSERT INTO kinds VALUES (1, 'a'), (2, 'b');
    INSERT INTO items VALUES ('taken', 1, 1);";
const SCHEMA: &str = r#"{"entities": {
    "kind": {"table": "kinds", "fields": ["id", "name"], "writable": true},
    "item": {"table": "items", "fields": ["code", "n", "kindId"], "columns": {"kindId": "kind_id"}, "idField": "code", "writable": true},
    "place": {"table": "places", "fields": ["a", "b", "kindId"], "columns": {"kindId": "kind_id"}, "idField": ["a", "b"], "writable": true}
  }, "joins": {"item.kind": {"entity": "kind", "on": "kinds.id = items.kind_id", "type": "one"}}}"#;

struct Items(Server);

impl Items {
    fn start(url: &str, folder: &TempDir) -> Self {
        let schema = folder.write("schema.json", SCHEMA);
        Self(Server::start(&["--database", url, "--schema", &schema, "--mutations"]))
    }

    fn create(&self, body: &Value) -> Response {
        self.create_in("item", body)
    }

    fn create_in(&self, entity: &str, body: &Value) -> Response {
        self.0.send(&Request::post(&self.0.path(&format!("/{entity}")), &body.to_string()))
    }

    fn count(&self) -> i64 {
        let query = r#"{"item": {"$select": {}, "$aggregate": {"n": {"fn": "count"}}}}"#;
        self.0.send(&Request::get(&self.0.path("/item"), query)).json()["items"][0]["n"].as_i64().unwrap()
    }
}

/// Runs a test on both databases.
fn on_both(test: impl Fn(&Items)) {
    let folder = TempDir::new();
    let database = Database::new(TABLES);
    test(&Items::start(&database.url(), &folder));
    let Some(cluster) = Cluster::start() else { return };
    cluster.execute(TABLES);
    test(&Items::start(&cluster.url(), &folder));
}

#[test]
fn records_are_returned_in_order_whatever_their_ids() {
    on_both(|items| {
        for ids in [&[10, 11, 12][..], &[22, 21, 20], &[30, 33, 31]] {
            let body: Vec<Value> = ids.iter().map(|id| json!({"id": id, "name": format!("n{id}")})).collect();
            let reply = items.create_in("kind", &json!(body));
            assert_eq!((reply.status, reply.json()), (201, json!(body)), "{}", reply.text());
        }
    });
}

#[test]
fn the_first_record_that_fails_decides_the_error_and_none_is_created() {
    on_both(|items| {
        let rest = || (0..50).map(|n| json!({"code": format!("x{n}"), "n": n}));
        for (record, status, error, path) in [
            (json!({"code": "taken"}), 409, "ConflictError", "50"),
            (json!({"code": "y", "n": -1}), 409, "ConflictError", "50"),
            (json!({"code": "y", "kindId": 9}), 409, "ConflictError", "50"),
            (json!({"code": null}), 409, "ConflictError", "50"),
            (json!({"code": "x7"}), 409, "ConflictError", "50"),
            (json!({"code": "y", "m": 1}), 400, "ValidationError", "50.item"),
            (json!({"code": "y", "n": "1"}), 400, "ValidationError", "50.item"),
            (json!(7), 400, "TransportError", "50"),
        ] {
            let body: Vec<Value> = rest().chain([record.clone()]).chain([json!({"code": "taken"})]).collect();
            let reply = items.create(&json!(body));
            let found = reply.json();
            assert_eq!(reply.status, status, "{record}: {found}");
            assert_eq!((&found["error"], &found["path"]), (&json!(error), &json!(path)), "{record}: {found}");
        }
        let reply = items.create(&json!([{"code": "y"}, {"code": "z", "n": "1", "kindId": true}])).json();
        let paths: Vec<_> = reply["fields"].as_array().unwrap().iter().map(|field| &field["path"]).collect();
        assert_eq!(paths, [&json!("1.n"), &json!("1.kindId")], "{reply}");
        let reply = items.create(&json!([{"code": "y"}, {"code": "taken"}])).json();
        assert_eq!(reply["fields"][0]["path"], json!("1.code"), "{reply}");
        let reply = items.create(&json!([{"code": "y"}, 7])).json();
        let message = "Each element of the array must be a JSON object of fields and their values";
        assert_eq!(reply["message"], json!(message));
        // A record that violates a constraint precedes an invalid record.
        let reply = items.create(&json!([{"code": "a"}, {"code": "taken"}, {"code": "b", "m": 1}]));
        assert_eq!((reply.status, &reply.json()["path"]), (409, &json!("1")));
        assert_eq!(items.count(), 1);
    });
}

#[test]
fn records_with_keys_of_several_fields_are_created_and_returned_in_order() {
    on_both(|items| {
        let body: Vec<Value> =
            (0..1000).map(|n| json!({"a": n * 7919 % 1000, "b": n, "kindId": 1})).collect();
        let reply = items.create_in("place", &json!(body));
        assert_eq!(reply.status, 201, "{}", reply.text());
        assert!(reply.json() == json!(body), "{}", reply.text());
    });
}

#[test]
fn the_record_that_violates_a_deferred_constraint_is_named() {
    on_both(|items| {
        let body: Vec<Value> =
            (0..50).map(|n| json!({"a": n, "b": 1, "kindId": if n == 30 { 9 } else { 1 }})).collect();
        let reply = items.create_in("place", &json!(body));
        let found = reply.json();
        assert_eq!((reply.status, &found["path"]), (409, &json!("30")), "{found}");
        assert_eq!(found["fields"][0]["path"], json!("30.kindId"), "{found}");
    });
}

/// Attack with a session of few rights: a list whose replies fill the memory.
#[test]
fn replies_are_bounded_together_and_while_they_are_read() {
    let database = Database::new(&format!("{TABLES} UPDATE kinds SET name = hex(zeroblob(200000));"));
    let schema = database.dir.write("schema.json", SCHEMA);
    let server = Server::start(&["--database", &database.url(), "--schema", &schema, "--mutations"]);
    let items = Items(server);
    let body: Vec<Value> = (0..1000).map(|n| json!({"code": format!("c{n}"), "kindId": 1})).collect();
    let query = r#"{"item": {"$select": {"kind": {"$select": {"name": true}}}}}"#;
    let request = Request::post(&items.0.path("/item"), &json!(body).to_string()).query(query);
    let reply = items.0.send(&request);
    assert_eq!(
        (reply.status, reply.json()["code"].clone()),
        (400, json!("RESULT_TOO_LARGE")),
        "{}",
        reply.text()
    );
    // All replies would take 400 MB.
    let bytes = items.0.peak_memory();
    assert!(bytes < 300 << 20, "{bytes} bytes were in memory");
    assert_eq!(items.count(), 1);
}

#[test]
fn policies_hold_for_each_record() {
    const NOTES: &str = "CREATE TABLE notes (id integer PRIMARY KEY, text text, open boolean);
         INSERT INTO notes VALUES (0, 'a', true);";
    let test = |folder: &TempDir, url: &str| {
        let schema = folder.write(
            "schema.json",
            r#"{"entities": {"note": {"table": "notes", "fields": ["id", "text", "open"], "writable": true}},
                "policies": {"*": {"note": {"writable": true, "$where": {"field": "open", "op": "eq", "value": true}}}}}"#,
        );
        let config = folder.write("mesh.toml", "[mutations]\nenabled = true\n");
        let server = Server::start(&["--config", &config, "--database", url, "--schema", &schema]);
        let notes = |closed: Option<usize>| {
            let open = |n| if closed == Some(n) { Value::Null } else { json!(true) };
            let notes: Vec<_> =
                (0..200).map(|n| json!({"id": n + 1, "text": "b", "open": open(n)})).collect();
            server.send(&Request::post("/mesh/note", &json!(notes).to_string()))
        };
        for closed in [0, 70, 199] {
            let reply = notes(Some(closed));
            assert_eq!(
                (reply.status, &reply.json()["path"]),
                (403, &json!(closed.to_string())),
                "{}",
                reply.text()
            );
        }
        let count = || {
            let query = r#"{"note": {"$select": {}, "$aggregate": {"n": {"fn": "count"}}}}"#;
            server.send(&Request::get("/mesh/note", query)).json()["items"][0]["n"].clone()
        };
        assert_eq!(count(), json!(1), "none is created");
        let reply = notes(None);
        assert_eq!(reply.status, 201, "{}", reply.text());
        assert_eq!(reply.json()[199], json!({"id": 200, "text": "b", "open": true}));
        assert_eq!(count(), json!(201));
    };
    let database = Database::new(NOTES);
    test(&database.dir, &database.url());
    let Some(cluster) = Cluster::start() else { return };
    cluster.execute(NOTES);
    test(&TempDir::new(), &cluster.url());
}

#[test]
fn a_record_may_refer_to_one_before_it_but_not_to_one_after_it() {
    const TREE: &str =
        "CREATE TABLE nodes (id integer PRIMARY KEY, parent_id integer REFERENCES nodes (id));";
    let test = |folder: &TempDir, url: &str| {
        let schema = folder.write(
            "schema.json",
            r#"{"entities": {"node": {"table": "nodes", "fields": ["id", "parentId"], "columns": {"parentId": "parent_id"},
                "writable": true}}}"#,
        );
        let server = Server::start(&["--database", url, "--schema", &schema, "--mutations"]);
        let post = |nodes: Value| server.send(&Request::post("/mesh/node", &nodes.to_string()));
        let reply = post(json!([{"id": 1, "parentId": 2}, {"id": 2, "parentId": null}]));
        assert_eq!((reply.status, &reply.json()["path"]), (409, &json!("0")), "{}", reply.text());
        let nodes = json!([{"id": 1, "parentId": null}, {"id": 2, "parentId": 1}, {"id": 3, "parentId": 2}]);
        let reply = post(nodes.clone());
        assert_eq!((reply.status, reply.json()), (201, nodes));
    };
    let database = Database::new(TREE);
    test(&database.dir, &database.url());
    let Some(cluster) = Cluster::start() else { return };
    cluster.execute(TREE);
    test(&TempDir::new(), &cluster.url());
}

#[test]
fn a_failing_record_is_found_whatever_its_conflict_clause_does() {
    for clause in ["ABORT", "FAIL", "ROLLBACK", "IGNORE", "REPLACE"] {
        let database = Database::new(&format!(
            "CREATE TABLE items (id INTEGER PRIMARY KEY, code TEXT UNIQUE ON CONFLICT {clause});"
        ));
        let schema = database.dir.write(
            "schema.json",
            r#"{"entities": {"item": {"table": "items", "fields": ["id", "code"], "writable": true}}}"#,
        );
        let server = Server::start(&["--database", &database.url(), "--schema", &schema, "--mutations"]);
        let codes = |twice: usize| (0..150).map(move |n| if n == twice { 0 } else { n });
        let items: Vec<_> = codes(140).map(|code| json!({"code": format!("c{code}")})).collect();
        let reply = server.send(&Request::post("/mesh/item", &json!(items).to_string()));
        assert_eq!(reply.status, 409, "{clause}: {}", reply.text());
        let count: i64 =
            database.connect().query_row("SELECT count(*) FROM items", [], |row| row.get(0)).unwrap();
        assert_eq!((&reply.json()["path"], count), (&json!("140"), 0), "{clause}: {}", reply.text());
    }
}

#[test]
fn replies_show_what_triggers_have_changed() {
    let database = Database::new(
        "CREATE TABLE items (id INTEGER PRIMARY KEY, code TEXT, loud TEXT);
         CREATE TRIGGER shout AFTER INSERT ON items BEGIN UPDATE items SET loud = upper(new.code) WHERE id = new.id; END;",
    );
    let schema = database.dir.write(
        "schema.json",
        r#"{"entities": {"item": {"table": "items", "fields": ["id", "code", "loud"], "writable": true}}}"#,
    );
    let server = Server::start(&["--database", &database.url(), "--schema", &schema, "--mutations"]);
    let reply = server.send(&Request::post("/mesh/item", r#"[{"code": "a"}, {"code": "b"}]"#));
    assert_eq!(reply.text(), r#"[{"id":1,"code":"a","loud":"A"},{"id":2,"code":"b","loud":"B"}]"#);
}
