//! Writes that create a record or change the one with that id.

use std::thread;

use mesh_tests::{Cluster, Database, Request, Response, Server, TempDir};
use serde_json::{Value, json};

const SCHEMA: &str = r#"{
    "entities": {
        "city": {"table": "cities", "fields": ["code", "name", "size"], "idField": "code", "writable": true},
        "stay": {"table": "stays", "fields": ["city", "night", "guest"], "idField": ["city", "night"],
            "writable": {"create": true, "update": ["guest"]}},
        "guide": {"fields": ["id", "title"], "writable": {"create": ["title"], "update": true}}
    }
}"#;

const TABLES: &str = "
    CREATE TABLE cities (code text PRIMARY KEY NOT NULL, name text NOT NULL UNIQUE, size integer, owner text, created_by text);
    CREATE TABLE stays (city text NOT NULL, night integer NOT NULL, guest text, PRIMARY KEY (city, night));
    CREATE TABLE guides (id integer PRIMARY KEY, title text);
    INSERT INTO cities (code, name, size, owner) VALUES ('be', 'Bern', 1, 'ada'), ('zh', 'Zürich', 4, 'bo');
    INSERT INTO guides VALUES (1, 'First');";

/// A server with write routes, and the folder with its configuration.
struct MergeServer {
    server: Server,
    _folder: TempDir,
}

impl MergeServer {
    fn start(url: &str, schema: &Value) -> Self {
        let folder = TempDir::new();
        let schema = folder.write("schema.json", &schema.to_string());
        Self {
            server: Server::start(&["--database", url, "--schema", &schema, "--mutations"]),
            _folder: folder,
        }
    }

    fn merge(&self, path: &str, body: &Value) -> Response {
        let request = Request::new("PUT", &format!("/mesh{path}")).header("content-type", "application/json");
        self.server.send(&request.header("prefer", "resolution=merge-duplicates").body(body.to_string()))
    }

    /// Sends a write that must succeed with this status.
    #[track_caller]
    fn assert_merges(&self, path: &str, body: &Value, status: u16) -> Value {
        let reply = self.merge(path, body);
        assert_eq!(reply.status, status, "{path} {body}: {}", reply.text());
        assert_eq!(reply.header("preference-applied"), Some("resolution=merge-duplicates"));
        let location = (status == 201).then(|| format!("/mesh{path}"));
        assert_eq!(reply.header("location"), location.as_deref());
        reply.json()
    }

    /// Sends a write that must be refused, and returns the paths in `fields`.
    #[track_caller]
    fn assert_refuses(&self, path: &str, body: &Value, status: u16) -> Vec<String> {
        let reply = self.merge(path, body);
        assert_eq!(reply.status, status, "{path} {body}: {}", reply.text());
        let fields = reply.json()["fields"].as_array().cloned().unwrap_or_default();
        fields.iter().map(|field| field["path"].as_str().unwrap().to_owned()).collect()
    }
}

fn schema() -> Value {
    serde_json::from_str(SCHEMA).unwrap()
}

/// Runs a check on SQLite and on PostgreSQL.
fn on_both(check: impl Fn(&str)) {
    let database = Database::new(TABLES);
    check(&database.url());
    let Some(cluster) = Cluster::start() else { return };
    cluster.execute(TABLES);
    check(&cluster.url());
}

#[test]
fn records_that_a_policy_hides_are_neither_changed_nor_created_again() {
    on_both(|url| {
        let mut document = schema();
        document["policies"] = json!({"*": {"city": {
            "fields": ["code", "name", "size"], "writable": true,
            "$where": {"field": "size", "op": "lt", "value": 3},
            "$check": {"field": "size", "op": "lt", "value": 2}
        }}});
        let served = MergeServer::start(url, &document);
        assert_eq!(
            served.assert_refuses("/city/zh", &json!({"name": "Taken over", "size": 1}), 409),
            ["code"]
        );
        assert_eq!(served.assert_merges("/city/be", &json!({"name": "Berne"}), 200)["name"], "Berne");
        served.assert_refuses("/city/be", &json!({"size": 2}), 403);
        served.assert_refuses("/city/ge", &json!({"name": "Genf", "size": 2}), 403);
        assert_eq!(served.assert_merges("/city/ge", &json!({"name": "Genf", "size": 1}), 201)["size"], 1);
        let open = MergeServer::start(url, &schema());
        assert_eq!(open.assert_merges("/city/zh", &json!({}), 200)["name"], "Zürich");
    });
}

#[test]
fn values_of_policies_are_those_of_the_write_that_is_carried_out() {
    on_both(|url| {
        let mut document = schema();
        document["entities"]["city"]["fields"] = json!(["code", "name", "owner", "createdBy"]);
        document["entities"]["city"]["columns"] = json!({"createdBy": "created_by"});
        document["policies"] = json!({"*": {"city": {
            "fields": ["code", "name", "owner", "createdBy"], "writable": ["code", "name"],
            "$set": {"owner": "me"}, "$setOnCreate": {"createdBy": "me"}
        }}});
        let served = MergeServer::start(url, &document);
        let owners = |record: &Value| (record["owner"].clone(), record["createdBy"].clone());
        assert_eq!(
            owners(&served.assert_merges("/city/ge", &json!({"name": "Genf"}), 201)),
            (json!("me"), json!("me"))
        );
        assert_eq!(
            owners(&served.assert_merges("/city/be", &json!({"name": "Berne"}), 200)),
            (json!("me"), Value::Null)
        );
    });
}

#[test]
fn of_concurrent_writes_one_creates_the_record() {
    on_both(|url| {
        let served = MergeServer::start(url, &schema());
        for round in 0..20 {
            let (served, path) = (&served, format!("/stay/be,{}", 100 + round));
            let statuses: Vec<u16> = thread::scope(|threads| {
                let writers: Vec<_> = (0..4)
                    .map(|writer| {
                        let (path, body) = (path.clone(), json!({"guest": writer.to_string()}));
                        threads.spawn(move || served.merge(&path, &body).status)
                    })
                    .collect();
                writers.into_iter().map(|writer| writer.join().unwrap()).collect()
            });
            let created = statuses.iter().filter(|status| **status == 201).count();
            let changed = statuses.iter().filter(|status| **status == 200).count();
            assert_eq!((created, changed), (1, 3), "{url}: {statuses:?}");
        }
    });
}
