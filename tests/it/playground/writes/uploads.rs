//! Files that are dropped on the fields of a record.

use mesh_tests::Database;
use serde_json::{Value, json};

use super::{FIELDS, TABLES, assert_only_refusals, open_row, read, rows_of};

#[test]
fn several_dropped_files_are_refused_and_a_stray_one_is_ignored() {
    let database = Database::new(TABLES);
    let Some(page) = rows_of(&database, "post") else { return };
    let browser = &page.browser;
    open_row(&page, 1);
    // Returns whether the browser would have shown the file in place of the page.
    let drop = "const [selector, count] = arguments[0];
        const transfer = new DataTransfer();
        for (let file = 0; file < count; file += 1) transfer.items.add(new File(['x'], `${file}.txt`, {type: 'text/plain'}));
        return document.querySelector(selector)
            .dispatchEvent(new DragEvent('drop', {bubbles: true, cancelable: true, dataTransfer: transfer}))";
    let is_left = browser.run(drop, &json!(["[data-testid=drop-attachment]", 2]));
    assert_eq!(is_left, json!(false));
    browser.wait_for("[data-testid=drop-attachment] [role=alert]", "2 were dropped. Nothing was uploaded.");
    assert_eq!(browser.run(drop, &json!(["[data-testid=rows]", 1])), json!(false));
    assert_eq!(browser.run(drop, &json!(["[data-testid=drop-attachment] input", 1])), json!(false));
    browser.wait_for(FIELDS, "sha256/");
    page.assert_clean();
}

#[test]
fn a_file_is_uploaded_by_drag_and_drop() {
    let database = Database::new(TABLES);
    let Some(page) = rows_of(&database, "post") else { return };
    let browser = &page.browser;
    open_row(&page, 1);
    let drop = "const [type, size] = arguments[0];
        const transfer = new DataTransfer();
        transfer.items.add(new File(['x'.repeat(size)], 'notes.txt', {type}));
        const zone = document.querySelector('[data-testid=drop-attachment]');
        for (const kind of ['dragover', 'drop']) zone.dispatchEvent(new DragEvent(kind, {bubbles: true, cancelable: true, dataTransfer: transfer}));";
    browser.run(drop, &json!(["text/plain", 2_000_001]));
    browser.wait_for("[data-testid=drop-attachment]", "at most 2.0 MB");
    browser.run(drop, &json!(["image/png", 10]));
    browser.wait_for("[data-testid=drop-attachment] [role=alert]", "image/png");
    // The greatest part that was shown is noted.
    let watch = "window.part = -1; const note = () => {
            for (const it of document.querySelectorAll('progress')) window.part = Math.max(window.part, it.value);
        };
        new MutationObserver(note).observe(document.body, {subtree: true, childList: true, attributes: true})";
    browser.run(watch, &Value::Null);
    browser.run(drop, &json!(["text/plain", 1_500_000]));
    browser.wait_for(FIELDS, "sha256/");
    assert!(
        read(&database, "SELECT attachment FROM posts WHERE id = 1")
            .is_some_and(|key| key.starts_with("sha256/"))
    );
    assert!(browser.run("return window.part", &Value::Null).as_f64() >= Some(0.0), "progress was shown");
    assert_only_refusals(&page);
}
