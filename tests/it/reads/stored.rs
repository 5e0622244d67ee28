//! Fields whose columns store values of another type.

use mesh_tests::{Cluster, Database, Request, Server, TempDir};
use serde_json::{Value, json};

const SCHEMA: &str = r#"{"entities": {"flag": {"table": "flags", "fields": ["id", "word", "number", "real", "day", "milli"],
    "types": {"word": "boolean", "number": "boolean", "real": "boolean", "day": "date", "milli": "date"},
    "writable": true}}}"#;

/// A table with `true` and `false` in each form, and with points in time on two days.
const TABLE: &str = "
    CREATE TABLE flags (id integer PRIMARY KEY, word text, number integer, real double precision, day bigint, milli bigint);
    INSERT INTO flags VALUES
    (1, 'true', 1, 1.0, 1714521600, 1714521600000),
    (2, 'false', 0, 0.0, 1714566600, 1714607999999),
    (3, '1', 1, 1.0, 1714608000, 1714608000000),
    (4, '0', 0, 0.0, 1714521599, 1714521599999),
    (5, NULL, NULL, NULL, NULL, NULL);";

fn check(url: &str) {
    let folder = TempDir::new();
    let schema = folder.write("schema.json", SCHEMA);
    let server = Server::start(&["--database", url, "--schema", &schema, "--mutations"]);
    let select = r#""id":true,"word":true,"number":true,"real":true,"day":true,"milli":true"#;
    let shown = |id: usize| {
        server.get(&format!("/flag/{id}"), &format!(r#"{{"flag":{{"$select":{{{select}}}}}}}"#)).json()
    };
    let row = |id: usize, flag: Value, day: Value, milli: Value| json!({"id": id, "word": flag, "number": flag, "real": flag, "day": day, "milli": milli});
    assert_eq!(shown(1), row(1, json!(true), json!("2024-05-01"), json!("2024-05-01")));
    assert_eq!(shown(2), row(2, json!(false), json!("2024-05-01"), json!("2024-05-01")));
    assert_eq!(shown(3), row(3, json!(true), json!("2024-05-02"), json!("2024-05-02")));
    assert_eq!(shown(4), row(4, json!(false), json!("2024-04-30"), json!("2024-04-30")));
    assert_eq!(shown(5), row(5, Value::Null, Value::Null, Value::Null));

    let ids = |filter: Value| -> Vec<u64> {
        let query = json!({"flag": {"$select": {"id": true}, "$where": filter}}).to_string();
        let reply = server.get("/flag", &query);
        let items = reply.json()["items"].as_array().cloned();
        let items = items.unwrap_or_else(|| panic!("{query}: {}", reply.text()));
        items.iter().map(|item| item["id"].as_u64().unwrap()).collect()
    };
    for field in ["word", "number", "real"] {
        let compare = |op: &str, value: Value| ids(json!({"field": field, "op": op, "value": value}));
        assert_eq!(compare("eq", json!(true)), [1, 3], "{field}");
        assert_eq!(compare("ne", json!(true)), [2, 4], "{field}");
        assert_eq!(compare("in", json!([false])), [2, 4], "{field}");
        assert_eq!(compare("nin", json!([false])), [1, 3], "{field}");
        assert_eq!(compare("gt", json!(false)), [1, 3], "{field}");
        assert_eq!(compare("lte", json!(true)), [1, 2, 3, 4], "{field}");
        assert_eq!(compare("gt", json!(true)), [0; 0], "{field}");
        let none = json!({"not": {"field": field, "op": "lt", "value": false}});
        assert_eq!(ids(none), [1, 2, 3, 4], "{field}: unknown for NULL");
    }
    for field in ["day", "milli"] {
        let compare = |op: &str, value: Value| ids(json!({"field": field, "op": op, "value": value}));
        assert_eq!(compare("eq", json!("2024-05-01")), [1, 2], "{field}");
        assert_eq!(compare("ne", json!("2024-05-01")), [3, 4], "{field}");
        assert_eq!(compare("gt", json!("2024-05-01")), [3], "{field}");
        assert_eq!(compare("gte", json!("2024-05-01")), [1, 2, 3], "{field}");
        assert_eq!(compare("lt", json!("2024-05-01")), [4], "{field}");
        assert_eq!(compare("lte", json!("2024-05-01")), [1, 2, 4], "{field}");
        assert_eq!(compare("in", json!(["2024-04-30", "2024-05-02"])), [3, 4], "{field}");
        assert_eq!(compare("nin", json!(["2024-05-01"])), [3, 4], "{field}");
    }

    for flag in [true, false] {
        let written = json!({"word": flag, "number": flag, "real": flag, "day": "2024-02-29", "milli": null});
        let reply = server.send(&Request::json("PUT", "/mesh/flag/5", written.to_string()));
        assert_eq!(reply.status, 200, "{}", reply.text());
        assert_eq!(shown(5), row(5, json!(flag), json!("2024-02-29"), Value::Null));
    }
}

#[test]
fn booleans_and_days_are_read_and_compared_alike_in_columns_of_other_types() {
    check(&Database::new(TABLE).url());
    let Some(cluster) = Cluster::start() else { return };
    cluster.execute(TABLE);
    check(&cluster.url());
}
