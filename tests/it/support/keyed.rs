//! A database with keys of several columns, on each engine.

use mesh_tests::{Cluster, Database, Request, Response, Server, TempDir};

/// Tables that SQLite and PostgreSQL both accept.
const TABLES: &str = "
CREATE TABLE orders (id INTEGER PRIMARY KEY, customer TEXT);
CREATE TABLE products (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE order_details (
    order_id INTEGER NOT NULL REFERENCES orders (id), product_id INTEGER NOT NULL REFERENCES products (id),
    quantity INTEGER NOT NULL DEFAULT 1, image TEXT, PRIMARY KEY (order_id, product_id)
);
CREATE TABLE shipments (
    id INTEGER PRIMARY KEY, order_id INTEGER, product_id INTEGER, note TEXT,
    FOREIGN KEY (order_id, product_id) REFERENCES order_details (order_id, product_id)
);
CREATE TABLE words (
    lang TEXT NOT NULL, word TEXT NOT NULL, nr INTEGER NOT NULL, meaning TEXT, PRIMARY KEY (lang, word, nr)
);
CREATE TABLE visits (
    room UUID NOT NULL, start TIMESTAMP NOT NULL, guest TEXT, PRIMARY KEY (room, start)
);
INSERT INTO orders VALUES (1, 'Ada'), (2, 'Bo');
INSERT INTO products VALUES (1, 'Tea'), (2, 'Rice'), (3, 'Salt');
INSERT INTO order_details VALUES (1, 1, 10, NULL), (1, 2, 20, NULL), (2, 2, 30, NULL);
INSERT INTO shipments VALUES (1, 1, 2, 'first'), (2, 1, 2, 'second'), (3, NULL, NULL, 'open');
INSERT INTO words VALUES ('a,b', 'x/y%', -3, 'odd'), ('', 'é', 0, 'empty'), (',', ' ', 7, 'blank'), ('a', 'b,c', 1, 'one'), ('a,b', 'c', 1, 'two');
INSERT INTO visits VALUES ('f81d4fae-7dec-11d0-a765-00a0c91e6bf6', '2024-05-01 12:30:00', 'Cy');
";

const SCHEMA: &str = r#"{
  "entities": {
    "order": {"fields": ["id", "customer"], "writable": true},
    "product": {"fields": ["id", "name"], "writable": true},
    "detail": {
      "table": "order_details", "fields": ["orderId", "productId", "quantity", "image"],
      "columns": {"orderId": "order_id", "productId": "product_id"}, "idField": ["orderId", "productId"],
      "writable": true, "uploads": {"image": {}}
    },
    "shipment": {"fields": ["id", "note"], "writable": true},
    "word": {"fields": ["lang", "word", "nr", "meaning"], "idField": ["lang", "word", "nr"], "writable": true},
    "visit": {"fields": ["room", "start", "guest"], "idField": ["room", "start"], "writable": true}
  },
  "joins": {
    "order.details": {"entity": "detail", "on": "orders.id = order_details.order_id", "type": "many"},
    "order.products": {"entity": "product", "type": "many", "through": {"table": "order_details", "from": "order_id", "to": "product_id"}},
    "product.orders": {"entity": "order", "type": "many", "through": {"table": "order_details", "from": "product_id", "to": "order_id"}},
    "detail.order": {"entity": "order", "on": "orders.id = order_details.order_id", "type": "one"},
    "detail.product": {"entity": "product", "on": "products.id = order_details.product_id", "type": "one"},
    "detail.shipments": {"entity": "shipment", "on": "shipments.order_id = order_details.order_id AND shipments.product_id = order_details.product_id", "type": "many"},
    "shipment.detail": {"entity": "detail", "on": "shipments.order_id = order_details.order_id AND shipments.product_id = order_details.product_id", "type": "one"}
  }
}"#;

/// A server over the tables.
pub(crate) struct Keyed {
    pub(crate) server: Server,
    /// Contains the settings and the stored files.
    _folder: TempDir,
}

impl Keyed {
    fn open(url: &str, policies: &str) -> Self {
        let folder = TempDir::new();
        let document = SCHEMA.strip_suffix('}').unwrap().to_owned() + policies + "}";
        let schema = folder.write("schema.json", &document);
        let settings = format!(
            "[mutations]\nenabled = true\n[uploads]\nenabled = true\nstore = \"file:{}\"\n",
            folder.path().join("files").display()
        );
        let config = folder.write("mesh.toml", &settings);
        let server = Server::start(&["--config", &config, "--database", url, "--schema", &schema, "--docs"]);
        Self { server, _folder: folder }
    }

    /// Sends a write, and returns its reply.
    pub(crate) fn write(&self, method: &str, path: &str, body: &str) -> Response {
        let request =
            Request::new(method, &format!("/mesh{path}")).header("Content-Type", "application/json");
        self.server.send(&request.body(body))
    }

    pub(crate) fn delete(&self, path: &str) -> Response {
        self.server.send(&Request::new("DELETE", &format!("/mesh{path}")))
    }

    /// Returns the text of a read in the QL format.
    pub(crate) fn read(&self, path: &str, query: &str) -> String {
        let request = Request::get(&format!("/mesh{path}"), query).header("X-Mesh-Format", "ql");
        self.server.send(&request).text()
    }

    /// Returns the quantities of the details as `order/product=quantity`.
    pub(crate) fn details(&self) -> String {
        let query = r#"{"detail": {"$select": {"orderId": true, "productId": true, "quantity": true}}}"#;
        let reply = self.server.get("/detail", query).json();
        let items = reply["items"].as_array().cloned().unwrap_or_default();
        let shown = |item: &serde_json::Value| {
            format!("{}/{}={}", item["orderId"], item["productId"], item["quantity"])
        };
        items.iter().map(shown).collect::<Vec<_>>().join(" ")
    }
}

/// Runs a check on each engine, each with separate tables.
pub(crate) fn on_each_engine(check: impl Fn(&Keyed)) {
    with_policies("", check);
}

/// Runs a check on each engine with members that are added to the schema, such as policies.
pub(crate) fn with_policies(policies: &str, check: impl Fn(&Keyed)) {
    let database = Database::new(TABLES);
    check(&Keyed::open(&database.url(), policies));
    let Some(cluster) = Cluster::start() else { return };
    cluster.execute(TABLES);
    check(&Keyed::open(&cluster.url(), policies));
}
