//! Writing in the data browser: records, links, files, and their errors.

use mesh_tests::{Database, Server};
use serde_json::{Value, json};

use super::page::{CONTROL, ENTER, ESCAPE, Page, RELEASE, serve};
use super::session::{hash, log_in};

const RECORD: &str = "[data-testid=record]";
/// The fields of a record that is not edited. While a record is edited, its panel shows the request, which has the new
/// values before they are stored.
const FIELDS: &str = "[data-testid=record] .record-fields";
const FORM: &str = "[data-testid=record-form]";
const PREVIEW: &str = "[data-testid=preview]";
const SAVE: &str = "[data-testid=save-record]:not([disabled])";

const TABLES: &str = "
CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT NOT NULL, email TEXT UNIQUE);
CREATE TABLE posts (
    id INTEGER PRIMARY KEY, title TEXT NOT NULL, likes INTEGER, published BOOLEAN, data JSON, attachment TEXT,
    author_id INTEGER NOT NULL REFERENCES users (id)
);
CREATE TABLE comments (
    id INTEGER PRIMARY KEY, text TEXT NOT NULL, post_id INTEGER NOT NULL REFERENCES posts (id) ON DELETE CASCADE,
    user_id INTEGER REFERENCES users (id)
);
CREATE TABLE tags (id INTEGER PRIMARY KEY, label TEXT NOT NULL);
CREATE TABLE post_tags (
    post_id INTEGER NOT NULL REFERENCES posts (id) ON DELETE CASCADE, tag_id INTEGER NOT NULL REFERENCES tags (id)
);
INSERT INTO users VALUES (1, 'Ada', 'ada@example.org'), (2, 'Bo', NULL);
INSERT INTO posts (id, title, likes, author_id) VALUES (1, 'Rust at dawn', 5, 1), (2, 'Slow bread', NULL, 2);
INSERT INTO comments VALUES (1, 'first', 1, NULL);
INSERT INTO tags VALUES (1, 'code'), (2, 'food');
INSERT INTO post_tags VALUES (1, 1);
";

const SCHEMA: &str = r#"{"entities": {
    "user": {"fields": ["id", "name", "email"], "writable": ["name", "email"]},
    "post": {"fields": ["id", "title", "likes", "published", "data", "attachment", "authorId"],
             "columns": {"authorId": "author_id"}, "types": {"data": "json"},
             "writable": {"create": ["title", "likes", "published", "data", "authorId"],
                          "update": ["title", "likes", "published", "data", "authorId"], "delete": true},
             "uploads": {"attachment": {"maxBytes": 2000000, "contentTypes": ["text/plain"]}}},
    "comment": {"fields": ["id", "text"], "writable": true},
    "tag": {"fields": ["id", "label"]}
}, "joins": {
    "post.author": {"entity": "user", "on": "users.id = posts.author_id", "type": "one"},
    "post.comments": {"entity": "comment", "on": "comments.post_id = posts.id", "type": "many"},
    "comment.user": {"entity": "user", "on": "users.id = comments.user_id", "type": "one"},
    "post.tags": {"entity": "tag", "type": "many", "through": {"table": "post_tags", "from": "post_id", "to": "tag_id"}}
}}"#;

fn start(database: &Database, settings: &str) -> Server {
    let schema = database.dir.write("schema.json", SCHEMA);
    let store = database.dir.path().join("files");
    let file = database.dir.write(
        "mesh.toml",
        &format!(
            "schema = {schema:?}\n[docs]\nenabled = true\n[uploads]\nenabled = true\nstore = \"file:{}\"\n{settings}",
            store.display()
        ),
    );
    serve(database, &["--config", &file])
}

/// Opens the rows of an entity on a server with write routes.
fn rows_of(database: &Database, entity: &str) -> Option<Page> {
    let page = Page::open(|| start(database, "[mutations]\nenabled = true\n"))?.ready();
    page.browser.click("[data-testid=mode-data]");
    page.browser.choose("[data-testid=browse-entity]", entity);
    page.browser.wait_for("[data-testid=position]", "1 to");
    Some(page)
}

