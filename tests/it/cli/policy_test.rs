//! `policy-test`: expectations about policies from a file.

use std::fs;
use std::process::Output;

use mesh_tests::{Cluster, Database, run};
use serde_json::{Value, json};

use super::{assert_fails, stderr, stdout};

/// The tables, in SQL that both databases accept.
const TABLES: &str = "
    CREATE TABLE users (id integer PRIMARY KEY, name text NOT NULL, email text UNIQUE);
    CREATE TABLE posts (
        id integer PRIMARY KEY, title text NOT NULL, published boolean NOT NULL,
        owner_id integer REFERENCES users (id) DEFERRABLE INITIALLY DEFERRED);
    INSERT INTO users VALUES (1, 'Ada', 'ada@example.org'), (2, 'Bo', 'bo@example.org');
    INSERT INTO posts VALUES (1, 'Rust at dawn', true, 1), (2, 'Slow bread', false, 1), (3, 'A map', true, 2);";

fn document() -> Value {
    let own = json!({"field": "ownerId", "op": "eq", "value": {"session": "userId"}});
    let published = json!({"field": "published", "op": "eq", "value": true});
    json!({
        "entities": {
            "post": {"fields": ["id", "title", "published", "ownerId"], "columns": {"ownerId": "owner_id"}, "writable": true},
            "user": {"fields": ["id", "name", "email"], "writable": true}
        },
        "joins": {"post.owner": {"entity": "user", "type": "one", "on": "users.id = posts.owner_id"}},
        "policies": {
            "admin": true,
            "author": {
                "post": {"$where": {"or": [published, own]}, "writable": {"update": ["title"]}},
                "user": {"fields": ["id", "name"]}
            },
            "*": {"post": {"fields": ["id", "title"], "$where": published}}
        }
    })
}

const CASES: &str = r#"
[sessions.ada]
role = "author"
user = 1

[sessions.admin]
role = "admin"
user = "9"

[[case]]
query = "{ post id title }"
ids = [3, "1"]

[[case]]
as = "ada"
query = "{ post title }"
rows = 3

[[case]]
as = "ada"
query = '{"post": {"$select": {"id": true}, "$page": {"first": 2}, "$where": {"field": "id", "op": "gt", "value": {"$param": "from"}}}}'
params = { from = 0 }
rows = 2

[[case]]
as = "ada"
id = 2
query = "{ post id }"
ids = ["2"]

[[case]]
id = 2
query = "{ post title }"
rows = 0

[[case]]
as = "ada"
query = "{ post owner { email } }"
denied = "Field 'email' not found on entity 'user'"

[[case]]
query = "{ user name }"
denied = { status = 400, error = "ValidationError", message = "'user' not found" }

[[case]]
as = "ada"
entity = "user"
fields = ["id", "name"]
relations = []
creates = []
updates = []
deletes = false

[[case]]
entity = "user"
denied = true

[[case]]
role = "author"
user = 1
entity = "post"
relations = ["owner"]
updates = ["title"]

[[case]]
as = "ada"
write = "PUT /post/2"
body = { title = "Fast bread" }
allowed = true

[[case]]
role = "author"
user = 2
write = "PUT /post/2"
body = { title = "Fast bread" }
denied = { status = 404, error = "NotFound" }

[[case]]
as = "ada"
write = "DELETE /post/2"
denied = true

[[case]]
name = "cases see no writes of others"
as = "admin"
write = "DELETE /post/1"
allowed = true

[[case]]
as = "admin"
query = "{ post id }"
rows = 3

[[case]]
name = "deferred constraints count"
as = "admin"
write = "PUT /post/1"
body = '{"ownerId": 77}'
denied = { status = 409 }
"#;

/// Runs the cases over a database.
struct Suite {
    dir: Database,
    schema: String,
    url: String,
}

impl Suite {
    fn new(url: Option<String>) -> Self {
        let dir = Database::new(TABLES);
        let schema = dir.dir.write("schema.json", &document().to_string());
        Self { schema, url: url.unwrap_or_else(|| dir.url()), dir }
    }

    fn run(&self, cases: &str, more: &[&str]) -> Output {
        let file = self.dir.dir.write("policies.toml", cases);
        run(&[&["policy-test", &file, "--schema", &self.schema, "--database", &self.url], more].concat())
    }
}

