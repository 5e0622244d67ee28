//! Fully qualified operators use the same indexes as unqualified ones.

use mesh_plan::Request;
use mesh_ql::Format;
use mesh_schema::TableName;
use mesh_tests::Cluster;
use serde_json::{Value, json};

use super::{Served, Settings};
use crate::Backend as _;

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
        let (sql, steps) = served.database.query_plan(&plan).await.unwrap().pop().unwrap();
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

const BLOG: &str = "
CREATE TABLE users (id integer PRIMARY KEY, name text NOT NULL, city text);
CREATE TABLE posts (id integer PRIMARY KEY, user_id integer REFERENCES users, day text, likes integer);
CREATE TABLE tags (id integer PRIMARY KEY, label text UNIQUE);
CREATE TABLE post_tags (post_id integer REFERENCES posts, tag_id integer REFERENCES tags, PRIMARY KEY (post_id, tag_id));
INSERT INTO users SELECT n, 'name ' || n, 'city ' || n % 2000 FROM generate_series(1, 20000) AS n;
INSERT INTO posts SELECT n, n % 15000 + 1, '2024-01-' || (10 + n % 20), n % 7 FROM generate_series(1, 40000) AS n;
INSERT INTO tags SELECT n, 'tag ' || n FROM generate_series(1, 20000) AS n;
INSERT INTO post_tags SELECT n, n % 20000 + 1 FROM generate_series(1, 40000) AS n;
CREATE INDEX posts_user ON posts (user_id, day);
CREATE INDEX users_city ON users (city);
CREATE INDEX post_tags_tag ON post_tags (tag_id);
VACUUM ANALYZE;
";

/// Conditions on relations are semi-joins and anti-joins that search the indexes of foreign keys; an aggregate that
/// orders all rows is computed in groups. `SPEC §14`
#[tokio::test]
async fn relational_queries_use_indexes_of_foreign_keys() {
    let Some(cluster) = Cluster::start() else { return };
    for statement in BLOG.split_inclusive(';') {
        cluster.execute(statement);
    }
    let served = Served::open(&cluster, &Settings::default()).await;
    let steps = async |query: &Value| {
        let text = query.to_string();
        let plan = served.mesh.plan(&Request::collection(Format::Json, &text)).unwrap();
        let (sql, steps) = served.database.query_plan(&plan).await.unwrap().pop().unwrap();
        format!("{sql}\n{}", steps.join("\n"))
    };
    let read =
        |entity: &str, condition: Value| json!({entity: {"$select": {"id": true}, "$where": condition}});
    let city = json!({"field": "city", "op": "eq", "value": "city 7"});
    let some = steps(&read("post", json!({"relation": "user", "op": "some", "where": city}))).await;
    assert!(
        some.contains("users_city") && some.contains("posts_user") && !some.contains("Seq Scan"),
        "{some}"
    );
    let path = steps(&read("post", json!({"field": "user.city", "op": "eq", "value": "city 7"}))).await;
    assert!(
        path.contains("users_city") && path.contains("posts_user") && !path.contains("Seq Scan"),
        "{path}"
    );
    let none = steps(&read("user", json!({"relation": "posts", "op": "none"}))).await;
    assert!(none.contains("Anti Join") && none.contains("posts_user"), "{none}");
    let tag = json!({"field": "label", "op": "eq", "value": "tag 7"});
    let through = steps(&read("post", json!({"relation": "tags", "op": "some", "where": tag}))).await;
    assert!(through.contains("post_tags_tag") && through.contains("tags_label_key"), "{through}");
    assert!(!through.contains("SubPlan") && !through.contains("Seq Scan"), "{through}");
    // Every user has to be ordered, so the posts are grouped once; the posts of few users are found by the index.
    for aggregate in
        [json!({"fn": "count"}), json!({"fn": "max", "field": "day"}), json!({"fn": "sum", "field": "likes"})]
    {
        let order = json!([{"relation": "posts", "aggregate": aggregate, "direction": "desc"}]);
        let all = steps(&json!({"user": {"$select": {"id": true}, "$orderBy": order}})).await;
        assert!(!all.contains("SubPlan") && all.contains("Aggregate"), "{all}");
        let few = json!({"user": {"$select": {"id": true}, "$where": city, "$orderBy": order}});
        let few = steps(&few).await;
        assert!(few.contains("users_city") && few.contains("posts_user"), "{few}");
        assert!(!few.contains("SubPlan") && !few.contains("Seq Scan"), "{few}");
    }
}

