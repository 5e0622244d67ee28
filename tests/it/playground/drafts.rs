//! Drafts, history and links: the state of a tab stays in the tab, and saved state belongs to a schema.

use mesh_tests::encode;
use serde_json::{Value, json};

use super::page::{ESCAPE, Page, blog};

/// Opens a shared query in the open page, as when a link is pasted.
fn paste_link(page: &Page, query: &str) {
    let state = encode(&json!([query, "json", ""]).to_string());
    let link = state.replace('+', "-").replace('/', "_").trim_end_matches('=').to_owned();
    page.browser.run("location.hash = '#q=' + arguments[0]", &json!(link));
    page.wait_for_query(query);
}

fn location(page: &Page) -> String {
    page.browser.run("return location.href", &Value::Null).as_str().unwrap_or_default().to_owned()
}

#[test]
fn a_draft_of_a_pasted_link_survives_a_reload_and_belongs_to_its_database() {
    let Some(page) = Page::open(blog) else { return };
    let page = page.ready();
    let browser = &page.browser;
    paste_link(&page, r#"{"tag":{"$select":{"label":true}}}"#);
    browser.wait("the link is not kept", |_| location(&page) == page.url(""));
    page.tick("tag.id");
    page.wait_for_query("\"id\": true");
    page.reload();
    page.wait_for_query("\"id\": true");
    page.assert_clean();
    // A draft of another database is not opened.
    let other =
        json!({"query": "{ invoice { total } }", "format": "ql", "id": "", "at": 1, "schema": "other"});
    let script = "const [draft] = arguments; const text = JSON.stringify(draft);
        sessionStorage.clear(); localStorage.setItem('mesh /docs draft', text);
        localStorage.setItem('mesh /docs history', `[${text}]`);";
    browser.visit("about:blank");
    browser.visit(&page.url("/schema"));
    browser.run(script, &other);
    browser.visit(&page.url(""));
    page.wait_for_query("$select");
    assert!(!page.query().contains("invoice"), "{}", page.query());
    browser.click("#side-panel-saved");
    browser.wait_for(".saved", "History");
    assert!(!browser.text(".saved").contains("invoice"));
}

#[test]
fn a_query_is_cancelled_and_a_result_of_another_query_is_marked() {
    let Some(page) = Page::with_tags() else { return };
    let browser = &page.browser;
    // The reply of this run never arrives.
    let hang = "window.real = window.fetch; window.fetch = (path, init) => (init?.body?.includes('check')
        ? window.real(path, init)
        : new Promise((_, reject) => init.signal.addEventListener('abort', () => reject(new DOMException('', 'AbortError')))))";
    browser.run(hang, &Value::Null);
    page.run();
    browser.click("[data-testid=cancel]");
    browser.wait("the query does not run", |browser| browser.count("[data-testid=cancel]") == 0);
    browser.wait_for("[data-testid=announcement]", "Cancelled");
    page.run();
    browser.wait("the query runs", |browser| browser.count("[data-testid=cancel]") == 1);
    browser.type_into("body", &ESCAPE.to_string());
    browser.wait("Escape cancels", |browser| browser.count("[data-testid=cancel]") == 0);
    page.assert_clean();
    browser.run("window.fetch = window.real", &Value::Null);
    page.run();
    // The result belongs to its query.
    browser.wait_for("[data-testid=announcement]", "3 objects");
    assert_eq!(browser.count("[data-testid=stale]"), 0);
    page.tick("tag.label");
    browser.wait_for("[data-testid=stale]", "another query");
    page.tick("tag.label");
    browser.wait("the query of the result is back", |browser| browser.count("[data-testid=stale]") == 0);
    page.tick("tag.id");
    browser.click("[data-testid=stale] button");
    browser.wait("the query of the result is opened", |browser| browser.count("[data-testid=stale]") == 0);
    // A refusal shows its status, and belongs to its query as well.
    page.type_query(r#"{"tag": {"$select": {"lable": true"#);
    page.run();
    browser.wait_for("[data-testid=refusal]", "lable");
    browser.wait_for("[data-testid=status]", "400");
    browser.choose("[data-testid=entity]", "user");
    browser.wait_for("[data-testid=stale]", "another query");
}
