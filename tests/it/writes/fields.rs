//! Errors of writes name every field at fault.

use mesh_tests::{Cluster, Database, Request, Server, TempDir};
use serde_json::{Value, json};

const SCHEMA: &str = r#"{
    "entities": {
        "team": {"fields": ["id", "name"], "writable": true},
        "person": {
            "table": "people",
            "fields": ["id", "name", "nick", "low", "high", "total", "teamId", "bossId", "tenant", "slug", "secret"],
            "columns": {"teamId": "team_id", "bossId": "boss_id"},
            "writable": true
        }
    },
    "joins": {"team.people": {"entity": "person", "on": "people.team_id = teams.id", "type": "many"}}
}"#;

/// In SQL that both databases accept; `ID` is the type of a key that the database assigns.
const TABLES: &str = "
    CREATE TABLE teams (id ID, name text NOT NULL);
    CREATE TABLE people (
        id ID, name text NOT NULL CHECK (length(name) < 11), nick text NOT NULL, low integer, high integer,
        total integer GENERATED ALWAYS AS (low + high) STORED, team_id integer REFERENCES teams (id),
        boss_id integer REFERENCES people (id), tenant integer, slug text, secret text,
        UNIQUE (tenant, slug), CONSTRAINT \"in order\" CHECK (low < high)
    );
    CREATE UNIQUE INDEX people_nick ON people (lower(nick));
    INSERT INTO teams VALUES (1, 'a');
    INSERT INTO people (id, name, nick, tenant, slug, team_id) VALUES (1, 'Ada', 'ada', 1, 's', 1);";

fn sqlite() -> Database {
    Database::new(&TABLES.replace("ID", "integer PRIMARY KEY"))
}

/// A server with write routes, and the folder with its configuration.
struct FieldsServer {
    server: Server,
    _folder: TempDir,
}

impl FieldsServer {
    fn start(url: &str, schema: &str) -> Self {
        let folder = TempDir::new();
        let schema = folder.write("schema.json", schema);
        Self {
            server: Server::start(&["--database", url, "--schema", &schema, "--mutations"]),
            _folder: folder,
        }
    }

    /// Sends a write. Returns its status and the paths in `fields`, whose first message is that of the error.
    #[track_caller]
    fn faults(&self, method: &str, path: &str, body: &Value) -> (u16, Vec<String>) {
        let reply = self.server.send(&Request::json(method, &self.server.path(path), body.to_string()));
        let error = reply.json();
        let fields = error["fields"].as_array().cloned().unwrap_or_default();
        if let Some(first) = fields.first() {
            assert_eq!(first["message"], error["message"], "{}", reply.text());
        }
        let paths = fields.iter().map(|field| field["path"].as_str().unwrap().to_owned());
        (reply.status, paths.collect())
    }
}

/// Writes that are refused, with their statuses and the fields that the error names.
fn refused() -> Vec<(&'static str, &'static str, Value, u16, &'static [&'static str])> {
    let bo = |more: Value| {
        let mut body = json!({"name": "Bo", "nick": "bo"});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        body
    };
    vec![
        (
            "POST",
            "/person",
            json!({"low": "x", "nme": "Bo", "total": 1}),
            400,
            &["low", "nme", "total", "name", "nick"],
        ),
        ("POST", "/person", json!({"name": null, "low": "x"}), 400, &["name", "low", "nick"]),
        ("PUT", "/person/1", json!({"high": "x", "low": 2.5, "name": null}), 400, &["high", "low", "name"]),
        ("POST", "/team/1/people", json!({"teamId": 1}), 400, &["teamId", "name", "nick"]),
        ("POST", "/person", json!({}), 409, &["name", "nick"]),
        ("POST", "/person", json!({"nick": null}), 409, &["name", "nick"]),
        ("PUT", "/person/1", json!({"nick": null, "name": null}), 409, &["name", "nick"]),
        ("POST", "/team/1/people", json!({"name": "Bo"}), 409, &["nick"]),
        ("POST", "/person", bo(json!({"tenant": 1, "slug": "s"})), 409, &["tenant", "slug"]),
        ("POST", "/person", bo(json!({"id": 1})), 409, &["id"]),
        ("POST", "/person", bo(json!({"nick": "ADA"})), 409, &["nick"]),
        ("POST", "/person", bo(json!({"name": "Maximiliane"})), 409, &["name"]),
        ("PUT", "/person/1", json!({"low": 3, "high": 2}), 409, &["low", "high"]),
        ("POST", "/person", bo(json!({"teamId": 99})), 409, &["teamId"]),
        ("PUT", "/person/1", json!({"bossId": 99, "teamId": null}), 409, &["bossId"]),
        ("DELETE", "/team/1", json!({}), 409, &[]),
        ("PUT", "/team/1", json!({"id": 7}), 409, &[]),
    ]
}

