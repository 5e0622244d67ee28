//! The playground with a bearer of a provider at which the browser logs in.

use mesh_tests::{Browser, Database, Provider, Server};
use serde_json::Value;

use super::forms::copied;
use super::page::{ENTER, Page, serve};

fn guarded(provider: &Provider) -> Server {
    let database = Database::blog();
    let settings = format!(
        "[docs]\nenabled = true\nauth = \"admin\"\n[bearer]\njwks = \"{}\"\nissuer = \"{}\"\n\
         audience = [\"https://api.example\"]\n",
        provider.keys(),
        provider.issuer
    );
    let file = database.dir.write("mesh.toml", &settings);
    serve(&database, &["--config", &file])
}

/// Logs in at the provider, which leads back to the page, and returns the access token.
fn log_in(page: &Page, provider: &Provider, account: &str) -> String {
    let browser = &page.browser;
    browser.devtools("Network.clearBrowserCookies", &serde_json::json!({}));
    browser.visit(&provider.authorization_url(&page.url("")));
    browser.type_into("input[name=login]", account);
    browser.type_into("input[name=password]", &format!("x{ENTER}"));
    browser.click("input[value=consent] ~ button");
    browser.wait("the page is there", |browser| browser.count(".panes") == 1);
    let url = location(browser);
    assert!(url.starts_with(&page.url("?code=")), "{url}");
    let tokens = provider.redeem(&url);
    tokens["access_token"].as_str().unwrap().to_owned()
}

fn location(browser: &Browser) -> String {
    let url = browser.run("return location.href", &Value::Null);
    url.as_str().unwrap_or_default().to_owned()
}

#[test]
fn a_bearer_of_a_login_at_the_provider_is_used_and_kept_in_memory_only() {
    let Some(provider) = Provider::start() else { return };
    let Some(page) = Page::open(|| guarded(&provider)) else { return };
    let browser = &page.browser;
    let token = log_in(&page, &provider, "ada");
    browser.type_into("dialog input[name=bearer]", &format!("nonsense{ENTER}"));
    browser.wait("what is no bearer is refused", |browser| browser.count("dialog input[name=bearer]") == 1);
    browser.type_into("dialog input[name=bearer]", &format!("Bearer {token}{ENTER}"));
    browser.wait_for("[data-testid=account]", "Bearer");
    page.wait_for_query("$select");
    page.type_query(r#"{"post": {"$select": {"title": true"#);
    page.run();
    browser.wait_for("[data-testid=status]", "4 objects");
    // Copied calls contain a placeholder instead of the bearer.
    let call = copied(&page, "curl");
    assert!(call.contains("Authorization: Bearer TOKEN") && !call.contains(&token), "{call}");
    // The storages of the browser and the address of the page do not contain the bearer either.
    let script = "return JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie])";
    let stored = browser.run(script, &Value::Null);
    let stored = stored.as_str().unwrap_or_default();
    assert!(stored.contains("Rust") || stored.contains("$select"), "the query is stored: {stored}");
    let secret = token.rsplit('.').next().unwrap();
    assert!(!stored.contains(secret) && !location(browser).contains(secret), "{stored}");
    browser.visit(&page.url(""));
    browser.wait("a reloaded page has no bearer", |browser| {
        browser.count("dialog input[name=bearer]") == 1 && browser.count("[data-testid=account]") == 0
    });
}
