//! Drafts, history and links: the state of a tab stays in the tab, and saved state belongs to a schema.

use mesh_tests::{Database, Request, Server, encode};
use serde_json::{Value, json};

use super::page::{CONTROL, EDITOR, Page, RELEASE, blog, serve};

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
fn a_pasted_link_leaves_the_address_and_edits_survive_a_reload() {
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
}

#[test]
fn the_browser_goes_back_to_the_query_before() {
    let Some(page) = Page::open(blog) else { return };
    let page = page.ready();
    let browser = &page.browser;
    browser.choose("[data-testid=entity]", "tag");
    page.wait_for_query("\"tag\"");
    paste_link(&page, r#"{"user":{"$select":{"age":true}}}"#);
    browser.run("history.back()", &Value::Null);
    page.wait_for_query("\"tag\"");
    browser.run("history.forward()", &Value::Null);
    page.wait_for_query("\"age\"");
    page.assert_clean();
}

#[test]
fn tabs_do_not_overwrite_the_drafts_and_runs_of_each_other() {
    let Some(page) = Page::open(blog) else { return };
    let page = page.ready();
    let browser = &page.browser;
    browser.choose("[data-testid=entity]", "tag");
    page.wait_for_query("\"tag\"");
    // Another tab stores its draft and a run.
    let other = json!({"query": "{ user { name } }", "format": "ql", "id": "", "at": 1});
    let script = "const [draft] = arguments; const set = (name, value) => localStorage.setItem(`mesh /docs ${name}`, JSON.stringify(value));
        set('draft', draft); set('history', [draft]);";
    browser.run(script, &other);
    page.run();
    browser.wait_for("[data-testid=status]", "3 objects");
    browser.click("#side-panel-saved");
    browser.wait("both runs are listed", |browser| {
        let shown = browser.text(".saved");
        shown.contains("user") && shown.contains("tag")
    });
    page.reload();
    page.wait_for_query("\"tag\"");
    page.assert_clean();
}

#[test]
fn drafts_of_another_database_are_not_opened() {
    let Some(page) = Page::open(blog) else { return };
    let page = page.ready();
    let browser = &page.browser;
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
fn undo_after_a_change_of_the_format_restores_text_and_format() {
    let Some(page) = Page::open(blog) else { return };
    let page = page.ready();
    let browser = &page.browser;
    browser.click("[data-testid=format-ql]");
    browser.wait("the text is in the brace format", |_| !page.query().contains("$select"));
    browser.type_into(EDITOR, &format!("{CONTROL}z{RELEASE}"));
    page.wait_for_query("$select");
    assert_eq!(browser.count("[data-testid=format-json][aria-pressed=true]"), 1);
    browser.type_into(EDITOR, &format!("{CONTROL}y{RELEASE}"));
    browser.wait("redo", |browser| browser.count("[data-testid=format-ql][aria-pressed=true]") == 1);
    assert!(!page.query().contains("$select"), "{}", page.query());
    page.assert_clean();
}

#[test]
fn a_result_is_marked_when_the_query_has_changed() {
    let Some(page) = Page::with_tags() else { return };
    let browser = &page.browser;
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

#[test]
fn all_unknown_names_are_marked() {
    let Some(page) = Page::open(blog) else { return };
    let page = page.ready();
    page.type_query(
        r#"{"post": {"$select": {"titel": true, "author": {"$select": {"nam": true}}}, "$orderBy": [{"direction": "asc", "field": "lieks"#,
    );
    let marked = "return [...document.querySelectorAll('.cm-lintRange-error')].map((it) => it.textContent.replaceAll('\"', ''))";
    page.browser.wait("three faults are marked", |browser| {
        browser.run(marked, &Value::Null) == json!(["titel", "nam", "lieks"])
    });
    page.assert_clean();
}

#[test]
fn a_long_query_is_copied_as_a_post() {
    let Some(page) = Page::open(blog) else { return };
    let page = page.ready();
    let values: Vec<String> = (0..4000).map(|number| number.to_string()).collect();
    let query = format!(
        r#"{{"post":{{"$select":{{"title":true}},"$where":{{"or":[{{"field":"id","op":"eq","value":1}},{{"field":"title","op":"eq","value":"{}"}}]}}}}}}"#,
        values.join("")
    );
    let state = encode(&json!([query, "json", ""]).to_string());
    let link = state.replace('+', "-").replace('/', "_").trim_end_matches('=').to_owned();
    page.browser.run("location.hash = '#q=' + arguments[0]", &json!(link));
    page.wait_for_query("$where");
    let script = "const done = arguments[arguments.length - 1];
        navigator.clipboard.writeText = (text) => (done(text), Promise.resolve());
        document.querySelector('[data-testid=copy-as]').click();
        requestAnimationFrame(() => requestAnimationFrame(() => document.querySelector('.menu-list button').click()));";
    let call = page.browser.run_async(script);
    let call = call.as_str().unwrap_or_default();
    let body =
        call.split("--data-binary '").nth(1).and_then(|rest| rest.strip_suffix('\'')).unwrap_or_default();
    assert!(!call.contains("X-Mesh-Query") && body.len() > 10_000, "{call}");
    let reply = page.server.send(&Request::post(&page.server.path(""), body));
    assert_eq!(reply.json()["items"], json!([{"title": "Rust at dawn"}]));
    page.assert_clean();
}

/// A server on a database whose schema is loaded when it starts.
fn shop(tables: &str) -> Server {
    serve(&Database::new(tables), &["--docs"])
}

#[test]
fn a_running_query_is_cancelled() {
    let Some(page) = Page::open(|| shop("CREATE TABLE items (id INTEGER PRIMARY KEY, name TEXT);")) else {
        return;
    };
    let page = page.ready();
    let browser = &page.browser;
    // The reply of this run never arrives.
    let hang = "const real = window.fetch; window.fetch = (path, init) => (init?.body?.includes('check')
        ? real(path, init)
        : new Promise((_, reject) => init.signal.addEventListener('abort', () => reject(new DOMException('', 'AbortError')))))";
    browser.run(hang, &Value::Null);
    page.run();
    browser.click("[data-testid=cancel]");
    browser.wait("the query does not run", |browser| browser.count("[data-testid=cancel]") == 0);
    browser.wait_for("[data-testid=announcement]", "Cancelled");
    page.run();
    browser.wait("the query runs", |browser| browser.count("[data-testid=cancel]") == 1);
    browser.type_into("body", &super::page::ESCAPE.to_string());
    browser.wait("Escape cancels", |browser| browser.count("[data-testid=cancel]") == 0);
    page.assert_clean();
}

#[test]
fn a_schema_that_could_not_be_loaded_is_loaded_again() {
    let Some(page) = Page::open(blog) else { return };
    let page = page.ready();
    let browser = &page.browser;
    let fail = "window.real ??= window.fetch; window.fail = true;
        window.fetch = (path, init) => (window.fail && String(path).endsWith('/schema') ? Promise.reject(new TypeError('no')) : window.real(path, init));
        document.dispatchEvent(new Event('visibilitychange'));";
    browser.run(fail, &Value::Null);
    browser.wait_for(".explorer .stale", "cannot be reached");
    assert!(browser.count(".entity") > 0, "the schema that was loaded stays");
    // The next load shows what has changed on the server.
    let change = "window.fail = false; const real = window.real;
        window.fetch = async (path, init) => {
            const reply = await real(path, init);
            if (!String(path).endsWith('/schema')) return reply;
            const schema = await reply.json();
            schema.entities.push({...schema.entities[0], name: 'zebra'});
            return new Response(JSON.stringify(schema));
        };";
    browser.run(change, &Value::Null);
    browser.click("[data-testid=retry]");
    browser.wait_for(".tree", "zebra");
    browser.wait("the failure is gone", |browser| browser.count(".explorer .stale") == 0);
    page.assert_clean();
}
