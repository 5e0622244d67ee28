//! Places in JSON documents whose members have odd names. `SPEC §14.8`

use mesh_tests::{Cluster, Database, MariaDb, Request, Server, encode};
use serde_json::{Map, Value, json};

/// Returns names of one or two characters with each ASCII character that is no letter, and others that paths of databases treat
/// specially.
fn names() -> Vec<String> {
    let odd =
        ["", "a.b", "[0]", "$.a", "$[0]", "last", "**", "-1", "-0", "01", "\\\"", "null", " a ", "-é", "😀"];
    let ascii = "\t\n\u{1}\u{7f}19a"
        .chars()
        .chain((b' '..=b'~').map(char::from).filter(|letter| !letter.is_ascii_alphanumeric()));
    let ascii = ascii.flat_map(|letter| [letter.to_string(), format!("{letter}a")]);
    ascii.chain(odd.map(str::to_owned)).collect()
}

/// Writes a character as an escape.
fn escaped(name: &str) -> String {
    name.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect()
}

fn check(url: &str) {
    let server = Server::start(&["--database", url]);
    let mut connection = server.connect();
    for (number, name) in names().iter().enumerate() {
        let pointer = name.replace('~', "~0").replace('/', "~1");
        for (place, ids) in
            [(format!("/{pointer}"), json!([1, 2])), (format!("/-x/0/-y/{pointer}"), json!([3]))]
        {
            let condition = json!({"field": "doc", "at": place, "op": "eq", "value": number});
            let query = json!({"thing": {"$select": {"id": true}, "$where": condition}}).to_string();
            let request = Request::new("GET", "/mesh/thing").header("X-Mesh-Query", encode(&query));
            let reply = connection.send(&request);
            let Value::Array(items) = reply.json()["items"].clone() else {
                panic!("{url}: {}", reply.text())
            };
            let found: Value = items.into_iter().map(|item| item["id"].clone()).collect();
            assert_eq!(found, ids, "{url}: {place:?}");
        }
    }
}

#[test]
fn members_are_found_whatever_their_names() {
    let names = names();
    let members: Map<String, Value> =
        names.iter().enumerate().map(|(number, name)| (name.clone(), number.into())).collect();
    let plain = Value::from(members).to_string();
    let with_escapes: Vec<_> =
        names.iter().enumerate().map(|(number, name)| format!("\"{}\": {number}", escaped(name))).collect();
    let documents = [
        plain.clone(),
        format!("{{{}}}", with_escapes.join(", ")),
        format!(r#"{{"-x": [{{"-y": {plain}}}]}}"#),
    ];
    let tables = |escape: &dyn Fn(&str) -> String| {
        let rows = documents.iter().enumerate();
        let rows = rows.map(|(row, document)| {
            format!("INSERT INTO things VALUES ({}, '{}');", row + 1, escape(document).replace('\'', "''"))
        });
        format!("CREATE TABLE things (id integer PRIMARY KEY, doc json);{}", rows.collect::<String>())
    };
    let as_it_is = |text: &str| text.to_owned();
    check(&Database::new(&tables(&as_it_is)).url());
    if let Some(cluster) = Cluster::start() {
        cluster.execute(&tables(&as_it_is));
        check(&cluster.url());
    }
    if let Some(mariadb) = MariaDb::start() {
        mariadb.execute(&tables(&|text| text.replace('\\', "\\\\")));
        check(&mariadb.url());
    }
}
