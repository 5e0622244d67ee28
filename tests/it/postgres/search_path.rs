//! Objects that another account has put into the search path never run in the server's sessions.

use std::fs;

use mesh_tests::{Cluster, Request, Server, TempDir, command, encode, wait_until};
use serde_json::json;

const TABLES: &str = "
CREATE EXTENSION citext;
CREATE TABLE users (
    id varchar PRIMARY KEY, name varchar NOT NULL UNIQUE, nick citext UNIQUE, small smallint, code char(4), ratio real,
    password_hash varchar
);
CREATE TABLE posts (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, title varchar, author_id varchar REFERENCES users
);
CREATE TABLE tags (id varchar PRIMARY KEY);
CREATE TABLE post_tags (post_id integer REFERENCES posts, tag_id varchar REFERENCES tags);
CREATE TABLE log (line text);
CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN INSERT INTO log VALUES (new.title); RETURN new; END $$;
CREATE TRIGGER note AFTER INSERT ON posts FOR EACH ROW EXECUTE FUNCTION note();
INSERT INTO users VALUES ('a', 'Ada', 'Lady', 1, 'x', 0.5,
    '$argon2id$v=19$m=64,t=1,p=1$3e1luYIoMxw96wrMsBU8Gw$e2dj/3uWicLfrAGD6gghny9om1AGXRU0SqCeffeNaOI'),
    ('b', 'Bo', 'bob', 2, 'y', 1.5, NULL);
INSERT INTO posts (title, author_id) VALUES ('Dawn', 'a'), ('Map', 'a');
INSERT INTO tags VALUES ('t'), ('u');
INSERT INTO post_tags VALUES (1, 't');
CREATE ROLE mallory;
GRANT CREATE, USAGE ON SCHEMA public TO mallory;
";

/// Returns operators and functions that match their arguments better than the built-in ones. Each fails when it is called.
fn traps() -> String {
    let mut sql = "SET ROLE mallory;\n".to_owned();
    let pairs = [
        ("varchar", "text"),
        ("varchar", "varchar"),
        ("text", "varchar"),
        ("varchar", "\"char\""),
        ("bpchar", "text"),
        ("citext", "text"),
        ("citext", "varchar"),
        ("float8", "int8"),
        ("oid", "integer"),
        ("oid", "regclass"),
        ("numeric", "integer"),
        ("text", "bigint"),
        ("text", "pg_lsn"),
        ("name", "varchar"),
    ];
    for (index, (left, right)) in pairs.iter().enumerate() {
        let function = format!("trap{index}");
        let raise = "LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'trapped as %', current_user; END $$;\n";
        sql += &format!("CREATE FUNCTION {function}({left}, {right}) RETURNS boolean {raise}");
        for operator in ["=", "<>", "<", "<=", ">", ">=", "~~", "~~*", "*", "/", "||"] {
            // Those of the extension exist, and belong to its owner.
            if *left == "citext" && operator.starts_with('~') {
                continue;
            }
            sql += &format!(
                "CREATE OPERATOR public.{operator} (FUNCTION = {function}, LEFTARG = {left}, RIGHTARG = {right});\n"
            );
        }
    }
    for (name, arguments, result) in [
        ("lower", "varchar", "text"),
        ("quote_ident", "name", "text"),
        ("unnest", "smallint[]", "SETOF smallint"),
        ("col_description", "oid, smallint", "text"),
        ("obj_description", "oid, text", "text"),
        ("to_json", "users", "json"),
        ("encode", "bytea, varchar", "text"),
        ("pg_notify", "text, varchar", "void"),
    ] {
        let raise = "LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'trapped as %', current_user; END $$;\n";
        sql += &format!("CREATE FUNCTION public.{name}({arguments}) RETURNS {result} {raise}");
    }
    let step = "LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'trapped as %', current_user; END $$;\n";
    for ty in ["varchar", "smallint", "citext"] {
        let state = format!("step_{ty}");
        sql += &format!("CREATE FUNCTION {state}({ty}, {ty}) RETURNS {ty} {step}");
        // Those of the extension exist, and belong to its owner.
        for name in ["count", "min", "max", "sum"] {
            if ty != "citext" || matches!(name, "count" | "sum") {
                sql += &format!("CREATE AGGREGATE public.{name}({ty}) (SFUNC = {state}, STYPE = {ty});\n");
            }
        }
    }
    sql
}

