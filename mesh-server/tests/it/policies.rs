//! Policies over SQL and over tables in memory, for reads and writes.

mod conditions;
mod signed_writes;

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use mesh_ql::Format;
use mesh_server::App;
use mesh_server::mesh_plan::memory::Tables;
use mesh_server::mesh_plan::policy::{Access, Condition, Operand, Policy, SessionValue};
use mesh_server::mesh_plan::{
    Context, Error, Fields, Mesh, MeshBuilder, Principal, RecordId, Request, Value, WriteError, WriteRequest,
    WriteTarget,
};
use mesh_server::mesh_schema::{Entity, FieldType, JoinDocument, Schema, ThroughDocument};
use mesh_server::mesh_wire::base64;
use mesh_sqlite::Database;

/// A folder, removed on drop.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("mesh-policy-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let folder = std::env::temp_dir().join(name);
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Id, title, whether it is published, owner, tenant.
type Post = (i64, &'static str, bool, Option<i64>, Option<&'static str>);

const POSTS: [Post; 7] = [
    (1, "a", true, Some(1), Some("red")),
    (2, "b", false, Some(1), Some("red")),
    (3, "c", true, Some(2), None),
    (4, "d", false, Some(2), Some("blue")),
    (5, "e", true, None, Some("blue")),
    (6, "f", false, None, Some("red")),
    (7, "g", true, Some(3), Some("1")),
];
const USERS: [(i64, &str, Option<i64>); 3] = [(1, "Ada", Some(2)), (2, "Bo", Some(1)), (3, "Cy", None)];
const LIKES: [(i64, i64); 6] = [(1, 2), (1, 3), (1, 4), (2, 1), (2, 6), (3, 7)];

fn schema() -> Schema {
    Schema::builder()
        .entity("post", |post| {
            post.field("id", FieldType::Integer)
                .field("title", FieldType::String)
                .field("published", FieldType::Boolean)
                .field("ownerId", FieldType::Integer)
                .field("tenant", FieldType::String)
                .writable()
        })
        .entity("user", |user| {
            user.field("id", FieldType::Integer)
                .field("name", FieldType::String)
                .field("bossId", FieldType::Integer)
                .writable()
        })
        .relation("post.owner", JoinDocument::one("user", "users.id = posts.ownerId"))
        .relation("user.posts", JoinDocument::many("post", "posts.ownerId = users.id"))
        .relation("user.boss", JoinDocument::one("user", "users.id = users.bossId"))
        .relation(
            "user.liked",
            JoinDocument::through("post", ThroughDocument::new("likes", "userId", "postId")),
        )
        .build()
        .unwrap()
}

fn tables() -> Tables {
    let posts = POSTS.map(|(id, title, published, owner, tenant)| {
        vec![id.into(), title.into(), published.into(), owner.into(), tenant.into()]
    });
    Tables::new()
        .with("posts", ["id", "title", "published", "ownerId", "tenant"], posts)
        .with(
            "users",
            ["id", "name", "bossId"],
            USERS.map(|(id, name, boss)| vec![id.into(), name.into(), boss.into()]),
        )
        .with("likes", ["userId", "postId"], LIKES.map(|(user, post)| vec![Value::from(user), post.into()]))
}

fn sqlite(folder: &Folder) -> Database {
    let path = folder.0.join("data.db");
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection
        .execute_batch(
            "CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT, bossId INTEGER);
             CREATE TABLE posts (id INTEGER PRIMARY KEY, title TEXT, published BOOLEAN, ownerId INTEGER, tenant TEXT);
             CREATE TABLE likes (userId INTEGER, postId INTEGER, PRIMARY KEY (userId, postId));",
        )
        .unwrap();
    for user in USERS {
        connection.execute("INSERT INTO users VALUES (?, ?, ?)", user).unwrap();
    }
    for post in POSTS {
        connection.execute("INSERT INTO posts VALUES (?, ?, ?, ?, ?)", post).unwrap();
    }
    for like in LIKES {
        connection.execute("INSERT INTO likes VALUES (?, ?)", like).unwrap();
    }
    Database::open(&path).unwrap()
}

fn policy(role: &str, entity: &Entity) -> Access {
    let own = || Condition::equal("ownerId", SessionValue::UserId);
    let post = match role {
        "author" => own(),
        "other" => Condition::Not(Box::new(own())),
        "tenant" => Condition::Any(vec![Condition::equal("tenant", SessionValue::Tenant), own()]),
        "later" => Condition::field("id", mesh_ql::FilterOp::Gte, SessionValue::UserId),
        "few" => Condition::field(
            "id",
            mesh_ql::FilterOp::In,
            Operand::Many([2, 4, 6].map(mesh_ql::Literal::Integer).to_vec()),
        ),
        "admin" => return Access::all(),
        _ => Condition::equal("published", true),
    };
    match entity.key.as_str() {
        "post" => Access::all().when(post),
        "user" if role == "author" => Access::all().when(Condition::equal("id", SessionValue::UserId)),
        _ => Access::all(),
    }
}

