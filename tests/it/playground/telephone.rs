//! The page on a telephone: a narrow screen, the theme of the system, and a slow network.

use mesh_tests::Database;
use serde_json::{Value, json};

use super::page::{Page, serve};

/// The slow 4G of Lighthouse: bytes per second, and milliseconds for a round trip.
const DOWN: u64 = 1_600_000 / 8;
const UP: u64 = 750_000 / 8;
const LATENCY: u64 = 150;

#[test]
fn a_telephone_shows_one_part_in_the_theme_of_the_system_and_paints_early() {
    let database = Database::blog();
    let settings = database.dir.write("mesh.toml", "docs = { enabled = true, theme = \"system\" }");
    let Some(page) = Page::open_in(|| serve(&database, &["--config", &settings]), 360, 740) else { return };
    let page = page.ready();
    let browser = &page.browser;
    let prefer = |theme: &str| {
        let features = json!({"features": [{"name": "prefers-color-scheme", "value": theme}]});
        browser.devtools("Emulation.setEmulatedMedia", &features);
    };
    for theme in ["light", "dark", "light"] {
        prefer(theme);
        browser.wait("the theme of the system", |browser| {
            browser.count(&format!("html[data-theme={theme}]")) == 1
        });
    }
    browser.click("[data-testid=theme]");
    browser.wait("the chosen theme", |browser| browser.count("html[data-theme=dark]") == 1);
    prefer("dark");
    prefer("light");
    assert_eq!(browser.count("html[data-theme=dark]"), 1);
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
    // The first paint shows the page before its script has come.
    browser.visit("about:blank");
    browser.devtools("Network.enable", &json!({}));
    browser.devtools("Network.setCacheDisabled", &json!({"cacheDisabled": true}));
    let network =
        json!({"offline": false, "latency": LATENCY, "downloadThroughput": DOWN, "uploadThroughput": UP});
    browser.devtools("Network.emulateNetworkConditions", &network);
    browser.visit(&page.url(""));
    browser.wait("the schema", |browser| browser.count(".entity") > 0);
    let order = "const [paint] = performance.getEntriesByName('first-contentful-paint');
        const script = performance.getEntriesByType('resource').find(({name}) => name.endsWith('/app.js'));
        return paint.startTime < script.responseEnd";
    assert_eq!(browser.run(order, &Value::Null), json!(true));
}
