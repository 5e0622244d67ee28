//! The client of mesh-wire with a server: over sockets, with bound signatures and files.

#[allow(dead_code, reason = "the example's connection has more than each test needs")]
#[path = "../../examples/client/http.rs"]
mod http;

use std::path::PathBuf;
use std::pin::pin;
use std::process::Command;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use futures_util::{StreamExt as _, TryStreamExt as _};
use mesh_ql::build::{asc, desc, field, query};
use mesh_server::mesh_integrity::{
    Authenticator, Binding, BoxFuture, Credentials, Gate, Identity, Keys, LoginError, Secret,
};
use mesh_server::mesh_plan::Mesh;
use mesh_server::mesh_plan::persisted::{
    Persisted, PersistedQuery, QueryId, QueryStore, QueryStoreError, Registration,
};
use mesh_server::mesh_schema::{JoinDocument, Schema, ThroughDocument, Upload, Writable};
use mesh_server::mesh_uploads::FileStore;
use mesh_server::mesh_wire::client::{
    self, Client, Endpoint, ReplyError, StreamEvent, UploadFile, UploadForm, UploadTarget,
};
use mesh_server::{App, Events, Integrity, Server, Uploads};
use mesh_sqlite::Database;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use tokio::net::TcpListener;

use self::http::{Http, fresh};

struct Everybody;

impl Authenticator for Everybody {
    fn authenticate<'a>(&'a self, _: &'a Credentials) -> BoxFuture<'a, Result<Identity, LoginError>> {
        Box::pin(async { Ok(Identity::new("1")) })
    }
}

/// A store of registered queries that counts them and can drop them.
#[derive(Clone, Default)]
struct Forgetful {
    kept: Arc<Mutex<Vec<(QueryId, mesh_ql::Format, String)>>>,
    registered: Arc<AtomicUsize>,
}

impl QueryStore for Forgetful {
    fn find(&self, id: QueryId) -> BoxFuture<'_, Result<Option<PersistedQuery>, QueryStoreError>> {
        let kept = self.kept.lock().unwrap();
        let found = kept.iter().find(|(own, ..)| *own == id);
        let found = found.map(|(_, format, text)| PersistedQuery::new(*format, text.clone()));
        Box::pin(async { Ok(found) })
    }

    fn save<'a>(&'a self, query: &'a PersistedQuery) -> BoxFuture<'a, Result<(), QueryStoreError>> {
        self.registered.fetch_add(1, Ordering::Relaxed);
        self.kept.lock().unwrap().push((query.id(), query.format(), query.text().to_owned()));
        Box::pin(async { Ok(()) })
    }
}

/// A server with five posts, whose database is removed on drop.
struct Site {
    folder: PathBuf,
    at: Endpoint,
    queries: Forgetful,
}