/// Users without posts, posts without a user, and values that are NULL, in each direction and on each page. `SPEC §14.3`
#[tokio::test]
async fn an_order_by_groups_is_that_of_the_records_of_each_row() {
    let Some(cluster) = Cluster::start() else { return };
    cluster.execute(
        "CREATE TABLE users (id integer PRIMARY KEY, city text);
        CREATE TABLE posts (id integer PRIMARY KEY, user_id integer REFERENCES users, likes bigint);
        INSERT INTO users VALUES (1, 'a'), (2, 'a'), (3, 'b'), (4, 'a'), (5, NULL);
        INSERT INTO posts VALUES (1, 1, 5), (2, 1, NULL), (3, 2, NULL), (4, 3, 9223372036854775807), (5, 3, 7), (6, NULL, 1), (7, 5, 6)",
    );
    let served = Served::open(&cluster, &Settings::default()).await;
    let walk = async |order: &Value, condition: Option<Value>| {
        let (mut ids, mut after) = (Vec::new(), Value::Null);
        loop {
            let page = json!({"first": 2, "after": after});
            let mut read = json!({"$select": {"id": true}, "$orderBy": [order], "$page": page});
            if let Some(condition) = &condition {
                read["$where"] = condition.clone();
            }
            let body = served.collection(&json!({"user": read}).to_string()).await.unwrap();
            let body: Value = serde_json::from_str(&body).unwrap();
            ids.extend(body["items"].as_array().unwrap().iter().map(|item| item["id"].as_i64().unwrap()));
            after = body["pageInfo"]["endCursor"].clone();
            if body["pageInfo"]["hasNextPage"] == json!(false) {
                return ids;
            }
        }
    };
    let order = |aggregate: Value, direction: &str, nulls: &str| json!({"relation": "posts", "aggregate": aggregate, "direction": direction, "nulls": nulls});
    let (count, most) = (json!({"fn": "count"}), json!({"fn": "max", "field": "likes"}));
    assert_eq!(walk(&order(count.clone(), "asc", "last"), None).await, [4, 2, 5, 1, 3]);
    assert_eq!(walk(&order(count, "desc", "last"), None).await, [3, 1, 5, 2, 4]);
    assert_eq!(walk(&order(most.clone(), "asc", "last"), None).await, [1, 5, 3, 2, 4]);
    assert_eq!(walk(&order(most.clone(), "desc", "first"), None).await, [4, 2, 3, 5, 1]);
    let city = json!({"field": "city", "op": "eq", "value": "a"});
    assert_eq!(walk(&order(most, "desc", "last"), Some(city.clone())).await, [1, 4, 2]);
    // The sum of the other city's posts is out of range.
    let sum = order(json!({"fn": "sum", "field": "likes"}), "asc", "first");
    assert_eq!(walk(&sum, Some(city)).await, [2, 4, 1]);
}

#[tokio::test]
async fn an_index_serves_its_first_columns() {
    let Some(cluster) = Cluster::start() else { return };
    cluster.execute(
        "CREATE TABLE t (id integer PRIMARY KEY, a integer, b integer, c integer, d integer, e integer UNIQUE);
         CREATE INDEX ON t (b, a) INCLUDE (d);
         CREATE INDEX ON t (c) WHERE a > 1;
         CREATE INDEX ON t ((d + 1), d);
         CREATE VIEW v AS SELECT * FROM t;",
    );
    let served = Served::open(&cluster, &Settings::default()).await;
    let indexed = async |table: &str, columns: &[&str]| {
        let table = TableName { schema: None, name: table.to_owned() };
        let columns: Vec<String> = columns.iter().map(ToString::to_string).collect();
        served.database.has_index(&table, &columns).await.unwrap()
    };
    for columns in [&["id"][..], &["b"], &["a", "b"], &["b", "a"], &["e"]] {
        assert_eq!(indexed("t", columns).await, Some(true), "{columns:?}");
    }
    for columns in [&["a"][..], &["c"], &["d"], &["b", "c"], &["a", "b", "d"]] {
        assert_eq!(indexed("t", columns).await, Some(false), "{columns:?}");
    }
    assert_eq!(indexed("v", &["id"]).await, None);
    assert_eq!(indexed("missing", &["id"]).await, None);
}

#[tokio::test]
async fn elements_are_found_with_indexes() {
    let Some(cluster) = Cluster::start() else { return };
    cluster.execute(
        "CREATE TABLE files (id integer PRIMARY KEY, meta jsonb, tags text[], codes varchar(9)[], sizes int[]);
        INSERT INTO files SELECT n, jsonb_build_object('a', jsonb_build_array('x' || n)), ARRAY['x' || n], ARRAY['x' || n],
            ARRAY[n] FROM generate_series(1, 20000) AS n;
        CREATE INDEX ON files USING gin (meta);
        CREATE INDEX ON files USING gin (tags);
        CREATE INDEX ON files USING gin (codes);
        CREATE INDEX ON files USING gin (sizes);
        ANALYZE;",
    );
    let served = Served::open(&cluster, &Settings::default()).await;
    for (field, value) in [
        (json!({"field": "meta", "at": "/a"}), json!("x7")),
        (json!({"field": "tags"}), json!("x7")),
        (json!({"field": "codes"}), json!("x7")),
        (json!({"field": "sizes"}), json!(7)),
    ] {
        let list = json!([value]);
        for (op, value) in [("has", &value), ("hasAny", &list), ("hasAll", &list)] {
            let mut condition = field.clone();
            (condition["op"], condition["value"]) = (json!(op), value.clone());
            let query = json!({"file": {"$select": {"id": true}, "$where": condition}}).to_string();
            let plan = served.mesh.plan(&Request::collection(Format::Json, &query)).unwrap();
            let (sql, steps) = served.database.query_plan(&plan).await.unwrap().pop().unwrap();
            let steps = steps.join("\n");
            assert!(steps.contains("Index") && !steps.contains("Seq Scan"), "{query}\n{sql}\n{steps}");
            let found: Value = serde_json::from_str(&served.collection(&query).await.unwrap()).unwrap();
            assert_eq!(found["items"], json!([{"id": 7}]), "{query}");
        }
    }
}
