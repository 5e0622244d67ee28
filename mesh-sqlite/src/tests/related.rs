//! Query plans of conditions on relations, paths and orders by aggregates. `SPEC §14`

use expect_test::{Expect, expect};
use mesh_plan::Request;
use mesh_ql::Format;

use super::{File, mesh};

const BLOG: &str = "
    CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT NOT NULL, city TEXT);
    CREATE TABLE posts (id INTEGER PRIMARY KEY, user_id INTEGER REFERENCES users, day TEXT, likes INTEGER);
    CREATE INDEX posts_user ON posts (user_id, day);
    CREATE INDEX users_city ON users (city);
    CREATE TABLE tags (id INTEGER PRIMARY KEY, label TEXT UNIQUE);
    CREATE TABLE post_tags (post_id INTEGER REFERENCES posts, tag_id INTEGER REFERENCES tags, PRIMARY KEY (post_id, tag_id));
    CREATE INDEX post_tags_tag ON post_tags (tag_id);
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
        INSERT INTO users SELECT i, 'name ' || i, 'city ' || (i % 50) FROM n;
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 6000)
        INSERT INTO posts SELECT i, i % 1500 + 1, '2024-01-' || (10 + i % 20), i % 7 FROM n;
    ANALYZE;";

/// Returns the statements of a query with the steps in which they run.
fn steps(file: &File, query: &str) -> String {
    let database = file.database();
    let plan = mesh(&database).plan(&Request::collection(Format::Json, query)).unwrap();
    let mut shown = String::new();
    for (sql, steps) in super::query_plan(&database, &plan) {
        shown.push_str(&sql);
        steps.iter().for_each(|step| shown.push_str(&format!("\n  -> {step}")));
        shown.push('\n');
    }
    shown
}

#[track_caller]
fn check(queries: &[&str], expected: Expect) {
    let file = File::new(BLOG);
    let shown: Vec<_> = queries.iter().map(|query| steps(&file, query)).collect();
    expected.assert_eq(&shown.join("\n"));
}

/// A condition that compares for equality begins at the related records instead. If no index begins with its field, their
/// table is scanned once, as `posts` is here for `day`.
#[test]
fn conditions_on_relations_search_the_index_of_the_foreign_key() {
    check(
        &[
            r#"{"post": {"$select": {"id": true}, "$where": {"relation": "user", "op": "some",
                "where": {"field": "city", "op": "eq", "value": "city 7"}}}}"#,
            r#"{"user": {"$select": {"id": true}, "$where": {"relation": "posts", "op": "some",
                "where": {"field": "day", "op": "eq", "value": "2024-01-11"}}}}"#,
            r#"{"user": {"$select": {"id": true}, "$where": {"relation": "posts", "op": "some"}}}"#,
            r#"{"user": {"$select": {"id": true}, "$where": {"relation": "posts", "op": "none"}}}"#,
            r#"{"user": {"$select": {"id": true}, "$where": {"relation": "posts", "op": "every",
                "where": {"field": "likes", "op": "gt", "value": 1}}}}"#,
            r#"{"post": {"$select": {"id": true}, "$where": {"relation": "tags", "op": "some",
                "where": {"field": "label", "op": "eq", "value": "a"}}}}"#,
        ],
        expect![[r#"
            SELECT "t0"."id" FROM "posts" AS "t0" LEFT JOIN "users" AS "t0_0" ON "t0_0"."id" = "t0"."user_id" WHERE "t0_0"."id" IS NOT NULL AND "t0_0"."city" = ? ORDER BY "t0"."id" ASC LIMIT ?
              -> SEARCH t0_0 USING COVERING INDEX users_city (city=?)
              -> SEARCH t0 USING COVERING INDEX posts_user (user_id=?)
              -> USE TEMP B-TREE FOR ORDER BY

            SELECT "t0"."id" FROM "users" AS "t0" WHERE "t0"."id" IN (SELECT "t0_0"."user_id" FROM "posts" AS "t0_0" WHERE "t0_0"."day" = ?) ORDER BY "t0"."id" ASC LIMIT ?
              -> SEARCH t0 USING INTEGER PRIMARY KEY (rowid=?)
              -> LIST SUBQUERY 1
              -> SCAN t0_0

            SELECT "t0"."id" FROM "users" AS "t0" WHERE EXISTS(SELECT 1 FROM "posts" AS "t0_0" WHERE "t0_0"."user_id" = "t0"."id") ORDER BY "t0"."id" ASC LIMIT ?
              -> SCAN t0
              -> SEARCH t0_0 EXISTS USING COVERING INDEX posts_user (user_id=?)

            SELECT "t0"."id" FROM "users" AS "t0" WHERE NOT EXISTS(SELECT 1 FROM "posts" AS "t0_0" WHERE "t0_0"."user_id" = "t0"."id") ORDER BY "t0"."id" ASC LIMIT ?
              -> SCAN t0
              -> CORRELATED SCALAR SUBQUERY 1
              -> SEARCH t0_0 USING COVERING INDEX posts_user (user_id=?)

            SELECT "t0"."id" FROM "users" AS "t0" WHERE NOT EXISTS(SELECT 1 FROM "posts" AS "t0_0" WHERE ("t0_0"."likes" > ?) IS NOT TRUE AND "t0_0"."user_id" = "t0"."id") ORDER BY "t0"."id" ASC LIMIT ?
              -> SCAN t0
              -> CORRELATED SCALAR SUBQUERY 1
              -> SEARCH t0_0 USING INDEX posts_user (user_id=?)

            SELECT "t0"."id" FROM "posts" AS "t0" WHERE "t0"."id" IN (SELECT "j"."post_id" FROM "post_tags" AS "j" WHERE "j"."tag_id" IN (SELECT "t0_0"."id" FROM "tags" AS "t0_0" WHERE "t0_0"."label" = ?)) ORDER BY "t0"."id" ASC LIMIT ?
              -> SEARCH t0 USING INTEGER PRIMARY KEY (rowid=?)
              -> LIST SUBQUERY 2
              -> SEARCH j USING INDEX post_tags_tag (tag_id=?)
              -> LIST SUBQUERY 1
              -> SEARCH t0_0 USING COVERING INDEX sqlite_autoindex_tags_1 (label=?)
        "#]],
    );
}

