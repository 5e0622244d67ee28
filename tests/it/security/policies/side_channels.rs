//! Side channels of hidden records: errors in their values, and statements that read them for a count.

use mesh_tests::{Cluster, Database, run};
use serde_json::{Value, json};

/// The hidden notes have a text that is not JSON, and numbers whose sum exceeds 64 bits.
const TABLES: &str = "
CREATE TABLE notes (id BIGINT PRIMARY KEY, data TEXT, open BOOLEAN, amount BIGINT, parent_id BIGINT REFERENCES notes (id));
INSERT INTO notes VALUES (1, '{\"a\": 1}', true, 1, NULL), (2, 'x{', false, 9223372036854775807, 1),
    (3, '{\"a\": 2}', true, 2, 1), (4, '{\"a\": 2}', false, 9223372036854775807, 3);
";

fn document() -> Value {
    json!({
        "entities": {"note": {
            "fields": ["id", "data", "open", "amount", "parentId"],
            "columns": {"parentId": "parent_id"},
            "types": {"data": "json"}
        }},
        "joins": {
            "note.parent": {"entity": "note", "type": "one", "on": "notes.id = notes.parent_id"},
            "note.notes": {"entity": "note", "type": "many", "on": "notes.parent_id = notes.id"}
        },
        "policies": {"*": {"note": {"$where": {"field": "open", "op": "eq", "value": true}}}}
    })
}

/// Returns the URLs of both databases, and the values that keep the databases alive.
fn databases() -> (Vec<String>, (Database, Option<Cluster>)) {
    let sqlite = Database::new(TABLES);
    let mut urls = vec![sqlite.url()];
    let cluster = Cluster::start();
    urls.extend(cluster.as_ref().map(|cluster| cluster.database("side", TABLES)));
    (urls, (sqlite, cluster))
}

/// Attack with a session of few rights: errors that values of hidden records cause.
#[test]
fn values_of_hidden_records_cause_no_errors() {
    let (urls, (files, _cluster)) = databases();
    let schema = files.dir.write("schema.json", &document().to_string());
    let cases = files.dir.write(
        "cases.toml",
        r#"
[[case]]
query = '{"note": {"$select": {"id": true}, "$where": {"field": "data", "at": "/a", "op": "eq", "value": 2}}}'
ids = [3]

[[case]]
query = '{"note": {"$select": {"id": true}, "$where": {"not": {"field": "data", "at": "/a", "op": "gt", "value": 1}}}}'
ids = [1]

[[case]]
query = '{"note": {"$select": {"id": true}, "$where": {"relation": "notes", "op": "some", "where": {"field": "data", "at": "/a", "op": "isNotNull"}}}}'
ids = [1]

[[case]]
query = '{"note": {"$select": {}, "$aggregate": {"all": {"fn": "sum", "field": "amount"}}}}'
rows = 1

[[case]]
query = '{"note": {"$select": {"id": true}, "$orderBy": [{"relation": "notes", "aggregate": {"fn": "sum", "field": "amount"}, "direction": "desc"}]}}'
ids = [1, 3]
"#,
    );
    for url in urls {
        let output = run(&["policy-test", &cases, "--schema", &schema, "--database", &url]);
        let said = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(0), "{url}: {said}{}", String::from_utf8_lossy(&output.stderr));
    }
}

/// Attack with a session of few rights: a total or another statement that counts hidden records.
#[test]
fn every_use_of_a_table_in_a_statement_has_the_condition() {
    let (urls, (files, _cluster)) = databases();
    let schema = files.dir.write("schema.json", &document().to_string());
    let queries = [
        json!({"note": {"$select": {"id": true}, "$page": {"first": 2, "total": true}}}),
        json!({"note": {"$select": {"id": true, "notes": {"$select": {"id": true, "parent": {"$select": {"id": true}}}}}}}),
        json!({"note": {"$select": {}, "$aggregate": {"n": {"fn": "count"}}}}),
        json!({"note": {"$select": {"id": true}, "$where": {"relation": "notes", "op": "none"}, "$page": {"total": true}}}),
        json!({"note": {"$select": {"id": true}, "$where": {"field": "parent.amount", "op": "gt", "value": 1}}}),
        json!({"note": {"$select": {"id": true},
            "$orderBy": [{"relation": "notes", "aggregate": {"fn": "count"}, "direction": "desc"}]}}),
    ];
    for url in urls {
        for query in &queries {
            let query = query.to_string();
            let output =
                run(&["explain", "--json", "--role", "*", "--schema", &schema, "--database", &url, &query]);
            let explained: Value = serde_json::from_slice(&output.stdout).unwrap();
            for statement in explained["statements"].as_array().unwrap() {
                let sql = statement["sql"].as_str().unwrap();
                let uses = sql.matches(r#""notes" AS"#).count();
                let conditions = sql.matches(r#""open" "#).count();
                assert!(uses > 0 && uses == conditions, "{url}: {uses} uses, {conditions} conditions: {sql}");
            }
        }
    }
}
