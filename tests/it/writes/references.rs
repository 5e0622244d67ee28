//! References to records of entities without an id. `SPEC §11`

use mesh_tests::{Cluster, Database, MariaDb, Request, Server, TempDir};
use serde_json::json;

const TABLES: &str = "
CREATE TABLE plans (code VARCHAR(20) NOT NULL UNIQUE, owner VARCHAR(20) NOT NULL);
CREATE TABLE accounts (id INTEGER PRIMARY KEY, plan VARCHAR(20), sku VARCHAR(20), FOREIGN KEY (plan) REFERENCES plans (code));
CREATE VIEW stocks AS SELECT code AS sku, owner FROM plans;
INSERT INTO plans VALUES ('basic', 'ada'), ('pro', 'ada'), ('secret', 'bo');
INSERT INTO accounts VALUES (1, 'basic', 'basic');
";

fn check(url: &str, policies: &serde_json::Value, writes: &[(&str, u16)]) {
    let folder = TempDir::new();
    let mut document = json!({
        "entities": {
            "plan": {"fields": ["code", "owner"], "idField": null},
            "stock": {"fields": ["sku", "owner"], "idField": null},
            "account": {"fields": ["id", "plan", "sku"], "writable": true}
        },
        "joins": {
            "account.planCode": {"entity": "plan", "type": "one", "on": "plans.code = accounts.plan"},
            "account.stock": {"entity": "stock", "type": "one", "on": "stocks.sku = accounts.sku"}
        },
    });
    if !policies.is_null() {
        document["policies"] = policies.clone();
    }
    let schema = folder.write("schema.json", &document.to_string());
    let server = Server::start(&["--database", url, "--schema", &schema, "--mutations"]);
    for (body, status) in writes {
        let reply = server.send(&Request::json("PUT", "/mesh/account/1", body));
        assert_eq!(reply.status, *status, "{url}: {body}: {}", reply.text());
    }
}

fn check_all(url: &str) {
    let free = [
        (r#"{"plan": "pro", "sku": "pro"}"#, 200),
        (r#"{"plan": "basic"}"#, 200),
        (r#"{"plan": null}"#, 200),
        (r#"{"plan": "none"}"#, 409),
    ];
    check(url, &json!(null), &free);
    let own = json!({"$where": {"field": "owner", "op": "eq", "value": "ada"}});
    let policies = json!({"*": {"account": {"writable": true}, "plan": own, "stock": own}});
    let limited = [
        (r#"{"plan": "pro", "sku": "pro"}"#, 200),
        (r#"{"plan": "secret"}"#, 404),
        (r#"{"sku": "secret"}"#, 404),
        (r#"{"plan": "none"}"#, 404),
    ];
    check(url, &policies, &limited);
}

#[test]
fn references_are_checked_by_their_columns_if_the_entity_has_no_id() {
    check_all(&Database::new(TABLES).url());
    if let Some(cluster) = Cluster::start() {
        cluster.execute(TABLES);
        check_all(&cluster.url());
    }
    if let Some(mariadb) = MariaDb::start() {
        mariadb.execute(TABLES);
        check_all(&mariadb.url());
    }
}