#[test]
fn expectations_that_hold_change_nothing() {
    let sqlite = Suite::new(None);
    // A writer would switch it to WAL.
    sqlite.dir.connect().execute_batch("PRAGMA journal_mode = DELETE").unwrap();
    let before = fs::read(sqlite.dir.file()).unwrap();
    let output = sqlite.run(CASES, &[]);
    let said = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{said}{}", stderr(&output));
    assert_eq!(said.lines().filter(|line| line.starts_with("ok   ")).count(), 16, "{said}");
    assert!(
        said.contains("ok   author: PUT /post/2\n") && said.contains("ok   *: { post id title }\n"),
        "{said}"
    );
    assert!(said.ends_with("16 cases: 16 passed, 0 failed\n"), "{said}");
    assert_eq!(fs::read(sqlite.dir.file()).unwrap(), before);

    let Some(cluster) = Cluster::start() else { return };
    let postgres = Suite::new(Some(cluster.database("cases", TABLES)));
    let output = postgres.run(CASES, &[]);
    assert_eq!(output.status.code(), Some(0), "{}{}", stdout(&output), stderr(&output));
    let open = r#"
        [[case]]
        role = "admin"
        query = '{"post": {"$select": {"id": true}, "$where": {"field": "title", "op": "in", "value": ["Rust at dawn", "Slow bread"]}}}'
        ids = [1, 2]"#;
    assert_eq!(postgres.run(open, &[]).status.code(), Some(0), "nothing was written");
}

#[test]
fn expectations_that_fail_say_what_was_expected_and_got() {
    let suite = Suite::new(None);
    let cases = r#"
[[case]]
name = "too many"
query = "{ post id }"
rows = 1

[[case]]
name = "other ids"
query = "{ post id }"
ids = [1, 2]

[[case]]
name = "not refused"
query = "{ post title }"
denied = true

[[case]]
name = "refused"
query = "{ user name }"
allowed = true

[[case]]
name = "other fields"
role = "author"
entity = "user"
fields = ["id"]
deletes = true

[[case]]
name = "a conflict is no refusal"
role = "admin"
write = "PUT /user/2"
body = { email = "ada@example.org" }
denied = true

[[case]]
name = "unlisted id"
query = "{ post title }"
ids = [1, 3]

[[case]]
name = "right"
query = "{ post id }"
rows = 2
"#;
    let output = suite.run(cases, &[]);
    assert_fails(&output, 1, &["policies.toml: 7 of 8 cases failed"]);
    let said = stdout(&output);
    for (case, expected, got) in [
        ("too many", "1 record", "allowed, 2 records"),
        ("other ids", "the ids [1, 2]", "the ids [1, 3]"),
        ("not refused", "denied", "allowed, 2 records"),
        ("refused", "allowed", "400 ValidationError: Entity 'user' not found"),
        ("other fields", "fields [id]", "fields [id, name]"),
        ("a conflict is no refusal", "denied", "409 ConflictError: "),
        ("unlisted id", "the ids [1, 3]", "allowed, 2 records without their ids"),
    ] {
        let begin = said.find(&format!("FAIL {case} (")).unwrap_or_else(|| panic!("no {case} in {said}"));
        assert!(
            said[begin..].contains(&format!("\n     expected {expected}\n     got      {got}")),
            "{case}: {said}"
        );
    }
    assert!(said.contains("     expected deletes = true\n     got      deletes = false\n"), "{said}");
    assert!(said.contains("ok   right\n8 cases: 1 passed, 7 failed\n"), "{said}");

    let output = suite.run(cases, &["--json"]);
    assert_eq!(output.status.code(), Some(1));
    let shown: Value = serde_json::from_slice(&output.stdout).unwrap();
    let first = json!({
        "name": "too many", "line": 2, "passed": false,
        "mismatches": [{"expected": "1 record", "got": "allowed, 2 records"}]
    });
    assert_eq!(shown["cases"][0], first);
    assert_eq!(shown["cases"][7]["passed"], true);
}

