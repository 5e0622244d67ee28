//! Databases with unusual names and keys, and without tables.

use mesh_tests::{Database, Request, Server};
use serde_json::{Map, Value, json};

use super::introspect;

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

const OWNERS: &str = "
    CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT);
    CREATE TABLE firms (id INTEGER PRIMARY KEY, name TEXT);
    CREATE TABLE cars (id INTEGER PRIMARY KEY, driver INTEGER);
    CREATE TABLE sites (id INTEGER PRIMARY KEY, holder INTEGER, car INTEGER);
    INSERT INTO people VALUES (1, 'Ada'), (2, 'Bo');
    INSERT INTO firms VALUES (1, 'Acme'), (2, 'Bolt');
    INSERT INTO cars VALUES (1, 2);
    INSERT INTO sites VALUES (1, 1, 1);";

#[test]
fn relations_of_one_name_belong_to_their_entities() {
    let database = Database::new(OWNERS);
    let schema = r#"{"entities": {
        "person": {"fields": ["id", "name"], "table": "people"}, "firm": {"fields": ["id", "name"]},
        "car": {"fields": ["id"]}, "site": {"fields": ["id"]}},
      "joins": {
        "car.owner": {"entity": "person", "on": "people.id = cars.driver", "type": "one"},
        "site.owner": {"entity": "firm", "on": "firms.id = sites.holder", "type": "one"},
        "site.car": {"entity": "car", "on": "cars.id = sites.car", "type": "one"}}}"#;
    let schema = database.dir.write("schema.json", schema);
    let server = Server::start(&["--database", &database.url(), "--schema", &schema]);
    let query = r#"{"site":{"$select":{"owner":{"$select":{"name":true}},"car":{"$select":{"owner":{"$select":{"name":true}}}}}}}"#;
    assert_eq!(
        server.get("/site/1", query).text(),
        r#"{"owner":{"name":"Acme"},"car":{"owner":{"name":"Bo"}}}"#
    );
}
