//! Equal refusals of writes by SQLite and PostgreSQL, and exact comparisons in PostgreSQL.

use mesh_tests::{Cluster, Database, Request, Server, TempDir};
use serde_json::{Value, json};

const SCHEMA: &str = r#"{"entities": {
    "tag": {"fields": ["id", "label", "loud"], "writable": true},
    "kid": {"table": "kids", "fields": ["id", "age"], "writable": true}
}}"#;

/// Writes that violate a constraint, and the expected statuses.
const REFUSED: [(&str, &str, &str, u16); 6] = [
    ("POST", "/tag", r#"{"id": 2, "loud": "X"}"#, 400),
    ("PUT", "/tag/1", r#"{"loud": "X"}"#, 400),
    ("PUT", "/tag/1", r#"{"label": "forbidden"}"#, 409),
    ("PUT", "/tag/1", r#"{"label": null}"#, 409),
    ("PUT", "/kid/1", r#"{"age": -1}"#, 409),
    ("PUT", "/kid/9", r#"{"age": 3}"#, 404),
];

fn check(url: &str) {
    let folder = TempDir::new();
    let schema = folder.write("schema.json", SCHEMA);
    let server = Server::start(&["--database", url, "--schema", &schema, "--mutations"]);
    for (method, path, body, status) in REFUSED {
        let reply = server.send(&Request::json(method, &server.path(path), body));
        assert_eq!(reply.status, status, "{url}: {method} {path} {body}: {}", reply.text());
        assert!(!reply.text().contains("not for clients"), "{}", reply.text());
    }
}

#[test]
fn violations_of_columns_triggers_and_checks_have_equal_statuses() {
    let database = Database::new(
        "CREATE TABLE tags (id INTEGER PRIMARY KEY, label TEXT NOT NULL, loud TEXT AS (upper(label)));
         CREATE TRIGGER refuse BEFORE UPDATE ON tags WHEN new.label = 'forbidden'
            BEGIN SELECT RAISE(ABORT, 'not for clients'); END;
         CREATE TABLE kids (id INTEGER PRIMARY KEY, age INTEGER CHECK (age >= 0));
         INSERT INTO tags (id, label) VALUES (1, 'a');
         INSERT INTO kids VALUES (1, 5);",
    );
    check(&database.url());
    let Some(cluster) = Cluster::start() else { return };
    cluster.execute(
        "CREATE TABLE tags (id integer PRIMARY KEY, label text NOT NULL, loud text GENERATED ALWAYS AS (upper(label)) STORED);
         CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            IF new.label = 'forbidden' THEN RAISE EXCEPTION 'not for clients'; END IF; RETURN new; END $$;
         CREATE TRIGGER refuse BEFORE UPDATE ON tags FOR EACH ROW EXECUTE FUNCTION refuse();
         CREATE TABLE people (id integer PRIMARY KEY, age integer);
         CREATE VIEW kids AS SELECT * FROM people WHERE age >= 0 WITH CHECK OPTION;
         INSERT INTO tags VALUES (1, 'a');
         INSERT INTO people VALUES (1, 5);",
    );
    check(&cluster.url());
}

#[test]
fn written_ids_and_texts_are_compared_exactly() {
    let Some(cluster) = Cluster::start() else { return };
    cluster.execute("CREATE TABLE words (id integer PRIMARY KEY, text text, small smallint)");
    cluster.execute("INSERT INTO words VALUES (1, 'été', 1), (2, 'hiver', 2), (3, 'a\\', 3)");
    let folder = TempDir::new();
    let schema = folder.write(
        "schema.json",
        r#"{
            "entities": {"word": {"fields": ["id", "text", "small"], "writable": ["text", "small"]}},
            "policies": {"*": {"word": {
                "writable": true, "$where": {"or": [
                    {"field": "text", "op": "ilike", "value": "É%"}, {"field": "text", "op": "like", "value": "_\\"}
                ]}
            }}}
        }"#,
    );
    let config = folder.write("mesh.toml", "[mutations]\nenabled = true\n");
    let server = Server::start(&["--config", &config, "--database", &cluster.url(), "--schema", &schema]);
    let put = |id: &str, body: &Value| {
        server.send(&Request::json("PUT", &format!("/mesh/word/{id}"), body.to_string()))
    };
    let write = |id: &str, text: &str| put(id, &json!({"text": text})).status;
    assert_eq!(write("1", "Épée"), 200, "case of all Unicode letters is folded");
    assert_eq!(write("2", "Épée"), 404, "a record that the policy hides");
    assert_eq!(write("1", "hiver"), 403, "a text that the policy hides");
    // A backslash at the end of a pattern is literal.
    assert_eq!(write("3", r"c\"), 200, "the text ends with a backslash");
    assert_eq!(write("3", "d"), 403, "the text does not");
    for id in ["4", "2147483648", "99999999999", "9223372036854775807"] {
        assert_eq!(write(id, "Épée"), 404, "{id}");
    }
    let wide = put("1", &json!({"small": 99999}));
    assert_eq!(wide.status, 400, "the value exceeds its column: {}", wide.text());
}