#[test]
fn every_wrong_name_of_a_file_has_its_position() {
    let suite = Suite::new(None);
    let wrong = r#"[sessions.ada]
role = "auhtor"

[[case]]
as = "adda"
query = "{ post id titel }"

[[case]]
query = "{ post id }"
write = "PUT /post/1"

[[case]]
query = "{ post id }"

[[case]]
entity = "user"
fields = ["id", "nam"]
rows = 1

[[case]]
write = "PUT post"
denied = false

[[case]]
write = "PUT /post/1"
body = { title = [], titel = "x" }
denied = true
rows = 1

[[case]]
as = "ada"
role = "author"
query = "{ post id }"
allowed = false

[[case]]
role = "author"
query = "{ post id }"
claims = { teams = [[1]] }
allowed = true
denied = { code = "FORBIDDEN" }
"#;
    let output = suite.run(wrong, &[]);
    assert_fails(&output, 2, &[]);
    let said = stderr(&output);
    for fault in [
        "policies.toml:2:8: the policies have no role 'auhtor'; did you mean 'author'?",
        "policies.toml:5:6: there is no session 'adda'; did you mean 'ada'?",
        "policies.toml:6:9: the query is invalid for every role: Field 'titel' not found on entity 'post'",
        "policies.toml:4:1: the case expects nothing",
        "policies.toml:8:1: a case must have exactly one of 'query', 'write' and 'entity'",
        "policies.toml:12:1: the case expects nothing",
        "policies.toml:17:10: there is no 'nam' on entity 'user'; did you mean 'name'?",
        "policies.toml:18:8: 'rows' does not belong to a case with 'entity'",
        "policies.toml:21:9: a write is a method and a path",
        "policies.toml:22:10: write 'allowed = true'",
        "policies.toml:25:9: the write is invalid for every role: Field 'titel' not found on entity 'post'",
        "policies.toml:27:10: a case must have either 'denied' or 'rows'",
        "policies.toml:31:6: a case must have either 'as' or the keys of a session",
        "policies.toml:34:11: write 'denied = true'",
        "policies.toml:39:20: a claim is text, a number, a boolean or a list of them",
        "policies.toml:41:10: a case must have either 'denied' or 'allowed'",
    ] {
        assert!(said.contains(fault), "{fault:?} expected in: {said}");
    }
    // Without a database, names are checked.
    let file = suite.dir.dir.write("names.toml", "[[case]]\nquery = '{ user name }'\ndenied = true\n");
    let output = run(&["policy-test", &file, "--schema", &suite.schema]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let file = suite.dir.dir.write("rows.toml", "[[case]]\nquery = '{ post id }'\nrows = 2\n");
    assert_fails(
        &run(&["policy-test", &file, "--schema", &suite.schema]),
        2,
        &["rows.toml:3:8", "--database"],
    );
}

#[test]
fn a_file_of_another_form_is_refused_with_a_position() {
    let suite = Suite::new(None);
    for (wrong, faults) in [
        ("[[case]\nquery = 1", &["policies.toml:1:", "unclosed array table"][..]),
        ("[sessions.ada]\nusr = 1", &["policies.toml:2:1: unknown field `usr`", "`user`"]),
        ("[[case]]\nquery = 1", &["policies.toml:2:9: invalid type: integer `1`, expected a string"]),
        ("[[case]]\nquery = '{ post id }'\nrows = -1", &["policies.toml:3:8: ", "`-1`", "u64"]),
        ("[[case]]\nids = [[1]]", &["policies.toml:2:7: expected text or an integer"]),
        ("[[case]]\nparams = 1", &["policies.toml:2:10: expected a table, or the text of a JSON object"]),
        ("[[case]]\nbody = '['", &["policies.toml:2:8: expected a table, or the text of a JSON object"]),
        ("[[case]]\ndenied = { kode = 'X' }", &["policies.toml:2:10: ", "status, error, code and message"]),
        ("", &["there are no cases"]),
    ] {
        assert_fails(&suite.run(wrong, &[]), 2, faults);
    }
    assert_fails(&run(&["policy-test", "nosuch.toml", "--schema", &suite.schema]), 2, &["nosuch.toml"]);
    let mut open = document();
    open.as_object_mut().unwrap().remove("policies");
    let open = suite.dir.dir.write("open.json", &open.to_string());
    let file = suite.dir.dir.write("policies.toml", CASES);
    assert_fails(&run(&["policy-test", &file, "--schema", &open]), 2, &["no policies"]);
}
