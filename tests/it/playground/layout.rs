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
