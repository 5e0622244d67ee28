//! The catalog, and each type in a response.

use expect_test::expect;
use mesh_schema::Catalog;

use super::{Cluster, Served};
use crate::{Database, Settings};

const TYPES: &str = "
CREATE SCHEMA sales;
CREATE TYPE mood AS ENUM ('sad', 'ok', 'very happy');
CREATE DOMAIN percent AS smallint NOT NULL CHECK (VALUE BETWEEN 0 AND 100);
CREATE TYPE pair AS (a integer, b text);
CREATE TABLE everything (
    id uuid PRIMARY KEY, small smallint, big bigint, single real, double double precision,
    exact numeric(12, 4), flag boolean, words varchar(20), fixed char(3), day date, moment timestamp,
    zoned timestamptz, clock time, span interval, bytes bytea, doc json, docb jsonb, mood mood, share percent,
    numbers integer[], labels text[], one pair, address inet,
    twice integer GENERATED ALWAYS AS (small * 2) STORED
);
COMMENT ON TABLE everything IS 'One of each';
COMMENT ON COLUMN everything.exact IS 'With four digits';
INSERT INTO everything VALUES (
    'F81D4FAE-7DEC-11D0-A765-00A0C91E6BF6', -5, 9007199254740993, 0.1, 0.1, 1234.5000, true, 'it''s', 'ab',
    '2024-02-29', '2024-05-01 10:00:00.25', '2024-05-01 12:00:00+02', '10:30', '1 day 02:00', '\\x00ff10',
    '{\"b\": [1,null]}', '{\"b\":[1,null]}', 'very happy', 42, '{1,NULL,3}', '{a,\"b c\"}', '(1,\"x y\")', '10.0.0.1'
), ('00000000-0000-0000-0000-000000000000', NULL, NULL, 'NaN', '-Infinity', NULL, NULL, NULL, NULL, NULL, NULL,
    NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL);
CREATE TABLE measured (at date NOT NULL, value integer, PRIMARY KEY (at)) PARTITION BY RANGE (at);
CREATE TABLE measured_2024 PARTITION OF measured FOR VALUES FROM ('2024-01-01') TO ('2025-01-01');
INSERT INTO measured VALUES ('2024-03-01', 7);
CREATE VIEW moods AS SELECT id, mood FROM everything;
CREATE MATERIALIZED VIEW totals AS SELECT mood, count(*) AS number FROM everything GROUP BY mood;
CREATE UNIQUE INDEX ON totals (mood);
CREATE TABLE sales.orders (id bigint PRIMARY KEY, everything_id uuid REFERENCES everything);
";

