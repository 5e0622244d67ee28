//! The generated hooks in a browser: a page that shows what another client writes.

use std::path::Path;
use std::process::Command;

use mesh_tests::{Browser, Database, Request, Server, TempDir, node_tools, run, wait_until};
use serde_json::{Value, json};

/// Returns the program of the page as one script.
fn script(tools: &Path, database: &Database) -> String {
    let folder = TempDir::new();
    let types = folder.path().join("mesh.ts").display().to_string();
    let output = run(&["types", "--database", &database.url(), "-o", &types, "--react"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/live/page.ts");
    std::fs::copy(page, folder.path().join("page.ts")).unwrap();
    let modules = tools.join("node_modules");
    let build = "const { buildSync } = require(process.argv[1]);
        const options = {bundle: true, format: 'iife', nodePaths: [process.argv[2]], write: false};
        process.stdout.write(buildSync({entryPoints: ['page.ts'], ...options}).outputFiles[0].text);";
    let output = Command::new("node")
        .args(["-e", build])
        .args([modules.join("esbuild"), modules])
        .current_dir(folder.path())
        .output()
        .expect("node runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Sends a write as another client.
fn write(server: &Server, method: &str, path: &str, body: &Value) {
    let reply = server.send(&Request::json(method, path, body.to_string()));
    assert!(reply.status < 300, "{}", reply.text());
}

/// Returns the number of open event streams.
fn streams(server: &Server) -> String {
    let metrics = server.send(&Request::new("GET", "/metrics")).text();
    let line = metrics.lines().find_map(|line| line.strip_prefix("mesh_event_streams "));
    line.expect("the number of streams").to_owned()
}

#[test]
fn hooks_show_what_another_client_writes() {
    let Some(tools) = node_tools() else { return };
    let Some(browser) = Browser::open(800, 600) else { return };
    let database = Database::blog();
    let script = script(&tools, &database);
    let mut document: Value =
        serde_json::from_slice(&run(&["introspect", "--database", &database.url()]).stdout).unwrap();
    document["entities"]["post"]["writable"] = json!(["title", "likes", "authorId"]);
    let schema = database.dir.write("schema.json", &document.to_string());
    let server = Server::start(&["--database", &database.url(), "--schema", &schema, "--mutations"]);
    browser.visit(&format!("http://{}/healthz", server.address));
    browser.run(&script, &Value::Null);
    let shows = |what: &str, list: &str| browser.wait(what, |page| page.text("ul") == list);
    shows("the list", "Rust at dawn\nSlow bread\nBicycle");
    browser.wait_for("p", "Rust at dawn");
    browser.wait_for("output", "fine; Field 'titel' not found");
    assert_eq!(streams(&server), "2");

    write(&server, "PUT", "/mesh/post/1", &json!({"title": "Rust at noon"}));
    shows("a change", "Rust at noon\nSlow bread\nBicycle");
    browser.wait_for("p", "Rust at noon");
    write(&server, "POST", "/mesh/post", &json!({"title": "New", "likes": 9, "authorId": 1}));
    shows("a new record", "Rust at noon\nSlow bread\nBicycle\nNew");
    write(&server, "PUT", "/mesh/post/4", &json!({"likes": null}));
    shows("a list without the record", "Rust at noon\nSlow bread\nNew");

    browser.click("#popular");
    shows("the list of other parameters", "Slow bread\nNew");
    wait_until("the earlier stream is closed", || streams(&server) == "2");
    write(&server, "PUT", "/mesh/post/1", &json!({"likes": 8}));
    shows("a change of that list", "Rust at noon\nSlow bread\nNew");
    browser.click("#close");
    wait_until("all streams are closed", || streams(&server) == "0");
}