/// Opens the record in a row, counted from 1.
fn open_row(page: &Page, row: u32) {
    page.browser.click(&format!("[data-testid=rows] tbody tr:nth-child({row}) td:nth-child(2)"));
    page.browser.wait("its fields", |browser| browser.count(&format!("{RECORD} dd")) > 0);
}

fn edit(page: &Page, row: u32) {
    open_row(page, row);
    page.browser.click("[data-testid=edit-record]");
    page.browser.wait("the form", |browser| browser.count(FORM) == 1);
}

/// Replaces the text of a field of the form.
fn fill(page: &Page, field: &str, text: &str) {
    page.browser.type_into(&format!("[data-field={field}]"), &format!("{CONTROL}a{RELEASE}{text}"));
}

fn click_text(page: &Page, selector: &str, text: &str) {
    page.browser.wait(&format!("{text:?} in {selector}"), |browser| {
        let script = "const [selector, text] = arguments[0];
            const found = [...document.querySelectorAll(selector)].find((it) => it.textContent.startsWith(text));
            found?.click(); return found !== undefined";
        browser.run(script, &json!([selector, text])) == json!(true)
    });
}

/// Returns the first column of the first row of a statement's result.
fn read(database: &Database, statement: &str) -> Option<String> {
    database.connect().query_row(statement, [], |row| row.get(0)).ok().flatten()
}

/// Asserts that the console has no errors but those of refused requests.
fn assert_only_refusals(page: &Page) {
    let errors = page.browser.console_errors();
    assert!(errors.iter().all(|error| error.contains("Failed to load resource")), "{errors:?}");
    page.assert_no_foreign_requests();
}

#[test]
fn a_record_is_edited_with_a_preview_and_the_changes_of_others_are_kept() {
    let database = Database::new(TABLES);
    let Some(page) = rows_of(&database, "post") else { return };
    let browser = &page.browser;
    edit(&page, 2);
    assert_eq!(browser.count(SAVE), 0, "nothing has changed");
    fill(&page, "title", "Quick bread");
    fill(&page, "likes", "9");
    let preview = browser.text(PREVIEW);
    assert!(preview.starts_with("PUT /mesh/post/2"), "{preview}");
    assert!(preview.contains("{\n  \"title\": \"Quick bread\",\n  \"likes\": 9\n}"), "{preview}");
    browser.click(SAVE);
    browser.wait_for(FIELDS, "Quick bread");
    browser.wait_for("[data-testid=rows]", "Quick bread");
    let stored = "SELECT title || likes FROM posts WHERE id = 2";
    assert_eq!(read(&database, stored).as_deref(), Some("Quick bread9"));
    // A value is removed, and Escape ends the editing without a write.
    browser.click("[data-testid=edit-record]");
    browser.click("[aria-label='likes is null']");
    browser.wait_for(PREVIEW, "\"likes\": null");
    browser.type_into("[data-field=title]", &ESCAPE.to_string());
    browser.wait("the form is closed", |browser| browser.count(FORM) == 0);
    assert_eq!(read(&database, stored).as_deref(), Some("Quick bread9"));
    // What others have changed is not overwritten.
    let change = |likes: u32| {
        database.connect().execute("UPDATE posts SET likes = ?1 WHERE id = 1", [likes]).unwrap();
    };
    edit(&page, 1);
    fill(&page, "title", "Rust at noon");
    browser.wait_for(PREVIEW, "If-Match: \"");
    change(6);
    browser.click(SAVE);
    browser.wait_for("[data-testid=form-error]", "The record has changed");
    let stored = "SELECT title || likes FROM posts WHERE id = 1";
    assert_eq!(read(&database, stored).as_deref(), Some("Rust at dawn6"));
    browser.click("[data-testid=read-again]");
    browser.wait("the change of the others", |browser| {
        browser.run("return document.querySelector('[data-field=likes]').value", &Value::Null) == json!("6")
    });
    browser.click(SAVE);
    browser.wait_for(FIELDS, "Rust at noon");
    assert_eq!(read(&database, stored).as_deref(), Some("Rust at noon6"));
    browser.click("[data-testid=delete-record]");
    browser.wait_for("[data-testid=confirm-delete]", "If-Match: \"");
    change(7);
    browser.click("[data-testid=delete-now]:not([disabled])");
    browser.wait_for("[data-testid=confirm-delete] [role=alert]", "The record has changed");
    assert_eq!(read(&database, stored).as_deref(), Some("Rust at noon7"));
    assert_only_refusals(&page);
}

