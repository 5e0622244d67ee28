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

/// Checks the statements of a query and the steps in which they run.
#[track_caller]
fn check(file: &File, query: &str, expected: Expect) {
    let database = file.database();
    let plan = mesh(&database).plan(&Request::collection(Format::Json, query)).unwrap();
    let shown: String = (database.query_plan(&plan).unwrap().iter())
        .map(|(sql, steps)| {
            format!("{sql}\n{}\n", steps.iter().map(|step| format!("  -> {step}\n")).collect::<String>())
        })
        .collect();
    expected.assert_eq(&shown);
}

#[test]
fn conditions_on_relations_search_the_index_of_the_foreign_key() {
    let file = File::new(BLOG);
    check(
        &file,
        r#"{"post": {"$select": {"id": true}, "$where": {"relation": "user", "op": "some",
            "where": {"field": "city", "op": "eq", "value": "city 7"}}}}"#,
        expect![[""]],
    );
    check(
        &file,
        r#"{"user": {"$select": {"id": true}, "$where": {"relation": "posts", "op": "none"}}}"#,
        expect![[""]],
    );
    check(
        &file,
        r#"{"user": {"$select": {"id": true}, "$where": {"relation": "posts", "op": "every",
            "where": {"field": "likes", "op": "gt", "value": 1}}}}"#,
        expect![[""]],
    );
    check(
        &file,
        r#"{"post": {"$select": {"id": true}, "$where": {"relation": "tags", "op": "some",
            "where": {"field": "label", "op": "eq", "value": "a"}}}}"#,
        expect![[""]],
    );
}

#[test]
fn orders_by_aggregates_search_the_index_of_the_foreign_key() {
    let file = File::new(BLOG);
    for aggregate in [r#"{"fn": "count"}"#, r#"{"fn": "max", "field": "day"}"#] {
        check(
            &file,
            &format!(
                r#"{{"user": {{"$select": {{"id": true}}, "$page": {{"total": true}}, "$orderBy": [{{"relation": "posts", "aggregate": {aggregate}, "direction": "desc"}}]}}}}"#
            ),
            expect![[""]],
        );
    }
}

#[test]
fn a_path_joins_the_record_by_its_key() {
    let file = File::new(BLOG);
    check(
        &file,
        r#"{"post": {"$select": {"id": true}, "$where": {"field": "user.city", "op": "eq", "value": "city 7"}, "$orderBy": [{"field": "user.name", "direction": "asc"}]}}"#,
        expect![[""]],
    );
}

#[test]
fn aggregates_of_a_relation_search_the_index_of_the_foreign_key() {
    let file = File::new(BLOG);
    check(
        &file,
        r#"{"user": {"$select": {"id": true, "n": {"$relation": "posts", "$select": {}, "$aggregate": {"n": {"fn": "count"}}}}}}"#,
        expect![[""]],
    );
}
