//! Output and exit statuses of the commands, for databases of every kind.

use std::process::Output;

use mesh_tests::{Database, Request, Server, TempDir, command, run};
use serde_json::{Map, Value, json};

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Asserts the exit status, and each of the texts on standard error.
fn assert_fails(output: &Output, status: i32, words: &[&str]) {
    let said = stderr(output);
    assert_eq!(output.status.code(), Some(status), "{said}{}", stdout(output));
    for word in words {
        assert!(said.contains(word), "{word:?} expected in: {said}");
    }
    assert!(!said.contains("panicked"), "{said}");
}

/// Asserts that a check found faults that contain each of the texts; reports all that are missing.
fn assert_finds(output: &Output, words: &[&str]) {
    let said = format!("{}{}", stdout(output), stderr(output));
    assert_eq!(output.status.code(), Some(1), "{said}");
    let missing: Vec<&&str> = words.iter().filter(|word| !said.contains(**word)).collect();
    assert!(missing.is_empty(), "{missing:?} expected in: {said}");
}

fn introspect(database: &Database) -> Value {
    let output = run(&["introspect", "--database", &database.url()]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    serde_json::from_slice(&output.stdout).expect("a schema document")
}

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
fn wrong_usage_has_status_2_and_a_suggestion() {
    let blog = Database::blog();
    let dir = TempDir::new();
    assert_fails(&run(&["serve", "--databse", &blog.url()]), 2, &["--databse", "--database"]);
    assert_fails(&run(&["serv"]), 2, &["serv", "serve"]);
    assert_fails(&run(&[]), 2, &[]);
    assert_fails(&run(&["serve"]), 2, &["database"]);
    assert_fails(&run(&["introspect"]), 2, &["--database"]);
    let missing = dir.path().join("nosuch.db").display().to_string();
    for name in ["serve", "introspect"] {
        assert_fails(&run(&[name, "--database", &format!("sqlite:{missing}")]), 2, &["nosuch.db"]);
        assert!(!std::path::Path::new(&missing).exists(), "{name} makes no database");
    }
    let text =
        dir.write("text.db", "this is no database at all, only a text that is long enough to be read as one");
    assert_fails(
        &run(&["serve", "--listen", "127.0.0.1:0", "--database", &format!("sqlite:{text}")]),
        2,
        &["text.db"],
    );
    assert_fails(&run(&["serve", "--database", "mysql://a/b"]), 2, &["mysql"]);
    assert_fails(&run(&["serve", "--database", &blog.url(), "--schema", "nosuch.json"]), 2, &["nosuch.json"]);
    assert_fails(&run(&["serve", "--config", "nosuch.toml"]), 2, &["nosuch.toml"]);
    assert_fails(&run(&["serve", "--database", &blog.url(), "--listen", "nonsense"]), 2, &["nonsense"]);
    assert_fails(&run(&["serve", "--database", &blog.url(), "--threads", "many"]), 2, &["many"]);
    assert_fails(
        &run(&["explain", "--database", &blog.url(), "--format", "xml", "{ post id }"]),
        2,
        &["xml"],
    );

    let taken = Server::with_database(&blog);
    let address = taken.address.to_string();
    assert_fails(&run(&["serve", "--database", &blog.url(), "--listen", &address]), 2, &[&address]);
}

#[test]
fn every_command_has_help_with_an_example() {
    let help = stdout(&run(&["--help"]));
    let commands = help.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let names: Vec<&str> = commands
        .lines()
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .collect();
    assert!(names.contains(&"serve") && names.contains(&"hash-password"), "{names:?}");
    for name in names {
        let output = run(&[name, "--help"]);
        assert_eq!(output.status.code(), Some(0), "{name}");
        assert!(
            stdout(&output).contains(&format!("mesh-server {name}")) && stdout(&output).contains("Example"),
            "{name}"
        );
    }
}

#[test]
fn unknown_key_suggests_the_nearest() {
    let blog = Database::blog();
    let config = |text: &str| {
        let file = blog.dir.write("mesh.toml", text);
        run(&["serve", "--listen", "127.0.0.1:0", "--database", &blog.url(), "--config", &file])
    };
    assert_fails(&config("[limits]\npage_maximum = 7\n"), 2, &["page_maximum", "page_max"]);
    assert_fails(&config("[limit]\npage_max = 7\n"), 2, &["limit", "limits"]);
    assert_fails(&config("databse = \"x\"\n"), 2, &["databse", "database"]);
    assert_fails(&config("[limits]\npage_max = \"many\"\n"), 2, &["page_max", "many"]);
    assert_fails(&config("[limits]\npage_max = -1\n"), 2, &["page_max"]);
    assert_fails(&config("[limits\n"), 2, &["mesh.toml"]);
    // Both at once.
    assert_fails(&config("lisen = 1\n[limits]\ndept = 7\n"), 2, &["lisen", "listen", "dept", "depth"]);
    let file = blog.dir.write("check.toml", "lisen = 1\n[limits]\ndept = 7\n");
    let output = run(&["check", "--config", &file]);
    let said = format!("{}{}", stdout(&output), stderr(&output));
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("lisen") && said.contains("dept"), "{said}");
}

