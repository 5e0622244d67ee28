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
mod layout;
mod many;
mod page;
mod queries;
mod script;
mod session;
mod speed;
mod table;
mod view_as;
mod writes;

use mesh_tests::{Database, Request, run};
use serde_json::{Value, json};

use page::{CONTROL, EDITOR, ENTER, ESCAPE, Page, RELEASE, blog};

#[test]
fn a_query_is_built_by_clicking_and_run() {
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
    page.assert_clean();
}

#[test]
fn links_carry_the_query_in_their_fragment() {
    let Some(page) = Page::open(blog) else { return };
    // ["{ post title }", "ql", "2"]
    page.browser.visit("about:blank");
    let _ = page.browser.requests();
    page.browser.visit(&page.url("#q=WyJ7IHBvc3QgdGl0bGUgfSIsInFsIiwiMiJd"));
    page.wait_for_query("{ post title }");
    page.run();
    page.browser.wait_for("[data-testid=reader]", "Slow bread");
    let sent = page.browser.requests();
    assert!(
        !sent.is_empty() && sent.iter().all(|url| !url.contains("WyJ7IHBvc3Q") || url.contains('#')),
        "{sent:?}"
    );
}

#[test]
fn a_query_is_copied_registered_and_stored_in_the_history() {
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
    page.assert_clean();
}

#[test]
fn all_controls_are_reachable_by_keyboard() {
    let Some(page) = Page::open(blog) else { return };
    let page = page.ready();
    let browser = &page.browser;
    page.type_query(&format!(r#"{{"user": {{"$select": {{"name": true{ESCAPE}"#));
    browser.type_into(EDITOR, &format!("{CONTROL}{ENTER}{RELEASE}"));
    browser.wait_for("[data-testid=status]", "4 objects");
    browser.type_into(EDITOR, &format!("{CONTROL}k{RELEASE}"));
    browser.type_into(".palette-input", &format!("query tag{ENTER}"));
    page.wait_for_query("\"tag\"");
    browser.type_into("body", &format!("{CONTROL}k{RELEASE}"));
    browser.type_into(".palette-input", &format!("light{ENTER}"));
    browser.wait("the palette switches the theme", |browser| browser.count("html[data-theme=light]") == 1);
    let width = || browser.run("return document.querySelector('.side').offsetWidth", &Value::Null).as_u64();
    let before = width();
    browser.type_into("[data-testid=split-side]", "\u{e014}\u{e014}");
    browser.wait("arrow keys make the schema wider", |_| width() > before);
    page.assert_clean();
}

#[test]
fn injected_scripts_do_not_run() {
    let Some(page) = Page::open(blog) else { return };
    // The browser reports each violation some time after it has refused them.
    let script = "const done = arguments[arguments.length - 1];
        const expected = ['connect-src', 'script-src-attr', 'script-src-elem', 'style-src-elem'];
        const blocked = new Set();
        document.addEventListener('securitypolicyviolation', (event) => {
            blocked.add(event.effectiveDirective);
            if (expected.every((directive) => blocked.has(directive))) done(window.ran ?? false);
        });
        const inline = document.createElement('script');
        inline.textContent = 'window.ran = true';
        document.body.append(inline);
        document.body.insertAdjacentHTML('beforeend', '<img src=\"x:\" onerror=\"window.ran = true\"><style>body{color:red}</style>');
        fetch('http://127.0.0.1:9/').catch(() => undefined);";
    assert_eq!(page.browser.run_async(script), json!(false), "no script ran");
}

#[test]
fn a_public_playground_requires_confirmation() {
    let database = Database::blog();
    let output = run(&["serve", "--listen", "0.0.0.0:0", "--docs", "--database", &database.url()]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("--allow-open-docs"));
}
