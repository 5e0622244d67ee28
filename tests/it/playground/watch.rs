//! Watching of lists.

use mesh_tests::Database;

use super::page::{Page, serve};

const WATCH: &str = "[data-testid=watch]";
const LOG: &str = "[data-testid=watch-log]";

#[test]
fn changes_of_a_list_are_logged() {
    let database = Database::blog();
    let Some(page) = Page::open(|| serve(&database, &["--docs"])) else { return };
    let page = page.ready();
    let browser = &page.browser;
    page.type_query(r#"{"tag": {"$select": {"id": true, "label": true"#);
    browser.click("#result-panel-watch");
    browser.click("[data-testid=watch] button");
    browser.wait_for(WATCH, "travel");
    assert_eq!(browser.count(LOG), 0, "the first state is no change");
    let change = |statement: &str| database.connect().execute_batch(statement).unwrap();
    change("UPDATE tags SET label = 'cooking' WHERE id = 2");
    browser.wait_for(LOG, "2 › label: \"food\" → \"cooking\"");
    change("INSERT INTO tags VALUES (4, 'music')");
    browser.wait_for(LOG, "4 added");
    change("DELETE FROM tags WHERE id = 4");
    browser.wait_for(LOG, "4 removed");
    page.assert_accessible("the log of changes");
    browser.click("[data-testid=watch] button");
    browser.wait_for(WATCH, "not watching");
    page.assert_clean();
}