#[test]
fn flag_overrides_variable_overrides_file() {
    let blog = Database::blog();
    let text =
        format!("database = '{}'\nbase = \"/file\"\n[limits]\npage_max = 3\npage_default = 3\n", blog.url());
    let file = blog.dir.write("mesh.toml", &text);
    let start = |arguments: &[&str], variables: &[(&str, &str)]| {
        let mut all = vec!["serve", "--config", &file, "--listen", "127.0.0.1:0", "--log", "off"];
        all.extend_from_slice(arguments);
        Server::spawn(command(&all).envs(variables.iter().copied()))
    };
    assert_eq!(start(&[], &[]).base, "/file");
    assert_eq!(start(&[], &[("MESH_BASE", "/variable")]).base, "/variable");
    assert_eq!(start(&["--base", "/flag"], &[("MESH_BASE", "/variable")]).base, "/flag");
    let count = |server: &Server| {
        server.get("/post", r#"{"post":{"$select":{"id":true}}}"#).json()["items"].as_array().unwrap().len()
    };
    assert_eq!(count(&start(&[], &[])), 3);
    assert_eq!(count(&start(&[], &[("MESH_LIMITS__PAGE_DEFAULT", "1")])), 1);

    let variables = [
        ("MESH_DATABASE", blog.url()),
        ("MESH_LISTEN", "127.0.0.1:0".to_owned()),
        ("MESH_LOG", "off".to_owned()),
    ];
    assert_eq!(count(&Server::spawn(command(&["serve"]).envs(variables.clone()))), 4, "no flag at all");
    let wrong = command(&["serve"]).envs(variables).env("MESH_LIMITS__DEPTH", "deep").output().unwrap();
    assert_fails(&wrong, 2, &["MESH_LIMITS__DEPTH", "deep"]);
}

#[test]
fn unknown_variable_is_a_warning() {
    let blog = Database::blog();
    let file = blog.dir.path().join("log");
    let log = std::fs::File::create(&file).unwrap();
    let arguments = ["serve", "--listen", "127.0.0.1:0", "--database", &blog.url()];
    let server = Server::spawn(command(&arguments).env("MESH_LISTN", "x").stderr(log));
    assert_eq!(server.get("/post/1", r#"{"post":{"$select":{"id":true}}}"#).status, 200);
    drop(server);
    let said = std::fs::read_to_string(&file).unwrap();
    assert!(said.contains("MESH_LISTN"), "{said}");
}

#[test]
fn explain_shows_the_plan_and_runs_nothing() {
    let blog = Database::blog();
    let url = blog.url();
    for arguments in [
        &["{ post title author { name } }"][..],
        &["--format", "ql", "{ post title author { name } }"],
        &["--id", "1", r#"{"post":{"$select":{"title":true,"author":{"$select":{"name":true}}}}}"#],
    ] {
        let mut all = vec!["explain", "--database", &url];
        all.extend_from_slice(arguments);
        let output = run(&all);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let said = stdout(&output);
        for word in ["post", "title", "author", "name", "SELECT"] {
            assert!(said.contains(word), "{word} expected in: {said}");
        }
        assert!(!said.contains("Rust at dawn") && !said.contains("likes"), "{said}");
    }
    let schema = blog.dir.write("schema.json", &introspect(&blog).to_string());
    assert_eq!(run(&["explain", "--schema", &schema, "{ post title }"]).status.code(), Some(0));
    assert_fails(&run(&["explain", "--database", &url, "{ post titel }"]), 1, &["titel", "title"]);
    assert_fails(&run(&["explain", "--database", &url, "{ post "]), 1, &["1"]);
}

#[test]
fn query_prints_the_answer_of_a_server() {
    let server = Server::with_database(&Database::blog());
    let url = format!("http://{}{}", server.address, server.base);
    let ask = |arguments: &[&str]| {
        let mut all = vec!["query", "--url", &url];
        all.extend_from_slice(arguments);
        run(&all)
    };
    let point = ask(&["--id", "1", "{ post title author { name } }"]);
    assert_eq!(point.status.code(), Some(0), "{}", stderr(&point));
    let printed: Value = serde_json::from_slice(&point.stdout).unwrap();
    assert_eq!(printed, json!({"title": "Rust at dawn", "author": {"name": "Ada"}}));
    let all = ask(&["--format", "json", r#"{"post":{"$select":{"id":true}}}"#]);
    assert_eq!(all.status.code(), Some(0), "{}", stderr(&all));
    assert!(stdout(&all).contains("\"id\""), "{}", stdout(&all));
    assert_fails(&ask(&["{ post titel }"]), 1, &["titel"]);
    assert_fails(&ask(&["{ nosuch id }"]), 1, &["nosuch"]);
    drop(server);
    assert_fails(&ask(&["{ post id }"]), 1, &[]);
    assert_fails(&run(&["query", "--url", "ftp://x", "{ post id }"]), 2, &["ftp"]);
}

/// Returns a path segment with every byte escaped.
fn segment(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Returns a query for every field of an entity, and of related entities.
fn whole(document: &Value, entity: &str, relations: bool) -> Value {
    let mut select = Map::new();
    for field in document["entities"][entity]["fields"].as_array().unwrap() {
        select.insert(field.as_str().unwrap().to_owned(), json!(true));
    }
    for (key, join) in document["joins"].as_object().into_iter().flatten().filter(|_| relations) {
        if let Some(reference) = key.strip_prefix(entity).and_then(|rest| rest.strip_prefix('.')) {
            select.insert(reference.to_owned(), whole(document, join["entity"].as_str().unwrap(), false));
        }
    }
    json!({"$select": select})
}

/// Reads every inferred entity with its relations, as a collection and as points; returns the items by entity.
fn read_all(database: &Database) -> Map<String, Value> {
    let document = introspect(database);
    let server = Server::with_database(database);
    let connection = database.connect();
    let mut found = Map::new();
    for (entity, declared) in document["entities"].as_object().unwrap() {
        let query = json!({entity: whole(&document, entity, true)}).to_string();
        let path = format!("/{}", segment(entity));
        let reply = server.get(&path, &query);
        assert_eq!(reply.status, 200, "{query}: {}", reply.text());
        let items = reply.json()["items"].clone();
        let default = if entity.ends_with('s') { entity.clone() } else { format!("{entity}s") };
        let table = declared["table"].as_str().unwrap_or(&default);
        let table = table.strip_prefix('"').and_then(|table| table.strip_suffix('"')).unwrap_or(table);
        let sql = format!("SELECT count(*) FROM {}", quoted(table));
        let count: i64 =
            connection.query_row(&sql, [], |row| row.get(0)).unwrap_or_else(|error| panic!("{sql}: {error}"));
        assert_eq!(items.as_array().unwrap().len() as i64, count, "{entity}");
        let id_field = declared.get("idField").map_or(Some("id"), Value::as_str);
        for item in
            items.as_array().unwrap().iter().filter(|item| id_field.is_some_and(|id| !item[id].is_null()))
        {
            let id = &item[id_field.unwrap()];
            let id = id.as_str().map_or_else(|| id.to_string(), str::to_owned);
            let point = server.get(&format!("{path}/{}", segment(&id)), &query);
            assert_eq!(&point.json(), item, "{entity}/{id}");
        }
        // By POST the key needs no escaping.
        let posted = server.send(&Request::post("/mesh", &json!({"query": query}).to_string()));
        assert_eq!(posted.json()["items"], items);
        found.insert(entity.clone(), items);
    }
    found
}

#[test]
fn unusual_names_are_served() {
    let found = read_all(&Database::new(
        r#"CREATE TABLE "order details" ("order id" INTEGER PRIMARY KEY, "unit ""net"" price" REAL, "select" TEXT, "it's" TEXT, "a.b" TEXT);
           INSERT INTO "order details" VALUES (1, 2.5, 'x', 'y', 'z');
           CREATE TABLE "group" ("order" INTEGER PRIMARY KEY, "from" TEXT, "parent" INTEGER REFERENCES "group" ("order"));
           INSERT INTO "group" VALUES (1, 'a', NULL), (2, 'b', 1);
           CREATE TABLE "größe" ("Länge" INTEGER, "ключ" TEXT PRIMARY KEY);
           INSERT INTO "größe" VALUES (5, 'ß/ü'), (6, ' ');
           CREATE TABLE "日本" (id INTEGER PRIMARY KEY, "名前" TEXT);
           INSERT INTO "日本" VALUES (1, '京都');
           CREATE TABLE "sales.order" (id INTEGER PRIMARY KEY, n INTEGER);
           INSERT INTO "sales.order" VALUES (1, 2);
           CREATE TABLE "we""ird" (id INTEGER PRIMARY KEY, "queries" TEXT, "events" TEXT);
           INSERT INTO "we""ird" VALUES (1, 'q', 'e');
           CREATE TABLE "queries" (id INTEGER PRIMARY KEY);
           CREATE TABLE "files" (id INTEGER PRIMARY KEY);
           CREATE TABLE "2nd" (id INTEGER PRIMARY KEY, "1st" TEXT);
           INSERT INTO "2nd" VALUES (1, 'first');
           CREATE TABLE Artist (ArtistId INTEGER PRIMARY KEY, Name TEXT);
           CREATE TABLE Album (AlbumId INTEGER PRIMARY KEY, ArtistId INTEGER REFERENCES Artist);
           INSERT INTO Artist VALUES (1, 'A'), (2, 'B');
           INSERT INTO Album VALUES (1, 1), (2, 1), (3, NULL);"#,
    ));
    assert_eq!(found.len(), 11, "{found:?}");
    assert_eq!(found["orderDetail"].as_array().unwrap().len(), 1);
    assert_eq!(
        found["artist"][0],
        json!({"artistId": 1, "name": "A", "albums": [{"albumId": 1, "artistId": 1}, {"albumId": 2, "artistId": 1}]})
    );
    assert_eq!(found["album"][0]["artist"]["name"], "A");
    let text = Value::Object(found).to_string();
    for value in ["京都", "ß/ü", "first", "2.5"] {
        assert!(text.contains(value), "{value} expected in {text}");
    }
}

#[test]
fn unusual_keys_are_served() {
    let found = read_all(&Database::new(
        "CREATE TABLE pair (a INTEGER, b TEXT, v TEXT, PRIMARY KEY (a, b));
         INSERT INTO pair VALUES (1, 'x', 'one'), (1, 'y', 'two');
         CREATE TABLE leaf (id INTEGER PRIMARY KEY, pair_a INTEGER, pair_b TEXT, FOREIGN KEY (pair_a, pair_b) REFERENCES pair (a, b));
         INSERT INTO leaf VALUES (1, 1, 'x'), (2, 1, 'y'), (3, 1, 'y'), (4, NULL, 'y');
         CREATE TABLE heap (v INTEGER); INSERT INTO heap VALUES (1), (1), (NULL);
         CREATE TABLE strict_one (code TEXT PRIMARY KEY, v INTEGER) STRICT, WITHOUT ROWID;
         INSERT INTO strict_one VALUES ('a', 1), ('b', 2);
         CREATE TABLE made (id INTEGER PRIMARY KEY, n INTEGER, twice INTEGER GENERATED ALWAYS AS (n * 2) VIRTUAL, thrice INTEGER AS (n * 3) STORED);
         INSERT INTO made (id, n) VALUES (1, 4);
         CREATE TABLE orphan (id INTEGER PRIMARY KEY, gone_id INTEGER REFERENCES gone (id), made_id INTEGER REFERENCES made (nosuch));
         INSERT INTO orphan VALUES (1, 5, 1);
         CREATE TABLE passport (id INTEGER PRIMARY KEY, owner_id INTEGER UNIQUE REFERENCES made (id));
         INSERT INTO passport VALUES (7, 1);
         CREATE TABLE flight (id INTEGER PRIMARY KEY, from_id INTEGER REFERENCES port (id), to_id INTEGER REFERENCES port (id));
         CREATE TABLE port (id INTEGER PRIMARY KEY, name TEXT);
         INSERT INTO port VALUES (1, 'P'), (2, 'Q'); INSERT INTO flight VALUES (1, 1, 2);
         CREATE VIEW both AS SELECT a, count(*) AS n FROM pair GROUP BY a;",
    ));
    assert_eq!(found["pair"][1]["v"], "two");
    assert_eq!(found["made"][0]["twice"], 8);
    assert_eq!(found["made"][0]["thrice"], 12);
    assert_eq!(
        found["made"][0]["passport"],
        json!({"id": 7, "ownerId": 1}),
        "to-one where the key is unique"
    );
    assert_eq!(found["passport"][0]["owner"]["n"], 4);
    assert_eq!(found["orphan"][0]["goneId"], 5);
    assert_eq!(found["heap"], json!([{"v": 1}, {"v": 1}, {"v": null}]));
    assert_eq!(found["both"], json!([{"a": 1, "n": 2}]));
    assert_eq!(found["leaf"].as_array().unwrap().len(), 4);
    assert_eq!(
        found["pair"][1]["leafs"].as_array().or_else(|| found["pair"][1]["leaves"].as_array()).map(Vec::len),
        Some(2),
        "{}",
        found["pair"]
    );
    assert_eq!(found["port"][0]["flightsByFrom"], json!([{"id": 1, "fromId": 1, "toId": 2}]));
    assert_eq!(found["port"][0]["flightsByTo"], json!([]));
    assert_eq!(found["flight"][0]["to"]["name"], "Q");
}

#[test]
fn empty_database_is_served() {
    let database = Database::new("");
    assert_eq!(introspect(&database)["entities"], json!({}));
    let server = Server::with_database(&database);
    let reply = server.get("/post", r#"{"post":{"$select":{"id":true}}}"#);
    assert_eq!((reply.status, &reply.json()["error"]), (400, &json!("ValidationError")));
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
