//! Schema documents: `introspect` and `check`.

use mesh_tests::{Cluster, Database, Server, TempDir, run};
use serde_json::{Value, json};

use super::{assert_fails, assert_finds, introspect, stderr, stdout};

#[test]
fn introspect_writes_a_usable_document() {
    let blog = Database::blog();
    let document = introspect(&blog);
    assert_eq!(document["joins"]["user.manager"]["type"], "one");
    assert_eq!(document["joins"]["user.users"]["type"], "many");
    assert_eq!(
        document["joins"]["post.tags"]["through"],
        json!({"table": "post_tags", "from": "post_id", "to": "tag_id"})
    );
    let file = blog.dir.path().join("schema.json").display().to_string();
    let output = run(&["introspect", "--database", &blog.url(), "-o", &file]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(serde_json::from_str::<Value>(&std::fs::read_to_string(&file).unwrap()).unwrap(), document);
    let check = run(&["check", "--schema", &file, "--database", &blog.url()]);
    assert_eq!(check.status.code(), Some(0), "{}", stderr(&check));
    let query = r#"{"post":{"$select":{"title":true,"tags":{"$select":{"label":true}}}}}"#;
    let given = Server::start(&["--schema", &file, "--database", &blog.url()]);
    assert_eq!(given.get("/post", query).body, Server::with_database(&blog).get("/post", query).body);
}

#[test]
fn check_reports_all_faults() {
    let blog = Database::blog();
    let document = json!({
        "entities": {
            "user": {"fields": ["id", "name", "name"], "table": "users", "columns": {"nick": "name"}},
            "post": {"fields": ["id", "author"], "idField": "key", "colour": 1},
            "queries": {"fields": ["id"]},
        },
        "joins": {
            "post.author": {"entity": "person", "on": "users.id = posts.author_id", "type": "one"},
            "user.posts": {"entity": "post", "on": "somewhere.else = posts.author_id", "type": "many"},
            "nobody.posts": {"entity": "post", "on": "posts.id = posts.id", "type": "many"},
        },
    });
    let file = blog.dir.write("schema.json", &serde_json::to_string_pretty(&document).unwrap());
    let output = run(&["check", "--schema", &file]);
    assert_finds(&output, &["'name'", "nick", "'key'", "colour", "queries", "person", "somewhere", "nobody"]);
}

#[test]
fn check_reports_the_faults_of_all_joins() {
    let blog = Database::blog();
    let document = json!({
        "entities": {
            "user": {"fields": ["id", "name", "posts"], "table": "users"},
            "post": {"fields": ["id", "author"], "idField": "key"},
        },
        "joins": {
            "post.author": {"entity": "person", "on": "users.id = posts.author_id", "type": "one"},
            "user.posts": {"entity": "post", "on": "somewhere.else = posts.author_id", "type": "many"},
            "user.drafts": {"entity": "post", "on": "users.id", "type": "many"},
            "user.events": {"entity": "post", "on": "posts.author_id = users.id", "type": "many"},
            "nobody.posts": {"entity": "post", "on": "posts.id = posts.id", "type": "many"},
        },
    });
    let file = blog.dir.write("schema.json", &serde_json::to_string_pretty(&document).unwrap());
    let output = run(&["check", "--schema", &file]);
    assert_finds(
        &output,
        &[
            "'key'",
            "post.author",
            "person",
            "somewhere",
            "user.posts",
            "user.drafts",
            "user.events",
            "nobody",
        ],
    );
}

#[test]
fn check_compares_a_schema_with_the_database() {
    let blog = Database::blog();
    let stored = json!({"entities": {
        "user": {"fields": ["id", "nickname"], "table": "users"},
        "ghost": {"fields": ["id"], "table": "ghosts"},
    }});
    let file = blog.dir.write("stored.json", &stored.to_string());
    let output = run(&["check", "--schema", &file, "--database", &blog.url()]);
    let said = format!("{}{}", stdout(&output), stderr(&output));
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("nickname") && said.contains("ghosts"), "{said}");
    let serve = run(&["serve", "--listen", "127.0.0.1:0", "--schema", &file, "--database", &blog.url()]);
    assert_fails(&serve, 2, &["nickname", "ghosts"]);
    let broken = blog.dir.write("broken.json", "{\n  \"entities\": oops\n}");
    let output = run(&["check", "--schema", &broken]);
    let said = format!("{}{}", stdout(&output), stderr(&output));
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains('2'), "the line is named: {said}");
    assert_eq!(run(&["check", "--database", &blog.url()]).status.code(), Some(0));
}

#[test]
fn check_prints_the_statements_that_create_full_text_indexes() {
    let document = json!({"entities": {"post": {"fields": ["id", "title"],
        "search": {"fields": ["title"], "table": "post words", "language": "english"}}}});
    let check = |folder: &TempDir, url: &str| {
        let file = folder.write("search.json", &document.to_string());
        run(&["check", "--schema", &file, "--database", url])
    };
    let statements = |said: &str| {
        let lines = said.lines().filter(|line| line.ends_with(';'));
        lines.collect::<Vec<_>>().join("\n")
    };
    let database = Database::new("CREATE TABLE posts (id INTEGER PRIMARY KEY, title TEXT)");
    let output = check(&database.dir, &database.url());
    assert_finds(&output, &["entities.post.search.table", "these statements create it:"]);
    database.connect().execute_batch(&statements(&stderr(&output))).unwrap();
    let output = check(&database.dir, &database.url());
    assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(0), ""));

    let Some(cluster) = Cluster::start() else { return };
    cluster.execute("CREATE TABLE posts (id integer PRIMARY KEY, title text)");
    let output = check(&database.dir, &cluster.url());
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("note: entities.post.search: "), "{said}");
    cluster.execute(&statements(&said));
    assert!(!stderr(&check(&database.dir, &cluster.url())).contains("search"));
}

#[test]
fn tables_of_the_server_are_left_out_of_documents() {
    let database = Database::new(
        "CREATE TABLE notes (id INTEGER PRIMARY KEY);
         CREATE TABLE keys (id INTEGER PRIMARY KEY, key_hash TEXT, role TEXT);",
    );
    let settings = format!("database = \"{}\"\napi_keys.table = \"keys\"\n", database.url());
    let output = run(&["introspect", "--config", &database.dir.write("mesh.toml", &settings)]);
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["entities"].as_object().unwrap().keys().collect::<Vec<_>>(), ["note"]);
    assert!(stderr(&output).contains("'api_keys.table' names this table"), "{}", stderr(&output));
}

#[test]
fn columns_that_look_secret_are_left_out_with_a_note() {
    let database = Database::new(
        "CREATE TABLE users (id INTEGER PRIMARY KEY, login TEXT, password_hash TEXT, api_key TEXT, secret TEXT);
         INSERT INTO users VALUES (1, 'ada', 'h', 'k', 's');",
    );
    let output = run(&["introspect", "--database", &database.url()]);
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["entities"]["user"]["fields"], json!(["id", "login"]));
    for column in ["password_hash", "api_key", "secret"] {
        assert!(stderr(&output).contains(column), "{}", stderr(&output));
    }
    let reply =
        Server::with_database(&database).get("/user", r#"{"user":{"$select":{"passwordHash":true}}}"#);
    assert_eq!(reply.status, 400);
}