#[test]
fn orders_by_aggregates_search_the_index_of_the_foreign_key_once_per_row() {
    let order = |aggregate: &str| {
        format!(
            r#"{{"user": {{"$select": {{"id": true}}, "$page": {{"total": true}}, "$orderBy": [{{"relation": "posts", "aggregate": {aggregate}, "direction": "desc"}}]}}}}"#
        )
    };
    let (count, last) = (order(r#"{"fn": "count"}"#), order(r#"{"fn": "max", "field": "day"}"#));
    check(
        &[&count, &last],
        expect![[r#"
            SELECT "t0"."id", (SELECT COUNT(1) FROM "posts" AS "t0_0" WHERE "t0_0"."user_id" = "t0"."id") AS "sort1" FROM "users" AS "t0" ORDER BY "sort1" DESC, "t0"."id" DESC LIMIT ?
              -> SCAN t0 USING COVERING INDEX users_city
              -> CORRELATED SCALAR SUBQUERY 1
              -> SEARCH t0_0 USING COVERING INDEX posts_user (user_id=?)
              -> USE TEMP B-TREE FOR ORDER BY
            SELECT COUNT(*) FROM "users" AS "t"
              -> SCAN users USING COVERING INDEX users_city

            SELECT "t0"."id", (SELECT MAX("t0_0"."day") FROM "posts" AS "t0_0" WHERE "t0_0"."user_id" = "t0"."id") AS "sort1" FROM "users" AS "t0" ORDER BY "sort1" DESC, "t0"."id" DESC LIMIT ?
              -> SCAN t0 USING COVERING INDEX users_city
              -> CORRELATED SCALAR SUBQUERY 1
              -> SEARCH t0_0 USING COVERING INDEX posts_user (user_id=?)
              -> USE TEMP B-TREE FOR ORDER BY
            SELECT COUNT(*) FROM "users" AS "t"
              -> SCAN users USING COVERING INDEX users_city
        "#]],
    );
}

#[test]
fn a_path_joins_the_record_by_its_key() {
    check(
        &[
            r#"{"post": {"$select": {"id": true}, "$where": {"field": "user.city", "op": "eq", "value": "city 7"}}}"#,
            r#"{"post": {"$select": {"id": true}, "$orderBy": [{"field": "user.name", "direction": "asc"}]}}"#,
        ],
        expect![[r#"
            SELECT "t0"."id" FROM "posts" AS "t0" LEFT JOIN "users" AS "t0_0" ON "t0_0"."id" = "t0"."user_id" WHERE "t0_0"."city" = ? ORDER BY "t0"."id" ASC LIMIT ?
              -> SEARCH t0_0 USING COVERING INDEX users_city (city=?)
              -> SEARCH t0 USING COVERING INDEX posts_user (user_id=?)
              -> USE TEMP B-TREE FOR ORDER BY

            SELECT "t0"."id", "t0_0"."name" FROM "posts" AS "t0" LEFT JOIN "users" AS "t0_0" ON "t0_0"."id" = "t0"."user_id" ORDER BY "t0_0"."name" ASC NULLS LAST, "t0"."id" ASC LIMIT ?
              -> SCAN t0
              -> SEARCH t0_0 USING INTEGER PRIMARY KEY (rowid=?) LEFT-JOIN
              -> USE TEMP B-TREE FOR ORDER BY
        "#]],
    );
}

#[test]
fn aggregates_of_a_relation_search_the_index_of_the_foreign_key() {
    check(
        &[
            r#"{"user": {"$select": {"id": true, "n": {"$relation": "posts", "$select": {}, "$aggregate": {"n": {"fn": "count"}}}}}}"#,
        ],
        expect![[r#"
            SELECT "t0"."id" FROM "users" AS "t0" ORDER BY "t0"."id" ASC LIMIT ?
              -> SCAN t0
            SELECT "g"."a0" FROM (SELECT COUNT(1) AS "a0" FROM "posts" AS "t1" WHERE "t1"."user_id" = ?) AS "g"
              -> CO-ROUTINE g
              -> SEARCH t1 USING COVERING INDEX posts_user (user_id=?)
              -> SCAN g
        "#]],
    );
}