fn people() -> Vec<Option<Principal>> {
    let of = |role: &str, user: &str| Principal::new(user, "s").with_role(role);
    vec![
        None,
        Some(of("admin", "1")),
        Some(of("author", "1")),
        Some(of("author", "2")),
        Some(of("author", "nobody")),
        Some(of("author", "1 OR 1=1")),
        Some(of("other", "1")),
        Some(of("tenant", "2")),
        Some(of("tenant", "2").with_tenant("red")),
        Some(of("tenant", "9").with_tenant("1")),
        Some(of("later", "4")),
        Some(of("few", "1")),
    ]
}

const LISTS: [&str; 9] = [
    r#"{"post":{"$select":{"id":true,"owner":{"$select":{"name":true}}}}}"#,
    r#"{"post":{"$select":{"id":true},"$where":{"or":[{"field":"id","op":"gt","value":3},{"field":"tenant","op":"isNull"}]}}}"#,
    r#"{"post":{"$select":{"id":true},"$orderBy":[{"field":"title","direction":"desc"}],"$page":{"first":2}}}"#,
    r#"{"user":{"$select":{"name":true,"posts":{"$select":{"id":true}},"liked":{"$select":{"title":true}},"boss":{"$select":{"name":true}}}}}"#,
    r#"{"user":{"$select":{"posts":{"$select":{"id":true},"$page":{"first":1},"$where":{"field":"id","op":"ne","value":1}}}}}"#,
    r#"{"post":{"$select":{},"$aggregate":{"n":{"fn":"count"},"last":{"fn":"max","field":"title"}}}}"#,
    r#"{"post":{"$select":{"tenant":true},"$groupBy":["tenant"],"$aggregate":{"n":{"fn":"count"}},"$orderBy":[{"aggregate":"n","direction":"desc"}]}}"#,
    r#"{"post":{"$select":{"ownerId":true},"$distinct":["ownerId"]}}"#,
    r#"{"post":{"$select":{"tenant":true},"$groupBy":["tenant"],"$having":{"field":"tenant","op":"isNotNull"}}}"#,
];

async fn read(mesh: &Mesh, who: Option<&Principal>, query: &str, id: Option<&str>) -> String {
    let request = match id {
        Some(id) => Request::point(Format::Json, query, id),
        None => Request::collection(Format::Json, query),
    };
    let plan = mesh.plan(&request.with_principal(who)).unwrap();
    String::from_utf8(mesh.read(&plan, &Context::default()).await.unwrap().bytes.to_vec()).unwrap()
}

