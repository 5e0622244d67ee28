//! Writes that triggers, rules and privileges of the database prevent, on each engine. `SPEC §11`

use mesh_tests::{Cluster, Database, MariaDb, Request, Server, TempDir};
use serde_json::{Value, json};

const SCHEMA: &str = r#"{
    "entities": {
        "note": {"fields": ["id", "text", "ownerId"], "columns": {"ownerId": "owner_id"}, "writable": true},
        "owner": {"fields": ["id", "text"], "writable": true}
    },
    "joins": {
        "note.owner": {"entity": "owner", "type": "one", "on": "owners.id = notes.owner_id"},
        "owner.notes": {"entity": "note", "type": "many", "on": "notes.owner_id = owners.id"}
    }
}"#;

/// Two notes of one owner, and a table that triggers write to.
const TABLES: &str = "
CREATE TABLE owners (id integer PRIMARY KEY, text varchar(20));
CREATE TABLE notes (id integer PRIMARY KEY, text varchar(20), owner_id integer REFERENCES owners (id));
CREATE TABLE trace (text varchar(20));
INSERT INTO owners VALUES (1, 'Ada');
INSERT INTO notes VALUES (1, 'one', 1), (2, 'two', 1);
";

/// Writes of the first note or of a new one, and what the database does not do.
const WRITES: [(&str, &str, &str, &str); 8] = [
    ("DELETE", "/note/1", "", "delete"),
    ("DELETE", "/owner/1/notes/1", "", "delete"),
    ("PUT", "/note/1", r#"{"text":"new"}"#, "update"),
    ("PUT", "/note/1/owner", r#"{"entityId":1}"#, "link"),
    ("DELETE", "/note/1/owner", "", "unlink"),
    ("POST", "/note", r#"{"id":3,"text":"new"}"#, "create"),
    ("POST", "/note", r#"[{"id":3},{"id":4}]"#, "create"),
    ("POST", "/owner/1/notes", r#"{"id":3}"#, "create"),
];

/// The same writes of records that do not exist.
const MISSING: [(&str, &str, &str); 4] = [
    ("DELETE", "/note/9", ""),
    ("DELETE", "/owner/1/notes/9", ""),
    ("PUT", "/note/9", r#"{"text":"new"}"#),
    ("DELETE", "/note/9/owner", ""),
];

fn send(server: &Server, method: &str, path: &str, body: &str) -> (u16, Value) {
    let request = Request::new(method, &format!("/mesh{path}"));
    let request =
        if body.is_empty() { request } else { request.header("Content-Type", "application/json").body(body) };
    let reply = server.send(&request);
    (reply.status, serde_json::from_slice(&reply.body).unwrap_or_default())
}

fn serve(url: &str, folder: &TempDir) -> Server {
    let schema = folder.write("schema.json", SCHEMA);
    Server::start(&["--database", url, "--schema", &schema, "--mutations"])
}

/// Checks that skipped writes say so and leave no trace, and that missing records are missing.
fn check_skipped(url: &str, what: &str, state: impl Fn() -> String) {
    let folder = TempDir::new();
    let server = serve(url, &folder);
    let before = state();
    for (method, path, body, action) in WRITES {
        let (status, reply) = send(&server, method, path, body);
        assert_eq!(status, 409, "{what}: {method} {path}: {reply}");
        assert_eq!((&reply["error"], &reply["effect"]), (&json!("ConflictError"), &json!("none")));
        let message = reply["message"].as_str().unwrap();
        assert!(
            message.starts_with(&format!("The database did not {action} the record of '")),
            "{what} {path} {message}"
        );
    }
    let batch = json!({"steps": [
        {"method": "POST", "path": "/owner", "body": {"id": 2, "text": "Bo"}},
        {"method": "DELETE", "path": "/note/1"},
    ]});
    let (status, reply) = send(&server, "POST", "/batch", &batch.to_string());
    assert_eq!((status, &reply["step"]), (409, &json!(1)), "{what}: {reply}");
    assert_eq!(state(), before, "{what}: nothing was written");
    for (method, path, body) in MISSING {
        let (status, reply) = send(&server, method, path, body);
        assert_eq!(status, 404, "{what}: {method} {path}: {reply}");
    }
}

#[test]
fn a_statement_that_sqlite_skips_is_a_conflict() {
    let database = Database::new(&format!(
        "{TABLES}
         CREATE TRIGGER d BEFORE DELETE ON notes BEGIN INSERT INTO trace VALUES ('d'); SELECT RAISE(IGNORE); END;
         CREATE TRIGGER u BEFORE UPDATE ON notes BEGIN INSERT INTO trace VALUES ('u'); SELECT RAISE(IGNORE); END;
         CREATE TRIGGER i BEFORE INSERT ON notes BEGIN INSERT INTO trace VALUES ('i'); SELECT RAISE(IGNORE); END;"
    ));
    check_skipped(&database.url(), "RAISE(IGNORE)", || {
        let connection = database.connect();
        let sql =
            "SELECT (SELECT group_concat(id || text || owner_id) FROM notes) || (SELECT count(*) FROM trace)
                   || (SELECT count(*) FROM owners)";
        connection.query_row(sql, [], |row| row.get(0)).unwrap()
    });
}

#[test]
fn a_statement_that_postgres_skips_or_replaces_is_a_conflict() {
    let Some(cluster) = Cluster::start() else { return };
    let triggers = "
        CREATE FUNCTION skip() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN INSERT INTO trace VALUES (TG_OP); RETURN NULL; END $$;
        CREATE TRIGGER skip BEFORE INSERT OR UPDATE OR DELETE ON notes FOR EACH ROW EXECUTE FUNCTION skip();";
    let rules = "
        CREATE RULE d AS ON DELETE TO notes DO INSTEAD INSERT INTO trace VALUES ('d');
        CREATE RULE u AS ON UPDATE TO notes DO INSTEAD INSERT INTO trace VALUES ('u');
        CREATE RULE i AS ON INSERT TO notes DO INSTEAD NOTHING;";
    // A trigger that writes to the table of a view, but says that it has not.
    let views = "
        ALTER TABLE notes RENAME TO stored;
        CREATE VIEW notes AS SELECT * FROM stored;
        CREATE FUNCTION skip() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN
                IF TG_OP = 'DELETE' THEN DELETE FROM stored WHERE id = OLD.id; END IF;
                RETURN NULL;
            END $$;
        CREATE TRIGGER skip INSTEAD OF INSERT OR UPDATE OR DELETE ON notes FOR EACH ROW EXECUTE FUNCTION skip();";
    for (name, sql) in [("triggers", triggers), ("rules", rules), ("views", views)] {
        let url = cluster.database(name, &format!("{TABLES}{sql}"));
        let sql = "SELECT concat((SELECT string_agg(id || text || owner_id, ' ' ORDER BY id) FROM notes),
                   (SELECT count(*) FROM trace), (SELECT count(*) FROM owners))";
        if name == "rules" {
            // A rule replaces statements whether the record exists or not.
            let folder = TempDir::new();
            let server = serve(&url, &folder);
            let before = cluster.query_in(name, sql);
            for (method, path, body, _) in WRITES {
                let (status, reply) = send(&server, method, path, body);
                assert_eq!(
                    (status, &reply["error"]),
                    (409, &json!("ConflictError")),
                    "{method} {path}: {reply}"
                );
            }
            assert_eq!(cluster.query_in(name, sql), before);
        } else {
            check_skipped(&url, name, || cluster.query_in(name, sql).unwrap());
        }
    }
}

/// A trigger whose error has a code of its own.
#[test]
fn errors_of_triggers_are_conflicts_whatever_their_code() {
    let refused = |url: &str, id: &str| {
        let folder = TempDir::new();
        let (status, reply) = send(&serve(url, &folder), "PUT", &format!("/note/{id}"), r#"{"text":"new"}"#);
        assert_eq!((status, &reply["error"]), (409, &json!("ConflictError")), "{url}: {reply}");
        assert!(!reply.to_string().contains("secret"), "{reply}");
    };
    if let Some(cluster) = Cluster::start() {
        for (name, options) in [
            ("plain", ""),
            ("own", "USING ERRCODE = 'MY001'"),
            ("standard", "USING ERRCODE = '45000'"),
            ("system", "USING ERRCODE = '55000'"),
        ] {
            let url = cluster.database(
                name,
                &format!(
                    "{TABLES} CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
                    $$ BEGIN RAISE EXCEPTION 'secret' {options}; END $$;
                 CREATE TRIGGER refuse BEFORE UPDATE ON notes FOR EACH ROW EXECUTE FUNCTION refuse();"
                ),
            );
            refused(&url, "1");
        }
    }
    if let Some(mariadb) = MariaDb::start() {
        for (name, options) in [("plain", ""), ("own", "SET MYSQL_ERRNO = 31001, MESSAGE_TEXT = 'secret'")] {
            let url = mariadb.database(name, &format!(
                "{TABLES} CREATE TRIGGER refuse BEFORE UPDATE ON notes FOR EACH ROW SIGNAL SQLSTATE '45000' {options};"
            ));
            refused(&url, "1");
        }
    }
}

/// Checks the writes of an account that may only create notes and update their texts, and the notes of `check`.
fn check_privileges(url: &str) {
    let folder = TempDir::new();
    let schema = folder.write("schema.json", SCHEMA);
    let output = mesh_tests::run(&["check", "--database", url, "--schema", &schema]);
    let notes = String::from_utf8_lossy(&output.stderr).into_owned();
    for note in [
        "'note' are writable, but the database refuses to update them with 'ownerId': ",
        "'note' are writable, but the database refuses to delete them: ",
        "'owner' are writable, but the database refuses to create them: ",
        "'owner' are writable, but the database refuses to update them: ",
        "'owner' are writable, but the database refuses to delete them: ",
    ] {
        assert!(notes.contains(note), "{url}: {note}\n{notes}");
    }
    assert!(!notes.contains("refuses to create them with"), "{notes}");
    let server = serve(url, &folder);
    for (method, path, body, expected) in [
        ("PUT", "/note/1", r#"{"text":"new"}"#, 200),
        ("POST", "/note", r#"{"id":3,"text":"new","ownerId":1}"#, 201),
        ("PUT", "/note/1", r#"{"ownerId":1}"#, 403),
        ("DELETE", "/note/1", "", 403),
        ("DELETE", "/owner/1/notes/1", "", 403),
        ("DELETE", "/note/1/owner", "", 403),
        ("PUT", "/owner/1", r#"{"text":"new"}"#, 403),
        ("POST", "/owner", r#"{"id":2}"#, 403),
        ("POST", "/owner", r#"[{"id":2},{"id":3}]"#, 403),
    ] {
        let (status, reply) = send(&server, method, path, body);
        assert_eq!(status, expected, "{url}: {method} {path}: {reply}");
        if status == 403 {
            assert_eq!((&reply["code"], &reply["effect"]), (&json!("FORBIDDEN"), &json!("none")), "{reply}");
            assert_eq!(reply["message"], "The database does not permit this write");
        }
    }
}

#[test]
fn a_missing_privilege_is_forbidden_and_noted() {
    if let Some(cluster) = Cluster::start() {
        let url = cluster.database(
            "granted",
            &format!(
                "{TABLES} CREATE ROLE limited LOGIN; GRANT SELECT ON notes, owners TO limited;
             GRANT INSERT, UPDATE (id, text) ON notes TO limited;"
            ),
        );
        check_privileges(&url.replace("://mesh@", "://limited@"));
    }
    if let Some(mariadb) = MariaDb::start() {
        let url = mariadb.database("granted", &format!(
            "{TABLES} CREATE USER limited@'%'; GRANT SELECT ON granted.notes TO limited@'%';
             GRANT SELECT ON granted.owners TO limited@'%'; GRANT INSERT, UPDATE (id, text) ON granted.notes TO limited@'%';"
        ));
        let (scheme, rest) = url.split_once("://").unwrap();
        let (_, rest) = rest.split_once('@').unwrap();
        check_privileges(&format!("{scheme}://limited@{rest}"));
    }
}

#[test]
fn a_foreign_key_to_a_missing_table_is_noted_in_sqlite() {
    let database = Database::new(
        "CREATE TABLE owners (id INTEGER PRIMARY KEY, text TEXT);
         CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT, owner_id INTEGER REFERENCES missing (id));
         INSERT INTO notes VALUES (1, 'one', NULL);",
    );
    let folder = TempDir::new();
    let schema = folder.write("schema.json", SCHEMA);
    let output = mesh_tests::run(&["check", "--database", &database.url(), "--schema", &schema]);
    let notes = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(notes.contains("refuses to update them with 'ownerId': no such table: main.missing"), "{notes}");
    let (status, reply) = send(&serve(&database.url(), &folder), "PUT", "/note/1", r#"{"ownerId":1}"#);
    assert_eq!(status, 500);
    assert!(reply["message"].as_str().unwrap().starts_with("The data could not be written"), "{reply}");
}
