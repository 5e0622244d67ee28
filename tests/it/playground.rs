//! The playground, operated in a browser.

mod accessibility;
mod bearer;
mod browse;
mod build;
mod descriptions;
mod diagram;
mod drafts;
mod forms;
mod keyboard;
mod many;
mod page;
mod queries;
mod script;
mod session;
mod table;
mod telephone;
mod view_as;
mod writes;

use mesh_tests::{Database, Request, run};
use serde_json::Value;

use page::{CONTROL, Page, RELEASE, blog};

#[test]
fn a_query_is_built_by_clicking_and_its_pages_are_read() {
    let Some(page) = Page::open(blog) else { return };
    let page = page.ready();
    let browser = &page.browser;
    browser.choose("[data-testid=entity]", "post");
    page.wait_for_query("\"post\"");
    page.tick("post.score");
    page.wait_for_query("\"score\": true");
    page.tick("post.comments");
    page.wait_for_query("\"comments\": {");
    page.tick("post.comments.text");
    page.wait_for_query("\"text\": true");
    page.tick("post.score");
    browser.wait("a second click takes a field out", |_| !page.query().contains("score"));
    browser.click("[data-testid=add-condition]");
    browser.choose(".condition select[aria-label=Field]", "id");
    browser.choose(".condition select[aria-label=Operator]", "lte");
    browser.type_into(".condition input", &format!("{CONTROL}a{RELEASE}2"));
    page.wait_for_query(r#""$where": { "field": "id", "op": "lte", "value": 2 }"#);
    browser.click("[data-testid=add-order]");
    browser.click(".direction");
    page.wait_for_query(r#""$orderBy": [{ "field": "id", "direction": "desc" }]"#);
    page.run();
    browser.wait_for("[data-testid=status]", "9 objects");
    browser.wait_for("[data-testid=reader]", "Slow bread");
    let shown = browser.text("[data-testid=reader]");
    let (slow, rust) = (shown.find("Slow bread"), shown.find("Rust at dawn"));
    assert!(slow < rust && rust.is_some(), "{shown}");
    // The pages of the list from its end, with their total.
    browser.choose("[data-testid=entity]", "tag");
    page.wait_for_query("\"tag\"");
    browser.choose("[data-testid=entity]", "post");
    page.wait_for_query("\"post\"");
    browser.choose("select[aria-label='End of the list']", "last");
    page.wait_for_query(r#""$page": { "last": 50 }"#);
    browser.click("[data-testid=total]");
    page.wait_for_query(r#""$page": { "last": 50, "total": true }"#);
    forms::runs(&page, "Post 11");
    browser.wait_for("[data-testid=total-count]", "64 in total");
    browser.wait_for(".pager", "page 1 from the end");
    assert_eq!(browser.count("[data-testid=next-page][disabled]"), 1);
    browser.click("[data-testid=previous-page]");
    browser.wait_for("[data-testid=reader]", "Rust at dawn");
    browser.wait_for(".pager", "page 2 from the end");
    assert_eq!(browser.count("[data-testid=previous-page][disabled]"), 1);
    browser.click("[data-testid=next-page]");
    browser.wait_for("[data-testid=reader]", "Post 11");
    page.assert_clean();
}

#[test]
fn a_query_is_shared_as_id_call_and_link_and_stored_in_the_history() {
    let Some(page) = Page::open(blog) else { return };
    let page = page.ready();
    let browser = &page.browser;
    page.type_query(r#"{"post": {"$select": {"title": true"#);
    browser.click("[data-testid=register]");
    browser.wait_for("[data-testid=query-id]", "q_");
    let id = browser.text("[data-testid=query-id]");
    let reply =
        page.server.send(&Request::new("GET", &page.server.path("/post/2")).header("X-Mesh-Query-Id", &id));
    assert_eq!(reply.text(), r#"{"title":"Slow bread"}"#);
    browser.click("dialog button[aria-label=Close]");
    let copied = "const done = arguments[arguments.length - 1];
        navigator.clipboard.writeText = (text) => (window.copied = text, Promise.resolve());
        done(null);";
    browser.run_async(copied);
    browser.click("[data-testid=copy-as]");
    browser.click(".menu-list button");
    browser.wait("a call is copied", |browser| {
        !browser.run("return window.copied ?? null", &Value::Null).is_null()
    });
    let call = browser.run("return window.copied", &Value::Null);
    let call = call.as_str().unwrap_or_default();
    assert!(call.starts_with("curl -s 'http://127.0.0.1") && call.contains("X-Mesh-Query: "), "{call}");
    page.run();
    browser.wait_for("[data-testid=status]", "50 objects");
    browser.click("#side-panel-saved");
    browser.wait_for(".saved", "post");
    // A link carries the query in its fragment, which no request contains: ["{ post title }", "ql", "2"].
    page.assert_clean();
    browser.visit("about:blank");
    let _ = browser.requests();
    browser.visit(&page.url("#q=WyJ7IHBvc3QgdGl0bGUgfSIsInFsIiwiMiJd"));
    page.wait_for_query("{ post title }");
    page.run();
    browser.wait_for("[data-testid=reader]", "Slow bread");
    let sent = browser.requests();
    assert!(
        !sent.is_empty() && sent.iter().all(|url| !url.contains("WyJ7IHBvc3Q") || url.contains('#')),
        "{sent:?}"
    );
}

#[test]
fn a_public_playground_requires_confirmation() {
    let database = Database::blog();
    let output = run(&["serve", "--listen", "0.0.0.0:0", "--docs", "--database", &database.url()]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("--allow-open-docs"));
}
