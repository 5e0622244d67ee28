//! Columns of every type of PostgreSQL, and columns that the database fills.

use mesh_tests::{Cluster, Request, Response, Server, TempDir};
use serde_json::{Value, json};

/// A server with write routes, and the folder with its schema document.
struct TypesServer {
    server: Server,
    _folder: TempDir,
}

impl TypesServer {
    fn start(cluster: &Cluster, schema: &Value) -> Self {
        let folder = TempDir::new();
        let schema = folder.write("schema.json", &schema.to_string());
        let server = Server::start(&["--database", &cluster.url(), "--schema", &schema, "--mutations"]);
        Self { server, _folder: folder }
    }

    fn write(&self, method: &str, path: &str, body: &Value) -> Response {
        self.server.send(&Request::json(method, &self.server.path(path), body.to_string()))
    }

    /// Creates a record, and returns it.
    #[track_caller]
    fn create(&self, entity: &str, body: &Value) -> Value {
        let reply = self.write("POST", &format!("/{entity}"), body);
        assert_eq!(reply.status, 201, "{body}: {}", reply.text());
        reply.json()
    }
}

/// Returns the rows of the table of types in the guide: the type, a value that it accepts, and that value as it is read.
fn documented() -> Vec<(String, Value, Value)> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/writes.md");
    let guide = std::fs::read_to_string(path).unwrap();
    let (_, section) = guide.split_once("### Types of PostgreSQL").unwrap();
    let rows = section.lines().skip_while(|line| !line.starts_with("|---")).skip(1);
    let rows = rows.take_while(|line| line.starts_with('|')).map(|line| {
        let cells: Vec<&str> =
            line.trim_matches(['|', ' ']).split(" | ").map(|cell| cell.trim_matches('`')).collect();
        let [ty, written, read] = cells.try_into().unwrap();
        (ty.to_owned(), serde_json::from_str(written).unwrap(), serde_json::from_str(read).unwrap())
    });
    rows.collect()
}

#[test]
fn values_of_every_type_are_written_as_they_are_read() {
    let Some(cluster) = Cluster::start() else { return };
    let rows = documented();
    assert!(rows.len() > 20, "{rows:?}");
    let columns: Vec<String> =
        rows.iter().enumerate().map(|(index, (ty, ..))| format!("c{index} {ty}")).collect();
    cluster.execute(&format!(
        "CREATE TYPE mood AS ENUM ('sad', 'happy'); CREATE DOMAIN positive AS integer CHECK (VALUE > 0);
         CREATE TYPE spot AS (x integer, y text); CREATE TABLE things (id serial PRIMARY KEY, {})",
        columns.join(", ")
    ));
    let names: Vec<String> = (0..rows.len()).map(|index| format!("c{index}")).collect();
    let fields = [&["id".to_owned()], names.as_slice()].concat();
    let served =
        TypesServer::start(&cluster, &json!({"entities": {"thing": {"fields": fields, "writable": true}}}));
    for (name, (ty, written, read)) in names.iter().zip(&rows) {
        let record = served.create("thing", &json!({name: written}));
        assert_eq!(&record[name], read, "{ty}");
        let path = format!("/thing/{}", record["id"]);
        let again = served.write("PUT", &path, &json!({name: read}));
        assert_eq!((again.status, &again.json()[name]), (200, read), "{ty}: {}", again.text());
        let emptied = served.write("PUT", &path, &json!({name: null}));
        assert_eq!((emptied.status, &emptied.json()[name]), (200, &Value::Null), "{ty}: {}", emptied.text());
    }
    let whole: serde_json::Map<String, Value> =
        names.iter().zip(&rows).map(|(name, (_, written, _))| (name.clone(), written.clone())).collect();
    let record = served.create("thing", &whole.into());
    for (name, (ty, _, read)) in names.iter().zip(&rows) {
        assert_eq!(&record[name], read, "{ty}");
    }
}