impl Site {
    async fn open(integrity: bool) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("mesh-client-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("posts.db");
        rusqlite::Connection::open(&file)
            .unwrap()
            .execute_batch(
                "CREATE TABLE authors (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
                 CREATE TABLE tags (id INTEGER PRIMARY KEY, label TEXT NOT NULL);
                 CREATE TABLE posts (id INTEGER PRIMARY KEY, title TEXT NOT NULL, cover TEXT,
                   author_id INTEGER REFERENCES authors (id));
                 CREATE TABLE comments (id INTEGER PRIMARY KEY, text TEXT NOT NULL,
                   post_id INTEGER NOT NULL REFERENCES posts (id));
                 CREATE TABLE post_tags (post_id INTEGER NOT NULL REFERENCES posts (id),
                   tag_id INTEGER NOT NULL REFERENCES tags (id), PRIMARY KEY (post_id, tag_id));
                 INSERT INTO authors (name) VALUES ('Ada');
                 INSERT INTO tags (label) VALUES ('new');
                 INSERT INTO posts (title) VALUES ('One'), ('Two'), ('Three'), ('Four'), ('Five');",
            )
            .unwrap();
        let sqlite = Database::open(&file).unwrap();
        let cover = Upload { max_bytes: Some(1000), content_types: None };
        let junction = ThroughDocument::new("post_tags", "post_id", "tag_id");
        let schema = Schema::builder()
            .entity("post", |it| {
                it.untyped("id")
                    .untyped("title")
                    .untyped("cover")
                    .writes(Writable { delete: true, ..Writable::fields(["title"]) })
                    .upload("cover", cover)
            })
            .entity("author", |it| it.untyped("id").untyped("name"))
            .entity("comment", |it| {
                it.untyped("id")
                    .untyped("text")
                    .writes(Writable { delete: true, ..Writable::fields(["text"]) })
            })
            .entity("tag", |it| it.untyped("id").untyped("label"))
            .relation("post.author", JoinDocument::one("author", "authors.id = posts.author_id"))
            .relation("post.comments", JoinDocument::many("comment", "comments.post_id = posts.id"))
            .relation("post.tags", JoinDocument::through("tag", junction))
            .build_with(&sqlite.contents(&[]).unwrap().catalog)
            .unwrap();
        let mesh = Mesh::builder(schema)
            .default_mutator(sqlite.writer().unwrap())
            .default_resolver(sqlite)
            .build()
            .unwrap();
        let queries = Forgetful::default();
        // The cache in memory is almost empty, so that dropped queries are unknown.
        let persisted = Persisted::new(Registration::Open).memory(0, 0).store(Arc::new(queries.clone()));
        let store = FileStore::open(folder.join("files")).unwrap();
        let mut app = App::builder(mesh);
        app.options.mutations = true;
        app.options.events = Some(Events::default());
        app.options.uploads = Some(Uploads::new(store));
        if integrity {
            app.options.persisted = Some(persisted.into());
            let secret = Secret::new("a secret that only tests have, and long enough").unwrap();
            let gate = Gate::new(Keys::new(&secret)).binding(Binding::Require);
            app.options.authenticator.integrity = Some(Integrity::new(gate, Everybody));
        }
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = Endpoint::parse(&format!("http://{}/mesh", listener.local_addr().unwrap())).unwrap();
        tokio::spawn(Server::new(app.build().unwrap()).serve(listener, std::future::pending()));
        Self { folder, at, queries }
    }

