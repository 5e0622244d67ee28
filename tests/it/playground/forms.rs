//! Relational queries and parameters in the playground: built in forms, completed, checked and sent.

use mesh_tests::Request;
use serde_json::{Value, json};

use super::page::{CONTROL, ENTER, ESCAPE, Page, RELEASE, blog};

const LINT: &str = ".cm-lintRange-error, .cm-lintRange-warning";

/// Opens the page with a new query of posts.
fn posts() -> Option<Page> {
    let page = Page::open(blog)?.ready();
    page.browser.choose("[data-testid=entity]", "post");
    page.wait_for_query("\"post\"");
    Some(page)
}

/// Asserts that the query in the editor is valid, runs it, and waits for a part of the result.
pub(super) fn runs(page: &Page, result: &str) {
    page.browser.wait("the query has no fault", |browser| browser.count(LINT) == 0);
    page.run();
    page.browser.wait_for("[data-testid=reader]", result);
    page.browser.wait("the query has no fault", |browser| browser.count(LINT) == 0);
}

/// Replaces the text of an input.
fn fill(page: &Page, selector: &str, text: &str) {
    page.browser.type_into(selector, &format!("{CONTROL}a{RELEASE}{text}"));
}

/// Copies the query as code, and returns the code.
pub(super) fn copied(page: &Page, language: &str) -> String {
    let browser = &page.browser;
    browser.run(
        "window.copied = null; navigator.clipboard.writeText = (text) => (window.copied = text, Promise.resolve())",
        &Value::Null,
    );
    browser.click("[data-testid=copy-as]");
    browser.wait("the menu is open", |browser| browser.count(".menu-list button") > 0);
    let script = "[...document.querySelectorAll('.menu-list button')].find((it) => it.textContent.startsWith(arguments[0])).click()";
    browser.run(script, &json!(language));
    browser.wait("code is copied", |browser| !browser.run("return window.copied", &Value::Null).is_null());
    browser.run("return window.copied", &Value::Null).as_str().unwrap_or_default().to_owned()
}

#[test]
fn values_of_parameters_are_sent_and_copied() {
    let Some(page) = posts() else { return };
    let browser = &page.browser;
    browser.click("[data-testid=add-condition]");
    browser.choose(".condition select[aria-label=Field]", "likes");
    browser.choose(".condition select[aria-label=Operator]", "gt");
    browser.click(".condition button[aria-label=Parameter]");
    page.wait_for_query(r#""value": { "$param": "likes" }"#);
    // A parameter without a value is marked with a warning, not an error.
    browser.wait_for(".cm-lintRange-warning", "\"likes\"");
    assert_eq!(browser.count(".cm-lintRange-error"), 0);
    fill(&page, "input[aria-label='Value of likes']", "seven");
    browser.wait_for(".cm-lintRange-error", "\"likes\"");
    fill(&page, "input[aria-label='Value of likes']", "6");
    runs(&page, "Slow bread");
    browser.wait_for("[data-testid=status]", "4 objects");
    let call = copied(&page, "curl");
    let headers = call.split("-H '").skip(1).filter_map(|part| part.split('\'').next()?.split_once(": "));
    let request = headers.fold(Request::new("GET", &page.server.path("/post")), |sent, (name, value)| {
        sent.header(name, value)
    });
    let reply = page.server.send(&request);
    assert_eq!(reply.json()["items"].as_array().map(Vec::len), Some(2), "{call}: {}", reply.text());
    let code = copied(&page, "TypeScript");
    assert!(code.contains(r#"{ params: {"likes":6} }"#) && code.contains("mesh.list({"), "{code}");
    let code = copied(&page, "JavaScript");
    assert!(code.contains(r#"const params = `{"likes":6}`"#) && code.contains("X-Mesh-Params"), "{code}");
    // The value stays with the query: in a link, and in the history.
    browser.run("document.querySelector('[data-testid=share]').click()", &Value::Null);
    browser.wait("the link is copied", |browser| {
        browser.run("return window.copied.includes('#q=')", &Value::Null) == json!(true)
    });
    let link = browser.run("return window.copied", &Value::Null);
    browser.run("localStorage.clear()", &Value::Null);
    browser.visit("about:blank");
    browser.visit(link.as_str().unwrap_or_default());
    page.wait_for_query("$param");
    browser.wait("the value is there", |browser| {
        browser
            .run("return document.querySelector(\"input[aria-label='Value of likes']\")?.value", &Value::Null)
            == json!("6")
    });
    // The call by id has the values as well.
    browser.click("[data-testid=register]");
    browser.wait_for("dialog", "X-Mesh-Params");
    browser.click("dialog button[aria-label=Close]");
    // Turn the parameter into a value in the query again.
    browser.click(".condition button[aria-label=Parameter]");
    browser.wait("the parameter is gone", |browser| browser.count("[data-testid=params]") == 0);
    page.assert_clean();
}

#[test]
fn records_are_grouped_by_periods_of_time() {
    let Some(page) = posts() else { return };
    let browser = &page.browser;
    browser.click("[data-testid=add-aggregate]");
    browser.click("[data-testid=add-bucket]");
    page.wait_for_query(r#"{ "field": "createdAt", "by": "month", "as": "month" }"#);
    browser.choose(".bucket select[aria-label=Period]", "year");
    page.wait_for_query(r#""by": "year", "as": "year""#);
    fill(&page, ".bucket input[aria-label='Time zone']", &format!("Europe/Berlin{ENTER}"));
    page.wait_for_query(r#""zone": "Europe/Berlin""#);
    fill(&page, ".bucket input[aria-label='Name of the period']", &format!("start{ENTER}"));
    page.wait_for_query(r#""as": "start""#);
    browser.click("[data-testid=add-order]");
    page.wait_for_query(r#""$orderBy": [{ "field": "start", "direction": "asc" }]"#);
    runs(&page, "2024-01-01");
    browser.click("#result-panel-chart");
    browser.wait_for("[data-testid=chart]", "by start");
    page.assert_clean();
}

#[test]
fn a_relational_query_is_completed_and_its_faults_are_explained_at_their_place() {
    let Some(page) = posts() else { return };
    let browser = &page.browser;
    page.type_query(r#"{"post": {"$where": {"field": "author.manager.n"#);
    browser.wait_for(".cm-tooltip-autocomplete", "author.manager.name");
    browser.type_into(super::page::EDITOR, &ESCAPE.to_string());
    for (text, marked, words) in [
        (
            r#"{"post": {"$select": {"id": true}, "$where": {"field": "author.nam", "op": "isNull"#,
            "author.nam",
            "'nam'",
        ),
        (
            r#"{"post": {"$select": {"id": true}, "$where": {"field": "comments.text", "op": "isNull"#,
            "comments.text",
            "use a condition on the relation",
        ),
        (
            r#"{"post": {"$select": {"id": true}, "$where": {"relation": "comments", "op": "every"#,
            "{",
            "where",
        ),
        (r#"{"post": {"$select": {"likes": {"$field": "id"#, "likes", "choose another one"),
        (
            r#"{"post": {"$select": {"mine": {"$relation": "comments", "$select": {"txt": true"#,
            "txt",
            "'txt'",
        ),
    ] {
        page.type_query(text);
        browser.wait("the fault is marked", |browser| browser.count(".cm-lintRange-error") > 0);
        let place = browser.text(".cm-lintRange-error");
        assert!(place.contains(marked), "{text}: {place}");
        browser.type_into(super::page::EDITOR, "\u{e038}");
        browser.wait_for(".cm-tooltip-lint, .cm-diagnosticText", words);
    }
    page.assert_clean();
}
