//! The layout on a narrow screen and with long names.

use mesh_tests::Database;
use serde_json::{Value, json};

use super::page::{ENTER, Page, blog, serve};

#[test]
fn the_page_fits_a_narrow_screen() {
    let Some(page) = Page::open_in(blog, 360, 740) else { return };
    let page = page.ready();
    let browser = &page.browser;
    let widest = || browser.run("return document.documentElement.scrollWidth", &Value::Null);
    for part in ["Schema", "Query", "Result"] {
        browser.run(
            "[...document.querySelectorAll('.pane-switch button')].find((it) => it.textContent === arguments[0]).click()",
            &json!(part),
        );
        assert_eq!(widest(), json!(360), "{part}");
        let shown = "return [...document.querySelectorAll('.pane')].filter((it) => it.offsetParent).length";
        assert_eq!(browser.run(shown, &Value::Null), json!(1), "{part}");
    }
    page.assert_clean();
}

#[test]
fn types_have_space_in_the_schema_at_its_first_width() {
    let Some(page) = Page::open_in(blog, 1280, 800) else { return };
    let page = page.ready();
    let browser = &page.browser;
    browser.choose("[data-testid=entity]", "post");
    browser.wait("the relations of a post", |browser| browser.count("[data-path='post.comments']") == 1);
    let cut = "return [...document.querySelectorAll('.member .type')].filter((it) => it.scrollWidth > it.clientWidth).map((it) => it.textContent)";
    assert_eq!(browser.run(cut, &Value::Null), json!([]));
    page.assert_clean();
}

#[test]
fn long_names_are_truncated_and_do_not_overlap() {
    let Some(page) = Page::open_in(blog, 1280, 800) else { return };
    let page = page.ready();
    let browser = &page.browser;
    browser.choose("[data-testid=entity]", "post");
    page.tick("post.comments");
    browser.wait("a choice of lists", |browser| browser.count("[data-testid=controls-node]") == 1);
    // Databases allow names of any length.
    let lengthen = "for (const name of document.querySelectorAll('.member-name')) name.textContent += '_as_it_is_called';";
    let _ = browser.run(lengthen, &Value::Null);
    let spills = "const spills = (it) => it.scrollWidth > it.clientWidth + 1 && getComputedStyle(it).overflowX === 'visible';
        return [...document.querySelectorAll('.member, .tick, .type, .controls-head, .controls-head button')]
            .filter((it) => it.offsetParent && it.clientWidth > 0 && spills(it)).map((it) => `${it.className}: ${it.textContent}`)";
    assert_eq!(browser.run(spills, &Value::Null), json!([]));
    browser.resize(360, 740);
    for part in [1, 2] {
        browser.click(&format!(".pane-switch button:nth-child({part})"));
        assert_eq!(browser.run(spills, &Value::Null), json!([]), "part {part} of a narrow screen");
    }
    page.assert_clean();
}

#[test]
fn the_id_field_is_usable_beside_a_long_entity_name() {
    let table = "t".repeat(94);
    let server = || {
        let database = Database::new(&format!("CREATE TABLE {table} (id INTEGER PRIMARY KEY, name TEXT);"));
        serve(&database, &["--docs"])
    };
    let Some(page) = Page::open_in(server, 1280, 800) else { return };
    let page = page.ready();
    let browser = &page.browser;
    for width in [1280, 768, 360] {
        browser.resize(width, 800);
        let sizes = "const width = (name) => document.querySelector(`[data-testid=${name}]`).offsetWidth;
            return [width('id') >= 60, width('entity') >= 60, document.documentElement.scrollWidth]";
        assert_eq!(browser.run(sizes, &Value::Null), json!([true, true, width]), "{width}");
    }
    let title = "return document.querySelector('[data-testid=entity]').title";
    assert_eq!(browser.run(title, &Value::Null), json!(table), "the tooltip has the whole name");
    page.assert_clean();
}

#[test]
fn an_entity_is_found_by_typing_a_part_of_its_name() {
    let Some(page) = Page::open_in(blog, 1280, 800) else { return };
    let page = page.ready();
    let browser = &page.browser;
    browser.click("[data-testid=entity]");
    browser.type_into("[data-testid=entity]", "omm");
    browser.wait("one entity matches", |browser| browser.count(".combobox-list li") == 1);
    browser.type_into("[data-testid=entity]", &ENTER.to_string());
    page.wait_for_query("\"comment\"");
    assert_eq!(browser.count(".combobox-list"), 0);
    page.assert_clean();
}

#[test]
fn the_schema_is_resized_on_screens_of_two_columns() {
    let Some(page) = Page::open_in(blog, 900, 800) else { return };
    let page = page.ready();
    let width =
        || page.browser.run("return document.querySelector('.side').offsetWidth", &Value::Null).as_u64();
    let before = width();
    page.browser.type_into("[data-testid=split-side]", "\u{e014}\u{e014}");
    page.browser.wait("the schema is wider", |_| width() > before);
    page.assert_clean();
}