const SCHEMA: &str = r#"{
    "entities": {
        "user": {"fields": ["id", "name", "nick", "small", "code", "ratio"], "writable": true},
        "post": {"fields": ["id", "title", "authorId"], "columns": {"authorId": "author_id"}, "writable": true},
        "tag": {"fields": ["id"], "writable": true}
    },
    "joins": {
        "user.posts": {"entity": "post", "type": "many", "on": "posts.author_id = users.id"},
        "post.author": {"entity": "user", "type": "one", "on": "users.id = posts.author_id"},
        "post.tags": {"entity": "tag", "type": "many",
            "through": {"table": "post_tags", "from": "post_id", "to": "tag_id"}}
    },
    "policies": {"*": {
        "user": {"$where": {"field": "name", "op": "ne", "value": "x"}, "writable": true},
        "post": {"$where": {"field": "title", "op": "ilike", "value": "%"}, "writable": true},
        "tag": {"$where": {"field": "id", "op": "in", "value": ["t", "u"]}, "writable": true}
    }}
}"#;

#[test]
fn operators_and_functions_of_other_accounts_do_not_run() {
    let Some(cluster) = Cluster::start() else { return };
    let url = cluster.database("site", TABLES);
    cluster.execute(&format!("\\connect site\n{}", traps()));
    let folder = TempDir::new();
    let schema = folder.write("schema.json", SCHEMA);
    let config = "[mutations]\nenabled = true\n[state]\nstore = \"database\"\n";
    let config = folder.write("mesh.toml", config);
    let log = folder.path().join("log");
    let arguments = ["--database", &url, "--config", &config, "--schema", &schema];
    let mut command = command(&["serve", "--listen", "127.0.0.1:0", "--log", "debug"]);
    let server = Server::spawn(command.args(arguments).stderr(fs::File::create(&log).unwrap()));
    let log = || fs::read_to_string(&log).unwrap();
    wait_until("a warning", || log().contains("may create objects in the schema 'public'"));

    let list = |entity: &str, query: serde_json::Value| {
        let query = json!({entity: query}).to_string();
        let reply = server.get(&format!("/{entity}"), &query);
        assert_eq!(reply.status, 200, "{query}: {}", reply.text());
        reply.json()["items"].as_array().unwrap().len()
    };
    let select = json!({"id": true});
    for (field, value) in
        [("id", json!("a")), ("name", json!("Ada")), ("nick", json!("LADY")), ("code", json!("x"))]
    {
        let leaf = |op: &str, value: serde_json::Value| {
            list("user", json!({"$select": select, "$where": {"field": field, "op": op, "value": value}}))
        };
        assert_eq!(leaf("eq", value.clone()), 1, "{field}");
        assert_eq!(leaf("in", json!([value])), 1, "{field}");
        assert_eq!(leaf("nin", json!([value])), 1, "{field}");
        for op in ["ne", "gt", "gte", "lt", "lte"] {
            leaf(op, value.clone());
        }
        for op in ["like", "ilike"] {
            leaf(op, json!("%a%"));
        }
        let page = |after: Option<&str>| {
            let order = json!([{"field": field, "direction": "desc"}]);
            let query = json!({"user": {
                "$select": select, "$orderBy": order, "$page": {"first": 1, "after": after}
            }});
            let reply = server.get("/user", &query.to_string());
            assert_eq!(reply.status, 200, "{}", reply.text());
            reply.json()
        };
        let first = page(None);
        let second = page(first["pageInfo"]["endCursor"].as_str());
        assert_ne!(first["items"], second["items"]);
        let aggregates = json!({
            "n": {"fn": "count", "field": field}, "d": {"fn": "count", "field": field, "distinct": true},
            "min": {"fn": "min", "field": field}, "max": {"fn": "max", "field": field}
        });
        assert_eq!(list("user", json!({"$select": {}, "$aggregate": aggregates})), 1);
        list(
            "user",
            json!({"$select": {field: true}, "$groupBy": [field], "$aggregate": {"n": {"fn": "count"}}}),
        );
        list("user", json!({"$select": {field: true}, "$distinct": [field]}));
    }
    let numbers = json!({
        "sum": {"fn": "sum", "field": "small"}, "avg": {"fn": "avg", "field": "small"},
        "real": {"fn": "avg", "field": "ratio"}
    });
    list("user", json!({"$select": {}, "$aggregate": numbers}));
    let posts = json!({"$select": {"id": true, "tags": {"$select": {"id": true}}, "author": {"$select": {"name": true}}}});
    let nested = json!({"$select": {"name": true, "posts": posts}});
    assert_eq!(list("user", nested), 2);

    let write = |method: &str, path: &str, body: &str, status: u16| {
        let request = Request::new(method, &format!("/mesh{path}"));
        let request = match body {
            "" => request,
            body => request.header("Content-Type", "application/json").body(body),
        };
        let reply = server.send(&request);
        assert_eq!(reply.status, status, "{method} {path}: {}", reply.text());
    };
    write("PUT", "/user/a", r#"{"small": 3}"#, 200);
    write("POST", "/user", r#"{"id": "c", "name": "Cy", "nick": "CY"}"#, 201);
    write("POST", "/user/a/posts", r#"{"title": "New"}"#, 201);
    write("PUT", "/post/1", r#"{"authorId": "b"}"#, 200);
    write("PUT", "/post/1/author", r#"{"entityId": "a"}"#, 200);
    write("POST", "/post/1/tags", r#"{"entityId": "u"}"#, 204);
    write("DELETE", "/post/1/tags/u", "", 204);
    write("DELETE", "/user/a/posts/3", "", 204);
    write("DELETE", "/user/c", "", 204);
    // Triggers find their own tables as before.
    assert_eq!(cluster.query_in("site", "SELECT line FROM log WHERE line = 'New'").as_deref(), Some("New"));
    let registered = Request::post("/mesh/queries", r#"{"query": "{ user name }", "format": "ql"}"#);
    assert_eq!(server.send(&registered).status, 200);
    assert!(!log().contains("trapped"), "{}", log());
}

#[test]
fn logins_do_not_run_operators_of_other_accounts() {
    let Some(cluster) = Cluster::start() else { return };
    let url = cluster.database("site", TABLES);
    cluster.execute(&format!("\\connect site\n{}", traps()));
    for login in ["name", "nick"] {
        let folder = TempDir::new();
        let config = format!(
            "[integrity]\nenabled = true\nsecret = \"a secret of this test, of more than 32 bytes\"\n\
             [integrity.users]\ntable = \"users\"\nlogin = \"{login}\"\n[state]\nstore = \"database\"\n"
        );
        let config = folder.write("mesh.toml", &config.replace("login =", "role = \"code\"\nlogin ="));
        let server = Server::start(&["--database", &url, "--config", &config]);
        let name = if login == "name" { "Ada" } else { "Lady" };
        let body = json!({"login": name, "password": "correct horse"}).to_string();
        let reply = server.send(&Request::post("/mesh/auth", &body));
        assert_eq!(reply.status, 200, "{}", reply.text());
        let token = reply.json()["token"].as_str().unwrap().to_owned();
        let logout = Request::new("POST", "/mesh/logout").header("X-Mesh-Token", &token);
        assert_eq!(server.send(&logout).status, 200);
        let read = Request::new("GET", "/mesh/user")
            .header("X-Mesh-Token", &token)
            .header("X-Mesh-Query", encode("{}"));
        assert_eq!(server.send(&read).json()["code"], "TOKEN_REVOKED");
    }
}
