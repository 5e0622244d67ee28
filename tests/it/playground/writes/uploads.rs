//! Files that are dropped on the fields of a record.

use mesh_tests::Database;
use serde_json::{Value, json};

use super::{FIELDS, TABLES, assert_only_refusals, open_row, read, rows_of};

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
