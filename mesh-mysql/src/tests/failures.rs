//! Servers of the database that fail and recover.

use std::time::{Duration, Instant};

use mesh_plan::{Context, Error, Fields, RecordId, ResolveError, WriteError, WriteRequest, WriteTarget};
use mesh_tests::MariaDb;

use super::{BLOG, REFRESH, Served, until};
use crate::{Database, Settings};

/// Returns the update of a post.
async fn update(served: &Served, likes: u8) -> Result<(), WriteError> {
    let target = WriteTarget::Update { entity: "post", id: RecordId::Text("1") };
    match served.write(target, &format!(r#"{{"likes": {likes}}}"#)).await {
        Ok(_) => Ok(()),
        Err(Error::Write(error)) => Err(error),
        Err(error) => panic!("{error}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reads_continue_after_the_server_has_failed() {
    let Some(mut server) = MariaDb::start() else { return };
    server.execute(BLOG);
    let served = Served::open(&server, &Settings::default()).await;
    let read = async || served.point("1", "{ post title }").await;
    assert_eq!(read().await.unwrap(), r#"{"title":"Dawn"}"#);
    server.kill();
    let failed = read().await;
    assert!(matches!(failed, Err(Error::Resolve(ResolveError::Busy))), "{failed:?}");
    let failed = update(&served, 9).await;
    assert!(matches!(failed, Err(WriteError::Failed(ResolveError::Busy))), "{failed:?}");
    server.start_server();
    until("reads are answered again", async || read().await.is_ok()).await;
    update(&served, 9).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_that_the_server_has_ended_is_replaced() {
    let Some(server) = MariaDb::start() else { return };
    server.execute(BLOG);
    let served = Served::open(&server, &Settings::default()).await;
    let read = async || served.point("1", "{ post title }").await;
    read().await.unwrap();
    update(&served, 6).await.unwrap();
    let sessions = "SELECT GROUP_CONCAT(CONCAT('KILL ', ID) SEPARATOR ';') FROM information_schema.PROCESSLIST \
                    WHERE DB = 'mesh' AND ID <> CONNECTION_ID()";
    server.execute(&server.query(sessions).unwrap());
    assert_eq!(read().await.unwrap(), r#"{"title":"Dawn"}"#, "the read is run again");
    update(&served, 7).await.unwrap();
    assert_eq!(served.point("1", "{ post likes }").await.unwrap(), r#"{"likes":7}"#);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_cannot_be_written_is_unavailable() {
    let Some(server) = MariaDb::start() else { return };
    server.execute(BLOG);
    server.execute(
        "SET max_heap_table_size = 16384;
        CREATE TABLE full (id int PRIMARY KEY AUTO_INCREMENT, text varchar(1000)) ENGINE = MEMORY;
        CREATE USER app@localhost; GRANT ALL ON mesh.* TO app@localhost",
    );
    let served = Served::open_at(&server.url().replace("root@", "app@"), &Settings::default()).await;
    let create =
        async |entity: &str, body: &str| match served.write(WriteTarget::Create { entity }, body).await {
            Ok(_) => Ok(()),
            Err(Error::Write(error)) => Err(error),
            Err(error) => panic!("{error}"),
        };
    let text = format!(r#"{{"text": "{}"}}"#, "x".repeat(1000));
    let mut filled = Ok(());
    for _ in 0..100 {
        filled = filled.and(create("full", &text).await);
    }
    assert!(matches!(filled, Err(WriteError::Failed(ResolveError::Busy))), "{filled:?}");

    let user = r#"{"id": 7, "name": "x"}"#;
    server.execute("SET GLOBAL read_only = 1");
    let refused = create("user", user).await;
    assert!(matches!(refused, Err(WriteError::Failed(ResolveError::Busy))), "{refused:?}");
    assert!(served.point("1", "{ user name }").await.is_ok(), "reads go on");
    server.execute("SET GLOBAL read_only = 0");
    create("user", user).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_that_waits_for_a_lock_ends_at_its_deadline() {
    let Some(server) = MariaDb::start() else { return };
    server.execute(BLOG);
    let served = Served::open(&server, &Settings::default()).await;
    let mut other = served.database.writes.take(false).await.unwrap();
    other.begin("START TRANSACTION").await.unwrap();
    other.execute("UPDATE posts SET likes = 1 WHERE id = 1").await.unwrap();
    let fields = Fields::parse(br#"{"likes": 2}"#).unwrap();
    let target = WriteTarget::Update { entity: "post", id: RecordId::Text("1") };
    let write = served.mesh.plan_write(&WriteRequest::new(target).with_fields(&fields)).unwrap();
    let context = Context::default().with_deadline(Instant::now() + Duration::from_millis(300));
    let waited = served.mesh.write(write, &context).await.into_result();
    assert!(
        matches!(waited, Err(Error::Write(WriteError::Failed(ResolveError::TimedOut)))),
        "{:?}",
        waited.err()
    );
    let waiting = format!("{REFRESH}; SELECT COUNT(*) FROM information_schema.INNODB_TRX");
    until("its transaction has ended", async || server.query(&waiting).as_deref() == Some("1")).await;
    other.end("ROLLBACK").await.unwrap();
    drop(other);
    assert_eq!(server.query("SELECT likes FROM posts WHERE id = 1").as_deref(), Some("5"));
    until("all slots are free", async || {
        served.database.writes.usage().free == Settings::default().connections
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_whose_row_stays_locked_is_unavailable() {
    let Some(server) = MariaDb::start() else { return };
    server.execute(BLOG);
    let served = Served::open(&server, &Settings::default()).await;
    let mut other = served.database.writes.take(false).await.unwrap();
    // The connection of the next write, which is the only idle one.
    let mut next = served.database.writes.take(false).await.unwrap();
    next.execute("SET SESSION innodb_lock_wait_timeout = 1").await.unwrap();
    drop(next);
    other.begin("START TRANSACTION").await.unwrap();
    other.execute("UPDATE posts SET likes = 1 WHERE id = 1").await.unwrap();
    let locked = update(&served, 2).await;
    assert!(matches!(locked, Err(WriteError::Failed(ResolveError::Busy))), "{locked:?}");
    other.end("COMMIT").await.unwrap();
    update(&served, 3).await.unwrap();
    assert_eq!(server.query("SELECT likes FROM posts WHERE id = 1").as_deref(), Some("3"));
}

#[tokio::test]
async fn a_server_of_another_product_is_refused() {
    let Some(server) = MariaDb::start_with(&["--version=8.0.36"]) else { return };
    let refused =
        Database::connect(&server.url(), &Settings::default()).await.map(drop).unwrap_err().to_string();
    assert!(refused.contains("MySQL 8.0.36, and only MariaDB (10.6 or later) is supported"), "{refused}");
}
