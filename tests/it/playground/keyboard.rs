//! The keyboard: few tab stops, arrow keys in trees and tables, and shortcuts that do not depend on the layout.

use mesh_tests::Database;
use serde_json::{Value, json};

use super::page::{CONTROL, EDITOR, ENTER, ESCAPE, Page, RELEASE, blog, serve};

const DOWN: char = '\u{e015}';
const RIGHT: char = '\u{e014}';
const LEFT: char = '\u{e012}';

#[test]
fn queries_are_written_by_keyboard_alone() {
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
    browser.type_into("[data-testid=split-side]", &format!("{RIGHT}{RIGHT}"));
    browser.wait("arrow keys make the schema wider", |_| width() > before);
    // The schema is one tab stop with arrow keys.
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

/// Presses a key as a user does: the element with the focus receives it.
fn press(page: &Page, key: &str) {
    let (code, number, text) = match key {
        "Enter" => ("Enter", 13, Some("\r")),
        "Escape" => ("Escape", 27, None),
        "ArrowRight" => ("ArrowRight", 39, None),
        _ => ("Tab", 9, None),
    };
    for kind in ["keyDown", "keyUp"] {
        let mut event = json!({"type": kind, "key": code, "code": code, "windowsVirtualKeyCode": number});
        if let (Some(text), "keyDown") = (text, kind) {
            event["text"] = json!(text);
        }
        page.browser.devtools("Input.dispatchKeyEvent", &event);
    }
}

fn write(page: &Page, text: &str) {
    page.browser.devtools("Input.insertText", &json!({"text": text}));
}

fn has_focus(page: &Page, selector: &str) -> bool {
    page.browser.run("return document.activeElement.matches(arguments[0])", &json!(selector)) == json!(true)
}

/// Presses Tab until an element has the focus.
fn tab_to(page: &Page, selector: &str) {
    page.browser.wait(selector, |browser| browser.count(selector) > 0);
    for _ in 0..80 {
        if has_focus(page, selector) {
            return;
        }
        // In the editor Tab indents; after Escape it moves on.
        if has_focus(page, ".cm-content") {
            press(page, "Escape");
        }
        press(page, "Tab");
    }
    panic!("{selector} is not reached by Tab");
}

fn wait_for_focus(page: &Page, selector: &str) {
    page.browser.wait(&format!("{selector} has the focus"), |_| has_focus(page, selector));
}

#[test]
fn records_are_written_by_keyboard_alone() {
    let database = Database::new(
        "CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
         CREATE TABLE posts (id INTEGER PRIMARY KEY, title TEXT NOT NULL, author_id INTEGER REFERENCES users (id), cover TEXT);
         INSERT INTO users VALUES (1, 'Ada'), (2, 'Bo');
         INSERT INTO posts VALUES (1, 'Rust at dawn', 1, NULL);",
    );
    let schema = r#"{"entities": {
        "user": {"fields": ["id", "name"]},
        "post": {"fields": ["id", "title", "authorId", "cover"], "columns": {"authorId": "author_id"},
                 "writable": {"create": ["title", "authorId"], "update": ["title", "authorId"], "delete": true}, "uploads": {"cover": {}}}
    }, "joins": {"post.author": {"entity": "user", "on": "users.id = posts.author_id", "type": "one"}}}"#;
    let schema = database.dir.write("schema.json", schema);
    let store = database.dir.path().join("files").display().to_string();
    let uploads = format!(
        "schema = {schema:?}\n[docs]\nenabled = true\n[mutations]\nenabled = true\n[uploads]\nenabled = true\nstore = \"file:{store}\"\n"
    );
    let file = database.dir.write("mesh.toml", &uploads);
    let Some(page) = Page::open(|| serve(&database, &["--config", &file])) else { return };
    let page = page.ready();
    let browser = &page.browser;
    tab_to(&page, "[data-testid=mode-data]");
    press(&page, "Enter");
    // Create a record: the focus is in the form, and afterwards in the panel of the new record.
    tab_to(&page, "[data-testid=new-record]");
    press(&page, "Enter");
    wait_for_focus(&page, "[data-field=title]");
    write(&page, "By keyboard");
    press(&page, "Enter");
    wait_for_focus(&page, "[data-testid=edit-record]");
    browser.wait_for("[data-testid=record]", "By keyboard");
    // Edit it.
    press(&page, "Enter");
    wait_for_focus(&page, "[data-field=title]");
    write(&page, ", edited");
    press(&page, "Enter");
    wait_for_focus(&page, "[data-testid=edit-record]");
    browser.wait_for("[data-testid=record]", "edited");
    // Link it to another record by search.
    tab_to(&page, ".link-tools button");
    press(&page, "Enter");
    wait_for_focus(&page, "[data-testid=record-search] input");
    write(&page, "Bo");
    browser.wait("one offer", |browser| browser.count("[data-testid=record-search] [role=option]") == 1);
    press(&page, "Enter");
    browser.wait_for("[data-testid=record]", "user 2");
    // The field for a file, whose dialog belongs to the browser.
    tab_to(&page, "[data-testid=drop-cover] input");
    // Cancelling the confirmation moves the focus back to its button.
    tab_to(&page, "[data-testid=delete-record]");
    press(&page, "Enter");
    wait_for_focus(&page, "[data-testid=confirm-delete] button");
    press(&page, "Escape");
    wait_for_focus(&page, "[data-testid=delete-record]");
    press(&page, "Enter");
    tab_to(&page, "[data-testid=delete-now]:not([disabled])");
    press(&page, "Enter");
    browser.wait_for(".notice-area", "Deleted post 2");
    wait_for_focus(&page, "[role=grid]");
    // Several records at once; Escape moves the focus back to the button.
    tab_to(&page, "[data-testid=new-rows]");
    press(&page, "Enter");
    wait_for_focus(&page, "#pasted-rows");
    press(&page, "Escape");
    wait_for_focus(&page, "[data-testid=new-rows]");
}