#[track_caller]
fn check(url: &str) {
    let served = FieldsServer::start(url, SCHEMA);
    for (method, path, body, status, fields) in refused() {
        let (got, mut paths) = served.faults(method, path, &body);
        // Databases decide which field without a value they report first.
        if status == 409 {
            paths.sort_by_key(|path| fields.iter().position(|field| field == path));
        }
        assert_eq!(
            (got, paths),
            (status, fields.iter().map(|&it| it.to_owned()).collect()),
            "{url}: {method} {path} {body}"
        );
    }
}

#[test]
fn every_field_at_fault_is_named() {
    let database = sqlite();
    check(&database.url());
    let Some(cluster) = Cluster::start() else { return };
    cluster.execute(
        &TABLES.replace("ID", "integer GENERATED BY DEFAULT AS IDENTITY (START WITH 2) PRIMARY KEY"),
    );
    check(&cluster.url());
}

#[test]
fn all_references_to_missing_records_are_named_on_sqlite() {
    let database = sqlite();
    let served = FieldsServer::start(&database.url(), SCHEMA);
    let body = json!({"bossId": 99, "teamId": 98});
    assert_eq!(
        served.faults("PUT", "/person/1", &body),
        (409, vec!["teamId".to_owned(), "bossId".to_owned()])
    );
}

#[test]
fn hidden_fields_are_not_named() {
    let database = sqlite();
    let folder = TempDir::new();
    let mut schema: Value = serde_json::from_str(SCHEMA).unwrap();
    schema["policies"] = json!({"*": {"person": {"fields": ["id", "name", "high"], "writable": true}}});
    let schema = folder.write("schema.json", &schema.to_string());
    let server = Server::start(&["--database", &database.url(), "--schema", &schema, "--mutations"]);
    let served = FieldsServer { server, _folder: folder };
    let names = |names: &[&str]| names.iter().map(|&it| it.to_owned()).collect::<Vec<_>>();
    assert_eq!(
        served.faults("POST", "/person", &json!({"nick": 1, "high": "x"})),
        (400, names(&["nick", "high", "name"]))
    );
    assert_eq!(served.faults("POST", "/person", &json!({"name": "Bo"})), (409, vec![]));
    assert_eq!(served.faults("PUT", "/person/1", &json!({"name": null})), (409, names(&["name"])));
}

#[test]
fn values_that_do_not_fit_their_columns_are_named() {
    let Some(cluster) = Cluster::start() else { return };
    cluster.execute(
        "CREATE DOMAIN address AS text CHECK (VALUE LIKE '%@%');
         CREATE TYPE mood AS ENUM ('sad', 'happy');
         CREATE TABLE things (
            id integer GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, name varchar(5), code char(2), mail address,
            other address, mood mood, small smallint, price numeric(4,1), host inet, span int4range, day date,
            fixed integer GENERATED ALWAYS AS IDENTITY
         );
         CREATE VIEW named AS SELECT id, name, upper(name) AS loud FROM things;
         CREATE VIEW counted AS SELECT count(*) AS id FROM things;",
    );
    let served = FieldsServer::start(
        &cluster.url(),
        r#"{"entities": {
            "thing": {"fields": ["id", "name", "code", "mail", "other", "mood", "small", "price", "host", "span", "day", "fixed"], "writable": true},
            "named": {"table": "named", "fields": ["id", "name", "loud"], "writable": true},
            "counted": {"table": "counted", "fields": ["id"], "writable": true}
        }}"#,
    );
    let check = |path: &str, body: Value, status: u16, fields: &[&str]| {
        let expected = fields.iter().map(|&it| it.to_owned()).collect::<Vec<_>>();
        assert_eq!(served.faults("POST", path, &body), (status, expected), "{body}");
    };
    check(
        "/thing",
        json!({"name": "longer", "code": "abc", "small": 40000, "price": "1000", "mood": "glad"}),
        400,
        &["name", "code", "small", "price", "mood"],
    );
    check("/thing", json!({"day": "x", "name": "longer"}), 400, &["day", "name"]);
    check("/thing", json!({"mail": "a@b", "other": "nowhere"}), 409, &["other"]);
    check("/thing", json!({"name": "a", "host": "nowhere"}), 400, &["host"]);
    check("/thing", json!({"span": "(1"}), 400, &["span"]);
    check("/thing", json!({"name": "a\0b"}), 400, &["name"]);
    check("/thing", json!({"fixed": 7}), 400, &["fixed"]);
    check("/thing", json!({"name": "a", "id": 1}), 201, &[]);
    check("/named", json!({"name": "a", "loud": "A"}), 400, &["loud"]);
    check("/counted", json!({}), 400, &[]);
}
