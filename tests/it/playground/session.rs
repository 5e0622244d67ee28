//! Logins and signed requests of the playground.

use mesh_tests::{Database, Request, Server, command};
use serde_json::{Value, json};

use super::forms::copied;
use super::page::{CONTROL, ENTER, Page, RELEASE, serve};

/// Returns the hash of a password for a table of accounts.
pub(super) fn hash(password: &str) -> String {
    let mut hashing = command(&["hash-password"]);
    hashing.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    let mut child = hashing.spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), password.as_bytes()).unwrap();
    String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap().trim().to_owned()
}

/// Accounts of the blog: `ada` is an admin, `bo` an editor.
fn with_accounts() -> Server {
    let database = Database::blog();
    let accounts = format!(
        "CREATE TABLE accounts (id INTEGER PRIMARY KEY, login TEXT UNIQUE, password_hash TEXT, role TEXT);
         INSERT INTO accounts VALUES (1, 'ada', '{}', 'admin'), (2, 'bo', '{}', 'editor');",
        hash("dawn"),
        hash("bread")
    );
    database.connect().execute_batch(&accounts).unwrap();
    let settings = "[integrity]\nenabled = true\nsecret = \"0123456789abcdef0123456789abcdef\"\n\
        [integrity.users]\ntable = \"accounts\"\nlogin = \"login\"\n[docs]\nenabled = true\nauth = \"admin\"\n";
    let file = database.dir.write("mesh.toml", settings);
    serve(&database, &["--config", &file])
}

pub(super) fn log_in(page: &Page, login: &str, password: &str) {
    page.browser.type_into("dialog input[name=login]", login);
    page.browser.type_into("dialog input[name=password]", &format!("{password}{ENTER}"));
}

