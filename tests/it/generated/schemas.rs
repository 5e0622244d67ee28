//! Independent validators check that the generated descriptions match the server.

mod queries;

use std::path::Path;
use std::process::Command;

use mesh_tests::{Database, Request, Server, TempDir, node_tools, run};
use serde_json::{Value, json};

use crate::support::sessions::{Deployment, Session};

/// Runs a script with the tools and these files.
#[track_caller]
pub(super) fn script(name: &str, tools: &Path, files: &[&str]) -> String {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/schemas").join(name);
    let output = Command::new("node").arg(script).arg(tools).args(files).output().expect("node runs");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    said
}

/// Returns the output of a command, as a file and as JSON.
#[track_caller]
fn written(folder: &TempDir, command: &str, arguments: &[&str]) -> (String, Value) {
    let file = folder.path().join(format!("{command}.json")).display().to_string();
    let output = run(&[&[command, "-o", &file], arguments].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = std::fs::read_to_string(&file).unwrap();
    (file, serde_json::from_str(&text).unwrap())
}

/// Returns the operations of a document, as `GET /mesh/post`.
fn operations(document: &Value) -> Vec<String> {
    let paths = document["paths"].as_object().unwrap();
    let all = paths.iter().flat_map(|(path, methods)| {
        let methods = methods.as_object().unwrap().keys();
        methods.map(move |method| format!("{} {path}", method.to_uppercase()))
    });
    all.collect()
}

/// Asserts that the server has every operation.
#[track_caller]
fn assert_served(document: &Value, server: &Server) {
    for operation in operations(document) {
        let (method, path) = operation.split_once(' ').unwrap();
        let path = path.replace("{id}", "1").replace("{childId}", "2");
        let path = path.replace("{first}", "ab").replace("{rest}", &"0".repeat(62));
        if path.starts_with("/docs") {
            continue;
        }
        let reply = server.send(&Request::new("OPTIONS", &path));
        let allow = reply.header("allow").unwrap_or_default().to_owned();
        assert!(allow.split(", ").any(|allowed| allowed == method), "{operation}: {} {allow}", reply.status);
    }
}

#[test]
fn plain_server_is_described() {
    let Some(tools) = node_tools() else { return };
    let blog = Database::blog();
    let (file, document) = written(&blog.dir, "openapi", &["--database", &blog.url()]);
    let server = Server::with_database(&blog);
    assert_served(&document, &server);
    let all = operations(&document).join("\n");
    for there in [
        "GET /mesh/post\n",
        "GET /mesh/post/{id}\n",
        "PUT /mesh/post/{id}\n",
        "GET /mesh/post/{id}/events",
        "GET /mesh/postTag/{id}\n",
        "POST /mesh\n",
        "POST /mesh/queries",
    ] {
        assert!(all.contains(there), "{there} in {all}");
    }
    for absent in ["DELETE", "/auth", "/logout", "/docs", "/files"] {
        assert!(!all.contains(absent), "{absent} in {all}");
    }
    assert_eq!(
        document["components"]["schemas"]["post"]["properties"]["likes"]["type"],
        json!(["integer", "null"])
    );
    assert_eq!(document["components"]["schemas"]["post"]["properties"]["title"]["type"], "string");

    let mut answers = Vec::new();
    let mut ask = |path: &str, at: &str, query: &Value| {
        let reply = server.get(at, &query.to_string());
        answers.push(json!({"path": path, "method": "get", "status": reply.status, "body": reply.json()}));
        reply.status
    };
    let nested = json!({"$select": {
        "id": true, "title": true, "score": true, "published": true, "createdAt": true, "attributes": true, "picture": true,
        "author": {"$select": {"name": true, "manager": {"$select": {"name": true}}}},
        "comments": {"$select": {"text": true}}, "tags": {"$select": {"label": true}},
    }});
    assert_eq!(ask("/mesh/post", "/post", &json!({"post": nested})), 200);
    assert_eq!(ask("/mesh/post/{id}", "/post/1", &json!({"post": nested})), 200);
    assert_eq!(ask("/mesh/post/{id}", "/post/99", &json!({"post": nested})), 200);
    let grouped = json!({"user": {"$select": {"role": true}, "$groupBy": ["role"], "$aggregate": {
        "n": {"fn": "count"}, "mean": {"fn": "avg", "field": "age"},
    }}});
    assert_eq!(ask("/mesh/user", "/user", &grouped), 200);
    let relational = json!({"post": {
        "$select": {
            "headline": {"$field": "title"},
            "writer": {"$relation": "author", "$select": {"name": true}},
            "comments": {"$select": {}, "$aggregate": {"n": {"fn": "count"}}},
            "byUser": {"$relation": "comments", "$select": {"userId": true}, "$groupBy": ["userId"], "$aggregate": {"n": {"fn": "count"}}},
        },
        "$page": {"last": 2, "total": true},
    }});
    assert_eq!(ask("/mesh/post", "/post", &relational), 200);
    assert_eq!(ask("/mesh/post", "/post", &json!({"post": {"$select": {"titel": true}}})), 400);
    assert_eq!(ask("/mesh/post", "/post", &json!(["no query"])), 400);
    let answers = blog.dir.write("answers.json", &Value::from(answers).to_string());
    assert_eq!(script("openapi.mjs", &tools, &[&file, &answers]), "all well\n");
}

#[test]
fn enabled_profiles_are_described() {
    let Some(tools) = node_tools() else { return };
    let schema = json!({
        "entities": {
            "account": {"fields": ["id", "email", "avatar"], "writable": {"create": ["email"], "update": ["email"], "delete": true}, "uploads": {"avatar": {}}},
            "post": {"fields": ["id", "title", "banner"], "uploads": {"banner": {}}},
        },
        "joins": {
            "account.boss": {"entity": "account", "on": "accounts.id = accounts.role", "type": "one"},
            "account.staff": {"entity": "account", "on": "accounts.role = accounts.id", "type": "many"},
            "account.posts": {"entity": "post", "type": "many", "through": {"table": "likes", "from": "account_id", "to": "post_id"}},
        },
    });
    let more =
        "[mutations]\nenabled = true\n[uploads]\nenabled = true\n[docs]\nenabled = true\nauth = \"admin\"\n";
    let deployment = Deployment::with("binding = \"require\"", more);
    let folder = &deployment.database.dir;
    let _ = deployment.database.connect().execute_batch(
        "CREATE TABLE likes (account_id INTEGER, post_id INTEGER, PRIMARY KEY (account_id, post_id))",
    );
    let schema = folder.write("schema.json", &schema.to_string());
    let store = folder.path().join("files").display().to_string();
    let text = std::fs::read_to_string(&deployment.config).unwrap();
    let text = text.replace("[uploads]\n", &format!("[uploads]\nstore = \"file:{store}\"\n"));
    std::fs::write(&deployment.config, format!("schema = \"{schema}\"\n{text}")).unwrap();
    let (file, document) = written(folder, "openapi", &["--config", &deployment.config]);
    let server = deployment.start();
    assert_served(&document, &server);
    let all = operations(&document).join("\n");
    for there in [
        "POST /mesh/account\n",
        "PUT /mesh/account/{id}\n",
        "DELETE /mesh/account/{id}\n",
        "POST /mesh/account/{id}/avatar",
        "PUT /mesh/account/{id}/boss",
        "DELETE /mesh/account/{id}/boss",
        "POST /mesh/account/{id}/staff",
        "DELETE /mesh/account/{id}/staff/{childId}",
        "POST /mesh/account/{id}/posts",
        "DELETE /mesh/account/{id}/posts/{childId}",
        "POST /mesh/post\n",
        "POST /mesh/auth",
        "POST /mesh/logout",
        "GET /mesh/files/sha256/{first}/{rest}",
        "POST /docs/execute",
    ] {
        assert!(all.contains(there), "{there} in {all}");
    }
    assert!(
        !all.contains("PUT /mesh/post/{id}") && !all.contains("DELETE /mesh/post/{id}"),
        "nothing of a post is writable: {all}"
    );
    let types = |path: &str| -> Vec<String> {
        let content = &document["paths"][path]["post"]["requestBody"]["content"];
        content.as_object().unwrap().keys().cloned().collect()
    };
    assert_eq!(types("/mesh/account"), ["application/json", "multipart/form-data"]);
    assert_eq!(types("/mesh/post"), ["multipart/form-data"]);
    assert_eq!(document["components"]["parameters"]["X-Mesh-Nonce"]["required"], true);
    assert_eq!(document["paths"]["/mesh/auth"]["post"]["security"], json!([]));

    let unsigned = server.get("/post", r#"{"post":{"$select":{"id":true}}}"#);
    let login =
        crate::support::sessions::login(&server, "ada@example.org", crate::support::sessions::PASSWORD);
    let session =
        Session { token: login.json()["token"].as_str().unwrap().to_owned(), signing_token: String::new() };
    let logout = session.logout(&server);
    let answers = json!([
        {"path": "/mesh/post", "method": "get", "status": unsigned.status, "body": unsigned.json()},
        {"path": "/mesh/auth", "method": "post", "status": login.status, "body": login.json()},
        {"path": "/mesh/logout", "method": "post", "status": logout.status, "body": logout.json()},
    ]);
    assert_eq!((unsigned.status, login.status, logout.status), (401, 200, 200));
    let answers = folder.write("answers.json", &answers.to_string());
    assert_eq!(script("openapi.mjs", &tools, &[&file, &answers]), "all well\n");
}

#[test]
fn unusual_names_are_described() {
    let Some(tools) = node_tools() else { return };
    let database = Database::new(
        r#"CREATE TABLE "order details" (id INTEGER PRIMARY KEY, "it's ""so""" TEXT);
           CREATE TABLE "größe" (id TEXT PRIMARY KEY, "{id}" INTEGER REFERENCES "{id}" (id));
           CREATE TABLE "{id}" (id INTEGER PRIMARY KEY, "a/b" TEXT);
           CREATE TABLE "日本" (id INTEGER PRIMARY KEY);"#,
    );
    let (file, document) = written(&database.dir, "openapi", &["--database", &database.url()]);
    assert_served(&document, &Server::with_database(&database));
    let answers = database.dir.write("answers.json", "[]");
    assert_eq!(script("openapi.mjs", &tools, &[&file, &answers]), "all well\n");
}
