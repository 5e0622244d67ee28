//! The plan of a query: its statements, the indexes that they use, and those that would help.

use mesh_tests::{Cluster, Database, Server, command};

use super::page::{Page, serve};

const PLAN: &str = "[data-testid=plan]";

/// Posts without an index by author; enough of them that reading all takes longer than a statement without a problem.
fn many_posts() -> Database {
    Database::new(
        "CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT);
        CREATE TABLE posts (id INTEGER PRIMARY KEY, title TEXT, author_id INTEGER REFERENCES users (id));
        INSERT INTO users VALUES (1, 'Ada'), (2, 'Bo');
        WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300000)
        INSERT INTO posts SELECT i, 'Post ' || i, i % 1000 FROM n;",
    )
}

fn explain(page: &Page) {
    page.browser.click("#result-panel-plan");
    page.browser.click("[data-testid=explain-plan]:not([disabled])");
    page.browser.wait("steps", |browser| browser.count(".plan-steps li") > 0);
}

#[test]
fn a_slow_scan_is_marked_with_the_index_that_helps() {
    let database = many_posts();
    let Some(page) = Page::open(|| serve(&database, &["--docs"])) else { return };
    let page = page.ready();
    let browser = &page.browser;
    page.type_query(
        r#"{"post": {"$select": {"title": true}, "$where": {"field": "title", "op": "eq", "value": "Post 7"#,
    );
    page.run();
    browser.wait_for("[data-testid=status]", "1 object");
    explain(&page);
    browser.wait_for(".step-problem", "posts: all rows");
    let advice = browser.text(".advice code");
    assert_eq!(advice, r#"CREATE INDEX "posts_title_id" ON "posts" ("title", "id")"#);
    browser.click("#result-panel-sql");
    browser.wait_for(".query-plan .bad", "SCAN");
    database.connect().execute_batch(&advice).unwrap();
    browser.click("#result-panel-plan");
    page.run();
    browser.wait("a new result", |browser| browser.count("[data-testid=explain-plan]:not([disabled])") == 1);
    explain(&page);
    browser.wait_for(".step-index", "posts by posts_title_id (title=?)");
    assert_eq!(browser.count(".step-problem"), 0);
    page.assert_clean();
}

#[test]
fn a_slow_scan_of_postgresql_is_marked_with_the_index_that_helps() {
    let Some(cluster) = Cluster::start() else { return };
    let url = cluster.database(
        "blog",
        "CREATE TABLE posts (id integer PRIMARY KEY, title text, kind integer);
        INSERT INTO posts SELECT i, 'Post ' || i, i % 50 FROM generate_series(1, 300000) i; ANALYZE posts;",
    );
    let arguments = ["serve", "--listen", "127.0.0.1:0", "--log", "off", "--docs", "--database", &url];
    let server = || Server::try_spawn(&mut command(&arguments), None).unwrap();
    let Some(page) = Page::open(server) else { return };
    let page = page.ready();
    let browser = &page.browser;
    page.type_query(
        r#"{"post": {"$select": {"id": true}, "$where": {"field": "kind", "op": "eq", "value": 7}, "$orderBy": [{"field": "title", "direction": "desc"}], "$page": {"first": 2"#,
    );
    page.run();
    browser.wait_for("[data-testid=status]", "2 objects");
    explain(&page);
    browser.wait_for(".step-problem", "sorted after reading");
    assert_eq!(browser.count(".advice"), 1, "the sort and the scan have the same advice");
    let advice = browser.text(".advice code");
    assert_eq!(
        advice,
        r#"CREATE INDEX "posts_kind_title_id" ON "posts" ("kind", "title" DESC NULLS LAST, "id" DESC)"#
    );
    cluster.query_in("blog", &advice).unwrap();
    page.run();
    browser.wait("a new result", |browser| browser.count("[data-testid=explain-plan]:not([disabled])") == 1);
    explain(&page);
    browser.wait_for(".step-index", "posts by posts_kind_title_id");
    assert_eq!(browser.count(".step-problem"), 0);
    page.assert_clean();
}

#[test]
fn a_statement_without_a_problem_is_not_marked() {
    let database = Database::blog();
    let Some(page) = Page::open(|| serve(&database, &["--docs"])) else { return };
    let page = page.ready();
    let browser = &page.browser;
    page.type_query(r#"{"post": {"$select": {"title": true, "author": {"$select": {"name": true}}, "comments": {"$select": {"text": true"#);
    page.run();
    browser.wait_for("[data-testid=status]", "objects");
    explain(&page);
    browser.wait_for(PLAN, "2 statements");
    browser.wait_for(PLAN, "users by INTEGER PRIMARY KEY (rowid=?)");
    assert_eq!(browser.count(".step-problem"), 0);
    browser.click("#result-panel-sql");
    browser.wait_for(".query-plan", "SCAN");
    assert_eq!(browser.count(".query-plan .bad"), 0);
    page.assert_clean();
}
