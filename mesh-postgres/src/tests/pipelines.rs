//! Statements of a write that are sent without waiting for the results of earlier ones.

use std::sync::Arc;

use mesh_plan::mutation::WriteReply;
use mesh_plan::policy::{Access, Condition, Principal, SessionValue};
use mesh_plan::{Context, Error, Fields, Mesh, RecordId, WriteError, WriteRequest, WriteTarget};
use mesh_ql::Format;
use mesh_schema::Entity;

use super::{BLOG, Cluster, Served};
use crate::Settings;

const QUERY: &str = "{ user id name }";

async fn write(
    mesh: &Mesh,
    target: WriteTarget<'_>,
    body: &str,
    who: Option<&Principal>,
) -> Result<WriteReply, Error> {
    let fields = Fields::parse(body.as_bytes()).unwrap();
    let mut request = WriteRequest::new(target).with_fields(&fields).with_principal(who);
    if let WriteTarget::Update { .. } = target {
        request = request.with_reply((Format::Ql, QUERY));
    }
    mesh.write(mesh.plan_write(&request)?, &Context::default()).await.into_result()
}

fn body(reply: WriteReply) -> String {
    String::from_utf8(reply.body.unwrap().unwrap().bytes.to_vec()).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_after_a_failed_check_has_no_effect() {
    let Some(cluster) = Cluster::start() else { return };
    cluster.execute(BLOG);
    let served = Served::open(&cluster, &Settings::default()).await;
    cluster.execute("ALTER TABLE posts ALTER author_id DROP NOT NULL");
    let posts =
        |id: &'static str| WriteTarget::Attach { entity: "user", id: RecordId::Text(id), relation: "posts" };
    for round in 0..3 {
        // The check decides, even if the write fails too.
        for refused in [r#"{"title": "x"}"#, r#"{"id": 1, "title": "x"}"#] {
            let failed = write(&served.mesh, posts("9"), refused, None).await.unwrap_err();
            assert!(matches!(failed, Error::Write(WriteError::NotFound { .. })), "{failed:?} {round}");
        }
        let failed = write(&served.mesh, posts("1"), r#"{"id": 1, "title": "x"}"#, None).await.unwrap_err();
        assert!(matches!(failed, Error::Write(WriteError::Conflict { .. })), "{failed:?} {round}");
    }
    assert_eq!(cluster.query("SELECT count(*) FROM posts").as_deref(), Some("3"));
    write(&served.mesh, posts("1"), r#"{"title": "x"}"#, None).await.unwrap();
    assert_eq!(cluster.query("SELECT count(*) FROM posts WHERE author_id = 1").as_deref(), Some("2"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_reply_shows_its_own_write() {
    let Some(cluster) = Cluster::start() else { return };
    cluster.execute(BLOG);
    let served = Arc::new(Served::open(&cluster, &Settings::default()).await);
    let writers = (1..=3).map(|id| {
        let served = Arc::clone(&served);
        tokio::spawn(async move {
            let id = id.to_string();
            for round in 0..20 {
                let target = WriteTarget::Update { entity: "user", id: RecordId::Text(&id) };
                let reply = write(&served.mesh, target, &format!(r#"{{"name": "{round}"}}"#), None).await;
                assert_eq!(body(reply.unwrap()), format!(r#"{{"id":{id},"name":"{round}"}}"#));
            }
        })
    });
    for writer in writers.collect::<Vec<_>>() {
        writer.await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_record_that_gets_another_id_is_checked_by_that() {
    let Some(cluster) = Cluster::start() else { return };
    cluster.execute(BLOG);
    cluster.execute(
        "CREATE FUNCTION moved() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.id = NEW.id + 100; RETURN NEW; END';
         CREATE TRIGGER moved BEFORE UPDATE ON users FOR EACH ROW EXECUTE FUNCTION moved()",
    );
    let served = Served::open(&cluster, &Settings::default()).await;
    let policy = |_: &str, entity: &Entity| match entity.key.as_str() {
        "user" => Access::all().when(Condition::equal("managerId", SessionValue::UserId)),
        _ => Access::all(),
    };
    let mesh = Mesh::builder(served.mesh.schema().clone())
        .default_resolver(served.database.clone())
        .default_mutator(served.database.writer())
        .policy(policy)
        .build()
        .unwrap();
    let who = Principal::new("1", "s").with_role("x");
    let update = |id: &'static str| WriteTarget::Update { entity: "user", id: RecordId::Text(id) };
    let reply = write(&mesh, update("3"), r#"{"name": "y"}"#, Some(&who)).await.unwrap();
    assert_eq!(body(reply), r#"{"id":103,"name":"y"}"#);
    let failed = write(&mesh, update("103"), r#"{"managerId": 2}"#, Some(&who)).await.unwrap_err();
    assert!(matches!(failed, Error::Write(WriteError::Refused(_))), "{failed:?}");
    assert_eq!(cluster.query("SELECT manager_id FROM users WHERE name = 'y'").as_deref(), Some("1"));
}
