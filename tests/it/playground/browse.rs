//! The data browser: rows, their order, filters and pages, relations, records, and downloads.

use mesh_tests::{Database, Server};
use serde_json::{Value, json};

use super::page::{CONTROL, ENTER, ESCAPE, Page, RELEASE, blog, serve};

const ROWS: &str = "[data-testid=rows]";
const POSITION: &str = "[data-testid=position]";

/// Keeps the next download in `savedAs` and `saved`.
const KEEP_FILE: &str =
    "URL.createObjectURL = (blob) => (blob.text().then((text) => (window.saved = text)), '#');
    HTMLAnchorElement.prototype.click = function () { window.savedAs = this.download; };";

/// Opens the rows of an entity.
fn rows_of(server: impl FnOnce() -> Server, entity: &str) -> Option<Page> {
    let page = Page::open(server)?.ready();
    page.browser.click("[data-testid=mode-data]");
    page.browser.choose("[data-testid=browse-entity]", entity);
    page.browser.wait("the entity is shown", |browser| {
        let label =
            "return document.querySelector('.browse-rows [role=grid]')?.getAttribute('aria-label') ?? ''";
        browser.run(label, &Value::Null) == json!(format!("Rows of {entity}"))
    });
    Some(page)
}

/// Clicks a button whose text begins with `text`.
fn click_text(page: &Page, selector: &str, text: &str) {
    page.browser.wait(&format!("{text:?} in {selector}"), |browser| {
        let script = "const [selector, text] = arguments[0];
            const found = [...document.querySelectorAll(selector)].find((it) => it.textContent.startsWith(text));
            found?.click(); return found !== undefined";
        browser.run(script, &json!([selector, text])) == json!(true)
    });
}

/// Opens the menu of the cell in a row and a column, both from 1.
fn open_cell_menu(page: &Page, row: u32, column: u32) {
    let script = "const cell = document.querySelector(arguments[0]); const {x, y} = cell.getBoundingClientRect();
        cell.dispatchEvent(new MouseEvent('contextmenu', {bubbles: true, cancelable: true, clientX: x + 9, clientY: y + 9}))";
    let cell = format!("{ROWS} tbody tr:nth-child({row}) td:nth-child({column})");
    page.browser.run(script, &json!(cell));
    page.browser.wait("the menu", |browser| browser.count(".context-menu") == 1);
}

/// Returns the text of the query behind the rows, on one line.
fn query(page: &Page) -> String {
    let script =
        "return document.querySelector('[data-testid=query-behind]').textContent.replaceAll(/\\s+/g, ' ')";
    page.browser.run(script, &Value::Null).as_str().unwrap_or_default().to_owned()
}

