//! Several records at once, records with a file, and batches of staged changes.

use mesh_tests::{Database, Server};
use serde_json::{Value, json};

use super::page::{CONTROL, Page, RELEASE, serve};

const PREVIEW: &str = "[data-testid=preview]";
const SCHEMA: &str = r#"{"entities": {
    "post": {"fields": ["id", "title", "likes", "cover"], "writable": {"create": ["title", "likes"], "update": ["title", "likes"], "delete": true},
             "uploads": {"cover": {"maxBytes": 1000, "contentTypes": ["text/plain"]}}}
}}"#;

fn site(database: &Database) -> Server {
    let schema = database.dir.write("schema.json", SCHEMA);
    let store = database.dir.path().join("files");
    let settings = format!(
        "schema = {schema:?}\n[docs]\nenabled = true\n[mutations]\nenabled = true\n[uploads]\nenabled = true\nstore = \"file:{}\"\n",
        store.display()
    );
    let file = database.dir.write("mesh.toml", &settings);
    serve(database, &["--config", &file])
}

fn posts(database: &Database) -> Option<Page> {
    let page = Page::open(|| site(database))?.ready();
    page.browser.click("[data-testid=mode-data]");
    page.browser.choose("[data-testid=browse-entity]", "post");
    page.browser.wait_for("[data-testid=position]", "1 to");
    Some(page)
}

fn database() -> Database {
    Database::new(
        "CREATE TABLE posts (id INTEGER PRIMARY KEY, title TEXT NOT NULL UNIQUE, likes INTEGER, cover TEXT);
         INSERT INTO posts (id, title, likes) VALUES (1, 'Rust at dawn', 5), (2, 'Slow bread', NULL);",
    )
}

fn titles(database: &Database) -> Vec<String> {
    let connection = database.connect();
    let mut statement =
        connection.prepare("SELECT title || ' ' || coalesce(likes, 'null') FROM posts ORDER BY id").unwrap();
    let rows = statement.query_map([], |row| row.get(0)).unwrap();
    rows.map(Result::unwrap).collect()
}

/// Puts a text into the form as the clipboard does.
fn paste(page: &Page, text: &str) {
    let script = "const area = document.getElementById('pasted-rows'); area.value = arguments[0];
        area.dispatchEvent(new Event('input', {bubbles: true}))";
    page.browser.run(script, &json!(text));
}

