//! Writes and their failures.

use mesh_plan::error::Rule;
use mesh_plan::{Context, Error, Fields, RecordId, WriteError, WriteRequest, WriteTarget};
use mesh_tests::MariaDb;

use super::{BLOG, REFRESH, Served, until};
use crate::Settings;

impl Served {
    /// Executes a write, and returns the id of the record with the reply.
    pub(super) async fn write(&self, target: WriteTarget<'_>, body: &str) -> Result<(String, String), Error> {
        let fields = Fields::parse(body.as_bytes()).unwrap();
        let mut request = WriteRequest::new(target);
        if body != "{}" || matches!(target, WriteTarget::Create { .. }) {
            request = request.with_fields(&fields);
        }
        let written = self.mesh.write(self.mesh.plan_write(&request)?, &Context::default()).await;
        let reply = written.into_result()?;
        let body = reply.body.unwrap().map(|body| String::from_utf8(body.bytes.to_vec()).unwrap());
        Ok((reply.id, body.unwrap_or_default()))
    }
}

fn id(id: &str) -> RecordId<'_> {
    RecordId::Text(id)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn violated_rules_name_their_fields() {
    let Some(server) = MariaDb::start() else { return };
    server.execute(BLOG);
    server.execute("ALTER TABLE posts ADD CONSTRAINT positive CHECK (likes >= 0)");
    let served = Served::open(&server, &Settings::default()).await;
    let conflict = async |target: WriteTarget<'_>, body: &str| match served.write(target, body).await {
        Err(Error::Write(WriteError::Conflict { rule, fields, .. })) => (rule, fields.join(",")),
        other => panic!("{body}: {other:?}"),
    };
    let (user, post) = (WriteTarget::Create { entity: "user" }, WriteTarget::Create { entity: "post" });
    let named = |rule, fields: &str| (rule, fields.to_owned());
    let email = r#"{"id": 7, "name": "x", "email": "ada@example.org"}"#;
    assert_eq!(conflict(user, email).await, named(Rule::Unique, "email"));
    assert_eq!(conflict(user, r#"{"id": 1, "name": "x"}"#).await, named(Rule::Unique, "id"));
    assert_eq!(conflict(user, r#"{"id": 8}"#).await, named(Rule::Required, "name"));
    let author = r#"{"title": "x", "authorId": 99}"#;
    assert_eq!(conflict(post, author).await, named(Rule::Reference, "authorId"));
    let likes = r#"{"title": "x", "authorId": 1, "likes": -1}"#;
    assert_eq!(conflict(post, likes).await, named(Rule::Check, "likes"));
    let delete = WriteTarget::Delete { entity: "user", id: id("1") };
    assert_eq!(conflict(delete, "{}").await, named(Rule::Reference, ""));
    let long = format!(r#"{{"title": "{}", "authorId": 1}}"#, "x".repeat(200));
    let error = served.write(post, &long).await.unwrap_err();
    assert!(error.to_string().contains("'title' takes at most 100 characters"), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_that_loses_a_deadlock_is_tried_again() {
    let Some(server) = MariaDb::start() else { return };
    server.execute(BLOG);
    server.execute(
        "CREATE TRIGGER counted AFTER UPDATE ON users FOR EACH ROW UPDATE posts SET likes = likes + 1 WHERE id = 1",
    );
    let served = Served::open(&server, &Settings::default()).await;
    let mut other = served.database.writes.take(false).await.unwrap();
    other.begin("START TRANSACTION").await.unwrap();
    // The database ends the transaction that has written less.
    other.execute("INSERT INTO comments SELECT seq + 100, 'x', 1 FROM seq_1_to_100").await.unwrap();
    other.execute("UPDATE posts SET likes = 20 WHERE id = 1").await.unwrap();
    let rename = async {
        let update = WriteTarget::Update { entity: "user", id: id("1") };
        served.write(update, r#"{"name": "Ada L."}"#).await
    };
    let cross = async {
        let waiting = format!(
            "{REFRESH}; SELECT COUNT(*) FROM information_schema.INNODB_TRX WHERE trx_state = 'LOCK WAIT'"
        );
        until("the write waits", async || server.query(&waiting).as_deref() == Some("1")).await;
        other.execute("UPDATE users SET email = 'x' WHERE id = 1").await.unwrap();
        other.end("COMMIT").await.unwrap();
    };
    let (renamed, ()) = tokio::join!(rename, cross);
    assert_eq!(renamed.unwrap().0, "1");
    let written =
        server.query("SELECT name, email, likes FROM users, posts WHERE users.id = 1 AND posts.id = 1");
    // Both statements of the users count.
    assert_eq!(written.as_deref(), Some("Ada L.\tx\t22"));
}
