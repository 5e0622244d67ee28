//! A served database, and exports of it. The tests of the back ends for database servers include this file.

use std::sync::Arc;
use std::time::{Duration, Instant};

use mesh_backend::backend::Backend;
use mesh_plan::backend::{Export, ExportFormat, ExportSink};
use mesh_plan::{BoxFuture, Context, Error, Mesh, Request, ResolveError};
use mesh_ql::Format;
use mesh_schema::Schema;
use mesh_tests::PATIENCE;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// Creates the tables of a blog; `$assigned` makes the database assign the ids of posts, from 4 on.
macro_rules! blog {
    ($assigned:literal) => {
        concat!(
            "
CREATE TABLE users (
    id integer PRIMARY KEY, name varchar(100) NOT NULL, email varchar(100) UNIQUE, manager_id integer,
    FOREIGN KEY (manager_id) REFERENCES users (id)
);
CREATE TABLE posts (
    id bigint ",
            $assigned,
            " PRIMARY KEY, title varchar(100) NOT NULL, likes integer, author_id integer NOT NULL,
    FOREIGN KEY (author_id) REFERENCES users (id)
);
CREATE TABLE comments (
    id integer PRIMARY KEY, body text NOT NULL, post_id bigint NOT NULL, FOREIGN KEY (post_id) REFERENCES posts (id)
);
CREATE TABLE tags (id integer PRIMARY KEY, label varchar(20) NOT NULL);
CREATE TABLE post_tags (
    post_id bigint NOT NULL, tag_id integer NOT NULL, PRIMARY KEY (post_id, tag_id),
    FOREIGN KEY (post_id) REFERENCES posts (id), FOREIGN KEY (tag_id) REFERENCES tags (id)
);
INSERT INTO users VALUES (1, 'Ada', 'ada@example.org', NULL), (2, 'Bo', NULL, 1), (3, 'Cy', NULL, 1);
INSERT INTO posts VALUES (1, 'Dawn', 5, 1), (2, 'Bread', 7, 2), (3, 'Map', NULL, 2);
INSERT INTO comments VALUES (1, 'first', 1), (2, 'second', 1), (3, 'yes', 2);
INSERT INTO tags VALUES (1, 'code'), (2, 'food');
INSERT INTO post_tags VALUES (1, 1), (1, 2), (2, 2);
"
        )
    };
}
pub(crate) use blog;

/// A served database.
pub(crate) struct Served<D> {
    pub(crate) database: D,
    pub(crate) mesh: Arc<Mesh>,
}

impl<D: Backend + Clone> Served<D> {
    /// Serves all tables, with all writes.
    pub(crate) async fn serve(database: D) -> Self {
        let catalog = database.contents(&[]).await.unwrap().catalog;
        let mut document = mesh_schema::infer(&catalog).document;
        let keys: Vec<String> = document.entities.iter().map(|(key, _)| key.to_owned()).collect();
        for key in keys {
            if let Some(entity) = document.entities.get_mut(&key) {
                entity.writable = mesh_schema::Writable::all();
            }
        }
        let schema: Schema = document.load(Some(&catalog)).unwrap();
        let writer = database.open_writer().unwrap();
        let mesh = Mesh::builder(schema).default_shared(Arc::new(database.clone()), Some(writer));
        Self { database, mesh: Arc::new(mesh.build().unwrap()) }
    }

    pub(crate) async fn point(&self, id: &str, query: &str) -> Result<String, Error> {
        self.read(&Request::point(format_of(query), query, id)).await
    }

    pub(crate) async fn collection(&self, query: &str) -> Result<String, Error> {
        self.read(&Request::collection(format_of(query), query)).await
    }

    pub(crate) async fn read(&self, request: &Request<'_>) -> Result<String, Error> {
        let body = self.mesh.read(&self.mesh.plan(request)?, &Context::default()).await?;
        Ok(String::from_utf8(body.bytes.to_vec()).unwrap())
    }

