//! The cost of rows and pages, counted in steps of SQLite and allocations: a row costs the same in pages of any size,
//! and a later page costs what the first one does.

use mesh_plan::{Mesh, Plan, Request};
use mesh_ql::Format;
use mesh_sql::sqlite::Statements;
use rusqlite::{Connection, StatementStatus};

use super::StatementTree;
use crate::catalog;

/// 21,000 posts with three comments each. Posts with consecutive ids are not adjacent in the index.
const BLOG: &str = "CREATE TABLE posts (id INTEGER PRIMARY KEY, title TEXT NOT NULL, views INTEGER NOT NULL,
        rank INTEGER);
    CREATE TABLE comments (id INTEGER PRIMARY KEY, body TEXT NOT NULL,
        post_id INTEGER NOT NULL REFERENCES posts (id));
    WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 21000)
        INSERT INTO posts SELECT i, 'post ' || i, i * 7919 % 21000, iif(i % 3 = 0, NULL, i * 7919 % 21000) FROM c;
    INSERT INTO comments SELECT NULL, 'comment of ' || title, posts.id FROM posts, (VALUES (1), (2), (3));
    CREATE INDEX posts_views ON posts (views);
    CREATE INDEX posts_rank ON posts (rank);
    CREATE INDEX comments_post ON comments (post_id);
    CREATE VIRTUAL TABLE post_words USING fts5 (title, content = 'posts', content_rowid = 'id');
    INSERT INTO post_words (post_words) VALUES ('rebuild');
    ANALYZE;";

fn blog() -> (Connection, Mesh) {
    let mut connection = Connection::open_in_memory().unwrap();
    connection.execute_batch(BLOG).unwrap();
    let (catalog, _) = catalog::read(&mut connection, &[]).unwrap();
    let schema = mesh_schema::infer(&catalog).document.load(Some(&catalog)).unwrap();
    let query = mesh_ql::Limits { page_max: 20_000, ..mesh_ql::Limits::default() };
    let limits = mesh_plan::Limits { query, rows: 1_000_000, ..mesh_plan::Limits::default() };
    (connection, Mesh::builder(schema).limits(limits).build().unwrap())
}

const POSTS: &str = r#""id":true,"title":true"#;
const NESTED: &str = r#""id":true,"comments":{"$select":{"body":true}}"#;

fn page(mesh: &Mesh, select: &str, first: u32, after: Option<&str>) -> Plan {
    page_by(mesh, "views", select, first, after)
}