#[test]
fn a_record_is_created_with_faults_at_its_fields_and_a_related_one_found_by_search() {
    let database = Database::new(TABLES);
    let Some(page) = rows_of(&database, "post") else { return };
    let browser = &page.browser;
    // Faults are shown at their fields.
    let fault = |field: &str| {
        let script = "const it = document.querySelector(`[data-field=${arguments[0]}]`);
            return [it.getAttribute('aria-invalid'), document.getElementById(it.getAttribute('aria-describedby'))?.textContent ?? '']";
        browser.run(script, &json!(field))
    };
    browser.click("[data-testid=new-record]");
    browser.wait("the form", |browser| browser.count(FORM) == 1);
    fill(&page, "likes", "many");
    browser.click(SAVE);
    browser.wait("faults of two fields", |browser| browser.count(".field-fault") >= 2);
    assert_eq!(fault("title"), json!(["true", "'title' is required, but has no value"]));
    assert_eq!(fault("likes")[0], json!("true"), "{}", fault("likes"));
    assert_eq!(fault("published"), json!(["false", ""]));
    let focused = "return document.activeElement.dataset.field";
    assert_eq!(browser.run(focused, &Value::Null), json!("title"));
    fill(&page, "data", "{");
    browser
        .wait("text that is no JSON is not sent", |_| fault("data") == json!(["true", "This is not JSON."]));
    assert_only_refusals(&page);
    browser.type_into("[data-field=title]", &ESCAPE.to_string());
    browser.wait("the form is closed", |browser| browser.count(FORM) == 0);
    // A related record is found by search.
    browser.click("[data-testid=new-record]");
    fill(&page, "title", "A map");
    click_text(&page, ".field-control button", "Search author");
    browser.type_into("[data-testid=record-search] input", "bo");
    browser.wait("one user matches", |browser| browser.count("[data-testid=record-search] li[id]") == 1);
    browser.type_into("[data-testid=record-search] input", &ENTER.to_string());
    browser.wait_for(PREVIEW, "\"authorId\": 2");
    assert!(browser.text(PREVIEW).starts_with("POST /mesh/post"));
    browser.click(SAVE);
    browser.wait_for(RECORD, "post 3");
    browser.wait_for("[data-testid=position]", "1 to 3 of 3");
    assert_eq!(
        read(&database, "SELECT title FROM posts WHERE author_id = 2 AND id = 3").as_deref(),
        Some("A map")
    );
    // A child is created in the relation of its parent.
    click_text(&page, ".record-many button", "New");
    fill(&page, "text", "nice");
    browser.wait_for(PREVIEW, "POST /mesh/post/3/comments");
    browser.click(SAVE);
    browser.wait_for(RECORD, "nice");
    assert_eq!(read(&database, "SELECT text FROM comments WHERE post_id = 3").as_deref(), Some("nice"));
    page.assert_clean();
}

