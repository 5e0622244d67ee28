//! Writes that change the keys of records whose keys have several columns. `SPEC §15`

use mesh_tests::{Cluster, Database, Request, Response, Server, TempDir};
use serde_json::{Value, json};

/// Tables that SQLite and PostgreSQL both accept.
const TABLES: &str = "
CREATE TABLE orders (id INTEGER PRIMARY KEY, customer TEXT);
CREATE TABLE products (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE order_details (
    order_id INTEGER NOT NULL REFERENCES orders (id), product_id INTEGER NOT NULL REFERENCES products (id),
    quantity INTEGER NOT NULL DEFAULT 1, PRIMARY KEY (order_id, product_id)
);
INSERT INTO orders VALUES (1, 'Ada'), (2, 'Bo');
INSERT INTO products VALUES (1, 'Tea'), (2, 'Rice'), (3, 'Salt');
INSERT INTO order_details VALUES (1, 1, 10), (1, 2, 20), (2, 2, 30);
";

const SCHEMA: &str = r#"{
  "entities": {
    "order": {"fields": ["id", "customer"], "writable": true},
    "product": {"fields": ["id", "name"], "writable": true},
    "detail": {
      "table": "order_details", "fields": ["orderId", "productId", "quantity"],
      "columns": {"orderId": "order_id", "productId": "product_id"}, "idField": ["orderId", "productId"], "writable": true
    }
  },
  "joins": {
    "order.details": {"entity": "detail", "on": "orders.id = order_details.order_id", "type": "many"},
    "detail.order": {"entity": "order", "on": "orders.id = order_details.order_id", "type": "one"},
    "detail.product": {"entity": "product", "on": "products.id = order_details.product_id", "type": "one"}
  }
}"#;

/// A server over the tables.
struct Keyed {
    server: Server,
    _folder: TempDir,
}

impl Keyed {
    /// Starts a server with members that are added to the schema, such as policies.
    fn open(url: &str, policies: &str) -> Self {
        let folder = TempDir::new();
        let document = SCHEMA.strip_suffix('}').unwrap().to_owned() + policies + "}";
        let schema = folder.write("schema.json", &document);
        let server = Server::start(&["--database", url, "--schema", &schema, "--mutations"]);
        Self { server, _folder: folder }
    }

    /// Sends a write, and returns its reply.
    fn write(&self, method: &str, path: &str, body: &str) -> Response {
        self.server.send(&Request::json(method, &self.server.path(path), body))
    }

    fn delete(&self, path: &str) -> Response {
        self.server.send(&Request::new("DELETE", &format!("/mesh{path}")))
    }

    /// Returns the quantities of the details as `order/product=quantity`.
    fn details(&self) -> String {
        let query = r#"{"detail": {"$select": {"orderId": true, "productId": true, "quantity": true}}}"#;
        let reply = self.server.get("/detail", query).json();
        let items = reply["items"].as_array().cloned().unwrap_or_default();
        let shown = |item: &Value| format!("{}/{}={}", item["orderId"], item["productId"], item["quantity"]);
        items.iter().map(shown).collect::<Vec<_>>().join(" ")
    }
}

/// Runs a check on each engine.
fn on_each_engine(policies: &str, check: impl Fn(&Keyed)) {
    let database = Database::new(TABLES);
    check(&Keyed::open(&database.url(), policies));
    let Some(cluster) = Cluster::start() else { return };
    cluster.execute(TABLES);
    check(&Keyed::open(&cluster.url(), policies));
}

#[track_caller]
fn refused(reply: &Response, status: u16, words: &str) {
    assert_eq!(reply.status, status, "{}", reply.text());
    assert!(reply.text().contains(words), "{}", reply.text());
}

#[test]
fn the_link_of_a_child_moves_its_key() {
    on_each_engine("", |keyed| {
        let reply = keyed.write("PUT", "/detail/1,1/order", r#"{"entityId": 2}"#);
        assert_eq!((reply.status, reply.text().as_str()), (200, r#"{"id":2,"customer":"Bo"}"#));
        assert_eq!(keyed.details(), "1/2=20 2/1=10 2/2=30");
        refused(&keyed.write("PUT", "/detail/2,1/product", r#"{"entityId": 2}"#), 409, "ConflictError");
        refused(&keyed.delete("/detail/2,1/order"), 409, "ConflictError");
    });
}

#[test]
fn policies_hold_for_such_records() {
    let policies = r#", "policies": {"*": {
        "order": {"$where": {"field": "id", "op": "eq", "value": 1}, "writable": true},
        "product": true,
        "detail": {"$where": {"field": "quantity", "op": "gt", "value": 5}, "writable": true}
    }}"#;
    on_each_engine(policies, |keyed| {
        // The record is found by its old key before the write, and by its new key after it.
        let moved = keyed.write("PUT", "/detail/1,1", r#"{"productId": 3}"#);
        assert_eq!((moved.status, &moved.json()["productId"]), (200, &json!(3)));
        let linked = keyed.write("PUT", "/detail/1,3/product", r#"{"entityId": 1}"#);
        assert_eq!((linked.status, linked.text().as_str()), (200, r#"{"id":1,"name":"Tea"}"#));
        let hidden = keyed.write("POST", "/order/1/details", r#"{"productId": 3, "quantity": 1}"#);
        refused(&hidden, 403, "may write");
        let created = keyed.write("POST", "/order/1/details", r#"{"productId": 3, "quantity": 6}"#);
        assert_eq!((created.status, created.header("location")), (201, Some("/mesh/detail/1,3")));
        assert_eq!(keyed.details(), "1/1=10 1/2=20 1/3=6 2/2=30");
        refused(&keyed.write("PUT", "/detail/1,1", r#"{"quantity": 5}"#), 403, "not one that you may write");
        // Part of the key refers to a record that is hidden.
        refused(&keyed.write("PUT", "/detail/1,1", r#"{"orderId": 2}"#), 404, "'orderId' refers to a record");
        let hidden = r#"{"orderId": 2, "productId": 1, "quantity": 9}"#;
        refused(&keyed.write("POST", "/detail", hidden), 404, "'orderId' refers to a record");
        refused(&keyed.write("PUT", "/detail/1,1/order", r#"{"entityId": 2}"#), 404, "There is no 'order'");
        assert_eq!(keyed.details(), "1/1=10 1/2=20 1/3=6 2/2=30");
    });
}