fn page_by(mesh: &Mesh, order: &str, select: &str, first: u32, after: Option<&str>) -> Plan {
    let after = after.map(|after| format!(r#","after":"{after}""#)).unwrap_or_default();
    let text = format!(
        r#"{{"post":{{"$select":{{{select}}},"$orderBy":[{{"field":"{order}","direction":"asc"}}],"$page":{{"first":{first}{after}}}}}}}"#
    );
    mesh.plan(&Request::collection(Format::Json, &text)).unwrap()
}

/// The cost of one run of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cost {
    /// Steps of SQLite, in all statements.
    steps: i32,
    /// The number of allocations, excluding those of SQLite.
    allocations: u64,
}

fn cost(connection: &Connection, plan: &Plan) -> Cost {
    let mut source = StatementTree::prepare(connection, &Statements::from_plan(plan)).unwrap();
    // The size of the answer is known after the first run.
    for _ in 0..2 {
        source.run(plan).unwrap();
    }
    steps(&source);
    let allocations = allocation_counter::measure(|| drop(source.run(plan).unwrap())).count_total;
    Cost { steps: steps(&source), allocations }
}

/// Returns the steps since the last call.
fn steps(source: &StatementTree<'_>) -> i32 {
    let below: i32 = source.joins.iter().map(steps).sum();
    let own = source.statements().map(|it| it.statement.reset_status(StatementStatus::VmStep)).sum::<i32>();
    own + below
}

#[test]
fn a_row_costs_the_same_in_a_page_of_any_size() {
    let (connection, mesh) = blog();
    for select in [POSTS, NESTED] {
        let costs =
            [10, 100, 1_000, 10_000].map(|first| cost(&connection, &page(&mesh, select, first, None)));
        let [ten, hundred, thousand, many] = costs;
        assert_eq!((thousand.steps - hundred.steps) * 10, many.steps - thousand.steps, "{costs:?}");
        assert_eq!((hundred.steps - ten.steps) * 10, thousand.steps - hundred.steps, "{costs:?}");
        assert_eq!(ten.allocations, hundred.allocations, "{costs:?}");
        // The buffer of the body doubles a few times as it grows.
        assert!(
            thousand.allocations <= ten.allocations + 3 && many.allocations <= ten.allocations + 6,
            "{costs:?}"
        );
    }
}

#[test]
fn nulls_after_all_values_do_not_make_later_pages_more_expensive() {
    let (connection, mesh) = blog();
    let rank = |first, after: Option<&str>| page_by(&mesh, "rank", POSTS, first, after);
    let first = cost(&connection, &rank(20, None));
    let mut seen = Vec::new();
    let mut after: Option<String> = None;
    loop {
        let plan = rank(6_990, after.as_deref());
        let body =
            StatementTree::prepare(&connection, &Statements::from_plan(&plan)).unwrap().run(&plan).unwrap();
        let body: serde_json::Value = serde_json::from_slice(&body.bytes).unwrap();
        seen.extend(body["items"].as_array().unwrap().iter().map(|post| post["id"].as_i64().unwrap()));
        if body["pageInfo"]["hasNextPage"] == false {
            break;
        }
        let end = body["pageInfo"]["endCursor"].as_str().unwrap();
        // One page has values, one has values and NULLs, and one has only NULLs.
        let later = cost(&connection, &rank(20, Some(end)));
        assert!(later.steps <= first.steps * 3, "{first:?}, and after {} rows {later:?}", seen.len());
        after = Some(end.to_owned());
    }
    let all = "SELECT id FROM posts ORDER BY rank NULLS LAST, id";
    let mut expected = connection.prepare(all).unwrap();
    let expected: Vec<i64> = expected.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    assert!(seen == expected, "every post once, in order: {} of {}", seen.len(), expected.len());
}

#[test]
fn page_one_thousand_costs_what_the_first_costs() {
    let (connection, mesh) = blog();
    // One page with the posts of 1,000 pages.
    let before = page(&mesh, POSTS, 20_000, None);
    let body =
        StatementTree::prepare(&connection, &Statements::from_plan(&before)).unwrap().run(&before).unwrap();
    let body: serde_json::Value = serde_json::from_slice(&body.bytes).unwrap();
    let cursor = body["pageInfo"]["endCursor"].as_str().unwrap();
    for select in [POSTS, NESTED] {
        let first = cost(&connection, &page(&mesh, select, 20, None));
        let later = cost(&connection, &page(&mesh, select, 20, Some(cursor)));
        // Rows before the cursor are not read.
        assert!(later.steps <= first.steps * 3 / 2, "{first:?}, and after 1,000 pages {later:?}");
        assert!(later.allocations <= first.allocations + 2, "{first:?}, and after 1,000 pages {later:?}");
    }
}

#[test]
fn a_page_of_a_search_costs_the_same_for_any_number_of_matches() {
    let (connection, mesh) = blog();
    for (direction, expected) in [("asc", (1..=60).collect()), ("desc", (20_941..=21_000).rev().collect())] {
        let expected: Vec<i64> = expected;
        let (mut after, mut seen, mut steps) = (String::new(), Vec::new(), Vec::new());
        for _ in 0..3 {
            let text = format!(
                r#"{{"post":{{"$select":{{{POSTS}}},"$where":{{"search":"post"}},"$orderBy":[{{"field":"id","direction":"{direction}"}}],"$page":{{"first":20{after}}}}}}}"#
            );
            let plan = mesh.plan(&Request::collection(Format::Json, &text)).unwrap();
            steps.push(cost(&connection, &plan).steps);
            let mut source = StatementTree::prepare(&connection, &Statements::from_plan(&plan)).unwrap();
            let body: serde_json::Value = serde_json::from_slice(&source.run(&plan).unwrap().bytes).unwrap();
            seen.extend(body["items"].as_array().unwrap().iter().map(|post| post["id"].as_i64().unwrap()));
            after = format!(r#","after":{}"#, body["pageInfo"]["endCursor"]);
        }
        assert_eq!(seen, expected);
        // All 21,000 posts match.
        assert!(steps.iter().all(|steps| *steps < 1_000), "{steps:?}");
    }
}
