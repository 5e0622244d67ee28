//! Columns of every type.

use mesh_tests::{MariaDb, Request, Response, Server, TempDir};
use serde_json::{Map, Value, json};

/// Starts a server that can write these fields of the table `things`.
fn serve(mariadb: &MariaDb, fields: &[String]) -> (Server, TempDir) {
    let folder = TempDir::new();
    let entity = json!({"table": "things", "fields": fields, "writable": true});
    let schema = folder.write("schema.json", &json!({"entities": {"thing": entity}}).to_string());
    (Server::start(&["--database", &mariadb.url(), "--schema", &schema, "--mutations"]), folder)
}

fn write(server: &Server, method: &str, path: &str, body: &Value) -> Response {
    server.send(&Request::json(method, &server.path(path), body.to_string()))
}

/// Returns the rows of the table of types in the guide: the type, a value that it accepts, and that value as it is read.
fn documented() -> Vec<(String, Value, Value)> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/mysql.md");
    let guide = std::fs::read_to_string(path).unwrap();
    let (_, section) = guide.split_once("## Types").unwrap();
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
    let Some(mariadb) = MariaDb::start() else { return };
    let rows = documented();
    assert!(rows.len() > 20, "{rows:?}");
    let columns: Vec<String> =
        rows.iter().enumerate().map(|(index, (ty, ..))| format!("c{index} {ty} NULL")).collect();
    mariadb
        .execute(&format!("CREATE TABLE things (id int AUTO_INCREMENT PRIMARY KEY, {})", columns.join(", ")));
    let names = ["id".to_owned()].into_iter().chain((0..rows.len()).map(|index| format!("c{index}")));
    let (server, _folder) = serve(&mariadb, &names.collect::<Vec<_>>());
    let all = |value: fn(&(String, Value, Value)) -> &Value| {
        let fields = rows.iter().enumerate().map(|(index, row)| (format!("c{index}"), value(row).clone()));
        Value::Object(fields.collect::<Map<_, _>>())
    };
    let is_read = |reply: &Value| {
        for (index, (ty, _, read)) in rows.iter().enumerate() {
            assert_eq!(&reply[format!("c{index}")], read, "{ty}");
        }
    };
    let created = write(&server, "POST", "/thing", &all(|row| &row.1));
    assert_eq!(created.status, 201, "{}", created.text());
    is_read(&created.json());
    // What is read can be written.
    let updated = write(&server, "PUT", "/thing/1", &all(|row| &row.2));
    assert_eq!(updated.status, 200, "{}", updated.text());
    is_read(&updated.json());
    let cleared = write(&server, "PUT", "/thing/1", &all(|_| &Value::Null));
    assert_eq!(cleared.json()["c0"], Value::Null, "{}", cleared.text());
}

#[test]
fn values_that_do_not_fit_are_refused_with_their_field() {
    let Some(mariadb) = MariaDb::start() else { return };
    mariadb.execute(
        "CREATE TABLE things (id int AUTO_INCREMENT PRIMARY KEY, small tinyint, name varchar(3), price decimal(4, 2),
            day date, kind enum('a', 'b'), doc json, ident uuid)",
    );
    let refused = [
        ("small", json!(300)),
        ("name", json!("abcd")),
        ("price", json!("123.45")),
        ("day", json!("2024-02-30")),
        ("kind", json!("c")),
        ("ident", json!("x")),
    ];
    let names = ["id"].into_iter().chain(refused.iter().map(|(field, _)| *field)).map(str::to_owned);
    let (server, _folder) = serve(&mariadb, &names.collect::<Vec<_>>());
    for (field, value) in refused {
        let reply = write(&server, "POST", "/thing", &json!({field: value}));
        assert_eq!(reply.status, 400, "{field}: {}", reply.text());
        assert!(reply.text().contains(field), "{field}: {}", reply.text());
    }
}
