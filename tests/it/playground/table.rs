//! Tables of results: bounded cells, aligned numbers, binary values and nested lists.

use mesh_tests::{Database, Server};
use serde_json::{Value, json};

use super::page::{ENTER, Page, serve};

const RIGHT: char = '\u{e014}';

/// Two folders with 3,000 files, of which the first has a large image.
fn archive() -> Server {
    let database = Database::new(
        "CREATE TABLE folders (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
         CREATE TABLE files (
             id INTEGER PRIMARY KEY, name TEXT NOT NULL, price DECIMAL(12, 2), content BLOB, note TEXT,
             folder_id INTEGER NOT NULL REFERENCES folders (id)
         );
         INSERT INTO folders VALUES (1, 'All'), (2, 'None');
         WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
             INSERT INTO files SELECT i, 'File ' || i, i * 1.25, NULL, 'short', 1 FROM n;
         UPDATE files SET content = X'89504E470D0A1A0A' || zeroblob(90000), note = replace(hex(zeroblob(4000)), '00', 'a long note ')
             WHERE id = 1;",
    );
    serve(&database, &["--docs"])
}

#[test]
fn cells_and_nested_lists_are_bounded() {
    let Some(page) = Page::open(archive) else { return };
    let page = page.ready();
    let browser = &page.browser;
    page.type_query(r#"{"file": {"$select": {"id": true, "price": true, "content": true, "note": true}, "$page": {"first": 20"#);
    page.run();
    browser.wait_for("[data-testid=status]", "20 objects");
    browser.click("#result-panel-table");
    browser.wait_for("[data-testid=table] td.binary", "PNG image, 90.0 kB");
    let heights = "return Math.max(...[...document.querySelectorAll('[data-testid=table] tr')].map((it) => it.offsetHeight)) < 60";
    assert_eq!(browser.run(heights, &Value::Null), json!(true), "rows are of one line");
    let right =
        "return [...document.querySelectorAll('[data-testid=table] tbody tr:first-child td')].slice(0, 2)
        .map((it) => getComputedStyle(it).textAlign)";
    assert_eq!(browser.run(right, &Value::Null), json!(["right", "right"]), "a decimal is a number");
    // The whole value is in a panel.
    browser.click("[data-testid=table] tbody tr:first-child td:nth-child(4)");
    browser.wait("the whole note", |browser| {
        let length = browser
            .run("return document.querySelector('.detail-text')?.textContent.length ?? 0", &Value::Null);
        length.as_u64().is_some_and(|length| length > 40_000)
    });
    // A nested list is a table of its visible rows.
    page.type_query(
        r#"{"folder": {"$select": {"name": true, "files": {"$select": {"id": true, "name": true"#,
    );
    page.run();
    browser.wait_for("[data-testid=status]", "3002 objects");
    browser.click("#result-panel-table");
    browser.wait_for("[data-testid=table] td.nested", "3000 items");
    browser.type_into(".table-scroll", &format!("{RIGHT}{ENTER}"));
    browser.wait_for("[data-testid=sub-table]", "File 1");
    let rows = browser.count("[data-testid=sub-table] tr");
    assert!(rows < 100, "{rows} of 3000 rows are in the document");
    browser.run("document.querySelector('.detail [role=grid]').scrollTop = 1e9", &Value::Null);
    browser.wait_for("[data-testid=sub-table]", "File 3000");
    page.assert_clean();
}