#[test]
fn an_admin_logs_in_and_requests_are_signed() {
    let Some(page) = Page::open(with_accounts) else { return };
    let browser = &page.browser;
    log_in(&page, "ada", "noon");
    browser.wait_for("dialog .form-error", "");
    browser.wait("a wrong password is refused", |browser| browser.count("dialog .form-error") == 1);
    browser.run("for (const it of document.querySelectorAll('dialog input')) it.select()", &Value::Null);
    browser.type_into("dialog input[name=password]", &format!("{CONTROL}a{RELEASE}dawn{ENTER}"));
    browser.wait_for("[data-testid=account]", "ada");
    browser.wait_for("[data-testid=account]", "admin");
    browser.wait_for("[data-testid=account]", "until");
    page.wait_for_query("$select");
    page.type_query(r#"{"post": {"$select": {"title": true"#);
    page.run();
    browser.wait_for("[data-testid=status]", "4 objects");
    browser.click("[data-testid=register]");
    browser.wait_for("[data-testid=query-id]", "q_");
    browser.click("dialog button[aria-label=Close]");
    // The copied call is signed and accepted by the server.
    let call = copied(&page, "curl");
    browser.wait_for(".notice-area", "the token of your session");
    let headers = call.split("-H '").skip(1).filter_map(|part| part.split('\'').next()?.split_once(": "));
    let mut request = Request::new("GET", &page.server.path("/post"));
    let mut names = Vec::new();
    for (name, value) in headers {
        request = request.header(name, value);
        names.push(name);
    }
    assert_eq!(names, ["X-Mesh-Query", "X-Mesh-Token", "X-Mesh-Signature"]);
    let reply = page.server.send(&request);
    assert_eq!((reply.status, reply.json()["items"][0]["title"].as_str()), (200, Some("Rust at dawn")));
    // The signatures of a run and of a copied call cover the values of parameters.
    page.type_query(
        r#"{"post": {"$select": {"title": true}, "$where": {"field": "title", "op": "like", "value": {"$param": "title"#,
    );
    browser.type_into("input[aria-label='Value of title']", "Slow%");
    page.run();
    browser.wait_for("[data-testid=status]", "1 object");
    let call = copied(&page, "curl");
    let headers = call.split("-H '").skip(1).filter_map(|part| part.split('\'').next()?.split_once(": "));
    let signed = headers.fold(Request::new("GET", &page.server.path("/post")), |signed, (name, value)| {
        signed.header(name, value)
    });
    let reply = page.server.send(&signed);
    assert!(call.contains("X-Mesh-Params: "), "{call}");
    assert_eq!((reply.status, &reply.json()["items"]), (200, &json!([{"title": "Slow bread"}])), "{call}");
    // The session survives a reload and ends at once on logout.
    let stored = "return Object.values(sessionStorage).some((it) => it.includes('$param'))";
    browser.wait("the draft is stored", |browser| browser.run(stored, &Value::Null) == json!(true));
    browser.visit(&page.url(""));
    browser.wait_for("[data-testid=account]", "ada");
    page.wait_for_query("$param");
    browser.click("#result-panel-request");
    browser.click("[data-testid=send]");
    browser.wait_for("[data-testid=request]", "HTTP/1.1");
    browser.click("[data-testid=account] button");
    browser.wait_for("[data-testid=login]", "Log in");
    browser.wait("the session is ended on the server", |_| page.server.send(&request).status == 401);
    // Nothing that only the admin may see stays on the screen.
    browser.wait("the schema is gone", |browser| browser.count(".entity") == 0);
    assert_eq!(browser.count("[data-testid=reader]"), 0);
    assert!(!browser.text("[data-testid=request]").contains("HTTP/1.1"));
    page.assert_no_foreign_requests();
}

#[test]
fn an_ended_session_asks_for_a_login_and_keeps_the_draft() {
    let Some(page) = Page::open(with_accounts) else { return };
    let browser = &page.browser;
    log_in(&page, "ada", "dawn");
    browser.wait_for("[data-testid=account]", "ada");
    page.wait_for_query("$select");
    // The server ends the session. The next check of the text, or the run, detects that.
    let end = "const done = arguments[arguments.length - 1];
        const {token, signingToken} = JSON.parse(sessionStorage.getItem('mesh.session /docs'));
        const text = new TextEncoder();
        crypto.subtle.importKey('raw', text.encode(signingToken), {name: 'HMAC', hash: 'SHA-256'}, false, ['sign'])
            .then((key) => crypto.subtle.sign('HMAC', key, new Uint8Array()))
            .then((mac) => [...new Uint8Array(mac)].map((byte) => byte.toString(16).padStart(2, '0')).join(''))
            .then((mac) => fetch('/mesh/logout', {method: 'POST', headers: {'X-Mesh-Token': token, 'X-Mesh-Signature': `sha256=${mac}`}}))
            .then((reply) => done(reply.ok));";
    page.type_query(r#"{"post": {"$select": {"title": true"#);
    assert_eq!(browser.run_async(end), json!(true));
    browser.run("document.querySelector('[data-testid=run]').click()", &Value::Null);
    browser.wait_for("[data-testid=lapsed]", "The session of ada has ended");
    assert_eq!(browser.count(".cm-lintRange-error"), 0, "no field is blamed");
    // The login is filled in already.
    browser.type_into("dialog input[name=password]", &format!("dawn{ENTER}"));
    browser.wait_for("[data-testid=account]", "ada");
    assert!(page.query().contains("\"title\""), "{}", page.query());
    page.run();
    browser.wait_for("[data-testid=status]", "4 objects");
    // If the session has expired, the page asks for a login at once, also after a reload.
    let expire = "const key = 'mesh.session /docs'; const session = JSON.parse(sessionStorage.getItem(key));
        sessionStorage.setItem(key, JSON.stringify({...session, expiresAt: 1}));";
    browser.run(expire, &Value::Null);
    browser.visit(&page.url(""));
    browser.wait_for("[data-testid=lapsed]", "The session of ada has ended");
    browser.type_into("dialog input[name=password]", &format!("dawn{ENTER}"));
    page.wait_for_query("\"title\"");
    page.assert_no_foreign_requests();
}