#[tokio::test]
async fn all_types_are_read_filtered_and_sorted() {
    let Some(cluster) = Cluster::start() else { return };
    cluster.execute(TYPES);
    let settings = Settings { schemas: vec!["public".to_owned(), "sales".to_owned()], ..Settings::default() };
    let database = Database::connect(&cluster.url(), &settings).await.unwrap();
    let contents = database.contents(&[]).await.unwrap();
    let out = describe(&contents.catalog);
    expect![[r#"
        everything key ["id"] unique [] -- One of each
          id uuid (uuid) not null
          small integer (int2)
          big integer (int8)
          single number (float4)
          double number (float8)
          exact decimal (numeric) -- With four digits
          flag boolean (bool)
          words string (varchar)
          fixed string (bpchar)
          day date (date)
          moment datetime (timestamp)
          zoned datetime (timestamptz)
          clock string (time)
          span string (interval)
          bytes binary (bytea)
          doc json (json)
          docb json (jsonb)
          mood string (public.mood)
          share integer (int2) not null
          numbers json (pg_catalog._int4)
          labels json (pg_catalog._text)
          one json (public.pair)
          address string (inet)
          twice integer (int4)
        measured key ["at"] unique []
          at date (date) not null
          value integer (int4)
        moods key [] unique []
        totals key [] unique [["mood"]]
          mood string (public.mood)
          number integer (int8)
        sales.orders key ["id"] unique [] ["everything_id"] -> everything ["id"]
          id integer (int8) not null
          everything_id uuid (uuid)
    "#]]
    .assert_eq(&out);

    let served = Served::open(&cluster, &settings).await;
    check_values(&served).await;
    check_filters(&served).await;
    check_impossible_ids(&served).await;
    check_pages_in_each_order(&served).await;
}

/// Describes each table with its keys and columns, without the columns of the view.
fn describe(catalog: &Catalog) -> String {
    let mut out = String::new();
    for table in &catalog.tables {
        let schema = table.schema.as_ref().map(|schema| format!("{schema}.")).unwrap_or_default();
        out.push_str(&format!(
            "{schema}{} key {:?} unique {:?}",
            table.name, table.primary_key, table.unique
        ));
        for key in &table.foreign_keys {
            out.push_str(&format!(" {:?} -> {} {:?}", key.columns, key.target, key.target_columns));
        }
        out.push_str(&table.description.as_ref().map(|text| format!(" -- {text}")).unwrap_or_default());
        out.push('\n');
        for column in table.columns.iter().filter(|_| table.name != "moods") {
            let null = if column.nullable { "" } else { " not null" };
            let native = column.native.as_ref().map(|native| native.name.as_str()).unwrap_or_default();
            let ty = column.ty.map(mesh_schema::FieldType::as_str).unwrap_or_default();
            out.push_str(&format!("  {} {ty} ({native}){null}", column.name));
            out.push_str(&column.description.as_ref().map(|text| format!(" -- {text}")).unwrap_or_default());
            out.push('\n');
        }
    }
    out
}

async fn check_values(served: &Served) {
    let id = "f81d4fae-7dec-11d0-a765-00a0c91e6bf6";
    let all = "{ everything id small big single double exact flag words fixed day moment zoned clock span bytes doc docb mood share numbers labels one address twice orders { id } }";
    expect![[r#"{"id":"f81d4fae-7dec-11d0-a765-00a0c91e6bf6","small":-5,"big":9007199254740993,"single":0.1,"double":0.1,"exact":"1234.5","flag":true,"words":"it's","fixed":"ab ","day":"2024-02-29","moment":"2024-05-01T10:00:00.25","zoned":"2024-05-01T10:00:00Z","clock":"10:30:00","span":"1 day 02:00:00","bytes":"AP8Q","doc":{"b": [1,null]},"docb":{"b": [1, null]},"mood":"very happy","share":42,"numbers":[1,null,3],"labels":["a","b c"],"one":{"a":1,"b":"x y"},"address":"10.0.0.1/32","twice":-10,"orders":[]}"#]].assert_eq(&served.point(id, all).await.unwrap());
    let zero = "00000000-0000-0000-0000-000000000000";
    expect![[r#"{"single":null,"double":null,"small":null,"mood":null,"orders":[]}"#]].assert_eq(
        &served.point(zero, "{ everything single double small mood orders { id } }").await.unwrap(),
    );
}

async fn check_filters(served: &Served) {
    let mut out = String::new();
    for condition in [
        r#"{"field": "mood", "op": "eq", "value": "very happy"}"#,
        r#"{"field": "mood", "op": "eq", "value": "no such"}"#,
        r#"{"not": {"field": "mood", "op": "eq", "value": "no such"}}"#,
        r#"{"field": "mood", "op": "in", "value": ["sad", "very happy", "no such"]}"#,
        r#"{"field": "mood", "op": "nin", "value": ["sad", "no such"]}"#,
        r#"{"field": "mood", "op": "like", "value": "very%"}"#,
        r#"{"field": "single", "op": "eq", "value": 0.1}"#,
        r#"{"field": "exact", "op": "eq", "value": "1234.5"}"#,
        r#"{"field": "big", "op": "gte", "value": 9007199254740993}"#,
        r#"{"field": "small", "op": "lt", "value": 99999999999}"#,
        r#"{"field": "moment", "op": "lt", "value": "2024-05-01T12:00:01+02:00"}"#,
        r#"{"field": "zoned", "op": "eq", "value": "2024-05-01T10:00:00Z"}"#,
        r#"{"field": "zoned", "op": "eq", "value": "2024-05-01T10:00:00"}"#,
        r#"{"field": "day", "op": "gte", "value": "2024-02-29"}"#,
        r#"{"field": "words", "op": "ilike", "value": "IT%"}"#,
        r#"{"field": "words", "op": "eq", "value": "it\u0000s"}"#,
        r#"{"field": "words", "op": "ne", "value": "it\u0000s"}"#,
        r#"{"field": "words", "op": "gt", "value": "is\u0000"}"#,
        r#"{"field": "words", "op": "like", "value": "\u0000\\"}"#,
        r#"{"field": "fixed", "op": "eq", "value": "ab"}"#,
        r#"{"field": "clock", "op": "eq", "value": "10:30:00"}"#,
        r#"{"field": "clock", "op": "eq", "value": "no time"}"#,
        r#"{"field": "address", "op": "in", "value": ["10.0.0.1/32", "no address"]}"#,
        r#"{"field": "id", "op": "in", "value": ["f81d4fae-7dec-11d0-a765-00a0c91e6bf6"]}"#,
        r#"{"field": "flag", "op": "ne", "value": false}"#,
        r#"{"field": "docb", "op": "isNotNull"}"#,
    ] {
        let query = format!(r#"{{"everything": {{"$select": {{"share": true}}, "$where": {condition}}}}}"#);
        let body: serde_json::Value =
            serde_json::from_str(&served.collection(&query).await.unwrap()).unwrap();
        out.push_str(&format!("{condition} {}\n", body["items"]));
    }
    expect![[r#"
        {"field": "mood", "op": "eq", "value": "very happy"} [{"share":42}]
        {"field": "mood", "op": "eq", "value": "no such"} []
        {"not": {"field": "mood", "op": "eq", "value": "no such"}} [{"share":42}]
        {"field": "mood", "op": "in", "value": ["sad", "very happy", "no such"]} [{"share":42}]
        {"field": "mood", "op": "nin", "value": ["sad", "no such"]} [{"share":42}]
        {"field": "mood", "op": "like", "value": "very%"} [{"share":42}]
        {"field": "single", "op": "eq", "value": 0.1} [{"share":42}]
        {"field": "exact", "op": "eq", "value": "1234.5"} [{"share":42}]
        {"field": "big", "op": "gte", "value": 9007199254740993} [{"share":42}]
        {"field": "small", "op": "lt", "value": 99999999999} [{"share":42}]
        {"field": "moment", "op": "lt", "value": "2024-05-01T12:00:01+02:00"} [{"share":42}]
        {"field": "zoned", "op": "eq", "value": "2024-05-01T10:00:00Z"} [{"share":42}]
        {"field": "zoned", "op": "eq", "value": "2024-05-01T10:00:00"} [{"share":42}]
        {"field": "day", "op": "gte", "value": "2024-02-29"} [{"share":42}]
        {"field": "words", "op": "ilike", "value": "IT%"} [{"share":42}]
        {"field": "words", "op": "eq", "value": "it\u0000s"} []
        {"field": "words", "op": "ne", "value": "it\u0000s"} [{"share":42}]
        {"field": "words", "op": "gt", "value": "is\u0000"} [{"share":42}]
        {"field": "words", "op": "like", "value": "\u0000\\"} []
        {"field": "fixed", "op": "eq", "value": "ab"} [{"share":42}]
        {"field": "clock", "op": "eq", "value": "10:30:00"} [{"share":42}]
        {"field": "clock", "op": "eq", "value": "no time"} []
        {"field": "address", "op": "in", "value": ["10.0.0.1/32", "no address"]} [{"share":42}]
        {"field": "id", "op": "in", "value": ["f81d4fae-7dec-11d0-a765-00a0c91e6bf6"]} [{"share":42}]
        {"field": "flag", "op": "ne", "value": false} [{"share":42}]
        {"field": "docb", "op": "isNotNull"} [{"share":42}]
    "#]]
    .assert_eq(&out);
}

async fn check_impossible_ids(served: &Served) {
    for id in ["no uuid", "7", "", "' OR true --", "f81d4fae-7dec-11d0-a765-00a0c91e6bf7"] {
        assert_eq!(served.point(id, "{ everything mood }").await.unwrap(), "null", "{id}");
    }
    for id in ["99999999999999999999", "x", "01", "9223372036854775807"] {
        assert_eq!(served.point(id, "{ order id }").await.unwrap(), "null", "{id}");
    }
}

async fn check_pages_in_each_order(served: &Served) {
    for field in [
        "small", "single", "exact", "flag", "words", "fixed", "day", "moment", "zoned", "clock", "mood",
        "address", "bytes", "id",
    ] {
        for (direction, nulls) in [("asc", "first"), ("desc", "last")] {
            let mut after = serde_json::Value::Null;
            for step in 0..2 {
                let query = serde_json::json!({"everything": {"$select": {"id": true}, "$page": {"first": 1, "after": after},
                    "$orderBy": [{"field": field, "direction": direction, "nulls": nulls}]}});
                let body = served.collection(&query.to_string()).await.unwrap_or_else(|error| {
                    panic!(
                        "{field}: {error} {:?}",
                        std::error::Error::source(&error).map(ToString::to_string)
                    )
                });
                let body: serde_json::Value = serde_json::from_str(&body).unwrap();
                assert_eq!(body["items"].as_array().unwrap().len(), 1, "{field} {direction} {step}");
                assert_eq!(body["pageInfo"]["hasNextPage"], step == 0, "{field} {direction}");
                after = body["pageInfo"]["endCursor"].clone();
            }
        }
    }
    let grouped = r#"{"everything": {"$select": {"mood": true}, "$groupBy": ["mood"], "$aggregate": {"n": {"fn": "count"},
        "least": {"fn": "min", "field": "words"}, "first": {"fn": "min", "field": "mood"}, "late": {"fn": "max", "field": "zoned"}}}}"#;
    expect![[r#"{"items":[{"mood":"very happy","n":1,"least":"it's","first":"very happy","late":"2024-05-01T10:00:00Z"},{"mood":null,"n":1,"least":null,"first":null,"late":null}],"pageInfo":{"hasNextPage":false,"startCursor":"IoxB63zRsjzSivTYugl66AUAAAAAAAAACnZlcnkgaGFwcHk","endCursor":"bSyGR8qTYHhnKZBfz7FC4QA"}}"#]].assert_eq(&served.collection(grouped).await.unwrap());
}
