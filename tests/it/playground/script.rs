//! Script injection in the playground: names, titles, data and links are shown as text, and a script that comes into
//! the document does not run.

use serde_json::{Value, json};

use super::page::Page;
use crate::security::attack::page::{SCRIPT, hostile};

/// Asserts that no script ran and that none became part of the page.
fn assert_nothing_ran(page: &Page, place: &str) {
    let script = "return [window.ran ?? null, document.querySelectorAll('img[src=x], [onerror], [onfocus], [autofocus]').length,
        [...document.querySelectorAll('a[href]')].filter((it) => it.href.startsWith('javascript:')).length]";
    assert_eq!(page.browser.run(script, &Value::Null), json!([null, 0, 0]), "{place}");
}

#[test]
fn scripts_in_data_links_and_the_document_do_not_run() {
    let Some(page) = Page::open(hostile) else { return };
    let page = page.ready();
    let browser = &page.browser;
    browser.wait("the title is there", |it| {
        it.run("return document.body.textContent", &Value::Null)
            .as_str()
            .is_some_and(|text| text.contains(SCRIPT))
    });
    assert_nothing_ran(&page, "the page itself");
    page.type_query(r#"{"note": {"$select": {"id": true, "body": true"#);
    page.run();
    browser.wait_for("[data-testid=reader]", "window.ran");
    assert_nothing_ran(&page, "the answer");
    browser.click("#result-panel-table");
    browser.wait_for("[data-testid=table]", "window.ran");
    assert_nothing_ran(&page, "the table");
    // Links.
    let escaped = SCRIPT.replace('<', "%3C").replace('>', "%3E").replace(' ', "%20");
    // ["<script>window.ran=1</script>", "<img onerror=window.ran=1>", "javascript:window.ran=1"]
    let state = mesh_tests::encode(&json!([SCRIPT, SCRIPT, "javascript:window.ran=1"]).to_string());
    for more in [
        format!("?query={escaped}"),
        format!("?title={escaped}#{escaped}"),
        format!("#q={escaped}"),
        format!("#q={}", state.replace('+', "-").replace('/', "_").trim_end_matches('=')),
        "#javascript:window.ran=1".to_owned(),
    ] {
        browser.visit("about:blank");
        browser.visit(&page.url(&more));
        browser.wait("the page is there", |browser| browser.count(".panes") == 1);
        assert_nothing_ran(&page, &more);
    }
    // Elements that come into the document all the same.
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
    assert_eq!(browser.run_async(script), json!(false), "no script ran");
}
