//! Reads: shared connections, deadlines and cancellation.

use std::time::Duration;

use mesh_backend::pool::Servers as _;
use mesh_plan::{Context, Error, Request, ResolveError};
use mesh_ql::Format;

use super::{BLOG, Cluster, Served, until};
use crate::{Backend as _, Settings};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nested_reads_are_one_statement() {
    let Some(cluster) = Cluster::start() else { return };
    cluster.execute(BLOG);
    for pooler in [false, true] {
        let served = Served::open(&cluster, &Settings { pooler, ..Settings::default() }).await;
        let query = "{ post title author { name manager { name } } comments { body } tags { label posts { title } } }";
        let body = served.point("1", query).await.unwrap();
        assert_eq!(
            body,
            r#"{"title":"Dawn","author":{"name":"Ada","manager":null},"comments":[{"body":"first"},{"body":"second"}],"tags":[{"label":"code","posts":[{"title":"Dawn"}]},{"label":"food","posts":[{"title":"Dawn"},{"title":"Bread"}]}]}"#
        );
        let query = r#"{"user": {"$select": {"name": true, "posts": {"$select": {"title": true,
            "comments": {"$select": {"id": true}, "$page": {"first": 1}, "$orderBy": [{"field": "id", "direction": "desc"}]}},
            "$where": {"field": "likes", "op": "gt", "value": 1}}}, "$page": {"first": 2}}}"#;
        let body = served.collection(query).await.unwrap();
        let items = r#"{"items":[{"name":"Ada","posts":[{"title":"Dawn","comments":[{"id":2}]}]},{"name":"Bo","posts":[{"title":"Bread","comments":[{"id":3}]}]}],"#;
        assert!(body.starts_with(items), "{body}");
        assert!(served.database.usage().idle >= 1);
    }
}

/// A primary key does not apply to rows of tables that inherit from its table.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_record_is_read_once_if_an_inheriting_table_has_its_key() {
    let Some(cluster) = Cluster::start() else { return };
    cluster.execute(
        "CREATE TABLE places (id integer PRIMARY KEY, name text); CREATE TABLE capitals () INHERITS (places);
         CREATE TABLE visits (id integer PRIMARY KEY, day text, place_id integer NOT NULL REFERENCES places);
         INSERT INTO places VALUES (1, 'Rome'); INSERT INTO capitals VALUES (1, 'Rome');
         INSERT INTO visits VALUES (1, 'Monday', 1), (2, 'Friday', 1);",
    );
    let served = Served::open(&cluster, &Settings::default()).await;
    let body = served.collection("{ visit day place { name } }").await.unwrap();
    let items =
        r#"{"items":[{"day":"Monday","place":{"name":"Rome"}},{"day":"Friday","place":{"name":"Rome"}}],"#;
    assert!(body.starts_with(items), "{body}");
    let body = served.point("1", "{ place name visits { day } }").await.unwrap();
    assert_eq!(body, r#"{"name":"Rome","visits":[{"day":"Monday"},{"day":"Friday"}]}"#);
}