#[test]
fn records_are_created_from_pasted_rows_and_with_a_file() {
    let database = database();
    let Some(page) = posts(&database) else { return };
    let browser = &page.browser;
    browser.click("[data-testid=new-rows]");
    paste(&page, "title,likes\nOne,1\nTwo,many\n");
    browser.click("[data-testid=create-rows]:not([disabled])");
    browser.wait_for("[data-testid=form-error]", "Row 2, likes:");
    browser.wait_for("[data-testid=form-error]", "No record was created.");
    let cell = "return document.querySelector('[data-testid=pasted] td.at-fault')?.textContent";
    assert_eq!(browser.run(cell, &Value::Null), json!("many"));
    page.assert_accessible("a fault of a row");
    // A conflict is shown at its row.
    paste(&page, "title\nOne\nSlow bread\n");
    browser.click("[data-testid=create-rows]:not([disabled])");
    browser.wait_for("[data-testid=form-error]", "Row 2");
    // Rows that the server would certainly refuse are not sent.
    for (text, words) in [
        ("name\nOne", "“name” is no field"),
        ("title\n\"One", "A quote is not closed"),
        ("[1]", "Row 1 is not an object"),
    ] {
        paste(&page, text);
        browser.wait_for("[data-testid=rows-wrong]", words);
        assert_eq!(browser.count("[data-testid=create-rows]:not([disabled])"), 0, "{text}");
    }
    assert_eq!(titles(&database).len(), 2);
    paste(&page, "title,likes\n\"A map, folded\",7\nBicycle,\n");
    browser.wait_for("[data-testid=pasted]", "A map, folded");
    browser.wait_for("[data-testid=create-rows]", "Create 2 records");
    page.assert_accessible("the form of rows");
    browser.click("[data-testid=create-rows]");
    browser.wait_for(".notice-area", "Created 2 records of post");
    browser.wait_for("[data-testid=rows]", "Bicycle");
    assert_eq!(titles(&database), ["Rust at dawn 5", "Slow bread null", "A map, folded 7", "Bicycle null"]);
    // JSON as well, with numbers that keep their digits.
    browser.click("[data-testid=new-rows]");
    paste(&page, r#"[{"title": "Large", "likes": 9007199254740993}, {"title": "None", "likes": null}]"#);
    browser.click("[data-testid=create-rows]:not([disabled])");
    browser.wait_for("[data-testid=rows]", "9007199254740993");
    // A record together with its file.
    browser.click("[data-testid=new-record]");
    browser.type_into("[data-testid=record-form] [data-field=title]", "With a cover");
    let choose =
        "const input = document.querySelector('[data-testid=file-cover]'); const files = new DataTransfer();
        files.items.add(new File(['hello'], 'cover.txt', {type: 'text/plain'})); input.files = files.files;
        input.dispatchEvent(new Event('change', {bubbles: true}));";
    browser.run(choose, &Value::Null);
    browser.wait_for(PREVIEW, "multipart/form-data");
    browser.wait_for(PREVIEW, "cover.txt");
    page.assert_accessible("a form with a file");
    browser.click("[data-testid=save-record]:not([disabled])");
    browser.wait_for(".notice-area", "Created post 7");
    browser.wait_for("[data-testid=record]", "With a cover");
    browser.wait_for("[data-testid=record]", "sha256/");
    let stored: String =
        database.connect().query_row("SELECT cover FROM posts WHERE id = 7", [], |row| row.get(0)).unwrap();
    assert!(stored.starts_with("sha256/"), "{stored}");
    page.assert_no_foreign_requests();
}

/// Opens the record in a row and changes a field of it, without saving.
fn edit(page: &Page, row: u32, title: &str) {
    let browser = &page.browser;
    browser.click(&format!("[data-testid=rows] tbody tr:nth-child({row}) td:nth-child(2)"));
    browser.click("[data-testid=edit-record]:not([disabled])");
    browser.wait("the form", |browser| browser.count("[data-testid=record-form] [data-field=title]") == 1);
    browser.type_into("[data-testid=record-form] [data-field=title]", &format!("{CONTROL}a{RELEASE}{title}"));
}

#[test]
fn staged_changes_are_sent_as_one_batch() {
    let database = database();
    let Some(page) = posts(&database) else { return };
    let browser = &page.browser;
    edit(&page, 1, "Rust at dusk");
    browser.click("[data-testid=stage]");
    browser.wait_for("[data-testid=staged-bar]", "1 change staged");
    browser.click("[data-testid=new-record]");
    browser.type_into("[data-testid=record-form] [data-field=title]", "Slow bread");
    browser.click("[data-testid=stage]");
    browser.wait_for("[data-testid=staged-bar]", "2 changes staged");
    assert_eq!(titles(&database), ["Rust at dawn 5", "Slow bread null"], "nothing is written yet");
    browser.click("[data-testid=review]");
    browser.wait_for("[data-testid=staged-change]", "PUT /mesh/post/1");
    browser.run("document.querySelector('dialog details').open = true", &Value::Null);
    browser.wait_for("[data-testid=batch-preview]", "POST /mesh/batch");
    page.assert_accessible("staged changes");
    // The second one conflicts, so none is written, and it is marked.
    browser.click("[data-testid=send-batch]");
    browser.wait("the change at fault", |browser| browser.count("[data-testid=staged-change].at-fault") == 1);
    assert!(browser.text("[data-testid=staged-change].at-fault").contains("POST /mesh/post"));
    assert_eq!(titles(&database), ["Rust at dawn 5", "Slow bread null"]);
    browser.click("button[aria-label='Remove change 2']");
    browser.click("dialog button[aria-label=Close]");
    // A deletion is staged in its confirmation.
    browser.click("[data-testid=rows] tbody tr:nth-child(2) td:nth-child(2)");
    browser.click("[data-testid=delete-record]:not([disabled])");
    browser.click("[data-testid=stage-delete]");
    browser.click("[data-testid=review]");
    browser.click("[data-testid=send-batch]");
    browser.wait_for(".notice-area", "Wrote 2 changes");
    browser.wait("nothing is staged", |browser| browser.count("[data-testid=staged-bar]") == 0);
    assert_eq!(titles(&database), ["Rust at dusk 5"]);
}
