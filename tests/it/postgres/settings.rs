//! Settings of a database that change meanings, and its encoding.

use mesh_tests::{Cluster, Request, Server, TempDir, run};
use serde_json::{Value, json};

const TABLES: &str = "
    CREATE TABLE things (id integer PRIMARY KEY, span interval, days daterange, times tstzrange, ratios real[], data bytea[]);
    INSERT INTO things VALUES (1, '1 month -2 days 03:04:05', '[2024-02-01,)', '[2024-02-01 12:00:00+02,)', '{0.1,3.4028235e38}',
        ARRAY['\\x00ff'::bytea, NULL]);
";

#[test]
fn settings_of_a_database_do_not_change_answers() {
    let Some(cluster) = Cluster::start() else { return };
    let urls = [cluster.database("plain", TABLES), cluster.database("odd", TABLES)];
    for setting in [
        "datestyle = 'SQL, DMY'",
        "intervalstyle = 'iso_8601'",
        "timezone = 'Asia/Tokyo'",
        "extra_float_digits = -3",
        "bytea_output = 'escape'",
        "standard_conforming_strings = off",
        "transform_null_equals = on",
        "array_nulls = off",
        "default_transaction_read_only = off",
    ] {
        cluster.execute(&format!("ALTER DATABASE odd SET {setting}"));
    }
    let [plain, odd] = urls.map(|url| {
        let server = Server::start(&["--database", &url]);
        let fields =
            ["id", "span", "days", "times", "ratios", "data"].map(|field| (field.to_owned(), true.into()));
        let select: serde_json::Map<String, Value> = fields.into_iter().collect();
        let found = json!({"field": "span", "op": "eq", "value": "1 mon -2 days +03:04:05"});
        let query = json!({"thing": {"$select": select, "$where": found}});
        server.get("/thing", &query.to_string()).text()
    });
    assert_eq!(plain, odd);
    assert!(plain.contains(r#""times":"[\"2024-02-01 10:00:00+00\",)""#), "{plain}");
}

#[test]
fn a_database_that_does_not_check_foreign_keys_is_refused() {
    let Some(cluster) = Cluster::start() else { return };
    let url = cluster.database("replicated", TABLES);
    cluster.execute("ALTER DATABASE replicated SET session_replication_role = replica");
    let refused = run(&["check", "--database", &url]);
    let message = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && message.contains("session_replication_role"), "{message}");
}

#[test]
fn text_that_the_encoding_lacks_matches_nothing() {
    let Some(cluster) = Cluster::start() else { return };
    cluster.execute(
        "CREATE DATABASE latin TEMPLATE template0 ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C';
         \\connect latin
         SET client_encoding = 'UTF8';
         CREATE TABLE towns (name text PRIMARY KEY, about jsonb);
         INSERT INTO towns VALUES ('Orléans', '{\"é\": \"à\"}'), ('Metz', '{}')",
    );
    let folder = TempDir::new();
    let entity = json!({"fields": ["name", "about"], "idField": "name", "writable": true});
    let schema = folder.write("schema.json", &json!({"entities": {"town": entity}}).to_string());
    let url = cluster.url().replace("/postgres?", "/latin?");
    let server = Server::start(&["--database", &url, "--schema", &schema, "--mutations"]);
    let names = |condition: Value| {
        let query = json!({"town": {"$select": {"name": true}, "$where": condition}}).to_string();
        let body = server.get("/town", &query).json();
        let items = body["items"].as_array().unwrap_or_else(|| panic!("{body}")).clone();
        items.iter().map(|item| item["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>().join(" ")
    };
    let name = |op: &str, value: Value| json!({"field": "name", "op": op, "value": value});
    for (condition, found) in [
        (name("eq", json!("Orléans")), "Orléans"),
        (name("eq", json!("Łódź")), ""),
        (name("ne", json!("Łódź")), "Metz Orléans"),
        (json!({"not": name("eq", json!("Łódź"))}), "Metz Orléans"),
        (name("in", json!(["Łódź", "Metz"])), "Metz"),
        (name("nin", json!(["Łódź", "Metz"])), "Orléans"),
        (name("ilike", json!("%€%")), ""),
        (name("gte", json!("N€")), "Orléans"),
        (json!({"field": "about", "at": "/é", "op": "eq", "value": "à"}), "Orléans"),
        (json!({"field": "about", "at": "/€", "op": "isNull"}), "Metz Orléans"),
        (json!({"field": "about", "at": "/é", "op": "eq", "value": "€"}), ""),
    ] {
        assert_eq!(names(condition.clone()), found, "{condition}");
    }
    let town = r#"{"town": {"$select": {"name": true}}}"#;
    assert_eq!(server.get("/town/5%20%E2%82%AC", town).text(), "null");
    let write = |method: &str, path: &str, body: &str| server.send(&Request::json(method, path, body)).status;
    assert_eq!(write("PUT", "/mesh/town/5%20%E2%82%AC", r#"{"about": null}"#), 404);
    assert_eq!(write("POST", "/mesh/town", r#"{"name": "5 €"}"#), 400);
}