/// Text that the JSON functions of the database refuse to read does not fail a read.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unreadable_json_is_null_to_conditions() {
    let Some(cluster) = Cluster::start() else { return };
    cluster.execute(
        r#"CREATE TABLE files (id integer PRIMARY KEY, meta json);
        INSERT INTO files VALUES (1, '["x", "\u0000"]'), (2, '["x", "\ud800"]'), (3, '["x", "\udc00\ud800"]'),
            (4, '["x", "\ud800\\\udc00"]'), (5, '["x", 1e999999]'), (6, '["x", -1e400]'), (7, '["x", 1e-999]'),
            (8, '["x", "\ud83d\ude00"]'), (9, '["x", "\\u0000"]'), (10, NULL), (11, '["x", 18446744073709551615]');"#,
    );
    let served = Served::open(&cluster, &Settings::default()).await;
    let found = async |condition: &str| {
        let query = format!(r#"{{"file": {{"$select": {{"id": true}}, "$where": {condition}}}}}"#);
        let body: serde_json::Value =
            serde_json::from_str(&served.collection(&query).await.unwrap()).unwrap();
        body["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|item| item["id"].to_string())
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert_eq!(found(r#"{"field": "meta", "at": "/0", "op": "eq", "value": "x"}"#).await, "5 6 7 8 9 11");
    assert_eq!(found(r#"{"field": "meta", "at": "/0", "op": "isNull"}"#).await, "1 2 3 4 10");
    assert_eq!(found(r#"{"field": "meta", "at": "/1", "op": "gt", "value": -1}"#).await, "7 11");
    assert_eq!(
        found(r#"{"field": "meta", "at": "/1", "op": "eq", "value": 18446744073709551615}"#).await,
        "11"
    );
    assert_eq!(found(r#"{"not": {"field": "meta", "at": "/1", "op": "eq", "value": "😀"}}"#).await, "9");
    assert_eq!(found(r#"{"field": "meta", "at": "/\u0000", "op": "isNotNull"}"#).await, "");
    assert_eq!(found(r#"{"field": "meta", "op": "has", "value": "x"}"#).await, "5 6 7 8 9 11");
    assert_eq!(
        found(r#"{"field": "meta", "op": "hasAny", "value": [0, 18446744073709551615]}"#).await,
        "7 11"
    );
    assert_eq!(
        found(r#"{"not": {"field": "meta", "op": "hasAll", "value": ["x", "😀"]}}"#).await,
        "5 6 7 9 11"
    );
}

/// Forms for which an index can be used mean the same as others.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn documents_and_arrays_have_elements() {
    let Some(cluster) = Cluster::start() else { return };
    cluster.execute(
        r#"CREATE TABLE files (id integer PRIMARY KEY, meta jsonb, tags text[], codes varchar(9)[], sizes int[], days date[]);
        INSERT INTO files VALUES (1, '["x", 1.0, true]', '{x,NULL}', '{x}', '{1,2}', '{2024-05-01}'),
            (2, '{"a": {"b": ["x", "y"]}, "0": ["x"]}', '{{x,y},{z,z}}', '{y}', '{{1,2},{3,4}}', NULL),
            (3, '"x"', '{}', '{}', '{}', '{}'), (4, NULL, NULL, NULL, NULL, NULL), (5, '[["x"]]', '{y,x}', '{x,y}', '{2}', '{}');"#,
    );
    let served = Served::open(&cluster, &Settings::default()).await;
    let found = async |condition: &str| {
        let query = format!(r#"{{"file": {{"$select": {{"id": true}}, "$where": {condition}}}}}"#);
        let body: serde_json::Value =
            serde_json::from_str(&served.collection(&query).await.unwrap()).unwrap();
        let items = body["items"].as_array().unwrap().iter();
        items.map(|item| item["id"].to_string()).collect::<Vec<_>>().join(" ")
    };
    for (condition, which, others) in [
        (r#""field": "meta", "op": "has", "value": "x""#, "1", "5"),
        (r#""field": "meta", "op": "hasAny", "value": ["x", "z"]"#, "1", "5"),
        (r#""field": "meta", "op": "hasAll", "value": ["x", "z"]"#, "", "1 5"),
        (r#""field": "meta", "op": "has", "value": 1"#, "1", "5"),
        (r#""field": "meta", "op": "has", "value": true"#, "1", "5"),
        (r#""field": "meta", "at": "/a/b", "op": "hasAll", "value": ["y", "x"]"#, "2", ""),
        (r#""field": "meta", "at": "/a/b", "op": "hasAny", "value": ["z", "x"]"#, "2", ""),
        (r#""field": "meta", "at": "/0", "op": "has", "value": "x""#, "2 5", ""),
        (r#""field": "tags", "op": "has", "value": "x""#, "1 5", "2 3"),
        (r#""field": "tags", "op": "hasAll", "value": ["x", "y"]"#, "5", "1 2 3"),
        (r#""field": "tags", "op": "hasAny", "value": ["z", "x\u0000", "x"]"#, "1 5", "2 3"),
        (r#""field": "tags", "op": "hasAll", "value": ["x", "x\u0000"]"#, "", "1 2 3 5"),
        (r#""field": "tags", "at": "/0", "op": "has", "value": "x""#, "2", ""),
        (r#""field": "tags", "at": "/0", "op": "eq", "value": "x""#, "1", "5"),
        (r#""field": "codes", "op": "hasAny", "value": ["x"]"#, "1 5", "2 3"),
        (r#""field": "sizes", "op": "has", "value": 2.0"#, "1 5", "2 3"),
        (r#""field": "sizes", "op": "hasAny", "value": [1.5, 99999999999, 1]"#, "1", "2 3 5"),
        (r#""field": "sizes", "op": "hasAll", "value": [1, 99999999999]"#, "", "1 2 3 5"),
        (r#""field": "sizes", "op": "has", "value": "2""#, "", "1 2 3 5"),
        (r#""field": "days", "op": "has", "value": "2024-05-01""#, "1", "3 5"),
    ] {
        assert_eq!(found(&format!("{{{condition}}}")).await, which, "{condition}");
        assert_eq!(found(&format!(r#"{{"not": {{{condition}}}}}"#)).await, others, "not {condition}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sums_out_of_range_are_refused() {
    let Some(cluster) = Cluster::start() else { return };
    cluster.execute("CREATE TABLE n (id int PRIMARY KEY, big bigint); INSERT INTO n SELECT i, 9223372036854775807 FROM generate_series(1, 2) i");
    let served = Served::open(&cluster, &Settings::default()).await;
    let sum = r#"{"n": {"$select": {}, "$aggregate": {"s": {"fn": "sum", "field": "big"}}}}"#;
    let result = served.collection(sum).await;
    assert!(matches!(result, Err(Error::Resolve(ResolveError::SumOverflow))), "{result:?}");
    cluster.execute(
        "CREATE TABLE r (id int PRIMARY KEY, v float8); INSERT INTO r VALUES (1, 1.7e308), (2, 1.7e308)",
    );
    let served = Served::open(&cluster, &Settings::default()).await;
    for function in ["sum", "avg"] {
        let query = format!(
            r#"{{"r": {{"$select": {{}}, "$aggregate": {{"s": {{"fn": "{function}", "field": "v"}}}}}}}}"#
        );
        let result = served.collection(&query).await;
        assert!(matches!(result, Err(Error::Resolve(ResolveError::SumOverflow))), "{result:?}");
    }
}

/// Years outside of 0000–9999 and infinite times, in pages of one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_cover_the_whole_range_of_times() {
    const DAYS: [&str; 7] = [
        "-infinity",
        "4714-11-24 BC",
        "0001-12-31 BC",
        "0001-01-01",
        "2024-02-29",
        "10000-01-01",
        "infinity",
    ];
    const SHOWN: [&str; 7] =
        ["-infinity", "-004713-11-24", "0000-12-31", "0001-01-01", "2024-02-29", "+010000-01-01", "infinity"];
    let Some(cluster) = Cluster::start() else { return };
    let types = ["date", "timestamp", "timestamptz"];
    for ty in types {
        let rows: Vec<_> = DAYS.iter().enumerate().map(|(id, day)| format!("({id}, '{day} UTC')")).collect();
        let rows = rows.join(", ");
        let rows = if ty == "timestamptz" { rows } else { rows.replace(" UTC", "") };
        let rows = rows.replace("infinity UTC", "infinity");
        cluster.execute(&format!(
            "CREATE TABLE {ty}s (id int PRIMARY KEY, v {ty} NOT NULL); INSERT INTO {ty}s VALUES {rows}"
        ));
    }
    let served = Served::open(&cluster, &Settings::default()).await;
    for ty in types {
        let (mut seen, mut after) = (Vec::new(), serde_json::Value::Null);
        for _ in 0..=DAYS.len() {
            let query = serde_json::json!({ty: {"$select": {"v": true}, "$page": {"first": 1, "after": after},
                "$orderBy": [{"field": "v", "direction": "asc"}]}});
            let page = served.collection(&query.to_string()).await.unwrap();
            let page: serde_json::Value = serde_json::from_str(&page).unwrap();
            seen.push(
                page["items"][0]["v"].as_str().unwrap().trim_end_matches(['Z']).replace("T00:00:00", ""),
            );
            if page["pageInfo"]["hasNextPage"] == false {
                break;
            }
            after = page["pageInfo"]["endCursor"].clone();
        }
        assert_eq!(seen, SHOWN, "{ty}");
        let query = serde_json::json!({ty: {"$select": {"id": true},
            "$where": {"field": "v", "op": "gte", "value": "0000-12-31"}}});
        let later = served.collection(&query.to_string()).await.unwrap();
        assert!(later.starts_with(r#"{"items":[{"id":2},{"id":3},{"id":4},{"id":5},{"id":6}],"#), "{later}");
    }
}

/// An unsupported feature does not mean that the database is unavailable.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unsupported_features_are_failures() {
    let Some(cluster) = Cluster::start() else { return };
    cluster.execute(
        "CREATE FUNCTION refuse() RETURNS int LANGUAGE plpgsql AS \
           $$ BEGIN RAISE EXCEPTION 'no' USING ERRCODE = 'feature_not_supported'; END $$; \
         CREATE VIEW refused AS SELECT 1 AS id, refuse() AS v",
    );
    let served = Served::open(&cluster, &Settings::default()).await;
    let result = served.collection("{ refused v }").await;
    assert!(matches!(result, Err(Error::Resolve(ResolveError::Failed(_)))), "{result:?}");
}

/// A lock blocks more reads of a table than there are connections.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_are_bounded_and_released() {
    let Some(cluster) = Cluster::start() else { return };
    cluster.execute(BLOG);
    let settings = Settings {
        // One of them is only for light reads.
        connections: 3,
        wait: Duration::from_millis(100),
        statement_timeout: Duration::from_secs(1),
        ..Settings::default()
    };
    let served = Served::open(&cluster, &settings).await;
    let locker = served.database.writes.connect().await.unwrap();
    locker.execute("BEGIN; LOCK TABLE posts IN ACCESS EXCLUSIVE MODE").await.unwrap();
    let read = || served.point("1", "{ post title }");
    let (one, two, three) = tokio::join!(read(), read(), read());
    let failures: Vec<_> = [one, two, three].into_iter().filter_map(Result::err).collect();
    let busy = failures.iter().filter(|it| matches!(it, Error::Resolve(ResolveError::Busy))).count();
    let late = failures.iter().filter(|it| matches!(it, Error::Resolve(ResolveError::TimedOut))).count();
    assert_eq!((busy, late), (1, 2), "{failures:?}");

    // A dropped read cancels its statement.
    let plan = served.mesh.plan(&Request::point(Format::Ql, "{ post title }", "1")).unwrap();
    let dropped =
        tokio::time::timeout(Duration::from_millis(50), served.mesh.read(&plan, &Context::default())).await;
    assert!(dropped.is_err());
    until("the statement is cancelled", async || {
        let waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
        cluster.query(waiting).as_deref() == Some("0")
    })
    .await;
    until("all slots are free", async || served.database.usage().free == 3).await;
    locker.execute("ROLLBACK").await.unwrap();
    assert_eq!(served.point("1", "{ post title }").await.unwrap(), r#"{"title":"Dawn"}"#);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn outdated_statements_are_prepared_again() {
    let Some(cluster) = Cluster::start() else { return };
    cluster.execute(BLOG);
    let served = Served::open(&cluster, &Settings::default()).await;
    let query = "{ post title likes }";
    assert_eq!(served.point("1", query).await.unwrap(), r#"{"title":"Dawn","likes":5}"#);
    cluster.execute("ALTER TABLE posts ALTER likes TYPE bigint");
    assert_eq!(served.point("1", query).await.unwrap(), r#"{"title":"Dawn","likes":5}"#);
    cluster.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'mesh-server'",
    );
    assert_eq!(served.point("1", query).await.unwrap(), r#"{"title":"Dawn","likes":5}"#);
}

/// Prepared statements are planned for each pattern, so an index on bytes can be used.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn patterns_that_begin_with_letters_use_an_index() {
    let Some(cluster) = Cluster::start() else { return };
    cluster.execute(
        "CREATE TABLE words (id int PRIMARY KEY, word text NOT NULL);
         INSERT INTO words SELECT i, md5(i::text) FROM generate_series(1, 20000) i;
         CREATE INDEX words_begin ON words (word text_pattern_ops); ANALYZE words",
    );
    for pooler in [false, true] {
        let served =
            Served::open(&cluster, &Settings { connections: 1, pooler, ..Settings::default() }).await;
        cluster.execute("SELECT pg_stat_reset()");
        for start in 0..12 {
            let query = format!(
                r#"{{"word": {{"$select": {{"id": true}}, "$where": {{"field": "word", "op": "like", "value": "{start:x}ab%"}}}}}}"#
            );
            assert!(!served.collection(&query).await.unwrap().starts_with(r#"{"items":[]"#), "{query}");
        }
        drop(served);
        // PostgreSQL updates its statistics with a delay.
        until("each read uses the index", async || {
            let scans = "SELECT idx_scan FROM pg_stat_user_indexes WHERE indexrelname = 'words_begin'";
            cluster.query(scans).as_deref() == Some("12")
        })
        .await;
    }
}

/// A statement may handle one cancellation itself. A statement that has not begun when the cancellation arrives may
/// also survive it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_statement_that_survives_a_cancellation_is_cancelled_again() {
    let Some(cluster) = Cluster::start() else { return };
    cluster.execute(
        "CREATE FUNCTION stubborn() RETURNS int LANGUAGE plpgsql AS \
           $$ BEGIN BEGIN PERFORM pg_sleep(1000); EXCEPTION WHEN query_canceled THEN NULL; END; \
              PERFORM pg_sleep(1000); RETURN 1; END $$; \
         CREATE VIEW endless AS SELECT 1 AS id, stubborn() AS v",
    );
    let settings = Settings { connections: 1, ..Settings::default() };
    let served = Served::open(&cluster, &settings).await;
    let sleeping = async |count: &str| {
        let sleeps = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'";
        cluster.query(sleeps).as_deref() == Some(count)
    };
    {
        let mut read = std::pin::pin!(served.collection("{ endless v }"));
        let begun = until("the statement runs", async || sleeping("1").await);
        tokio::select! {
            result = &mut read => panic!("{result:?}"),
            () = begun => {}
        }
    }
    until("the statement has ended", async || sleeping("0").await).await;
    until("the slot is free", async || served.database.usage().free == 1).await;
}