#[test]
fn a_batch_links_records_and_refers_to_its_new_ones() {
    let database = Database::new(TABLES);
    let Some(page) = rows_of(&database, "user") else { return };
    let browser = &page.browser;
    // A text that begins with a dollar is no reference.
    browser.click("[data-testid=new-record]");
    fill(&page, "name", "$Cy");
    browser.click("[data-testid=stage]");
    browser.choose("[data-testid=browse-entity]", "post");
    browser.wait_for("[data-testid=position]", "1 to 2 of 2");
    browser.click("[data-testid=new-record]");
    fill(&page, "title", "A map");
    click_text(&page, ".field-control button", "Search author");
    click_text(&page, "[data-testid=record-search] li", "new user1");
    browser.wait_for(PREVIEW, "\"authorId\": \"$user1.id\"");
    assert_eq!(browser.count(SAVE), 0, "the author is not written yet");
    browser.click("[data-testid=stage]");
    browser.wait_for("[data-testid=staged-bar]", "2 changes staged");
    open_row(&page, 1);
    browser.click("[data-testid=stage-links]");
    click_text(&page, "[data-testid=record] button", "Link tags");
    click_text(&page, "[data-testid=record-search] li[id]", "food");
    browser.click("[aria-label='Unlink 1']");
    click_text(&page, "[data-testid=record] button", "Link author");
    click_text(&page, "[data-testid=record-search] li[id]", "new user1");
    browser.wait_for("[data-testid=staged-bar]", "5 changes staged");
    let read_one = |statement: &str| read(&database, statement);
    assert_eq!(
        read_one("SELECT CAST(count(*) AS TEXT) FROM users").as_deref(),
        Some("2"),
        "nothing is written"
    );
    browser.click("[data-testid=review]");
    browser.click("[data-testid=send-batch]");
    browser.wait_for(".notice-area", "Wrote 5 changes");
    assert_eq!(read_one("SELECT name FROM users WHERE id = 3").as_deref(), Some("$Cy"));
    let authors =
        "SELECT group_concat(id || ' ' || author_id, ', ') FROM posts WHERE author_id = 3 ORDER BY id";
    assert_eq!(read_one(authors).as_deref(), Some("1 3, 3 3"));
    assert_eq!(
        read_one("SELECT group_concat(tag_id) FROM post_tags WHERE post_id = 1").as_deref(),
        Some("2")
    );
    page.assert_clean();
}

#[test]
fn a_session_edits_a_record_drops_a_file_on_it_and_deletes_it() {
    let database = Database::new(TABLES);
    let accounts = format!(
        "CREATE TABLE accounts (id INTEGER PRIMARY KEY, login TEXT UNIQUE, password_hash TEXT, role TEXT);
         INSERT INTO accounts VALUES (1, 'ada', '{}', 'admin');",
        hash("dawn")
    );
    database.connect().execute_batch(&accounts).unwrap();
    let settings = "[mutations]\nenabled = true\n[integrity]\nenabled = true\nsecret = \"0123456789abcdef0123456789abcdef\"\n\
        [integrity.users]\ntable = \"accounts\"\nlogin = \"login\"\n";
    let Some(page) = Page::open(|| start(&database, settings)) else { return };
    let page = page.ready();
    let browser = &page.browser;
    browser.click("[data-testid=login]");
    log_in(&page, "ada", "dawn");
    browser.wait_for("[data-testid=account]", "ada");
    browser.click("[data-testid=mode-data]");
    browser.choose("[data-testid=browse-entity]", "post");
    browser.wait_for("[data-testid=position]", "1 to 2 of 2");
    edit(&page, 2);
    fill(&page, "title", "Quick bread");
    browser.click(SAVE);
    browser.wait_for(FIELDS, "Quick bread");
    // Files that are too large or of another type are refused; one that fits is uploaded.
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
        read(&database, "SELECT attachment FROM posts WHERE id = 2")
            .is_some_and(|key| key.starts_with("sha256/"))
    );
    assert!(browser.run("return window.part", &Value::Null).as_f64() >= Some(0.0), "progress was shown");
    browser.click("[data-testid=delete-record]");
    browser.click("[data-testid=delete-now]:not([disabled])");
    browser.wait_for("[data-testid=position]", "1 to 1 of 1");
    assert_eq!(read(&database, "SELECT title FROM posts WHERE id = 2"), None);
    assert_only_refusals(&page);
}
