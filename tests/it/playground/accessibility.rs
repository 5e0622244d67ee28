//! Accessibility of all views, at the widths of telephones, tablets and screens, in both themes.

use mesh_tests::{Database, Server};
use serde_json::{Value, json};

use super::page::{CONTROL, ESCAPE, Page, RELEASE, serve};
use super::session::{hash, log_in};

const SCHEMA: &str = r#"{"entities": {
    "user": {"fields": ["id", "name"], "writable": ["name"]},
    "post": {"fields": ["id", "title", "likes", "cover", "authorId"], "columns": {"authorId": "author_id"}, "writable": true,
             "uploads": {"cover": {"maxBytes": 1000, "contentTypes": ["text/plain"]}}},
    "tag": {"fields": ["id", "label"]}
}, "joins": {
    "post.author": {"entity": "user", "on": "users.id = posts.author_id", "type": "one"},
    "user.posts": {"entity": "post", "on": "posts.author_id = users.id", "type": "many"},
    "post.tags": {"entity": "tag", "type": "many", "through": {"table": "post_tags", "from": "post_id", "to": "tag_id"}}
}, "policies": {"admin": true, "writer": {"post": {"fields": ["id", "title"]}}}}"#;

fn database() -> Database {
    Database::new(&format!(
        "CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
         CREATE TABLE posts (
             id INTEGER PRIMARY KEY, title TEXT NOT NULL, likes INTEGER, cover TEXT, author_id INTEGER REFERENCES users (id)
         );
         CREATE TABLE tags (id INTEGER PRIMARY KEY, label TEXT NOT NULL);
         CREATE TABLE post_tags (post_id INTEGER REFERENCES posts (id), tag_id INTEGER REFERENCES tags (id));
         CREATE TABLE accounts (id INTEGER PRIMARY KEY, login TEXT UNIQUE, password_hash TEXT, role TEXT);
         INSERT INTO users VALUES (1, 'Ada'), (2, 'Bo');
         INSERT INTO posts VALUES (1, 'Rust at dawn', 5, NULL, 1), (2, 'Slow bread', NULL, NULL, 2), (3, 'A map', 7, NULL, 2);
         INSERT INTO tags VALUES (1, 'code'), (2, 'food');
         INSERT INTO post_tags VALUES (1, 1);
         INSERT INTO accounts VALUES (1, 'ada', '{}', 'admin');",
        hash("dawn")
    ))
}

/// Starts a server with every feature that the page has a view for.
fn site(database: &Database) -> Server {
    let schema = database.dir.write("schema.json", SCHEMA);
    let store = database.dir.path().join("files").display().to_string();
    let settings = format!(
        "schema = {schema:?}\n[integrity]\nenabled = true\nsecret = \"0123456789abcdef0123456789abcdef\"\n\
         [integrity.users]\ntable = \"accounts\"\nlogin = \"login\"\n[mutations]\nenabled = true\n\
         [uploads]\nenabled = true\nstore = \"file:{store}\"\n\
         [docs]\nenabled = true\nview_as = [\"writer\"]\n[audit]\nstore = \"file:audit.log\"\n"
    );
    serve(database, &["--config", &database.dir.write("mesh.toml", &settings)])
}

/// Opens the page as the administrator `ada`.
fn as_ada(database: &Database) -> Option<Page> {
    let page = Page::open(|| site(database))?;
    page.browser.click("[data-testid=login]");
    page.assert_accessible_at_all_widths("dialog", "the login");
    log_in(&page, "ada", "dawn");
    let page = page.ready();
    page.browser.wait("the entities of the admin", |browser| browser.count(".entity") == 3);
    Some(page)
}

/// Chooses the part that narrow screens show: 1 the schema, 2 the query, 3 the result.
fn show_part(page: &Page, part: u8) {
    let script = "document.querySelector(`.pane-switch button:nth-child(${arguments[0]})`).click()";
    page.browser.run(script, &json!(part));
}

fn show_result(page: &Page, tab: &str, selector: &str) {
    page.browser.click(&format!("#result-panel-{tab}"));
    page.browser.wait(selector, |browser| browser.count(selector) > 0);
    page.assert_accessible_at_all_widths("#result-pane", &format!("the result's tab {tab}"));
}

