//! Relational queries and parameters in the playground: built in forms, completed, checked and sent.

use mesh_tests::Request;
use serde_json::{Value, json};

use super::page::{CONTROL, ESCAPE, Page, RELEASE, blog};

const LINT: &str = ".cm-lintRange-error, .cm-lintRange-warning";

/// Opens the page with a new query of posts.
fn posts() -> Option<Page> {
    let page = Page::open(blog)?.ready();
    page.browser.choose("[data-testid=entity]", "post");
    page.wait_for_query("\"post\"");
    Some(page)
}

/// Asserts that the query in the editor is valid, runs it, and waits for a part of the result.
fn runs(page: &Page, result: &str) {
    page.browser.wait("the query has no fault", |browser| browser.count(LINT) == 0);
    page.run();
    page.browser.wait_for("[data-testid=reader]", result);
    page.browser.wait("the query has no fault", |browser| browser.count(LINT) == 0);
}

/// Replaces the text of an input.
fn fill(page: &Page, selector: &str, text: &str) {
    page.browser.type_into(selector, &format!("{CONTROL}a{RELEASE}{text}"));
}

/// Copies the query as code, and returns the code.
fn copied(page: &Page, language: &str) -> String {
    let browser = &page.browser;
    browser.run(
        "window.copied = null; navigator.clipboard.writeText = (text) => (window.copied = text, Promise.resolve())",
        &Value::Null,
    );
    browser.click("[data-testid=copy-as]");
    browser.wait("the menu is open", |browser| browser.count(".menu-list button") > 0);
    let script = "[...document.querySelectorAll('.menu-list button')].find((it) => it.textContent.startsWith(arguments[0])).click()";
    browser.run(script, &json!(language));
    browser.wait("code is copied", |browser| !browser.run("return window.copied", &Value::Null).is_null());
    browser.run("return window.copied", &Value::Null).as_str().unwrap_or_default().to_owned()
}

