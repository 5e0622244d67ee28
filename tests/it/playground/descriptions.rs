//! Descriptions and nullability: on hover in the tree, the diagram and the heads of the data browser, and in forms.

use mesh_tests::{Database, Server};
use serde_json::{Value, json};

use super::page::{Page, serve};

const SCHEMA: &str = r#"{"entities": {
    "user": {"fields": ["id", "name"], "description": "An author of posts"},
    "post": {"fields": ["id", "title", "subtitle", "authorId"], "columns": {"authorId": "author_id"}, "writable": true,
             "computed": {"label": {"from": ["title"], "template": "{title}"}},
             "description": "An article <b>of the blog</b>",
             "descriptions": {"title": "Its headline", "subtitle": "Below the headline", "label": "For lists"}}
}, "joins": {"post.author": {"entity": "user", "on": "users.id = posts.author_id", "type": "one"}}}"#;

fn articles() -> Server {
    let database = Database::new(
        "CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
         CREATE TABLE posts (id INTEGER PRIMARY KEY, title TEXT NOT NULL, subtitle TEXT, author_id INTEGER REFERENCES users (id));
         INSERT INTO users VALUES (1, 'Ada');
         INSERT INTO posts VALUES (1, 'Rust at dawn', NULL, 1);",
    );
    let schema = database.dir.write("schema.json", SCHEMA);
    serve(&database, &["--docs", "--mutations", "--schema", &schema])
}

/// Returns an attribute of the first element that a selector finds.
fn attribute(page: &Page, selector: &str, name: &str) -> String {
    let script = "return document.querySelector(arguments[0][0])?.getAttribute(arguments[0][1]) ?? ''";
    page.browser.run(script, &json!([selector, name])).as_str().unwrap_or_default().to_owned()
}

#[test]
fn descriptions_and_nullability_are_shown() {
    let Some(page) = Page::open(articles) else { return };
    let page = page.ready();
    let browser = &page.browser;
    let title = |id: &str| attribute(&page, &format!("#tree-{id}"), "title");
    assert_eq!(title("post"), "post: An article <b>of the blog</b>");
    assert_eq!(title("post-title"), "title: Its headline\nstring, never null");
    assert_eq!(title("post-subtitle"), "subtitle: Below the headline\nstring, can be null");
    assert_eq!(title("post-label"), "label: For lists\ncomputed");
    assert_eq!(title("post-author"), "author: one of user: An author of posts");
    assert_eq!(page.browser.text("#tree-post-subtitle .type"), "string?");
    assert_eq!(page.browser.text("#tree-post-title .type"), "string");
    // The descriptions are text, whatever they contain.
    page.browser.wait_for(".description", "An article <b>of the blog</b>");
    page.browser.click("[data-testid=mode-diagram]");
    page.browser.wait("boxes", |browser| browser.count(".entity-box") == 2);
    let titles = "return [...document.querySelectorAll('#box-post title')].map((it) => it.textContent)";
    let titles = page.browser.run(titles, &Value::Null);
    assert_eq!(titles[0], "post: An article <b>of the blog</b>");
    assert_eq!(titles[3], "subtitle: Below the headline\nstring, can be null");
    let types = "return [...document.querySelectorAll('#box-post .box-type')].map((it) => it.textContent)";
    assert_eq!(
        page.browser.run(types, &Value::Null),
        json!(["integer", "string", "string?", "integer?", "computed"])
    );
    browser.click("[data-testid=mode-data]");
    browser.choose("[data-testid=browse-entity]", "post");
    browser.wait_for("[data-testid=position]", "1 to");
    let heads = "return [...document.querySelectorAll('[data-testid=rows] th')].map((it) => it.title)";
    let heads = browser.run(heads, &Value::Null).to_string();
    assert!(heads.contains(r"title: Its headline\nstring, never null"), "{heads}");
    assert!(heads.contains("author: one of user: An author of posts"), "{heads}");
    browser.click("[data-testid=new-record]");
    browser.wait_for("[data-testid=record-form]", "Below the headline");
    browser.wait_for("[data-testid=record-form]", "string?");
    let about = "const input = document.querySelector('[data-field=title]');
        return document.getElementById(input.getAttribute('aria-describedby')).textContent";
    assert_eq!(browser.run(about, &Value::Null), json!("Its headline"), "read by screen readers");
    page.assert_accessible("a form with descriptions");
    page.assert_clean();
}