#[test]
fn values_that_a_type_does_not_accept_are_refused_with_their_field() {
    let Some(cluster) = Cluster::start() else { return };
    cluster.execute(
        "CREATE TYPE mood AS ENUM ('sad', 'happy'); CREATE TYPE spot AS (x integer, y text);
         CREATE DOMAIN rate AS integer CHECK (VALUE < 6); CREATE TYPE \"a$1\" AS (x integer);
         CREATE TABLE things (id serial PRIMARY KEY, words text[], counts integer[], moods mood[], place spot,
            doc jsonb, bits bit(4), size int4range, name text, rates rate[], short varchar(3)[], dollar \"a$1\")",
    );
    let fields = [
        "id", "words", "counts", "moods", "place", "doc", "bits", "size", "name", "rates", "short", "dollar",
    ];
    let served =
        TypesServer::start(&cluster, &json!({"entities": {"thing": {"fields": fields, "writable": true}}}));
    for (field, value) in [
        ("words", json!("x")),
        ("words", json!({"a": 1})),
        ("counts", json!([1.5])),
        ("counts", json!([[1], [2, 3]])),
        ("moods", json!(["glad"])),
        ("place", json!("here")),
        ("doc", json!("\0")),
        ("bits", json!("10")),
        ("size", json!("(1")),
        ("rates", json!([7])),
        ("short", json!(["abcd"])),
        ("dollar", json!({"x": "y"})),
    ] {
        let other = if field == "words" { ("counts", json!([1])) } else { ("words", json!(["a"])) };
        for body in [json!({field: value}), json!({"name": "x", other.0: other.1, field: value})] {
            let reply = served.write("POST", "/thing", &body);
            let paths: Vec<_> = reply.json()["fields"]
                .as_array()
                .into_iter()
                .flatten()
                .map(|it| it["path"].clone())
                .collect();
            let status = if field == "rates" { 409 } else { 400 };
            assert_eq!((reply.status, paths), (status, vec![json!(field)]), "{body}: {}", reply.text());
        }
    }
    let record = served.create("thing", &json!({"dollar": {"x": 1}}));
    assert_eq!(record["dollar"], json!({"x": 1}));
    let bits = |path: &str| json!({"path": path, "message": "'bits' takes a text of 4 digits 0 or 1"});
    let several = json!({"words": "x", "bits": "10", "counts": [1], "moods": ["glad"], "size": "[1,2)", "short": ["abcd"]});
    let reply = served.write("POST", "/thing", &several).json();
    let fault = |path: &str, ty: &str| json!({"path": path, "message": format!("'{path}' takes a value of the type {ty}")});
    assert_eq!(
        reply["fields"],
        json!([
            fault("words", "text[]"),
            bits("bits"),
            fault("moods", "mood[]"),
            fault("short", "varchar[]")
        ])
    );
    let reply = served.write("POST", "/thing", &json!([{"name": "x"}, {"bits": "10"}])).json();
    assert_eq!(reply["fields"], json!([bits("1.bits")]));
}

#[test]
fn text_that_a_name_would_cut_is_refused_with_its_field() {
    let Some(cluster) = Cluster::start() else { return };
    cluster.execute(
        "CREATE DOMAIN label AS name; CREATE TABLE things (id serial PRIMARY KEY, name name, other label, n integer);
         INSERT INTO things VALUES (0, 'first')",
    );
    let served = TypesServer::start(
        &cluster,
        &json!({"entities": {"thing": {"fields": ["id", "name", "other", "n"], "writable": true}}}),
    );
    let most = "é".repeat(31) + "x";
    let record = served.create("thing", &json!({"name": most, "other": "y".repeat(63)}));
    assert_eq!((&record["name"], &record["other"]), (&json!(most), &json!("y".repeat(63))));
    let (name, other) = ("é".repeat(32), "y".repeat(64));
    let fault = |path: &str, field: &str| json!({"path": path, "message": format!("'{field}' takes at most 63 bytes of text")});
    for (method, path) in [("POST", "/thing"), ("PUT", "/thing/0")] {
        let reply = served.write(method, path, &json!({"name": name, "n": 1, "other": other}));
        let faults = json!([fault("name", "name"), fault("other", "other")]);
        assert_eq!((reply.status, &reply.json()["fields"]), (400, &faults), "{}", reply.text());
    }
    let reply = served.write("POST", "/thing", &json!([{"name": "x"}, {"name": name}]));
    assert_eq!((reply.status, &reply.json()["fields"]), (400, &json!([fault("1.name", "name")])));
}

#[test]
fn a_text_that_is_too_long_for_an_index_is_refused() {
    let Some(cluster) = Cluster::start() else { return };
    cluster.execute("CREATE TABLE things (id serial PRIMARY KEY, name text UNIQUE)");
    let served = TypesServer::start(
        &cluster,
        &json!({"entities": {"thing": {"fields": ["id", "name"], "writable": true}}}),
    );
    // A text that the database cannot compress.
    let mut state = 1_u64;
    let text: String = std::iter::repeat_with(|| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        format!("{state:x}")
    })
    .take(2_000)
    .collect();
    let reply = served.write("POST", "/thing", &json!({"name": text}));
    assert_eq!((reply.status, reply.json()["error"].as_str()), (400, Some("ValidationError")));
}

#[test]
fn fields_that_the_database_fills_may_be_left_out() {
    let Some(cluster) = Cluster::start() else { return };
    cluster.execute(
        "CREATE SEQUENCE numbers START 100;
         CREATE TABLE things (
            id integer GENERATED BY DEFAULT AS IDENTITY (START WITH 10) PRIMARY KEY, fixed integer GENERATED ALWAYS AS IDENTITY,
            serial smallserial, number integer NOT NULL DEFAULT nextval('numbers'), status text NOT NULL DEFAULT 'new',
            made timestamptz NOT NULL DEFAULT '2024-05-01T12:00:00Z', loud text GENERATED ALWAYS AS (upper(status)) STORED
         )",
    );
    let fields = ["id", "fixed", "serial", "number", "status", "made", "loud"];
    let served =
        TypesServer::start(&cluster, &json!({"entities": {"thing": {"fields": fields, "writable": true}}}));
    let filled = json!({
        "id": 10, "fixed": 1, "serial": 1, "number": 100, "status": "new", "made": "2024-05-01T12:00:00Z", "loud": "NEW",
    });
    assert_eq!(served.create("thing", &json!({})), filled);
    let chosen = json!({"id": 7, "serial": 8, "number": 9, "status": "old", "made": "2020-01-01T00:00:00Z"});
    let record = served.create("thing", &chosen);
    assert_eq!((&record["id"], &record["serial"], &record["number"]), (&json!(7), &json!(8), &json!(9)));
    assert_eq!((&record["loud"], &record["fixed"]), (&json!("OLD"), &json!(2)));
    assert_eq!(served.create("thing", &json!({}))["id"], 11, "the sequence did not advance");
    for (field, value) in [("fixed", json!(1)), ("loud", json!("X"))] {
        for (method, path) in [("POST", "/thing"), ("PUT", "/thing/7")] {
            let reply = served.write(method, path, &json!({field: value}));
            let message = format!("'{field}' is computed by the database; leave it out");
            assert_eq!((reply.status, reply.json()["message"].as_str()), (400, Some(message.as_str())));
        }
    }
    assert_eq!(
        served.write("POST", "/thing", &json!({"status": null})).status,
        409,
        "null is not the default"
    );
}
