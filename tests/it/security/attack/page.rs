//! Cross-site scripting: names, titles, data and links with markup, and the replies that contain them. The tests of the
//! playground cover the behavior of a browser.

use mesh_tests::{Database, Request, Server, command};
use serde_json::json;

pub(crate) const SCRIPT: &str = "</script><script>window.ran=1</script><img src=x onerror=window.ran=1>";

/// Starts a server with [`SCRIPT`] in every name and text that others can choose.
pub(crate) fn hostile() -> Server {
    let table = format!("\"{}\"", SCRIPT.replace('"', "\"\""));
    let database = Database::new(&format!(
        "CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT, {table} TEXT);
         CREATE TABLE {table} (id INTEGER PRIMARY KEY, x TEXT);
         INSERT INTO notes VALUES (1, '{SCRIPT}', '{SCRIPT}'), (2, 'javascript:window.ran=1', '\"onfocus=window.ran=1 autofocus=\"');"
    ));
    let config = database.dir.write(
        "mesh.toml",
        &format!("database = \"{}\"\n[docs]\nenabled = true\ntitle = {}\n", database.url(), json!(SCRIPT)),
    );
    let mut command = command(&["serve", "--listen", "127.0.0.1:0", "--log", "off", "--config", &config]);
    Server::try_spawn(&mut command, Some(database.dir)).unwrap()
}

/// Attack with access to the page or the log: markup in data, names and links.
#[test]
fn only_the_playground_is_served_as_html() {
    let server = hostile();
    let page = server.send(&Request::new("GET", "/docs"));
    assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
    assert!(!page.text().contains("<script>") && !page.text().contains("<img"), "{}", page.text());
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.contains("script-src 'self'") || policy.contains("default-src 'none'"), "{policy}");
    assert!(!policy.contains("unsafe-inline") && !policy.contains("unsafe-eval"), "{policy}");
    for target in [
        "/docs/schema".to_owned(),
        "/mesh/note/1".to_owned(),
        "/mesh/%3Cscript%3Ealert(1)%3C%2Fscript%3E/1".to_owned(),
        "/docs/%3Cscript%3E".to_owned(),
        "/%3Cscript%3Ealert(1)%3C/script%3E".to_owned(),
        "/docs/schema?x=%3Cscript%3E".to_owned(),
    ] {
        let query = r#"{"note":{"$select":{"body":true}}}"#;
        let reply = server.send(&Request::get(&target, query).header("Accept", "text/html"));
        let kind = reply.header("content-type").unwrap();
        assert!(kind.starts_with("application/json"), "{target}: {kind}");
    }
}