#[test]
fn rows_are_paged_ordered_and_downloaded() {
    let server = || {
        let database = Database::blog_with_posts(60);
        let file = database.dir.write("mesh.toml", "[docs]\nenabled = true\n[export]\nenabled = true\n");
        serve(&database, &["--config", &file])
    };
    let Some(page) = rows_of(server, "post") else { return };
    let browser = &page.browser;
    browser.wait_for(POSITION, "1 to 50 of 64");
    browser.click("[data-testid=rows-next]");
    browser.wait_for(POSITION, "51 to 64 of 64");
    assert_eq!(browser.count("[data-testid=rows-next][disabled]"), 1);
    browser.click("[data-testid=rows-previous]");
    browser.wait_for(POSITION, "1 to 50 of 64");
    browser.wait_for(ROWS, "Rust at dawn");
    browser.type_into("[data-testid=page-number]", &format!("{CONTROL}a{RELEASE}2{ENTER}"));
    browser.wait_for(POSITION, "51 to 64 of 64");
    browser.click("[data-testid=rows-previous]");
    browser.wait_for(POSITION, "1 to 50 of 64");
    browser.click("[data-testid=rows-last]");
    browser.wait_for(POSITION, "15 to 64 of 64");
    browser.click("[data-testid=rows-previous]");
    browser.wait_for(POSITION, "1 to 14 of 64");
    assert_eq!(browser.count("[data-testid=rows-previous][disabled]"), 1);
    let first = || browser.text(&format!("{ROWS} tbody tr:first-child td:nth-child(2)"));
    for (order, title) in [("ascending", "A map"), ("descending", "Slow bread")] {
        click_text(&page, ".head-name", "title");
        browser.wait(order, |_| first() == title);
        assert_eq!(browser.count(&format!("th[aria-sort={order}]")), 1);
    }
    click_text(&page, ".head-name", "title");
    browser.wait("no order", |browser| browser.count("th[aria-sort]") == 0);
    // The server exports them.
    browser.run(KEEP_FILE, &Value::Null);
    for (label, name, lines) in [("CSV", "post.csv", 65), ("NDJSON", "post.ndjson", 64)] {
        browser.click("[data-testid=download]");
        click_text(&page, ".menu-list [role=menuitem]", label);
        browser.wait(name, |browser| {
            let saved = "return [window.savedAs, (window.saved ?? '').trimEnd().split('\\n').length]";
            browser.run(saved, &Value::Null) == json!([name, lines])
        });
        if label == "CSV" {
            let head = "return window.saved.split('\\r\\n')[0]";
            let head = browser.run(head, &Value::Null);
            assert!(head.as_str().is_some_and(|head| head.contains(r#""commentsCount.count""#)), "{head}");
        }
    }
    page.assert_clean();
}

#[test]
fn rows_are_filtered_by_mouse_and_keyboard_and_opened_in_the_editor() {
    let Some(page) = rows_of(blog, "post") else { return };
    let browser = &page.browser;
    browser.wait_for(ROWS, "Slow bread");
    // The number of likes of the second post.
    open_cell_menu(&page, 2, 3);
    click_text(&page, ".context-menu button", "likes is 7");
    browser.wait_for(POSITION, "1 to 2 of 2");
    assert!(
        query(&page).contains(r#""$where": { "field": "likes", "op": "eq", "value": 7 }"#),
        "{}",
        query(&page)
    );
    // A condition is changed in its form.
    browser.choose("[data-testid=filters] select[aria-label=Operator]", "lt");
    browser.wait_for(POSITION, "1 to 1 of 1");
    browser.type_into("[data-testid=filters] input.value", &format!("{CONTROL}a{RELEASE}8"));
    browser.wait_for(POSITION, "1 to 3 of 3");
    browser.click("[aria-label='Menu of title']");
    click_text(&page, ".context-menu button", "Filter");
    browser.wait("two conditions", |browser| browser.count("[data-testid=filters] .condition") == 2);
    browser.type_into(
        "[data-testid=filters] .condition:nth-child(2) input.value",
        &format!("{CONTROL}a{RELEASE}%ic%"),
    );
    browser.wait_for(POSITION, "1 to 1 of 1");
    browser.wait_for(ROWS, "Bicycle");
    browser.click("[data-testid=open-in-editor]");
    browser.wait_for("[data-testid=reader]", "Bicycle");
    assert_eq!(browser.count(".controls .condition"), 2, "the filter is in the query");
    browser.run("history.back()", &Value::Null);
    browser.wait_for(POSITION, "1 to 1 of 1");
    click_text(&page, "[data-testid=filters] > button", "Remove all");
    browser.wait_for(POSITION, "1 to 50 of 64");
    // By keyboard.
    let grid = ".browse-rows [role=grid]";
    browser.wait_for(ROWS, "Slow bread");
    // Down to the second post, Enter opens it.
    browser.type_into(grid, &format!("\u{e015}{ENTER}"));
    browser.wait_for("[data-testid=record]", "post 2");
    browser.type_into("[data-testid=record] .fill", &ESCAPE.to_string());
    browser.wait("the panel is closed", |browser| browser.count("[data-testid=record]") == 0);
    // Shift+F10 opens the menu of the title.
    browser.type_into(grid, "\u{e014}\u{e008}\u{e03a}\u{e000}");
    browser.wait("the menu has the focus", |browser| {
        browser.run("return document.activeElement.textContent", &Value::Null) == json!("title is Slow bread")
    });
    browser.type_into(".context-menu button", &ENTER.to_string());
    browser.wait_for(POSITION, "1 to 1 of 1");
    // Up from the first row are the heads, whose menus open with Enter.
    browser.type_into(grid, &format!("\u{e013}\u{e013}{ENTER}"));
    browser.wait("the menu of the head", |browser| browser.count(".context-menu") == 1);
    page.assert_clean();
}

#[test]
fn related_records_are_opened_and_columns_chosen() {
    let Some(page) = rows_of(blog, "post") else { return };
    let browser = &page.browser;
    click_text(&page, &format!("{ROWS} td.linked .cell-link"), "Ada");
    browser.wait_for("[data-testid=record]", "user 1");
    browser.wait_for("[data-testid=record]", "admin");
    // Relations of the record lead further, and the browser leads back.
    browser.wait_for("[data-testid=record] .record-many", "comments");
    click_text(&page, "[data-testid=record] [role=gridcell]", "yes");
    browser.wait_for("[data-testid=record]", "comment 4");
    browser.run("history.back()", &Value::Null);
    browser.wait_for("[data-testid=record]", "user 1");
    browser.type_into("[data-testid=record] .fill", &ESCAPE.to_string());
    browser.wait("the panel is closed", |browser| browser.count("[data-testid=record]") == 0);
    browser.click(&format!("{ROWS} tbody tr:first-child button[aria-label='3 comments']"));
    browser.wait_for("[data-testid=related]", "second");
    click_text(&page, "[data-testid=related] [role=gridcell]", "second");
    browser.wait_for("[data-testid=record]", "comment 2");
    // Columns are chosen and kept.
    browser.wait("binary values are not read at first", |_| !query(&page).contains("picture"));
    browser.click("[data-testid=columns]");
    browser.click("[data-column=picture]");
    browser.wait_for(ROWS, "binary, 3 B");
    browser.click("[data-column=likes]");
    browser.wait("likes are not read", |_| !query(&page).contains("likes"));
    browser.visit("about:blank");
    browser.visit(&page.url(""));
    page.wait_for_query("$select");
    browser.click("[data-testid=mode-data]");
    browser.choose("[data-testid=browse-entity]", "post");
    browser.wait_for(ROWS, "binary, 3 B");
    assert!(!query(&page).contains("likes"), "{}", query(&page));
    page.assert_clean();
}