#[test]
fn queries_and_results_have_no_violations_at_any_width() {
    let database = database();
    let Some(page) = as_ada(&database) else { return };
    let browser = &page.browser;
    page.type_query(
        r#"{"post": {"$select": {"title": true, "author": {"$select": {"name": true}}}, "$where": {"and": [{"field": "likes", "op": "isNotNull"}, {"field": "author.name", "op": "ne", "value": "Bob"}]}, "$orderBy": [{"field": "id", "direction": "desc"}], "$page": {"first": 2"#,
    );
    page.run();
    browser.wait_for("[data-testid=status]", "objects");
    show_part(&page, 1);
    page.assert_accessible_at_all_widths("html", "the schema");
    browser.click("#side-panel-saved");
    browser.wait_for(".saved", "post");
    page.assert_accessible_at_all_widths("#schema-pane", "the history");
    show_part(&page, 2);
    page.assert_accessible_at_all_widths("html", "the query");
    browser.click("[data-testid=copy-as]");
    browser.wait("the menu", |browser| browser.count(".menu-list button") > 0);
    page.assert_accessible_at_all_widths("#query-pane", "the menu of snippets");
    browser.click("[data-testid=copy-as]");
    browser.type_into("body", &format!("{CONTROL}k{RELEASE}"));
    browser.wait("the palette", |browser| browser.count("dialog") == 1);
    page.assert_accessible_at_all_widths("dialog", "the palette");
    browser.click("dialog button[aria-label=Close]");
    show_part(&page, 3);
    show_result(&page, "json", "[data-testid=reader]");
    show_result(&page, "table", "[data-testid=table] tbody tr");
    browser.click("#result-panel-plan");
    browser.click("[data-testid=explain-plan]");
    show_result(&page, "plan", ".plan-steps li");
    show_result(&page, "sql", ".query-plan li");
    browser.click("#result-panel-request");
    browser.click("[data-testid=send]");
    show_result(&page, "request", "#result-panel pre");
    browser.click("#result-panel-watch");
    browser.click("[data-testid=watch] button");
    browser.wait_for("[data-testid=watch]", "A map");
    database.connect().execute("UPDATE posts SET title = 'Two maps' WHERE id = 3", []).unwrap();
    show_result(&page, "watch", "[data-testid=watch-log]");
    browser.click("[data-testid=watch] button");
    page.type_query(r#"{"post": {"$select": {"authorId": true}, "$groupBy": ["authorId"], "$aggregate": {"count": {"fn": "count"#);
    page.run();
    show_result(&page, "chart", "[data-testid=chart] .bar");
    browser.click("[data-testid=view-as]");
    page.assert_accessible_at_all_widths("dialog", "the form of View as");
    browser.click("dialog button[type=submit]");
    browser.wait_for("[data-testid=view-bar]", "Viewing as writer");
    page.assert_accessible_at_all_widths("html", "a view of another role");
    page.assert_clean();
}

#[test]
fn data_and_the_diagram_have_no_violations_at_any_width() {
    let database = database();
    let Some(page) = as_ada(&database) else { return };
    let browser = &page.browser;
    browser.click("[data-testid=mode-data]");
    browser.choose("[data-testid=browse-entity]", "user");
    browser.wait_for("[data-testid=position]", "1 to 2 of 2");
    browser.click("[data-testid=rows] tbody tr:nth-child(1) .counted button");
    browser.wait_for("[data-testid=related]", "Rust at dawn");
    page.assert_accessible_at_all_widths("html", "rows with a relation");
    browser.choose("[data-testid=browse-entity]", "post");
    browser.wait_for("[data-testid=position]", "1 to 3 of 3");
    let open_row = |row: u8| {
        browser.click(&format!("[data-testid=rows] tbody tr:nth-child({row}) td:nth-child(2)"));
        browser.wait("its fields", |browser| browser.count("[data-testid=record] .record-fields") == 1);
    };
    open_row(1);
    page.assert_accessible_at_all_widths(".browse-body", "a record");
    browser.click("[data-testid=record] .link-tools button");
    browser.wait("offers", |browser| browser.count("[data-testid=record-search] li[id]") > 0);
    page.assert_accessible_at_all_widths("[data-testid=record-search]", "the search of a record to link");
    browser.type_into("[data-testid=record-search] input", &ESCAPE.to_string());
    browser.click("[data-testid=edit-record]");
    browser.type_into("[data-testid=record-form] [data-field=likes]", "many");
    browser.click("[data-testid=save-record]:not([disabled])");
    browser.wait("a fault", |browser| browser.count(".field-fault") == 1);
    page.assert_accessible_at_all_widths("[data-testid=record]", "a form with a fault");
    browser.click(".form-actions button");
    browser.click("[data-testid=new-record]");
    browser.type_into("[data-testid=record-form] [data-field=title]", "Bicycle");
    page.assert_accessible_at_all_widths(".browse-body", "the form of a new record");
    browser.click("[data-testid=stage]");
    browser.click("[data-testid=new-rows]");
    let paste = "const area = document.getElementById('pasted-rows'); area.value = 'title,likes\\nTents,3';
        area.dispatchEvent(new Event('input', {bubbles: true}))";
    browser.run(paste, &Value::Null);
    browser.wait("a preview", |browser| browser.count("[data-testid=create-rows]:not([disabled])") == 1);
    page.assert_accessible_at_all_widths(".browse-body", "the form of several records");
    browser.click(".form-actions button");
    open_row(2);
    browser.click("[data-testid=delete-record]");
    browser.wait("a confirmation", |browser| browser.count("[data-testid=delete-now]:not([disabled])") == 1);
    page.assert_accessible_at_all_widths("[data-testid=record]", "a confirmation");
    browser.click("[data-testid=stage-delete]");
    browser.click("[data-testid=review]");
    browser.wait("two changes", |browser| browser.count("[data-testid=staged-change]") == 2);
    page.assert_accessible_at_all_widths("dialog", "a batch");
    browser.click("dialog button[aria-label=Close]");
    browser.click("[data-testid=mode-diagram]");
    browser.click("#box-post");
    browser.wait("a choice", |browser| browser.count("[data-testid=chosen]") == 1);
    page.assert_accessible_at_all_widths("html", "the diagram");
    page.assert_no_foreign_requests();
}
