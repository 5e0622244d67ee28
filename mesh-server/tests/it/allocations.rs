//! Limits of allocations per request, which do not depend on the number of rows. SQLite's allocations are not counted.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt as _, Full};
use mesh_plan::Mesh;
use mesh_server::App;
use mesh_sqlite::{Database, Settings};
use rusqlite::Connection;
use tokio::runtime::{Builder, Runtime};

/// A blog in which the post with id `n` has `n` comments.
const BLOG: &str = "CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
    CREATE TABLE posts (id INTEGER PRIMARY KEY, title TEXT NOT NULL, author_id INTEGER REFERENCES users (id));
    CREATE TABLE comments (id INTEGER PRIMARY KEY, body TEXT NOT NULL,
        post_id INTEGER REFERENCES posts (id), author_id INTEGER REFERENCES users (id));
    CREATE INDEX comments_post ON comments (post_id);
    WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 300)
        INSERT INTO users SELECT i, 'user ' || i FROM c;
    INSERT INTO posts SELECT id, 'post ' || id, id FROM users;
    INSERT INTO comments (body, post_id, author_id)
        SELECT 'comment of ' || users.name, posts.id, users.id FROM posts JOIN users ON users.id <= posts.id
        WHERE posts.id IN (1, 10, 200);";

struct Blog {
    folder: PathBuf,
    app: App,
    runtime: Runtime,
}

impl Blog {
    fn new(cache: usize) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name =
            format!("mesh-allocations-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir(&folder).unwrap();
        let file = folder.join("blog.db");
        Connection::open(&file).unwrap().execute_batch(BLOG).unwrap();
        let mut settings = Settings::default();
        settings.response_cache = cache;
        let database = Database::open_with(&file, &settings).unwrap();
        let catalog = database.contents(&[]).unwrap().catalog;
        let schema = mesh_schema::infer(&catalog).document.load(Some(&catalog)).unwrap();
        let app =
            App::builder(Mesh::builder(schema).default_resolver(database).build().unwrap()).build().unwrap();
        Self { folder, app, runtime: Builder::new_current_thread().enable_all().build().unwrap() }
    }

    /// Returns the cursor at the end of a page.
    fn cursor(&self, path: &str, query: &str) -> String {
        let request = Request::get(path).header("x-mesh-query", mesh_wire::base64::encode(query));
        let reply = self.app.handle(request.body(Full::<Bytes>::default()).unwrap());
        let body =
            self.runtime.block_on(async { reply.await.into_body().collect().await.unwrap().to_bytes() });
        let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
        body.pointer("/pageInfo/endCursor").and_then(serde_json::Value::as_str).unwrap().to_owned()
    }

    /// Returns the number of allocations from a request's arrival to its reply, with warm caches, and the length of the reply.
    fn count(&self, path: &str, query: &str) -> (u64, usize) {
        self.count_with(path, query, None)
    }

    /// Counts the allocations of a query with parameters.
    fn count_with(&self, path: &str, query: &str, params: Option<&str>) -> (u64, usize) {
        let format = if query.starts_with("{\"") { "json" } else { "ql" };
        let query = mesh_wire::base64::encode(query);
        let request = || {
            let mut request =
                Request::get(path).header("x-mesh-query", &query).header("x-mesh-format", format);
            if let Some(params) = params {
                request = request.header("x-mesh-params", mesh_wire::base64::encode(params));
            }
            request.body(Full::<Bytes>::default()).unwrap()
        };
        let ask = |request| self.runtime.block_on(self.app.handle(request));
        for _ in 0..3 {
            assert_eq!(ask(request()).status(), 200);
        }
        let (request, mut reply) = (request(), None);
        let counted = allocation_counter::measure(|| reply = Some(ask(request)));
        let body = self.runtime.block_on(reply.unwrap().into_body().collect()).unwrap().to_bytes();
        (counted.count_total, body.len())
    }
}

impl Drop for Blog {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

const NESTED: &str = "{ post title author { name } comments { body author { name } } }";

/// Returns the smallest of several counts, each on a new server: on a busy machine a read may move to another thread,
/// which allocates more.
fn least(path: &str, query: &str) -> (u64, usize) {
    (0..5).map(|_| Blog::new(0).count(path, query)).min().unwrap()
}

/// Returns the second page of the posts.
fn later_page() -> String {
    let page = |after: &str| {
        format!(
            r#"{{"post":{{"$select":{{"id":true,"title":true}},"$page":{{"first":20,"after":{after}}}}}}}"#
        )
    };
    page(&format!("\"{}\"", Blog::new(0).cursor("/mesh/post", &page("null"))))
}

#[test]
fn allocations_do_not_depend_on_the_number_of_rows() {
    let (few, short) = least("/mesh/post/10", NESTED);
    let (many, long) = least("/mesh/post/200", NESTED);
    assert!(long > 10 * short, "{short} and {long} bytes");
    assert_eq!(few, many, "for 10 comments and for 200");

    let page = |first: u32| {
        format!(r#"{{"post":{{"$select":{{"id":true,"title":true}},"$page":{{"first":{first}}}}}}}"#)
    };
    let (few, _) = least("/mesh/post", &page(2));
    let (many, _) = least("/mesh/post", &page(200));
    assert_eq!(few, many, "for 2 posts and for 200");
}

#[test]
fn a_request_allocates_a_few_times() {
    let reads = [
        ("/mesh/post/1", "{ post id title }"),
        ("/mesh/post/1", NESTED),
        ("/mesh/post", "{ post id title }"),
    ];
    // The allocations are for the headers of the reply, the request id, the tag and the body. Relations add none, and
    // the cursors of a page add two.
    assert_eq!(reads.map(|(path, query)| least(path, query).0), [7, 7, 9]);
    // A later page adds its text, the key of its plan, and the bytes and values of its cursor.
    assert_eq!(least("/mesh/post", &later_page()).0, 14);
    // Bodies from the response cache add none.
    let cached = Blog::new(1 << 20);
    assert_eq!(reads.map(|(path, query)| cached.count(path, query).0), [5, 5, 5]);
}

#[test]
fn a_parameter_allocates_a_few_times() {
    let query = |value: &str| {
        format!(
            r#"{{"post":{{"$select":{{"id":true}},"$where":{{"field":"id","op":"eq","value":{value}}}}}}}"#
        )
    };
    let (literal, _) = least("/mesh/post", &query("7"));
    let of_params = || {
        let count = Blog::new(0).count_with("/mesh/post", &query(r#"{"$param":"id"}"#), Some(r#"{"id":7}"#));
        count.0
    };
    let parameter = (0..5).map(|_| of_params()).min().unwrap();
    // A parameter adds the header's text, its name and value, the name of the column, and the list of inputs.
    assert!(parameter <= literal + 10, "{literal} with a literal, {parameter} with a parameter");
}
