//! The first paint on a slow network, which shows the page without its script.

use serde_json::{Value, json};

use super::page::{Page, blog};

/// The slow 4G of Lighthouse: bytes per second, and milliseconds for a round trip.
const DOWN: u64 = 1_600_000 / 8;
const UP: u64 = 750_000 / 8;
const LATENCY: u64 = 150;

#[test]
fn the_page_is_painted_before_its_script_has_come() {
    let Some(page) = Page::open(blog) else { return };
    let page = page.ready();
    let browser = &page.browser;
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