#[tokio::test]
async fn sql_and_memory_return_equal_bodies() {
    let folder = Folder::new();
    let build = |mesh: MeshBuilder| mesh.policy(policy).build().unwrap();
    let memory = build(Mesh::builder(schema()).default_resolver(tables()));
    let sql = build(Mesh::builder(schema()).default_resolver(sqlite(&folder)));
    let mut shown = 0;
    for who in people() {
        for query in LISTS {
            let expected = read(&memory, who.as_ref(), query, None).await;
            // Twice: the second run uses the cached plan and statements.
            for _ in 0..2 {
                assert_eq!(read(&sql, who.as_ref(), query, None).await, expected, "{who:?} {query}");
            }
            shown += usize::from(!expected.starts_with(r#"{"items":[]"#));
        }
        for id in 1..=7 {
            let (id, query) = (id.to_string(), r#"{"post":{"$select":{"id":true,"tenant":true}}}"#);
            let expected = read(&memory, who.as_ref(), query, Some(&id)).await;
            assert_eq!(read(&sql, who.as_ref(), query, Some(&id)).await, expected, "{who:?} {id}");
            shown += usize::from(expected != "null");
        }
    }
    assert!(shown > 90, "most of the cases show something: {shown}");
    let author = Principal::new("2", "s").with_role("author");
    let posts = read(&sql, Some(&author), r#"{"post":{"$select":{"id":true}}}"#, None).await;
    assert!(posts.starts_with(r#"{"items":[{"id":3},{"id":4}]"#), "{posts}");
}

struct Desk {
    mesh: Mesh,
    _folder: Folder,
}

impl Desk {
    fn new() -> Self {
        let folder = Folder::new();
        let database = sqlite(&folder);
        let writer = database.writer().unwrap();
        let mesh = Mesh::builder(schema())
            .default_resolver(database)
            .default_mutator(writer)
            .policy(policy)
            .build()
            .unwrap();
        Self { mesh, _folder: folder }
    }

    async fn write(&self, who: &Principal, target: WriteTarget<'_>, body: &str) -> Result<String, Error> {
        let fields = Fields::parse(body.as_bytes()).unwrap();
        let request = WriteRequest::new(target).with_fields(&fields).with_principal(Some(who));
        let mutation = self.mesh.plan_write(&request)?;
        let reply = self.mesh.write(mutation, &Context::default()).await.into_result()?;
        Ok(reply
            .body
            .unwrap()
            .map(|body| String::from_utf8(body.bytes.to_vec()).unwrap())
            .unwrap_or_default())
    }

    async fn title(&self, id: &str) -> String {
        let admin = Principal::new("1", "s").with_role("admin");
        read(&self.mesh, Some(&admin), r#"{"post":{"$select":{"title":true}}}"#, Some(id)).await
    }
}

fn update(id: &str) -> WriteTarget<'_> {
    WriteTarget::Update { entity: "post", id: id.into() }
}

#[tokio::test]
async fn records_of_others_cannot_be_written() {
    let desk = Desk::new();
    let ada = Principal::new("1", "s").with_role("author");
    let missing =
        |result: Result<String, Error>| matches!(result, Err(Error::Write(WriteError::NotFound { .. })));
    let new = r#"{"title": "new"}"#;
    assert!(desk.write(&ada, update("1"), new).await.unwrap().contains(r#""title":"new""#));
    assert_eq!(desk.title("1").await, r#"{"title":"new"}"#);
    for id in ["3", "5", "99"] {
        assert!(missing(desk.write(&ada, update(id), new).await), "{id}");
        assert!(
            missing(desk.write(&ada, WriteTarget::Delete { entity: "post", id: id.into() }, "{}").await),
            "{id}"
        );
    }
    assert_eq!(desk.title("3").await, r#"{"title":"c"}"#);
    // Another principal's user does not exist, so it has no posts.
    let child = WriteTarget::Attach { entity: "user", id: RecordId::Text("2"), relation: "posts" };
    assert!(missing(desk.write(&ada, child, new).await));
    let child = WriteTarget::Attach { entity: "user", id: RecordId::Text("1"), relation: "posts" };
    assert!(desk.write(&ada, child, new).await.is_ok());
}

#[tokio::test]
async fn writes_cannot_hide_records_from_their_writer() {
    let desk = Desk::new();
    let ada = Principal::new("1", "s").with_role("author");
    let refused = |result: Result<String, Error>| match result {
        Err(Error::Write(error @ WriteError::Refused(_))) => error.to_string(),
        other => panic!("{other:?}"),
    };
    refused(desk.write(&ada, update("1"), r#"{"ownerId": 2}"#).await);
    refused(
        desk.write(&ada, WriteTarget::Create { entity: "post" }, r#"{"title": "x", "ownerId": 2}"#).await,
    );
    refused(desk.write(&ada, WriteTarget::Create { entity: "post" }, r#"{"title": "x"}"#).await);
    assert!(
        desk.write(&ada, WriteTarget::Create { entity: "post" }, r#"{"title": "x", "ownerId": 1}"#)
            .await
            .is_ok()
    );
    let count = r#"{"post":{"$select":{},"$aggregate":{"n":{"fn":"count"}}}}"#;
    let admin = Principal::new("1", "s").with_role("admin");
    assert!(
        read(&desk.mesh, Some(&admin), count, None).await.contains(r#"{"n":8}"#),
        "nothing is half there"
    );
    assert_eq!(desk.title("1").await, r#"{"title":"a"}"#);
}

#[tokio::test]
async fn a_policy_that_does_not_fit_is_a_server_error() {
    /// A policy that is invalid for a class, which it returns only after the application is built.
    struct LateClass(Arc<AtomicBool>);

    impl Policy for LateClass {
        fn class<'p>(&self, _: Option<&'p Principal>) -> Cow<'p, str> {
            if self.0.load(Ordering::Relaxed) { "late".into() } else { "early".into() }
        }

        fn access(&self, class: &str, _: &Entity) -> Access {
            match class {
                "late" => Access::all().when(Condition::equal("salary", SessionValue::UserId)),
                _ => Access::all(),
            }
        }
    }

    let is_late = Arc::new(AtomicBool::new(false));
    let policy = LateClass(Arc::clone(&is_late));
    let mesh = Mesh::builder(schema()).default_resolver(tables()).policy(policy).build().unwrap();
    let app = App::builder(mesh).build().unwrap();
    is_late.store(true, Ordering::Relaxed);
    let query = base64::encode("{ post id }");
    let request =
        http::Request::get("/mesh/post").header("X-Mesh-Query", query).header("X-Mesh-Format", "ql");
    let reply = app.handle(request.body(Full::<Bytes>::default()).unwrap()).await;
    assert_eq!(reply.status(), 500);
    let body = reply.into_body().collect().await.unwrap().to_bytes();
    let body = String::from_utf8_lossy(&body);
    assert!(body.contains("InternalError") && !body.contains("salary"), "{body}");
}
