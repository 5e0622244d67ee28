//! Operators that are named in full use the same indexes as others.

use mesh_plan::Request;
use mesh_ql::Format;
use mesh_tests::Cluster;
use serde_json::{Value, json};

use super::{Served, Settings};

const TABLES: &str = "
CREATE EXTENSION citext;
CREATE TABLE items (
    id varchar PRIMARY KEY, name text NOT NULL, nick citext NOT NULL, number integer NOT NULL, folded text COLLATE \"en-x-icu\" NOT NULL
);
INSERT INTO items SELECT 'i' || n, 'name ' || n, 'nick ' || n, n, 'folded ' || n FROM generate_series(1, 20000) AS n;
CREATE UNIQUE INDEX ON items (name);
CREATE UNIQUE INDEX ON items (nick);
CREATE INDEX ON items (number, id);
CREATE INDEX ON items (folded, id);
CREATE TABLE parts (id integer PRIMARY KEY, item_id varchar NOT NULL REFERENCES items);
INSERT INTO parts SELECT n, 'i' || n FROM generate_series(1, 20000) AS n;
CREATE INDEX ON parts (item_id);
CREATE TABLE labels (id varchar PRIMARY KEY);
INSERT INTO labels SELECT 'l' || n FROM generate_series(1, 20000) AS n;
CREATE TABLE item_labels (item_id varchar REFERENCES items, label_id varchar REFERENCES labels, PRIMARY KEY (item_id, label_id));
INSERT INTO item_labels SELECT 'i' || n, 'l' || n FROM generate_series(1, 20000) AS n;
ANALYZE;
";

#[tokio::test]
async fn qualified_operators_use_indexes() {
    let Some(cluster) = Cluster::start() else { return };
    cluster.execute(TABLES);
    let served = Served::open(&cluster, &Settings::default()).await;
    let uses_index = async |request: Request<'_>, what: &str| {
        let plan = served.mesh.plan(&request).unwrap();
        let (sql, steps) = served.database.query_plan(&plan).await.unwrap();
        let steps = steps.join("\n");
        assert!(steps.contains("Index") && !steps.contains("Seq Scan"), "{what}\n{sql}\n{steps}");
    };
    let select = json!({"id": true});
    for (field, value) in [
        ("id", json!("i7")),
        ("name", json!("name 7")),
        ("nick", json!("NICK 7")),
        ("number", json!(7)),
        ("folded", json!("folded 7")),
    ] {
        for (op, value) in [("eq", value.clone()), ("in", json!([value, value]))] {
            let condition = json!({"field": field, "op": op, "value": value});
            let query = json!({"item": {"$select": select, "$where": condition}}).to_string();
            uses_index(Request::collection(Format::Json, &query), &query).await;
            let found: Value = serde_json::from_str(&served.collection(&query).await.unwrap()).unwrap();
            assert_eq!(found["items"], json!([{"id": "i7"}]), "{query}");
        }
        // The next page starts at the cursor.
        let page = |after: &Value| {
            let order = json!([{"field": field, "direction": "asc"}]);
            json!({"item": {"$select": select, "$orderBy": order, "$page": {"first": 5, "after": after}}})
                .to_string()
        };
        let first: Value =
            serde_json::from_str(&served.collection(&page(&Value::Null)).await.unwrap()).unwrap();
        let query = page(&first["pageInfo"]["endCursor"]);
        uses_index(Request::collection(Format::Json, &query), &query).await;
    }
    let query = "{ item name parts { id } labels { id } }";
    uses_index(Request::point(Format::Ql, query, "i7"), query).await;
    let query = "{ part id item { name } }";
    uses_index(Request::point(Format::Ql, query, "7"), query).await;
}