    async fn signed(&self, http: &Http) -> Client {
        http.log_in(self.at.clone(), &Map::new()).await.unwrap()
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

#[derive(Debug, Deserialize, Serialize, PartialEq)]
struct Post {
    title: String,
}

#[tokio::test]
async fn lists_are_read_to_their_end() {
    let (site, http) = (Site::open(true).await, Http::new());
    let client = site.signed(&http).await;
    let posts = query("post").field("title").filter(field("id").ne(4)).order_by(desc("id")).first(3).build();
    let pages: Vec<_> = http.pages(client.pages(posts)).try_collect().await.unwrap();
    let titles: Vec<Vec<String>> = pages
        .iter()
        .map(|page| page.items::<Post>().unwrap().into_iter().map(|post| post.title).collect())
        .collect();
    assert_eq!(titles, [vec!["Five", "Three", "Two"], vec!["One"]]);
}

#[tokio::test]
async fn unknown_queries_are_registered() {
    let (site, http) = (Site::open(true).await, Http::new());
    let client = site.signed(&http).await.with_persisted_queries();
    let title = query("post").field("title").build();
    let registered = || site.queries.registered.load(Ordering::Relaxed);
    for (id, body) in [("1", r#"{"title":"One"}"#), ("2", r#"{"title":"Two"}"#), ("9", "null")] {
        assert_eq!(http.run(client.point(&title, id)).await.unwrap(), body);
        assert_eq!(registered(), 1);
    }
    site.queries.kept.lock().unwrap().clear();
    assert_eq!(http.run(client.point(&title, "3")).await.unwrap(), r#"{"title":"Three"}"#);
    assert_eq!(registered(), 2, "the store dropped it");

    let wrong = http.run(client.point(&query("post").field("titel").build(), "1")).await.unwrap_err();
    let ReplyError::Refused { status, body } = wrong.downcast_ref().unwrap() else { panic!("{wrong}") };
    assert_eq!((status.as_u16(), body.error.as_str(), registered()), (400, "ValidationError", 2));
}

#[tokio::test]
async fn long_queries_are_posted_and_unsigned_ones_refused() {
    let (site, http) = (Site::open(true).await, Http::new());
    let client = site.signed(&http).await;
    let many =
        query("post").field("title").filter(field("title").none_of((0..200).map(|n| format!("{n:060}"))));
    let all: Value =
        serde_json::from_slice(&http.run(client.collection(&many.clone().build())).await.unwrap()).unwrap();
    assert_eq!(all["items"].as_array().map(Vec::len), Some(5));
    let unsigned = Client::new(site.at.clone());
    let refused = http.run(unsigned.collection(&many.build())).await.unwrap_err();
    assert!(refused.to_string().contains("[TOKEN_MISSING]"), "{refused}");
    // A bound signature is accepted once.
    let request = client.collection(&query("post").field("title").build()).request().unwrap();
    assert_eq!(http.send(request.clone()).await.unwrap().status().as_u16(), 200);
    assert_eq!(http.send(request).await.unwrap().status().as_u16(), 401);
}

#[tokio::test]
async fn changes_are_seen() {
    let (site, http) = (Site::open(true).await, Http::new());
    let client = site.signed(&http).await;
    let mut seen = pin!(http.watch(client.watch(&query("post").field("title").build(), "2")));
    let update = |title: &str| StreamEvent::Update(json!({ "title": title }).to_string());
    assert_eq!(seen.try_next().await.unwrap(), Some(update("Two")));
    http.run(client.update("post", "2", &json!({ "title": "Second" }))).await.unwrap();
    assert_eq!(seen.try_next().await.unwrap(), Some(update("Second")));
    // Streams end with the session.
    http.send(client.sign(client::logout(&site.at).unwrap()).unwrap()).await.unwrap();
    let Some(Ok(StreamEvent::Failed(over))) = seen.next().await else { panic!("an error") };
    assert_eq!(over.code.as_deref(), Some("TOKEN_REVOKED"));
    assert!(seen.next().await.unwrap().is_err(), "no other stream starts");
}

#[tokio::test]
async fn every_write_works_with_and_without_signatures() {
    for signs in [false, true] {
        let (site, http) = (Site::open(signs).await, Http::new());
        let client = if signs {
            site.signed(&http).await.with_persisted_queries()
        } else {
            Client::new(site.at.clone())
        };
        let ask = async |asking| -> Value {
            let body = http.run(asking).await.unwrap();
            if body.is_empty() { Value::Null } else { serde_json::from_slice(&body).unwrap() }
        };
        let post = ask(client.create("post", &json!({ "title": "Six" }))).await;
        assert_eq!(post, json!({ "id": 6, "title": "Six", "cover": null }));
        let author = ask(client.connect("post", "6", "author", "1")).await;
        assert_eq!(author, json!({ "id": 1, "name": "Ada" }));
        assert_eq!(ask(client.attach("post", "6", "tags", "1")).await, Value::Null);
        let text = query("comment").field("text").build();
        let comment =
            ask(client.create_child("post", "6", "comments", &json!({ "text": "Good" })).select(&text));
        assert_eq!(comment.await, json!({ "text": "Good" }));

        let all = query("post")
            .field("title")
            .relation("author", |it| it.field("name"))
            .relation("tags", |it| it.field("label"))
            .relation("comments", |it| it.field("id"))
            .build();
        let registered = || site.queries.registered.load(Ordering::Relaxed);
        let before = registered();
        let changed = ask(client.update("post", "6", &Post { title: "Sixth".into() }).select(&all)).await;
        let tags = json!([{ "label": "new" }]);
        assert_eq!(
            changed,
            json!({ "title": "Sixth", "author": { "name": "Ada" }, "tags": tags, "comments": [{ "id": 1 }] })
        );
        assert_eq!(registered() - before, usize::from(signs), "the query of a shape is registered too");

        assert_eq!(ask(client.disconnect("post", "6", "author")).await, Value::Null);
        assert_eq!(ask(client.remove("post", "6", "tags", "1")).await, Value::Null);
        assert_eq!(ask(client.remove("post", "6", "comments", "1")).await, Value::Null);
        let bare = json!({ "title": "Sixth", "author": null, "tags": [], "comments": [] });
        assert_eq!(ask(client.point(&all, "6")).await, bare);
        assert_eq!(ask(client.delete("post", "6")).await, Value::Null);
        assert_eq!(ask(client.point(&all, "6")).await, Value::Null);

        for (asking, refused) in [
            (client.delete("post", "6"), (404, "NotFound")),
            (client.update("post", "1", &json!({ "cover": "x" })), (400, "ValidationError")),
            (client.create("post", &json!({ "title": null })), (409, "ConflictError")),
        ] {
            let error = http.run(asking).await.unwrap_err();
            let ReplyError::Refused { status, body } = error.downcast_ref().unwrap() else {
                panic!("{error}")
            };
            assert_eq!((status.as_u16(), body.error.as_str()), refused);
        }
        if signs {
            let unsigned = Client::new(site.at.clone()).delete("post", "1");
            assert!(http.run(unsigned).await.unwrap_err().to_string().contains("[TOKEN_MISSING]"));
            let mut altered = client.update("post", "1", &json!({ "title": "A" })).request().unwrap();
            *altered.body_mut() = r#"{"title":"B"}"#.into();
            assert_eq!(http.send(altered).await.unwrap().status().as_u16(), 403);
        }
    }
}

#[tokio::test]
async fn files_are_sent_under_a_signature_of_their_bytes() {
    let (site, http) = (Site::open(true).await, Http::new());
    let client = site.signed(&http).await;
    let file =
        UploadFile { name: "one.txt", content_type: "text/plain", bytes: "A cover".into(), meta: None };
    let place = UploadTarget::Attach { entity: "post", id: &"1".into(), field: "cover" };
    let request = client.upload(place, "cover", &file, &UploadForm::new(fresh().1)).unwrap();
    let mut altered = client.upload(place, "cover", &file, &UploadForm::new(fresh().1)).unwrap();
    let stored: Value =
        serde_json::from_slice(&client::result(http.send(request).await.unwrap()).unwrap()).unwrap();
    assert_eq!((&stored["size"], &stored["contentType"]), (&json!(7), &json!("text/plain")));
    let body = String::from_utf8(altered.body().to_vec()).unwrap().replace("A cover", "A clown");
    *altered.body_mut() = body.into();
    let refused = client::result(http.send(altered).await.unwrap()).unwrap_err().to_string();
    assert!(refused.contains("[CONTENT_HASH_MISMATCH]"), "{refused}");

    let new = UploadFile { meta: Some(r#"{"title": "Six"}"#), ..file };
    let request = client
        .upload(UploadTarget::Create { entity: "post" }, "cover", &new, &UploadForm::new(fresh().1))
        .unwrap();
    assert_eq!(http.send(request).await.unwrap().status().as_u16(), 201);
    let last = query("post").fields(["title", "cover"]).order_by(asc("id")).after("").build();
    assert!(http.run(client.collection(&last)).await.is_err(), "an empty cursor is invalid");
    let posts = query("post").fields(["title", "cover"]).filter(field("cover").is_not_null()).build();
    let answer: Value = serde_json::from_slice(&http.run(client.collection(&posts)).await.unwrap()).unwrap();
    let covers =
        json!([{ "title": "One", "cover": stored["cover"] }, { "title": "Six", "cover": stored["cover"] }]);
    assert_eq!(answer["items"], covers);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_example_reads_writes_and_follows() {
    let test = std::env::current_exe().unwrap();
    let file = format!("client{}", std::env::consts::EXE_SUFFIX);
    let program = test.parent().unwrap().parent().unwrap().join("examples").join(file);
    for (integrity, login) in [(false, &[][..]), (true, &["ada", "pw", "Six"])] {
        let site = Site::open(integrity).await;
        let url = site.at.uri().to_string();
        let mut command = Command::new(&program);
        command.arg(url).args(login);
        let output = tokio::task::spawn_blocking(move || command.output()).await.unwrap().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let mut expected = vec![
            "1. One",
            "2. Two",
            "3. Three",
            "4. Four",
            "5. Five",
            "the last one again: Five",
            "watched: {\"title\":\"Five\"}",
        ];
        if integrity {
            expected.push("made and deleted: Six");
        }
        assert_eq!(String::from_utf8_lossy(&output.stdout).lines().collect::<Vec<_>>(), expected);
    }
}
