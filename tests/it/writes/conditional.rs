//! Writes under a condition. `SPEC §18.3`

use std::thread;

use mesh_tests::{Cluster, Connection, Database, Request, Response, Server, TempDir};
use serde_json::json;

use super::Shop;

const TITLE: &str = r#"{"post": {"$select": {"id": true, "title": true}}}"#;
const TABLES: &str = "CREATE TABLE counters (id integer PRIMARY KEY, n integer NOT NULL);
    INSERT INTO counters VALUES (1, 0);";
const SCHEMA: &str =
    r#"{"entities": {"counter": {"table": "counters", "fields": ["id", "n"], "writable": true}}}"#;
const COUNTER: &str = r#"{"counter": {"$select": {"n": true}}}"#;

impl Shop {
    fn tag_of(&self, path: &str, query: &str) -> String {
        let reply = self.server.send(&Request::get(&self.server.path(path), query));
        reply.header("etag").unwrap().to_owned()
    }

    fn put_if(&self, tag: &str, body: &str) -> Response {
        self.write_if("PUT", "/post/1", tag, Some(TITLE), body)
    }

    fn write_if(&self, method: &str, path: &str, tag: &str, query: Option<&str>, body: &str) -> Response {
        let path = self.server.path(path);
        let request = Request::new(method, &path);
        let request = match query {
            Some(query) => request.query(query),
            None => request,
        };
        let request = request.header("If-Match", tag).header("Content-Type", "application/json");
        self.server.send(&if body.is_empty() { request } else { request.body(body) })
    }

    #[track_caller]
    fn changed(&self, reply: &Response) {
        let message = "The record has changed: its entity tag is not one of those in If-Match; read it again";
        self.refused(reply, 412, "PreconditionFailed", message);
    }
}

