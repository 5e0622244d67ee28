//! Tabs of queries, saved queries in folders, the history, and the request of a query.

use serde_json::{Value, json};

use super::page::{CONTROL, EDITOR, ENTER, Page, RELEASE, blog};

const NOTICE: &str = ".notice";
const TABS: &str = ".query-tabs [role=tab]";

#[test]
fn queries_are_kept_in_tabs_and_saved_in_folders() {
    let Some(page) = Page::with_tags() else { return };
    let browser = &page.browser;
    browser.click("[data-testid=new-tab]");
    browser.choose("[data-testid=entity]", "user");
    page.wait_for_query("\"user\"");
    assert_eq!(browser.count("[data-testid=reader]"), 0, "the new tab has no result");
    browser.click(&format!("{TABS}:first-child"));
    page.wait_for_query("\"tag\"");
    browser.wait_for("[data-testid=status]", "3 objects");
    // Undo does not reach the text of the other tab.
    page.tick("tag.label");
    browser.wait("the field is taken out", |_| !page.query().contains("label"));
    browser.type_into(EDITOR, &format!("{CONTROL}z{RELEASE}"));
    page.wait_for_query("\"label\"");
    page.reload();
    page.wait_for_query("\"tag\"");
    browser.wait("both tabs are there", |browser| browser.count(TABS) == 2);
    browser.click(&format!("{TABS}:nth-child(2)"));
    page.wait_for_query("\"user\"");
    browser.click("[data-testid=close-tab]");
    page.wait_for_query("\"tag\"");
    assert_eq!(browser.count(TABS), 1);
    // Saved queries have folders, and are exported and imported.
    browser.type_into(EDITOR, &format!("{CONTROL}s{RELEASE}"));
    browser.type_into("dialog input", &format!("reports/All tags{ENTER}"));
    browser.wait_for(".folder summary", "reports");
    browser.wait_for(".folder", "All tags");
    let keep = "window.saved = null; URL.createObjectURL = (blob) => (blob.text().then((text) => (window.saved = text)), '#');
        HTMLAnchorElement.prototype.click = () => undefined;";
    browser.run(keep, &Value::Null);
    browser.click("[data-testid=export]");
    browser.wait("a file", |browser| !browser.run("return window.saved", &Value::Null).is_null());
    browser.click(".folder button[aria-label='Remove All tags']");
    browser.wait("no folder", |browser| browser.count(".folder") == 0);
    let saved = browser.run("return window.saved", &Value::Null);
    import(&page, "queries.json", &saved);
    browser.wait_for(".folder", "All tags");
    browser.wait_for(NOTICE, "Imported 1 query");
    import(&page, "queries.json", &saved);
    browser.wait_for(NOTICE, "Imported 1 query, 1 replaced");
    page.assert_clean();
}

#[test]
fn tabs_are_run_as_one() {
    let Some(page) = Page::with_tags() else { return };
    let browser = &page.browser;
    assert_eq!(browser.count("[data-testid=run-tabs]"), 0, "there is one tab");
    browser.click("[data-testid=new-tab]");
    browser.choose("[data-testid=entity]", "user");
    page.wait_for_query("\"user\"");
    browser.click("[data-testid=run-tabs]");
    browser.wait_for("[data-testid=status]", "as one with other tabs");
    browser.wait_for("[data-testid=reader]", "Ada");
    browser.click(&format!("{TABS}:first-child"));
    browser.wait_for("[data-testid=status]", "as one with other tabs");
    browser.wait_for("[data-testid=reader]", "travel");
    page.assert_clean();
    // A fault is shown in the tab that has it.
    page.type_query(r#"{"tag": {"$select": {"lable": true"#);
    browser.click(&format!("{TABS}:nth-child(2)"));
    page.wait_for_query("\"user\"");
    browser.click("[data-testid=run-tabs]");
    page.wait_for_query("lable");
    browser.wait_for("[data-testid=status]", "400");
    page.assert_no_foreign_requests();
}

/// Chooses a file with a text for the import.
fn import(page: &Page, name: &str, text: &Value) {
    let script = "const [name, text] = arguments[0];
        const input = document.querySelector('[data-testid=import]'); const files = new DataTransfer();
        files.items.add(new File([text], name)); input.files = files.files;
        input.dispatchEvent(new Event('change', {bubbles: true}));";
    page.browser.run(script, &json!([name, text]));
}

#[test]
fn the_request_is_shown_with_its_response() {
    let Some(page) = Page::open(blog) else { return };
    let page = page.ready();
    let browser = &page.browser;
    page.type_query(r#"{"tag": {"$select": {"label": true"#);
    page.run();
    browser.wait_for("[data-testid=status]", "3 objects");
    browser.click("#result-panel-request");
    let shown = "[data-testid=request]";
    for (way, parts) in [
        (
            "get",
            [
                "GET /mesh/tag HTTP/1.1",
                "X-Mesh-Query: eyJ",
                "HTTP/1.1 200",
                "etag: \"",
                r#"{"label":"code"}"#,
            ],
        ),
        (
            "post",
            [
                "POST /mesh HTTP/1.1",
                "Content-Type: application/json",
                "HTTP/1.1 200",
                "x-request-id: ",
                "code",
            ],
        ),
        ("id", ["GET /mesh/tag HTTP/1.1", "X-Mesh-Query-Id: q_", "HTTP/1.1 200", "etag: \"", "code"]),
    ] {
        browser.click(&format!("[data-testid=way-{way}]"));
        browser.click("[data-testid=send]");
        for part in parts {
            browser.wait_for(shown, part);
        }
    }
    // A short response is completely visible, without a separate scrollbar.
    let hidden = "return [...document.querySelectorAll('.request-part pre')].map((it) => it.scrollHeight - it.clientHeight)";
    assert_eq!(browser.run(hidden, &Value::Null), json!([0, 0]));
    browser.click("[data-testid=send-tag]");
    browser.wait_for(shown, "If-None-Match: ");
    browser.wait_for(shown, "HTTP/1.1 304");
    // Another way of sending has no response yet; the response of another query is marked.
    browser.click("[data-testid=way-get]");
    browser.wait("the response is gone", |browser| !browser.text(shown).contains("HTTP/1.1"));
    browser.click("[data-testid=send]");
    browser.wait_for(shown, "HTTP/1.1 200");
    assert_eq!(browser.count("[data-testid=sent-stale]"), 0);
    page.type_query(r#"{"tag": {"$select": {"id": true"#);
    browser.wait_for("[data-testid=sent-stale]", "another query");
    assert_eq!(browser.count("[data-testid=send-tag]"), 0);
    page.assert_clean();
}
