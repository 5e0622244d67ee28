//! The diagram of the schema.

use std::fmt::Write as _;

use mesh_tests::Database;
use serde_json::{Value, json};

use super::page::{CONTROL, ENTER, Page, RELEASE, blog, serve};

const DIAGRAM: &str = "[data-testid=diagram]";
const HOME: char = '\u{e011}';
const LEFT: char = '\u{e012}';

fn show(page: &Page) {
    page.browser.click("[data-testid=mode-diagram]");
    page.browser.wait("boxes", |browser| browser.count(".entity-box") > 0);
}

/// Waits until an entity is chosen, or an edge by its entity and relation.
fn wait_for_choice(page: &Page, choice: &str) {
    page.browser.wait(choice, |browser| {
        let script = "return document.querySelector('[data-testid=chosen] code')?.textContent ?? ''";
        browser.run(script, &Value::Null) == json!(choice)
    });
}

/// A database of `count` tables, each of which refers to two others.
fn many_tables(count: usize) -> Database {
    let mut statements = String::new();
    for table in 0..count {
        let (one, other) = (table / 2, table / 3);
        write!(
            statements,
            "CREATE TABLE thing{table} (id INTEGER PRIMARY KEY, one_id INTEGER REFERENCES thing{one} (id),
             other_id INTEGER REFERENCES thing{other} (id));"
        )
        .unwrap();
    }
    Database::new(&statements)
}

#[test]
fn the_diagram_starts_queries_by_clicks_and_by_keyboard() {
    let Some(page) = Page::open(blog) else { return };
    let page = page.ready();
    let script =
        "return performance.getEntriesByType('resource').some((it) => it.name.endsWith('/pictures.js'))";
    let is_loaded = || page.browser.run(script, &Value::Null) == json!(true);
    assert!(!is_loaded(), "the diagram is loaded when it is first shown");
    show(&page);
    assert!(is_loaded());
    page.browser.click("#box-tag");
    wait_for_choice(&page, "tag");
    page.browser.click("[data-testid=chosen] button.primary");
    page.wait_for_query("\"tag\"");
    show(&page);
    let click =
        "document.querySelector(arguments[0]).dispatchEvent(new MouseEvent('click', {bubbles: true}))";
    page.browser.run(click, &json!("[data-edge='comment.post']"));
    wait_for_choice(&page, "comment.post");
    page.browser.click("[data-testid=chosen] button.primary");
    page.wait_for_query("\"comment\"");
    page.wait_for_query("\"post\"");
    // By keyboard.
    show(&page);
    let chosen = || page.browser.text("[data-testid=chosen] code");
    let last = chosen();
    page.browser.type_into(DIAGRAM, &HOME.to_string());
    page.browser.wait("the first entity", |_| chosen() != last);
    let first = chosen();
    page.browser.type_into(DIAGRAM, &LEFT.to_string());
    page.browser.wait("the next entity to the left", |_| chosen() != first);
    let active =
        "return document.querySelector('[data-testid=diagram]').getAttribute('aria-activedescendant')";
    assert_eq!(page.browser.run(active, &Value::Null), json!(format!("box-{}", chosen())));
    let name = chosen();
    page.browser.type_into(DIAGRAM, &ENTER.to_string());
    page.wait_for_query(&format!("\"{name}\""));
    assert_readable(&page, 5);
    page.assert_clean();
}

/// Returns the edges that run behind a box which they do not lead to.
const BEHIND: &str = "const boxes = [...document.querySelectorAll('.entity-box')].map((it) => {
        const {e: x, f: y} = it.transform.baseVal.consolidate().matrix, {width, height} = it.querySelector('.box').getBBox();
        return {name: it.id.slice(4), x, y, width, height};
    });
    const isIn = (box, {x, y}) => x > box.x + 1 && x < box.x + box.width - 1 && y > box.y + 1 && y < box.y + box.height - 1;
    return [...document.querySelectorAll('.edge')].filter((edge) => {
        const path = edge.querySelector('.edge-line'), length = path.getTotalLength();
        const points = Array.from({length: 100}, (_, index) => path.getPointAtLength((length * index) / 99));
        return boxes.some((box) => points.slice(1, -1).some((point) => isIn(box, point)));
    }).map((edge) => edge.dataset.edge);";

/// Asserts that boxes are apart and readable, and that no edge runs behind a box, on a screen and on a telephone.
fn assert_readable(page: &Page, count: usize) {
    for width in [1280, 360] {
        page.browser.resize(width, 800);
        show(page);
        let facts = "const boxes = [...document.querySelectorAll('.entity-box')].map((it) => it.getBoundingClientRect());
            const overlap = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
            const overlaps = boxes.flatMap((a, i) => boxes.slice(i + 1).filter((b) => overlap(a, b))).length;
            const titles = [...document.querySelectorAll('.box-title')].map((it) => it.getBoundingClientRect().height);
            return [boxes.length, overlaps, Math.min(...titles) >= 11, document.documentElement.scrollWidth]";
        assert_eq!(page.browser.run(facts, &Value::Null), json!([count, 0, true, width]));
        assert_eq!(page.browser.run(BEHIND, &Value::Null), json!([]), "edges behind boxes");
        page.browser.click("[data-testid=mode-query]");
    }
}

#[test]
fn sixty_entities_are_readable_searched_and_shown_with_their_neighbors_only() {
    let Some(page) = Page::open_in(|| serve(&many_tables(60), &["--docs"]), 1280, 800) else { return };
    let page = page.ready();
    let browser = &page.browser;
    assert_readable(&page, 60);
    browser.resize(1280, 800);
    show(&page);
    browser.type_into("[data-testid=diagram-search]", "thing5");
    wait_for_choice(&page, "thing5");
    assert_eq!(browser.count(".entity-box:not(.far)"), 8, "the others are faint");
    browser.click("[data-testid=neighbors]");
    // The tables that it refers to, 1 and 2, and the tables that refer to it.
    browser.wait("its neighbors", |browser| browser.count(".entity-box") == 8);
    assert_eq!(browser.count(".entity-box.far"), 0);
    browser.type_into("[data-testid=diagram-search]", &format!("{CONTROL}a{RELEASE}thing59"));
    wait_for_choice(&page, "thing59");
    browser.wait("the neighbors of the other", |browser| browser.count(".entity-box") == 3);
    browser.type_into("[data-testid=diagram-search]", &format!("{CONTROL}a{RELEASE}thing2"));
    wait_for_choice(&page, "thing2");
    browser.type_into("[data-testid=diagram-search]", &ENTER.to_string());
    wait_for_choice(&page, "thing20");
    browser.wait_for("[data-testid=diagram-matches]", "2 of 11");
    browser.type_into("[data-testid=diagram-search]", &format!("{CONTROL}a{RELEASE}nothing"));
    browser.wait_for("[data-testid=diagram-matches]", "No matches");
    page.assert_clean();
}
