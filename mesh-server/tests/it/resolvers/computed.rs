//! Computed fields have equal values for all row sources: templates and code, at the root and nested, over SQL and
//! over tables in memory. `SPEC §13.5`

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt as _, Full};
use mesh_server::App;
use mesh_server::mesh_plan::memory::Tables;
use mesh_server::mesh_plan::{Mesh, MeshBuilder, Value};
use mesh_server::mesh_schema::{Document, Schema};
use mesh_server::mesh_wire::base64;
use mesh_sqlite::Database;
use rusqlite::Connection;

const SCHEMA: &str = r#"{
  "entities": {
    "user": {
      "fields": ["id", "first", "last", "born"],
      "types": {"born": "date"},
      "computed": {"sign": {"from": ["first", "born"], "template": "{{{first}}} *{born}"}}
    },
    "post": {"fields": ["id", "title", "likes"]}
  },
  "joins": {
    "post.author": {"entity": "user", "on": "users.id = posts.author_id", "type": "one"},
    "user.posts": {"entity": "post", "on": "posts.author_id = users.id", "type": "many"}
  }
}"#;

fn schema() -> Schema {
    Document::parse(SCHEMA).unwrap().load(None).unwrap()
}

fn app(mesh: MeshBuilder) -> App {
    let mesh = mesh
        .computed("user.name", ["first", "last"], |user| {
            format!("{} {}", user.text("first"), user.text("last")).trim_end().to_owned()
        })
        .computed("post.stars", ["likes"], |post| {
            let likes = post.value("likes").to_value();
            if let Value::Integer(likes) = likes { Value::from(likes * 2) } else { Value::Null }
        });
    App::builder(mesh.build().unwrap()).build().unwrap()
}

async fn read(app: &App, path: &str, query: &str) -> String {
    let request = Request::builder().uri(format!("/mesh/{path}")).header("X-Mesh-Format", "ql");
    let request = request.header("X-Mesh-Query", base64::encode(query));
    let reply = app.handle(request.body(Full::new(Bytes::new())).unwrap()).await;
    let body = reply.into_body().collect().await.unwrap().to_bytes();
    String::from_utf8(body.to_vec()).unwrap()
}

async fn check(app: &App) {
    assert_eq!(
        read(app, "user/1", "{ user name sign posts { title stars } }").await,
        r#"{"name":"Ada","sign":"{Ada} *1815-12-10","posts":[{"title":"One","stars":6},{"title":"Two","stars":null}]}"#
    );
}

#[tokio::test]
async fn computed_fields_over_sql() {
    let file = std::env::temp_dir().join(format!("mesh-computed-{}.db", std::process::id()));
    let _ = std::fs::remove_file(&file);
    let tables = "
        CREATE TABLE users (id INTEGER PRIMARY KEY, first TEXT, last TEXT, born DATE);
        CREATE TABLE posts (id INTEGER PRIMARY KEY, title TEXT, likes INTEGER, author_id INTEGER);
        INSERT INTO users VALUES (1, 'Ada', NULL, '1815-12-10');
        INSERT INTO posts VALUES (1, 'One', 3, 1), (2, 'Two', NULL, 1)";
    Connection::open(&file).unwrap().execute_batch(tables).unwrap();
    let app = app(Mesh::builder(schema()).default_resolver(Database::open(&file).unwrap()));
    check(&app).await;
    assert_eq!(
        read(&app, "post/2", "{ post stars author { sign name } }").await,
        r#"{"stars":null,"author":{"sign":"{Ada} *1815-12-10","name":"Ada"}}"#
    );
    let _ = std::fs::remove_file(&file);
}

#[tokio::test]
async fn computed_fields_over_tables_in_memory() {
    let user = vec![1.into(), "Ada".into(), Value::Null, "1815-12-10".into()];
    let posts = [
        vec![1.into(), "One".into(), 3.into(), 1.into()],
        vec![2.into(), "Two".into(), Value::Null, 1.into()],
    ];
    let tables = Tables::new().with("users", ["id", "first", "last", "born"], [user]).with(
        "posts",
        ["id", "title", "likes", "author_id"],
        posts,
    );
    check(&app(Mesh::builder(schema()).default_resolver(tables))).await;
}
