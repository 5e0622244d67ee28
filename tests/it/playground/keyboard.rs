//! The keyboard: few tab stops, arrow keys in trees and tables, and shortcuts that do not depend on the layout.

use serde_json::{Value, json};

use super::page::{Page, blog};

const DOWN: char = '\u{e015}';
const RIGHT: char = '\u{e014}';
const LEFT: char = '\u{e012}';

#[test]
fn the_schema_is_one_tab_stop_with_arrow_keys() {
    let Some(page) = Page::open(blog) else { return };
    let page = page.ready();
    let browser = &page.browser;
    let stops = "return [...document.querySelectorAll('a[href], button, input, select, [tabindex]')].filter((it) => it.tabIndex >= 0
        && it.offsetParent && document.querySelector('.query-editor').compareDocumentPosition(it) & Node.DOCUMENT_POSITION_PRECEDING).length";
    let stops = browser.run(stops, &Value::Null).as_u64().unwrap();
    assert!(stops < 25, "{stops} tab stops before the editor");
    let active = || {
        browser
            .run("return document.querySelector('.tree').getAttribute('aria-activedescendant')", &Value::Null)
    };
    browser.choose("[data-testid=entity]", "tag");
    page.wait_for_query("\"tag\"");
    browser.type_into(".tree", "t");
    browser.wait("a letter leads to the entity", |_| active() == json!("tree-tag"));
    browser.type_into(".tree", &format!("{DOWN}{DOWN} "));
    browser.wait("Space takes the field out", |_| !page.query().contains("label"));
    assert_eq!(active(), json!("tree-tag-label"));
    browser.type_into(".tree", &format!("{LEFT}{LEFT}"));
    browser.wait("the entity is folded", |browser| browser.count("#tree-tag[aria-expanded=false]") == 1);
    browser.type_into(".tree", &RIGHT.to_string());
    browser.wait("the entity is unfolded", |browser| browser.count("#tree-tag[aria-expanded=true]") == 1);
    page.assert_clean();
}

#[test]
fn shortcuts_with_alt_work_where_alt_types_other_characters() {
    let Some(page) = Page::open(blog) else { return };
    let page = page.ready();
    let browser = &page.browser;
    // As macOS reports Alt+3 and Shift+Alt+F.
    let press = "window.dispatchEvent(new KeyboardEvent('keydown', {altKey: true, cancelable: true, ...arguments[0]}))";
    browser.run(press, &json!({"key": "¡", "code": "Digit1"}));
    browser.wait("the schema has the focus", |browser| {
        browser.run("return document.activeElement.id", &Value::Null) == json!("schema-search")
    });
    page.type_query(r#"{"tag": {"$select": {"id": true"#);
    browser.run(press, &json!({"key": "Ï", "code": "KeyF", "shiftKey": true}));
    page.wait_for_query("{\n  \"tag\": {");
    page.assert_clean();
}

#[test]
fn the_theme_follows_the_system_until_one_is_chosen() {
    let Some(page) = Page::open(blog) else { return };
    let page = page.ready();
    let browser = &page.browser;
    let prefer = |theme: &str| {
        let features = json!({"features": [{"name": "prefers-color-scheme", "value": theme}]});
        browser.devtools("Emulation.setEmulatedMedia", &features);
    };
    for theme in ["light", "dark", "light"] {
        prefer(theme);
        browser.wait("the theme of the system", |browser| {
            browser.count(&format!("html[data-theme={theme}]")) == 1
        });
    }
    browser.click("[data-testid=theme]");
    browser.wait("the chosen theme", |browser| browser.count("html[data-theme=dark]") == 1);
    prefer("dark");
    prefer("light");
    assert_eq!(browser.count("html[data-theme=dark]"), 1);
    page.assert_clean();
}
