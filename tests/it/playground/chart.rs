//! Charts of grouped results.

use serde_json::{Value, json};

use super::page::{Page, blog};

const CHART: &str = "[data-testid=chart]";

#[test]
fn groups_are_shown_as_bars_with_the_table_as_alternative() {
    let Some(page) = Page::open(blog) else { return };
    let page = page.ready();
    let browser = &page.browser;
    page.type_query(r#"{"post": {"$select": {"authorId": true}, "$groupBy": ["authorId"], "$aggregate": {"count": {"fn": "count"}, "most": {"fn": "max", "field": "likes"#);
    page.run();
    browser.click("#result-panel-chart");
    browser.wait("a bar for each group", |browser| browser.count(&format!("{CHART} .bar")) == 3);
    let bars = "return [...document.querySelectorAll('.bar-row')].map((it) => it.title)";
    assert_eq!(browser.run(bars, &Value::Null), json!(["1: 61", "2: 2", "3: 1"]));
    page.assert_accessible("bars");
    browser.choose(&format!("{CHART} select"), "most");
    browser.wait("the other aggregate", |browser| {
        browser.run(bars, &Value::Null) == json!(["1: 5", "2: 7", "3: 7"])
    });
    browser.click(&format!("{CHART} button"));
    browser.wait_for("[data-testid=table] tbody", "61");
    page.assert_clean();
}

#[test]
fn groups_by_time_are_a_line() {
    let Some(page) = Page::open(blog) else { return };
    let page = page.ready();
    let browser = &page.browser;
    page.type_query(r#"{"post": {"$select": {"createdAt": true}, "$groupBy": ["createdAt"], "$aggregate": {"count": {"fn": "count"#);
    page.run();
    browser.click("#result-panel-chart");
    browser.wait("a spot for each time", |browser| browser.count(&format!("{CHART} .line-spot")) == 2);
    page.assert_accessible("a line");
    page.assert_clean();
}

#[test]
fn other_results_have_no_chart() {
    let Some(page) = Page::open(blog) else { return };
    let page = page.ready();
    page.type_query(r#"{"post": {"$select": {"title": true"#);
    page.run();
    page.browser.wait_for("[data-testid=status]", "50 objects");
    assert_eq!(page.browser.count("#result-panel-chart"), 0);
    page.assert_clean();
}
