//! The playground, operated in a browser.

mod accessibility;
mod bearer;
mod browse;
mod build;
mod chart;
mod descriptions;
mod diagram;
mod drafts;
mod forms;
mod keyboard;
mod layout;
mod many;
mod page;
mod plan;
mod queries;
mod script;
mod session;
mod speed;
mod table;
mod view_as;
mod watch;
mod writes;

use std::time::Duration;

use mesh_tests::{Database, Request, run};
use serde_json::{Value, json};

use page::{CONTROL, EDITOR, ENTER, ESCAPE, Page, RELEASE, blog, serve};

#[test]
fn a_query_is_built_by_clicking_and_run() {
    let Some(page) = Page::open(blog) else { return };
    let page = page.ready();
    let browser = &page.browser;
    browser.choose("[data-testid=entity]", "post");
    page.wait_for_query("\"post\"");
    page.tick("post.score");
    page.wait_for_query("\"score\": true");
    page.tick("post.comments");
    page.wait_for_query("\"comments\": {");
    page.tick("post.comments.text");
    page.wait_for_query("\"text\": true");
    page.tick("post.score");
    browser.wait("a second click takes a field out", |_| !page.query().contains("score"));
    browser.click("[data-testid=add-condition]");
    browser.choose(".condition select[aria-label=Field]", "id");
    browser.choose(".condition select[aria-label=Operator]", "lte");
    browser.type_into(".condition input", &format!("{CONTROL}a{RELEASE}2"));
    page.wait_for_query(r#""$where": { "field": "id", "op": "lte", "value": 2 }"#);
    browser.click("[data-testid=add-order]");
    browser.click(".direction");
    page.wait_for_query(r#""$orderBy": [{ "field": "id", "direction": "desc" }]"#);
    page.run();
    browser.wait_for("[data-testid=status]", "9 objects");
    browser.wait_for("[data-testid=reader]", "Slow bread");
    let shown = browser.text("[data-testid=reader]");
    let (slow, rust) = (shown.find("Slow bread"), shown.find("Rust at dawn"));
    assert!(slow < rust && rust.is_some(), "{shown}");
    page.assert_clean();
}

#[test]
fn a_collection_is_shown_as_a_paged_table() {
    let Some(page) = Page::open(blog) else { return };
    let page = page.ready();
    let browser = &page.browser;
    page.type_query(r#"{"post": {"$select": {"id": true, "author": {"$select": {"name": true"#);
    page.run();
    browser.click("#result-panel-table");
    browser.wait_for("[data-testid=table] thead", "author.name");
    assert_eq!(browser.count("[role=grid][aria-rowcount='51']"), 1);
    browser.click("[data-testid=next-page]");
    browser.wait("the second page has the rest", |browser| {
        browser.count("[role=grid][aria-rowcount='15']") == 1
    });
    browser.wait_for(".pager", "page 2");
    browser.click(".pager button");
    browser.wait("the first page again", |browser| browser.count("[role=grid][aria-rowcount='51']") == 1);
    page.assert_clean();
}

#[test]
fn a_collection_is_aggregated_by_forms() {
    let Some(page) = Page::open(blog) else { return };
    let page = page.ready();
    let browser = &page.browser;
    browser.choose("[data-testid=entity]", "post");
    browser.click("[data-testid=add-aggregate]");
    page.wait_for_query(r#""$aggregate": { "count": { "fn": "count" } }"#);
    browser.choose("[data-testid=group-by]", "authorId");
    page.wait_for_query(r#""$groupBy": ["authorId"]"#);
    browser.click("[data-testid=add-order]");
    browser.choose("select[aria-label='Field to order by']", "count");
    page.wait_for_query(r#""$orderBy": [{ "aggregate": "count", "direction": "asc" }]"#);
    page.run();
    browser.click("#result-panel-table");
    browser.wait_for("[data-testid=table] tbody", "61");
    assert_eq!(
        browser.text("[data-testid=table] thead").split_whitespace().collect::<Vec<_>>(),
        ["authorId", "count"]
    );
    page.assert_clean();
}

#[test]
fn completion_offers_names_of_the_schema() {
    let Some(page) = Page::open(blog) else { return };
    let page = page.ready();
    let browser = &page.browser;
    page.type_query("{po");
    // The list is created outside the window, where its text is not visible, and moved to the cursor with the next frame.
    browser.wait("entities are offered, the best match first", |browser| {
        browser.text(".cm-tooltip-autocomplete").starts_with("post")
    });
    // An Enter that follows a completion immediately inserts a new line instead of accepting it.
    std::thread::sleep(Duration::from_millis(150));
    browser.type_into(EDITOR, &ENTER.to_string());
    page.wait_for_query(r#"{"post": { "$select": { "title": true } }}"#);
    page.type_query(r#"{"post": {"$select": {"id": true}, "$where": {"field": "pub"#);
    browser.wait_for(".cm-tooltip-autocomplete", "published");
    page.type_query(r#"{"post": {"$select": {"id": true}, "$where": {"field": "id", "op": "li"#);
    browser.wait_for(".cm-tooltip-autocomplete", "ilike");
    page.type_query(r#"{"post": {"$select": {"id": true}, "$orderBy": [{"field": "id", "direction": "d"#);
    browser.wait_for(".cm-tooltip-autocomplete", "desc");
    page.type_query(r#"{"post": {"$select": {"id": true}, $gro"#);
    browser.wait_for(".cm-tooltip-autocomplete", "$groupBy");
    browser.type_into(EDITOR, &ESCAPE.to_string());
    browser.click("[data-testid=format-json]");
    page.assert_clean();
}

#[test]
fn faults_are_underlined_at_their_position() {
    let Some(page) = Page::open(blog) else { return };
    let page = page.ready();
    let browser = &page.browser;
    let marked = ".cm-lintRange-error";
    page.type_query(r#"{"post": {"$select": {"id": true, "author": {"$select": {"nam": true"#);
    browser.wait_for(marked, "nam");
    assert_eq!(browser.text(marked), "\"nam\"");
    page.type_query(r#"{"post": {"$select": {"id": true}, "$page": {"first": 1000"#);
    browser.wait_for(marked, "1000");
    page.type_query(r#"{"post": {"$select": {"id": tru"#);
    browser.wait_for(marked, "tru");
    page.type_query(r#"{"post": {"$select": {"id": true"#);
    browser.wait("a right query has no fault", |browser| browser.count(marked) == 0);
    page.assert_clean();
}

#[test]
fn changing_the_format_keeps_the_query() {
    let Some(page) = Page::open(blog) else { return };
    let page = page.ready();
    let browser = &page.browser;
    page.type_query(r#"{"post": {"$select": {"title": true, "author": {"$select": {"name": true}}}, "$page": {"first": 3"#);
    browser.click("[data-testid=format-ql]");
    page.wait_for_query("author {\n      name\n    }");
    assert!(!page.query().contains("first"), "{}", page.query());
    browser.click("[data-testid=format-json]");
    page.wait_for_query(r#""$page": { "first": 3 }"#);
    assert!(page.query().contains(r#""author": { "$select": { "name": true } }"#), "{}", page.query());
    page.run();
    browser.wait_for("[data-testid=status]", "6 objects");
    page.assert_clean();
}

#[test]
fn plan_and_statements_are_shown() {
    let Some(page) = Page::open(blog) else { return };
    let page = page.ready();
    let browser = &page.browser;
    page.type_query(r#"{"post": {"$select": {"title": true, "author": {"$select": {"name": true"#);
    browser.type_into("[data-testid=id]", "1");
    page.run();
    browser.wait_for("[data-testid=status]", "2 objects");
    browser.click("#result-panel-plan");
    browser.wait_for("[data-testid=plan]", "one record");
    assert!(browser.text("[data-testid=plan]").contains("author"));
    browser.click("#result-panel-sql");
    browser.wait_for("[data-testid=sql]", "1 statement");
    let shown = browser.text("[data-testid=sql]");
    assert!(shown.contains("JOIN \"users\"") && shown.contains("1 row"), "{shown}");
    assert_eq!(browser.count(".query-plan"), 0);
    browser.click("[data-testid=explain]");
    browser.wait_for(".query-plan", "SEARCH");
    page.assert_clean();
}

#[test]
fn statements_can_be_hidden() {
    let hidden = || {
        let database = Database::blog();
        let file = database
            .dir
            .write("mesh.toml", "[docs]\nenabled = true\nsql = \"false\"\nentities = [\"post\"]\n");
        serve(&database, &["--config", &file])
    };
    let Some(page) = Page::open(hidden) else { return };
    let page = page.ready();
    assert_eq!(page.browser.count("#result-panel-sql"), 0);
    assert_eq!(page.browser.count(".entity"), 1);
    let body = r#"{"query": "{ post title author { name } }", "format": "ql"}"#;
    let refused = page.server.send(&Request::post("/docs/execute", body));
    assert_eq!((refused.status, refused.json()["error"].as_str()), (400, Some("ValidationError")));
    let body = r#"{"query": "{ post title }", "format": "ql"}"#;
    let reply = page.server.send(&Request::post("/docs/execute", body)).json();
    assert!(reply["meta"].get("sql").is_none() && reply["meta"]["rows"] == 4, "{reply}");
    page.assert_clean();
}

#[test]
fn the_theme_is_switched_and_stored() {
    let Some(page) = Page::open(blog) else { return };
    let page = page.ready();
    let theme = || page.browser.run("return document.documentElement.dataset.theme", &Value::Null);
    let ground = || page.browser.run("return getComputedStyle(document.body).backgroundColor", &Value::Null);
    let (before, ground_before) = (theme(), ground());
    page.browser.click("[data-testid=theme]");
    page.browser.wait("the theme changes", |_| theme() != before);
    assert_ne!(ground(), ground_before);
    page.browser.visit(&page.url(""));
    page.wait_for_query("$select");
    assert_eq!((before, theme()), (json!("dark"), json!("light")));
    page.assert_clean();
}

#[test]
fn links_carry_the_query_in_their_fragment() {
    let Some(page) = Page::open(blog) else { return };
    // ["{ post title }", "ql", "2"]
    page.browser.visit("about:blank");
    let _ = page.browser.requests();
    page.browser.visit(&page.url("#q=WyJ7IHBvc3QgdGl0bGUgfSIsInFsIiwiMiJd"));
    page.wait_for_query("{ post title }");
    page.run();
    page.browser.wait_for("[data-testid=reader]", "Slow bread");
    let sent = page.browser.requests();
    assert!(
        !sent.is_empty() && sent.iter().all(|url| !url.contains("WyJ7IHBvc3Q") || url.contains('#')),
        "{sent:?}"
    );
}

#[test]
fn a_query_is_copied_registered_and_stored_in_the_history() {
    let Some(page) = Page::open(blog) else { return };
    let page = page.ready();
    let browser = &page.browser;
    page.type_query(r#"{"post": {"$select": {"title": true"#);
    browser.click("[data-testid=register]");
    browser.wait_for("[data-testid=query-id]", "q_");
    let id = browser.text("[data-testid=query-id]");
    let reply =
        page.server.send(&Request::new("GET", &page.server.path("/post/2")).header("X-Mesh-Query-Id", &id));
    assert_eq!(reply.text(), r#"{"title":"Slow bread"}"#);
    browser.click("dialog button[aria-label=Close]");
    let copied = "const done = arguments[arguments.length - 1];
        navigator.clipboard.writeText = (text) => (window.copied = text, Promise.resolve());
        done(null);";
    browser.run_async(copied);
    browser.click("[data-testid=copy-as]");
    browser.click(".menu-list button");
    browser.wait("a call is copied", |browser| {
        !browser.run("return window.copied ?? null", &Value::Null).is_null()
    });
    let call = browser.run("return window.copied", &Value::Null);
    let call = call.as_str().unwrap_or_default();
    assert!(call.starts_with("curl -s 'http://127.0.0.1") && call.contains("X-Mesh-Query: "), "{call}");
    page.run();
    browser.wait_for("[data-testid=status]", "50 objects");
    browser.click("#side-panel-saved");
    browser.wait_for(".saved", "post");
    page.assert_clean();
}

#[test]
fn changes_of_a_record_are_shown() {
    let database = Database::blog();
    let Some(page) = Page::open(|| serve(&database, &["--docs"])) else { return };
    let page = page.ready();
    page.type_query(r#"{"post": {"$select": {"title": true"#);
    page.browser.type_into("[data-testid=id]", "3");
    page.browser.click("#result-panel-watch");
    page.browser.click("[data-testid=watch] button");
    page.browser.wait_for("[data-testid=watch]", "A map");
    database.connect().execute("UPDATE posts SET title = 'A better map' WHERE id = 3", []).unwrap();
    page.browser.wait_for("[data-testid=watch]", "A better map");
    // Other results are shown meanwhile, and another record in the editor is noted.
    page.browser.click("#result-panel-json");
    database.connect().execute("UPDATE posts SET title = 'The best map' WHERE id = 3", []).unwrap();
    page.browser.type_into("[data-testid=id]", "3");
    page.browser.click("#result-panel-watch");
    page.browser.wait_for("[data-testid=watch]", "The best map");
    page.browser.wait_for("[data-testid=watch] .stale", "another record");
    page.browser.click("[data-testid=watch] button");
    page.browser.wait_for("[data-testid=watch]", "not watching");
    page.assert_clean();
}

#[test]
fn all_controls_are_reachable_by_keyboard() {
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
    browser.type_into("[data-testid=split-side]", "\u{e014}\u{e014}");
    browser.wait("arrow keys make the schema wider", |_| width() > before);
    page.assert_clean();
}

#[test]
fn injected_scripts_do_not_run() {
    let Some(page) = Page::open(blog) else { return };
    // The browser reports each violation some time after it has refused them.
    let script = "const done = arguments[arguments.length - 1];
        const expected = ['connect-src', 'script-src-attr', 'script-src-elem', 'style-src-elem'];
        const blocked = new Set();
        document.addEventListener('securitypolicyviolation', (event) => {
            blocked.add(event.effectiveDirective);
            if (expected.every((directive) => blocked.has(directive))) done(window.ran ?? false);
        });
        const inline = document.createElement('script');
        inline.textContent = 'window.ran = true';
        document.body.append(inline);
        document.body.insertAdjacentHTML('beforeend', '<img src=\"x:\" onerror=\"window.ran = true\"><style>body{color:red}</style>');
        fetch('http://127.0.0.1:9/').catch(() => undefined);";
    assert_eq!(page.browser.run_async(script), json!(false), "no script ran");
}

#[test]
fn playground_routes_follow_the_rules_of_all_routes() {
    let server = blog();
    let reply = server.send(&Request::new("GET", "/docs/schema").header("X-Request-Id", "mine"));
    assert_eq!((reply.status, reply.header("x-request-id")), (200, Some("mine")));
    assert_eq!(reply.header("content-type"), Some("application/json; charset=utf-8"));
    let tag = reply.header("etag").unwrap().to_owned();
    let again = server.send(&Request::new("GET", "/docs/schema").header("If-None-Match", &tag));
    assert_eq!((again.status, again.body.len()), (304, 0));
    let head = server.send(&Request::new("HEAD", "/docs"));
    assert_eq!((head.status, head.header("content-type")), (200, Some("text/html; charset=utf-8")));
    let options = server.send(&Request::new("OPTIONS", "/docs/execute"));
    assert_eq!((options.status, options.header("allow")), (204, Some("POST, OPTIONS")));
    let query = r#"{"query": "{ post title }", "format": "ql"}"#;
    let wrong = [
        (Request::new("DELETE", "/docs"), 405, "MethodNotAllowed"),
        (Request::new("GET", "/docs/execute"), 405, "MethodNotAllowed"),
        (Request::new("GET", "/docs/nothing"), 404, "NotFound"),
        (Request::new("GET", "/docs?$where=1"), 400, "TransportError"),
        (
            Request::new("POST", "/docs/execute").header("Content-Type", "text/plain").body(query),
            415,
            "TransportError",
        ),
        (Request::post("/docs/execute", "{"), 400, "TransportError"),
        (Request::post("/docs/execute", "{\"query\": \"{\"}"), 400, "ValidationError"),
        (
            Request::post("/docs/execute", &format!("{{\"query\": \"{}\"}}", " ".repeat(2 << 20))),
            413,
            "TransportError",
        ),
    ];
    for (request, status, error) in wrong {
        let reply = server.send(&request);
        let body = reply.json();
        assert_eq!((reply.status, body["error"].as_str()), (status, Some(error)), "{request:?}");
        assert!(body["requestId"].is_string() && reply.header("cache-control") == Some("no-store"), "{body}");
        assert_eq!(reply.header("allow").is_some(), status == 405, "{request:?}");
    }
    let answer = server.send(&Request::post("/docs/execute", query)).json();
    assert_eq!(answer["data"]["items"].as_array().map(Vec::len), Some(50));
    assert_eq!(answer["meta"]["plan"], json!({"entity": "post", "fields": ["title"], "joins": []}));
    let statement = &answer["meta"]["sql"][0];
    assert!(
        statement["sql"].as_str().unwrap().starts_with("SELECT") && statement["rows"] == 51,
        "{statement}"
    );
    assert!(statement["durationMs"].is_number() && statement["params"].is_array(), "{statement}");
}

#[test]
fn a_public_playground_requires_confirmation() {
    let database = Database::blog();
    let output = run(&["serve", "--listen", "0.0.0.0:0", "--docs", "--database", &database.url()]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("--allow-open-docs"));
}