#[test]
fn a_record_is_updated_if_its_tag_is_the_expected_one() {
    let shop = Shop::open();
    let tag = shop.tag_of("/post/1", TITLE);
    let reply = shop.put_if(&tag, r#"{"title": "A"}"#);
    assert_eq!((reply.status, reply.text().as_str()), (200, r#"{"id":1,"title":"A"}"#));
    shop.changed(&shop.put_if(&tag, r#"{"title": "B"}"#));
    assert_eq!(shop.cell("SELECT title FROM posts WHERE id = 1").as_deref(), Some("A"));
    let list = format!("\"0\", {tag} , {}", shop.tag_of("/post/1", TITLE));
    assert_eq!(shop.put_if(&list, r#"{"title": "C"}"#).status, 200);
}

#[test]
fn the_tag_is_that_of_the_same_query() {
    let shop = Shop::open();
    let other = shop.tag_of("/post/1", r#"{"post": {"$select": {"title": true}}}"#);
    shop.changed(&shop.put_if(&other, r#"{"title": "A"}"#));
    let with_author = r#"{"post": {"$select": {"author": {"$select": {"name": true}}}}}"#;
    let tag = shop.tag_of("/post/1", with_author);
    shop.write("PUT", "/user/1", r#"{"name": "Eva"}"#);
    shop.changed(&shop.write_if("PUT", "/post/1", &tag, Some(with_author), r#"{"title": "A"}"#));
    let tag = shop.tag_of("/post/1", with_author);
    assert_eq!(shop.write_if("PUT", "/post/1", &tag, Some(with_author), r#"{"title": "A"}"#).status, 200);
}

#[test]
fn weak_tags_never_match_and_encoded_ones_do() {
    let shop = Shop::open();
    let tag = shop.tag_of("/post/1", TITLE);
    shop.changed(&shop.put_if(&format!("W/{tag}"), r#"{"title": "A"}"#));
    let encoded = format!("{}-gzip\"", tag.trim_end_matches('"'));
    assert_eq!(shop.put_if(&encoded, r#"{"title": "A"}"#).status, 200);
}

#[test]
fn an_asterisk_requires_that_the_record_exists() {
    let shop = Shop::open();
    assert_eq!(shop.put_if("*", r#"{"title": "A"}"#).status, 200);
    let missing = shop.write_if("PUT", "/post/9", "*", None, r#"{"title": "A"}"#);
    shop.refused(&missing, 404, "NotFound", "There is no 'post' with the id '9'");
    let missing = shop.write_if("DELETE", "/post/x", "*", None, "");
    shop.refused(&missing, 404, "NotFound", "There is no 'post' with the id 'x'");
}

#[test]
fn a_record_is_deleted_if_its_tag_is_the_expected_one() {
    let shop = Shop::open();
    let tag = shop.tag_of("/post/3", TITLE);
    shop.write("PUT", "/post/3", r#"{"title": "A"}"#);
    shop.changed(&shop.write_if("DELETE", "/post/3", &tag, Some(TITLE), ""));
    let tag = shop.tag_of("/post/3", TITLE);
    shop.changed(&shop.write_if("DELETE", "/post/3", &tag, None, ""));
    assert_eq!(shop.write_if("DELETE", "/post/3", &tag, Some(TITLE), "").status, 204);
    assert_eq!(shop.cell("SELECT count(*) FROM posts WHERE id = 3").as_deref(), Some("0"));
}

#[test]
fn a_condition_that_cannot_hold_is_not_ignored() {
    let shop = Shop::open();
    let message = "If-Match is allowed only on PUT and DELETE of a record; leave it out";
    for (method, path, body) in [
        ("POST", "/user", r#"{"name": "x"}"#),
        ("POST", "/post/1/tags", r#"{"entityId": "rust"}"#),
        ("PUT", "/post/1/editor", r#"{"entityId": 1}"#),
        ("DELETE", "/post/1/editor", ""),
        ("DELETE", "/user/1/posts/2", ""),
    ] {
        let reply = shop.write_if(method, path, "*", None, body);
        shop.refused(&reply, 400, "TransportError", message);
    }
    let message = "If-Match must be * or a list of entity tags in double quotes, as ETag has them";
    shop.refused(&shop.put_if("abc", r#"{"title": "A"}"#), 400, "TransportError", message);
}

#[test]
fn a_write_without_changes_or_with_a_violation_is_checked_too() {
    let shop = Shop::open();
    let tag = shop.tag_of("/post/1", TITLE);
    assert_eq!(shop.put_if(&tag, "{}").status, 200);
    let reply = shop.put_if(&tag, r#"{"title": null}"#);
    assert_eq!(reply.status, 409, "{}", reply.text());
    shop.changed(&shop.put_if("\"0\"", r#"{"title": null}"#));
}

#[test]
fn hidden_records_are_missing_before_they_are_changed() {
    let database = Database::new(
        "CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT, open BOOLEAN);
         INSERT INTO notes VALUES (1, 'a', true), (2, 'b', false);",
    );
    let schema = database.dir.write(
        "schema.json",
        r#"{"entities": {"note": {"table": "notes", "fields": ["id", "text", "open"], "writable": true}},
            "policies": {"*": {"note": {"writable": true, "$where": {"field": "open", "op": "eq", "value": true}}}}}"#,
    );
    let config = database.dir.write("mesh.toml", "[mutations]\nenabled = true\n");
    let server = Server::start(&["--config", &config, "--database", &database.url(), "--schema", &schema]);
    let write = |method: &str, id: &str| {
        let request = Request::new(method, &format!("/mesh/note/{id}")).header("If-Match", "\"0\"");
        let request = request.header("Content-Type", "application/json");
        server.send(&if method == "PUT" { request.body(r#"{"text": "x"}"#) } else { request })
    };
    for method in ["PUT", "DELETE"] {
        assert_eq!(write(method, "1").status, 412, "{method}");
        for id in ["2", "3"] {
            let reply = write(method, id).json();
            assert_eq!(reply["message"], json!(format!("There is no 'note' with the id '{id}'")));
        }
    }
}

/// Increments a number once per writer. Each writer reads the number and writes it back.
fn count_together(url: &str) {
    const WRITERS: i64 = 100;
    /// The status of a request that had to wait too long for a connection or a lock. A write with this status has no effect.
    const BUSY: u16 = 503;
    let folder = TempDir::new();
    let schema = folder.write("schema.json", SCHEMA);
    let server = Server::start(&["--database", url, "--schema", &schema, "--mutations"]);
    let (address, path) = (server.address, server.path("/counter/1"));
    let add_one = || {
        let mut connection = Connection::connect(address);
        loop {
            let read = connection.send(&Request::get(&path, COUNTER));
            if read.status == BUSY {
                continue;
            }
            let n = read.json()["n"].as_i64().unwrap();
            let put = Request::new("PUT", &path).query(COUNTER);
            let put = put.header("If-Match", read.header("etag").unwrap());
            let put = put.header("Content-Type", "application/json");
            let reply = connection.send(&put.body(json!({"n": n + 1}).to_string()));
            match reply.status {
                200 => return reply.json()["n"] == json!(n + 1),
                412 | BUSY => {}
                // On a busy machine, a write can wait for longer than its time limit.
                500 if reply.json()["effect"] == "none" => {}
                status => panic!("{status}: {}", reply.text()),
            }
        }
    };
    thread::scope(|threads| {
        let writers: Vec<_> = (0..WRITERS).map(|_| threads.spawn(add_one)).collect();
        assert!(writers.into_iter().all(|writer| writer.join().unwrap()));
    });
    let read = server.send(&Request::get(&path, COUNTER));
    assert_eq!(read.json(), json!({"n": WRITERS}), "{url}");
}

#[test]
fn no_update_of_concurrent_writers_is_lost() {
    count_together(&Database::new(TABLES).url());
    let Some(cluster) = Cluster::start() else { return };
    cluster.execute(TABLES);
    count_together(&cluster.url());
}

#[test]
fn an_account_that_cannot_lock_a_record_deletes_it_under_a_condition() {
    let Some(cluster) = Cluster::start() else { return };
    cluster.execute(TABLES);
    cluster.execute(
        "CREATE ROLE app LOGIN; GRANT SELECT, DELETE ON counters TO app; INSERT INTO counters VALUES (2, 0), (3, 0), (4, 0)",
    );
    let folder = TempDir::new();
    let schema = folder.write("schema.json", SCHEMA);
    let url = cluster.url().replace("mesh@", "app@");
    let server = Server::start(&["--database", &url, "--schema", &schema, "--mutations"]);
    let path = |id: &str| server.path(&format!("/counter/{id}"));
    let delete =
        |id: &str, tag: &str| Request::new("DELETE", &path(id)).query(COUNTER).header("If-Match", tag);
    let tag = server.send(&Request::get(&path("1"), COUNTER)).header("etag").unwrap().to_owned();
    assert_eq!(server.send(&delete("1", "\"0\"")).status, 412);
    assert_eq!(server.send(&delete("1", &tag)).status, 204);
    assert_eq!(server.send(&delete("2", "*")).status, 204);
    assert_eq!(server.send(&delete("1", "*")).status, 404, "it was deleted");
    // Another transaction changes or deletes the record after the server has read it.
    for (id, change, status) in [
        ("3", "UPDATE counters SET n = 1 WHERE id = 3", 412),
        ("4", "DELETE FROM counters WHERE id = 4", 404),
    ] {
        let transaction = cluster.transaction("postgres", change);
        let reply = thread::scope(|threads| {
            let deleting = threads.spawn(|| server.send(&delete(id, &tag)));
            cluster.wait_for_lock();
            transaction.commit();
            deleting.join().unwrap()
        });
        assert_eq!(reply.status, status, "{}", reply.text());
    }
    assert_eq!(cluster.query("SELECT id, n FROM counters").as_deref(), Some("3|1"));
}