    /// Returns all items of a list, by following its cursors.
    async fn items_of_pages(&self, query: &str) -> Vec<Value> {
        let (mut items, mut after) = (Vec::new(), String::new());
        loop {
            let page = format!(r#","$page":{{"first":200{after}}}}}}}"#);
            let page = query.strip_suffix("}}").unwrap().to_owned() + page.as_str();
            let page: Value = serde_json::from_str(&self.collection(&page).await.unwrap()).unwrap();
            items.extend(page["items"].as_array().unwrap().clone());
            if page["pageInfo"]["hasNextPage"] == false {
                return items;
            }
            after = format!(r#","after":{}"#, page["pageInfo"]["endCursor"]);
        }
    }
}

fn format_of(query: &str) -> Format {
    if query.starts_with("{ ") { Format::Ql } else { Format::Json }
}

/// Waits until a condition holds; fails the test after [`PATIENCE`].
pub(crate) async fn until(what: &str, holds: impl AsyncFn() -> bool) {
    let start = Instant::now();
    while !holds().await {
        assert!(start.elapsed() < PATIENCE, "not within {PATIENCE:?}: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// 1,700 parents, every third without a place, each with none to four children.
pub(crate) const FAMILIES: &str = "
CREATE TABLE parents (id integer PRIMARY KEY, place integer, text text NOT NULL);
CREATE TABLE children (id integer PRIMARY KEY, parent_id integer NOT NULL, FOREIGN KEY (parent_id) REFERENCES parents (id));
CREATE INDEX children_parent ON children (parent_id);
INSERT INTO parents WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 99)
    SELECT i, CASE WHEN i % 3 > 0 THEN i % 7 END, repeat('x', 1000)
    FROM (SELECT hundreds.i * 100 + n.i + 1 AS i FROM n AS hundreds, n WHERE hundreds.i < 17) numbers;
INSERT INTO children WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 4)
    SELECT parents.id * 10 + n.i, parents.id FROM parents, n WHERE n.i <= parents.id % 5;
";

const CHANGE: &str =
    "UPDATE parents SET text = 'changed', place = 1; INSERT INTO children SELECT -id, id FROM parents";

struct Channel(mpsc::Sender<Vec<u8>>);

impl ExportSink for Channel {
    fn send(&mut self, piece: Vec<u8>) -> BoxFuture<'_, Result<(), ResolveError>> {
        Box::pin(async move { self.0.send(piece).await.map_err(|_| ResolveError::TimedOut) })
    }
}

type Exporting = (mpsc::Receiver<Vec<u8>>, JoinHandle<Result<u64, ResolveError>>);

fn export<D>(served: &Served<D>, query: &str, context: Context) -> Exporting {
    let (sender, pieces) = mpsc::channel(1);
    let export = Export::new(ExportFormat::Ndjson, Channel(sender));
    let plan = served.mesh.plan(&Request::collection(Format::Json, query).exported()).unwrap();
    let mesh = Arc::clone(&served.mesh);
    (pieces, tokio::spawn(async move { mesh.export(&plan, &context, export).await }))
}

async fn items((mut pieces, task): Exporting, mut text: Vec<u8>) -> Vec<Value> {
    while let Some(piece) = pieces.recv().await {
        text.extend(piece);
    }
    let text = String::from_utf8(text).unwrap();
    let items: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(task.await.unwrap().unwrap(), items.len() as u64);
    items
}

/// Checks that exports of [`FAMILIES`] have the items of all pages, whatever is written meanwhile. `execute` runs statements.
pub(crate) async fn exports_have_the_items_of_all_pages_in_one_snapshot<D: Backend + Clone>(
    served: &Served<D>,
    execute: impl Fn(&str),
) {
    for query in [
        r#"{"parent":{"$select":{"id":true,"text":true}}}"#,
        r#"{"parent":{"$select":{"id":true,"text":true,"children":{"$select":{"id":true}}},
            "$orderBy":[{"field":"place","direction":"asc"}]}}"#,
        r#"{"parent":{"$select":{"id":true,"text":true,"children":{"$select":{"id":true}}},
            "$orderBy":[{"field":"place","direction":"desc"}],"$where":{"field":"id","op":"gt","value":200}}}"#,
        r#"{"child":{"$select":{"id":true,"parent":{"$select":{"text":true}}}}}"#,
        r#"{"parent":{"$select":{"id":true,"children":{"$select":{"id":true}}},"$where":{"field":"id","op":"lt","value":0}}}"#,
    ] {
        let expected = served.items_of_pages(query).await;
        let mut exporting = export(served, query, Context::new("test"));
        let first = exporting.0.recv().await.unwrap_or_default();
        execute(CHANGE);
        assert_eq!(items(exporting, first).await, expected, "{query}");
        execute("DROP TABLE children; DROP TABLE parents");
        execute(FAMILIES);
    }
}

/// Checks that exports end whose reader is gone or late, and that none keeps its connection.
pub(crate) async fn an_export_whose_reader_is_gone_or_late_ends<D: Backend + Clone>(served: &Served<D>) {
    let query = r#"{"parent":{"$select":{"id":true,"text":true}}}"#;
    // The connection of an export is one more than the settings allow, so it is closed.
    let idle = served.database.usage().idle;
    items(export(served, query, Context::new("test")), Vec::new()).await;
    assert_eq!(served.database.usage().idle, idle);
    let (mut pieces, task) = export(served, query, Context::new("test"));
    pieces.recv().await.unwrap();
    drop(pieces);
    assert!(matches!(task.await.unwrap(), Err(ResolveError::TimedOut)));

    let context = Context::new("test").with_deadline(Instant::now() + Duration::from_millis(300));
    let (mut pieces, task) = export(served, query, context);
    pieces.recv().await.unwrap();
    assert!(
        matches!(task.await.unwrap(), Err(ResolveError::TimedOut)),
        "the second piece was not read in time"
    );
}