#[test]
fn conditions_on_relations_are_clicked_together() {
    let Some(page) = posts() else { return };
    let browser = &page.browser;
    browser.click("[data-testid=add-relation]");
    page.wait_for_query(r#""$where": { "relation": "author", "op": "some" }"#);
    browser.choose("select[aria-label=Relation]", "comments");
    page.wait_for_query(r#""$where": { "relation": "comments", "op": "some" }"#);
    browser.choose("select[aria-label=Quantifier]", "none");
    page.wait_for_query(r#""$where": { "relation": "comments", "op": "none" }"#);
    runs(&page, "A map");
    // `every` needs a filter, which applies to the related records.
    browser.choose("select[aria-label=Quantifier]", "every");
    page.wait_for_query(r#""where": { "field": "text", "op": "eq", "value": "" }"#);
    browser.choose("select[aria-label=Quantifier]", "some");
    browser.choose(".condition select[aria-label=Operator]", "like");
    fill(&page, ".condition input[aria-label=Value]", "thi%");
    page.wait_for_query(r#""where": { "field": "text", "op": "like", "value": "thi%" }"#);
    runs(&page, "Rust at dawn");
    browser.wait_for("[data-testid=status]", "2 objects");
    page.assert_clean();
}

#[test]
fn paths_and_aggregates_of_relations_filter_and_order() {
    let Some(page) = posts() else { return };
    let browser = &page.browser;
    browser.click("[data-testid=add-condition]");
    browser.choose(".condition select[aria-label=Field]", "author.name");
    page.wait_for_query(r#""field": "author.name""#);
    browser.choose(".condition select[aria-label=Field]", "author.manager.name");
    fill(&page, ".condition input[aria-label=Value]", "Ada");
    page.wait_for_query(r#"{ "field": "author.manager.name", "op": "eq", "value": "Ada" }"#);
    browser.click("[data-testid=add-order]");
    browser.choose("select[aria-label='Field to order by']", "comments[ ]");
    page.wait_for_query(r#""relation": "comments""#);
    page.wait_for_query(r#""aggregate": { "fn": "count" }"#);
    browser.click(".order .direction");
    browser.click("[data-testid=add-order]");
    browser.choose(".order:nth-of-type(2) select[aria-label='Field to order by']", "author.name");
    page.wait_for_query(r#"{ "field": "author.name", "direction": "asc" }"#);
    runs(&page, "Slow bread");
    let shown = browser.text("[data-testid=reader]");
    assert!(shown.find("Slow bread") < shown.find("Bicycle"), "{shown}");
    browser.choose(".order select[aria-label=Function]", "max");
    page.wait_for_query(r#""aggregate": { "fn": "max", "field": "id" }"#);
    browser.choose(".order select[aria-label='Aggregated field']", "text");
    page.wait_for_query(r#""aggregate": { "fn": "max", "field": "text" }"#);
    runs(&page, "Slow bread");
    page.assert_clean();
}

#[test]
fn aliases_are_clicked_together() {
    let Some(page) = posts() else { return };
    let browser = &page.browser;
    browser.click("[data-testid=add-alias]");
    page.wait_for_query(r#""id2": { "$field": "id" }"#);
    browser.choose(".alias select", "title");
    page.wait_for_query(r#""title2": { "$field": "title" }"#);
    browser.run("document.querySelector('.alias input').select()", &Value::Null);
    browser.choose(".alias input", "headline");
    page.wait_for_query(r#""headline": { "$field": "title" }"#);
    // The name of a field of the entity is not accepted as an alias.
    browser.choose(".alias input", "likes");
    browser.wait_for(".notice-area", "The name likes is taken");
    browser.click("[data-testid=add-alias]");
    browser.choose(".alias:nth-of-type(2) select", "comments");
    page.wait_for_query(r#""comments2": {"#);
    page.wait_for_query(r#""$relation": "comments""#);
    // The fields of the alias are in the schema, and its controls in the forms.
    page.tick("post.comments2.text");
    page.wait_for_query(r#""text": true"#);
    browser.choose("[data-testid=controls-node]", "comments2");
    browser.choose("select[aria-label='End of the list']", "last");
    fill(&page, "[data-testid=first]", "1\u{e004}");
    page.wait_for_query(r#""$page": { "last": 1 }"#);
    runs(&page, "\"third\"");
    browser.wait_for("[data-testid=reader]", r#""headline": "Rust at dawn""#);
    page.tick("post.headline");
    browser.wait("a second click takes it out", |_| !page.query().contains("headline"));
    // The brace format has the relation under its own name; the alias returns with JSON.
    browser.click("[data-testid=format-ql]");
    page.wait_for_query("comments {");
    browser.click("[data-testid=format-json]");
    page.wait_for_query(r#""$relation": "comments""#);
    page.assert_clean();
}

#[test]
fn a_relation_is_read_as_aggregates() {
    let Some(page) = posts() else { return };
    let browser = &page.browser;
    page.tick("post.comments");
    page.wait_for_query("\"comments\"");
    browser.choose("[data-testid=controls-node]", "comments");
    browser.click("[data-testid=add-aggregate]");
    page.wait_for_query(r#""$aggregate": { "count": { "fn": "count" } }"#);
    page.wait_for_query(r#""$select": {}"#);
    assert_eq!(browser.count("[data-testid=add-order]"), 0, "one object has no order");
    runs(&page, r#""comments": { "count": 3 }"#);
    browser.choose("[data-testid=group-by]", "userId");
    page.wait_for_query(r#""$groupBy": ["userId"]"#);
    browser.click("[data-testid=add-order]");
    browser.choose("select[aria-label='Field to order by']", "count");
    page.wait_for_query(r#""$orderBy": [{ "aggregate": "count", "direction": "asc" }]"#);
    runs(&page, "\"userId\": 3");
    page.assert_clean();
}

#[test]
fn pages_are_read_from_the_end_with_their_total() {
    let Some(page) = posts() else { return };
    let browser = &page.browser;
    browser.choose("select[aria-label='End of the list']", "last");
    page.wait_for_query(r#""$page": { "last": 50 }"#);
    browser.click("[data-testid=total]");
    page.wait_for_query(r#""$page": { "last": 50, "total": true }"#);
    runs(&page, "Post 11");
    browser.wait_for("[data-testid=total-count]", "64 in total");
    browser.wait_for(".pager", "page 1 from the end");
    assert_eq!(browser.count("[data-testid=next-page][disabled]"), 1);
    browser.click("[data-testid=previous-page]");
    browser.wait_for("[data-testid=reader]", "Rust at dawn");
    browser.wait_for(".pager", "page 2 from the end");
    assert_eq!(browser.count("[data-testid=previous-page][disabled]"), 1);
    browser.click("[data-testid=next-page]");
    browser.wait_for("[data-testid=reader]", "Post 11");
    page.assert_clean();
}

#[test]
fn places_in_json_values_are_compared() {
    let Some(page) = posts() else { return };
    let browser = &page.browser;
    browser.click("[data-testid=add-condition]");
    browser.choose(".condition select[aria-label=Field]", "attributes");
    page.wait_for_query(r#""field": "attributes", "op": "isNull""#);
    browser.choose(".condition .place", "b/0");
    page.wait_for_query(r#""field": "attributes", "at": "/b/0", "op": "isNull""#);
    browser.choose(".condition select[aria-label=Operator]", "eq");
    fill(&page, ".condition input[aria-label=Value]", "1");
    page.wait_for_query(r#"{ "field": "attributes", "at": "/b/0", "op": "eq", "value": 1 }"#);
    runs(&page, "Rust at dawn");
    fill(&page, ".condition input[aria-label=Value]", "\"1\"");
    page.wait_for_query(r#""op": "eq", "value": "1""#);
    runs(&page, "\"items\": []");
    browser.choose(".condition .place", "");
    page.wait_for_query(r#""field": "attributes", "op": "isNull""#);
    page.assert_clean();
}

#[test]
fn values_of_parameters_are_sent_and_copied() {
    let Some(page) = posts() else { return };
    let browser = &page.browser;
    browser.click("[data-testid=add-condition]");
    browser.choose(".condition select[aria-label=Field]", "likes");
    browser.choose(".condition select[aria-label=Operator]", "gt");
    browser.click(".condition button[aria-label=Parameter]");
    page.wait_for_query(r#""value": { "$param": "likes" }"#);
    // A parameter without a value is marked with a warning, not an error.
    browser.wait_for(".cm-lintRange-warning", "\"likes\"");
    assert_eq!(browser.count(".cm-lintRange-error"), 0);
    fill(&page, "input[aria-label='Value of likes']", "seven");
    browser.wait_for(".cm-lintRange-error", "\"likes\"");
    fill(&page, "input[aria-label='Value of likes']", "6");
    runs(&page, "Slow bread");
    browser.wait_for("[data-testid=status]", "4 objects");
    let call = copied(&page, "curl");
    let headers = call.split("-H '").skip(1).filter_map(|part| part.split('\'').next()?.split_once(": "));
    let request = headers.fold(Request::new("GET", &page.server.path("/post")), |sent, (name, value)| {
        sent.header(name, value)
    });
    let reply = page.server.send(&request);
    assert_eq!(reply.json()["items"].as_array().map(Vec::len), Some(2), "{call}: {}", reply.text());
    let code = copied(&page, "TypeScript");
    assert!(code.contains(r#"{ params: {"likes":6} }"#) && code.contains("mesh.list({"), "{code}");
    let code = copied(&page, "JavaScript");
    assert!(code.contains(r#"const params = `{"likes":6}`"#) && code.contains("X-Mesh-Params"), "{code}");
    // The value stays with the query: in a link, and in the history.
    browser.run("document.querySelector('[data-testid=share]').click()", &Value::Null);
    browser.wait("the link is copied", |browser| {
        browser.run("return window.copied.includes('#q=')", &Value::Null) == json!(true)
    });
    let link = browser.run("return window.copied", &Value::Null);
    browser.run("localStorage.clear()", &Value::Null);
    browser.visit("about:blank");
    browser.visit(link.as_str().unwrap_or_default());
    page.wait_for_query("$param");
    browser.wait("the value is there", |browser| {
        browser
            .run("return document.querySelector(\"input[aria-label='Value of likes']\")?.value", &Value::Null)
            == json!("6")
    });
    // The call by id has the values as well.
    browser.click("[data-testid=register]");
    browser.wait_for("dialog", "X-Mesh-Params");
    browser.click("dialog button[aria-label=Close]");
    // Turn the parameter into a value in the query again.
    browser.click(".condition button[aria-label=Parameter]");
    browser.wait("the parameter is gone", |browser| browser.count("[data-testid=params]") == 0);
    page.assert_clean();
}

#[test]
fn pages_are_followed_with_a_parameter_for_the_cursor() {
    let Some(page) = posts() else { return };
    let browser = &page.browser;
    page.type_query(
        r#"{"post": {"$select": {"title": true}, "$page": {"first": {"$param": "size"}, "after": {"$param": "cursor"#,
    );
    fill(&page, "input[aria-label='Value of size']", "40");
    runs(&page, "Rust at dawn");
    browser.click("[data-testid=next-page]");
    browser.wait_for("[data-testid=reader]", "Post 60");
    browser.click("[data-testid=previous-page]");
    browser.wait_for("[data-testid=reader]", "Rust at dawn");
    page.assert_clean();
}

#[test]
fn completion_follows_relations_and_paths() {
    let Some(page) = posts() else { return };
    let browser = &page.browser;
    for (text, offered) in [
        (r#"{"post": {"$where": {"relation": "com"#, "comments"),
        (r#"{"post": {"$where": {"relation": "comments", "op": "so"#, "some"),
        (
            r#"{"post": {"$where": {"relation": "comments", "op": "some", "where": {"field": "user.n"#,
            "user.name",
        ),
        (r#"{"post": {"$where": {"field": "author.manager.n"#, "author.manager.name"),
        (r#"{"post": {"$orderBy": [{"relation": "comm"#, "comments"),
        (r#"{"post": {"$page": {"la"#, "last"),
        (r#"{"post": {"$select": {"mine": {"$rel"#, "$relation"),
        (r#"{"post": {"$select": {"mine": {"$relation": "comments", "$select": {"te"#, "text"),
    ] {
        page.type_query(text);
        browser.wait_for(".cm-tooltip-autocomplete", offered);
        browser.type_into(super::page::EDITOR, &ESCAPE.to_string());
    }
    page.assert_clean();
}

#[test]
fn faults_of_relational_queries_are_explained_at_their_place() {
    let Some(page) = posts() else { return };
    let browser = &page.browser;
    for (text, marked, words) in [
        (
            r#"{"post": {"$select": {"id": true}, "$where": {"field": "author.nam", "op": "isNull"#,
            "author.nam",
            "'nam'",
        ),
        (
            r#"{"post": {"$select": {"id": true}, "$where": {"field": "comments.text", "op": "isNull"#,
            "comments.text",
            "use a condition on the relation",
        ),
        (
            r#"{"post": {"$select": {"id": true}, "$where": {"relation": "comments", "op": "every"#,
            "{",
            "where",
        ),
        (r#"{"post": {"$select": {"likes": {"$field": "id"#, "likes", "choose another one"),
        (
            r#"{"post": {"$select": {"mine": {"$relation": "comments", "$select": {"txt": true"#,
            "txt",
            "'txt'",
        ),
    ] {
        page.type_query(text);
        browser.wait("the fault is marked", |browser| browser.count(".cm-lintRange-error") > 0);
        let place = browser.text(".cm-lintRange-error");
        assert!(place.contains(marked), "{text}: {place}");
        browser.type_into(super::page::EDITOR, "\u{e038}");
        browser.wait_for(".cm-tooltip-lint, .cm-diagnosticText", words);
    }
    page.assert_clean();
}

#[test]
fn a_record_is_read_by_a_key_of_several_columns() {
    let Some(page) = posts() else { return };
    let browser = &page.browser;
    browser.choose("[data-testid=entity]", "postTag");
    page.wait_for_query("\"postTag\"");
    browser.type_into("[data-testid=id]", "1,3");
    runs(&page, "\"tagId\": 3");
    let call = copied(&page, "curl");
    assert!(call.contains("/mesh/postTag/1,3'"), "{call}");
    let code = copied(&page, "TypeScript");
    assert!(code.contains(r#"mesh.one("1,3", {"#), "{code}");
    page.assert_clean();
}
