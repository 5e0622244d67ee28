//! Relations over a junction table.

use expect_test::{Expect, expect};
use mesh_plan::{Context, Mesh, Request};
use mesh_ql::Format;
use mesh_schema::Document;

use super::File;

const POSTS: &str = "CREATE TABLE posts (id INTEGER PRIMARY KEY);
    CREATE TABLE tags (id INTEGER PRIMARY KEY, name TEXT);
    INSERT INTO posts VALUES (1), (2), (3);
    INSERT INTO tags VALUES (1, 'a'), (2, 'b'), (3, 'a'), (4, 'd');";

/// Serves the posts and the tags that a junction pairs.
fn mesh(file: &File) -> Mesh {
    let document = Document::parse(
        r#"{
            "entities": {
                "post": {"table": "posts", "fields": ["id"]},
                "tag": {"table": "tags", "fields": ["id", "name"]}
            },
            "joins": {
                "post.tags": {"entity": "tag", "type": "many", "through": {"table": "pairs", "from": "post_id", "to": "tag_id"}},
                "tag.posts": {"entity": "post", "type": "many", "through": {"table": "pairs", "from": "tag_id", "to": "post_id"}}
            }
        }"#,
    );
    let database = file.database();
    let catalog = database.contents(&[]).unwrap().catalog;
    let schema = document.unwrap().load(Some(&catalog)).unwrap();
    Mesh::builder(schema).default_resolver(database).build().unwrap()
}

async fn read(mesh: &Mesh, text: &str) -> String {
    let plan = mesh.plan(&Request::collection(Format::Json, text)).unwrap();
    let body = mesh.read(&plan, &Context::new("test")).await.unwrap();
    String::from_utf8(body.bytes.to_vec()).unwrap()
}

/// Compares the last statement of a query and its steps.
#[track_caller]
fn check(file: &File, text: &str, expected: Expect) {
    let plan = mesh(file).plan(&Request::collection(Format::Json, text)).unwrap();
    let (sql, steps) = super::query_plan(&file.database(), &plan).pop().unwrap();
    expected.assert_eq(&format!("{sql}\n{}\n", steps.join("\n")));
}

#[test]
fn unique_pairs_are_joined_in_the_order_of_their_index() {
    let file = File::new(POSTS);
    file.write("CREATE TABLE pairs (post_id INTEGER, tag_id INTEGER, PRIMARY KEY (post_id, tag_id))");
    check(
        &file,
        r#"{"post": {"$select": {"tags": {"$select": {"name": true}, "$page": {"first": 2}}}}}"#,
        expect![[r#"
            SELECT "t1"."name" FROM "tags" AS "t1" INNER JOIN "pairs" AS "j" ON "t1"."id" = "j"."tag_id" WHERE "j"."post_id" = ? ORDER BY "j"."tag_id" ASC LIMIT ?
            SEARCH j USING COVERING INDEX sqlite_autoindex_pairs_1 (post_id=?)
            SEARCH t1 USING INTEGER PRIMARY KEY (rowid=?)
        "#]],
    );
    check(
        &file,
        r#"{"tag": {"$select": {"posts": {"$select": {"id": true}, "$where": {"field": "id", "op": "gt", "value": 1}}}}}"#,
        expect![[r#"
            SELECT "j"."post_id" FROM "posts" AS "t1" INNER JOIN "pairs" AS "j" ON "t1"."id" = "j"."post_id" WHERE "j"."tag_id" = ? AND "j"."post_id" > ? ORDER BY "j"."post_id" ASC
            SEARCH j USING COVERING INDEX sqlite_autoindex_pairs_1 (post_id>?)
            SEARCH t1 USING INTEGER PRIMARY KEY (rowid=?)
        "#]],
    );
}

#[test]
fn pairs_that_may_occur_twice_are_a_list() {
    let file = File::new(POSTS);
    file.write("CREATE TABLE pairs (post_id INTEGER, tag_id INTEGER)");
    check(
        &file,
        r#"{"post": {"$select": {"tags": {"$select": {"name": true}}}}}"#,
        expect![[r#"
            SELECT "t1"."name" FROM "tags" AS "t1" WHERE "t1"."id" IN (SELECT "j"."tag_id" FROM "pairs" AS "j" WHERE "j"."post_id" = ?) ORDER BY "t1"."id" ASC
            SEARCH t1 USING INTEGER PRIMARY KEY (rowid=?)
            LIST SUBQUERY 1
            SCAN j
        "#]],
    );
}

/// Junctions that pair the same records, some of them twice.
#[tokio::test]
async fn a_record_is_returned_once_whatever_the_junction_has() {
    let pairs =
        "INSERT INTO pairs VALUES (1, 4), (1, 1), (1, 3), (2, 2), (9, 2), (2, 9), (NULL, 1), (3, NULL)";
    let junctions = [
        "CREATE TABLE pairs (post_id INTEGER, tag_id INTEGER, PRIMARY KEY (post_id, tag_id))",
        "CREATE TABLE pairs (post_id INTEGER, tag_id INTEGER, UNIQUE (tag_id, post_id))",
        "CREATE TABLE pairs (post_id INTEGER, tag_id INTEGER); INSERT INTO pairs VALUES (1, 1), (2, 2)",
        // As numbers, these texts are equal.
        "CREATE TABLE pairs (post_id INTEGER, tag_id TEXT, PRIMARY KEY (post_id, tag_id));
         INSERT INTO pairs VALUES (1, '01'), (2, '2.0')",
        "CREATE TABLE pairs (post_id INTEGER, tag_id INTEGER); INSERT INTO pairs VALUES (1, 4);
         CREATE UNIQUE INDEX some ON pairs (post_id, tag_id) WHERE post_id > 1",
    ];
    let all = r#"{"post": {"$select": {"id": true, "tags": {"$select": {"id": true}}}}}"#;
    let ordered = r#"{"post": {"$select": {"tags": {"$select": {"name": true, "posts": {"$select": {"id": true}}},
        "$where": {"field": "id", "op": "gt", "value": 0}, "$orderBy": [{"field": "name", "direction": "desc"}], "$page": {"first": 2}}}}}"#;
    let groups = r#"{"post": {"$select": {"tags": {"$select": {"name": true}, "$groupBy": ["name"],
        "$aggregate": {"n": {"fn": "count"}, "most": {"fn": "max", "field": "id"}}}}}}"#;
    for junction in junctions {
        let file = File::new(POSTS);
        file.write(junction);
        file.write(pairs);
        let mesh = mesh(&file);
        for (query, expected) in [
            (
                all,
                r#"[{"id":1,"tags":[{"id":1},{"id":3},{"id":4}]},{"id":2,"tags":[{"id":2}]},{"id":3,"tags":[]}]"#,
            ),
            (
                ordered,
                r#"[{"tags":[{"name":"d","posts":[{"id":1}]},{"name":"a","posts":[{"id":1}]}]},{"tags":[{"name":"b","posts":[{"id":2}]}]},{"tags":[]}]"#,
            ),
            (
                groups,
                r#"[{"tags":[{"name":"a","n":2,"most":3},{"name":"d","n":1,"most":4}]},{"tags":[{"name":"b","n":1,"most":2}]},{"tags":[]}]"#,
            ),
        ] {
            let answer = read(&mesh, query).await;
            assert!(answer.contains(expected), "{junction}: {answer}");
        }
    }
}
