//! The layout on a narrow screen and with long names.

use serde_json::{Value, json};

use super::page::{Page, blog};

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
