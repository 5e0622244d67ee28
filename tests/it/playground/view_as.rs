//! View as: an administrator sees the schema and the data as another role does.

use mesh_tests::{Database, Server};

use super::page::{ENTER, Page, serve};
use super::session::{hash, log_in};

const SCHEMA: &str = r#"{"entities": {
    "user": {"fields": ["id", "name"]},
    "post": {"fields": ["id", "title", "draft", "authorId"], "columns": {"authorId": "author_id"}, "writable": true}
}, "joins": {"post.author": {"entity": "user", "on": "users.id = posts.author_id", "type": "one"}},
"policies": {"admin": true, "writer": {
    "post": {"fields": ["id", "title"], "$where": {"and": [
        {"field": "authorId", "op": "eq", "value": {"session": "userId"}},
        {"field": "title", "op": "in", "value": {"session": "claim.titles"}}
    ]}, "writable": ["title"]}
}}}"#;

fn site() -> Server {
    let database = Database::new(&format!(
        "CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
         CREATE TABLE posts (id INTEGER PRIMARY KEY, title TEXT NOT NULL, draft TEXT, author_id INTEGER REFERENCES users (id));
         CREATE TABLE accounts (id INTEGER PRIMARY KEY, login TEXT UNIQUE, password_hash TEXT, role TEXT);
         INSERT INTO users VALUES (1, 'Ada'), (2, 'Bo');
         INSERT INTO posts VALUES (1, 'Rust at dawn', 'x', 1), (2, 'Slow bread', 'y', 2), (3, 'Köln', 'z', 2);
         INSERT INTO accounts VALUES (1, 'ada', '{0}', 'admin'), (2, 'bo', '{0}', 'writer');",
        hash("dawn")
    ));
    let schema = database.dir.write("schema.json", SCHEMA);
    let file = database.dir.write(
        "mesh.toml",
        &format!(
            "schema = {schema:?}\n[integrity]\nenabled = true\nsecret = \"0123456789abcdef0123456789abcdef\"\n\
             [integrity.users]\ntable = \"accounts\"\nlogin = \"login\"\n[mutations]\nenabled = true\n\
             [docs]\nenabled = true\nview_as = [\"writer\"]\n[audit]\nstore = \"file:audit.log\"\n"
        ),
    );
    serve(&database, &["--config", &file])
}

fn as_ada() -> Option<Page> {
    let page = Page::open(site)?;
    page.browser.click("[data-testid=login]");
    log_in(&page, "ada", "dawn");
    page.browser.wait_for("[data-testid=account]", "admin");
    let page = page.ready();
    page.browser.wait("the entities of the admin", |browser| browser.count(".entity") == 2);
    Some(page)
}

#[test]
fn an_administrator_reads_as_another_role_until_the_view_or_the_session_ends() {
    let Some(page) = as_ada() else { return };
    let browser = &page.browser;
    browser.click("[data-testid=view-as]");
    page.assert_accessible("the form");
    browser.type_into("dialog input[name=user]", "2");
    browser.type_into("dialog textarea[name=claims]", "titles = [\"Köln\", \"Rust at dawn\"]");
    browser.click("dialog button[type=submit]");
    browser.wait_for("[data-testid=view-bar]", "Viewing as writer, user 2");
    browser.wait("the entities of the role", |browser| browser.count(".entity") == 1);
    page.type_query(r#"{"post": {"$select": {"title": true"#);
    page.run();
    browser.wait_for("[data-testid=status]", "1 object");
    browser.wait_for("[data-testid=reader]", "Köln");
    // The routes of these panels would read with the rights of the administrator.
    assert_eq!(browser.count("#result-panel-request") + browser.count("#result-panel-watch"), 0);
    page.assert_accessible("a view");
    // The data browser only reads.
    browser.click("[data-testid=mode-data]");
    browser.choose("[data-testid=browse-entity]", "post");
    browser.wait_for("[data-testid=rows]", "Köln");
    assert_eq!(browser.count("[data-testid=new-record]"), 0);
    // Nothing that was viewed stays on the screen.
    browser.click("[data-testid=view-stop]");
    browser.wait("the administrator again", |browser| browser.count("[data-testid=view-bar]") == 0);
    browser.click("[data-testid=mode-query]");
    browser.wait("the entities of the admin", |browser| browser.count(".entity") == 2);
    assert_eq!(browser.count("[data-testid=reader]"), 0);
    page.run();
    browser.wait_for("[data-testid=status]", "3 objects");
    page.assert_clean();
    // A view ends with its session.
    browser.click("[data-testid=view-as]");
    browser.type_into("dialog input[name=user]", &format!("2{ENTER}"));
    browser.wait_for("[data-testid=view-bar]", "Viewing as writer");
    browser.click("[data-testid=leave]");
    browser.wait("no view without a session", |browser| browser.count("[data-testid=view-bar]") == 0);
    browser.click("[data-testid=login]");
    log_in(&page, "bo", "dawn");
    browser.wait_for("[data-testid=account]", "writer");
    assert_eq!(browser.count("[data-testid=view-as]"), 0, "only administrators are offered it");
}
