//! URLs of several hosts, and promotions.

use std::time::Duration;

use mesh_backend::pool::RowBudget;

use super::{BLOG, Cluster, Served, until};
use crate::{Backend as _, Database, Settings};

/// The settings that `pg_rewind` needs.
const REWINDABLE: &[&str] = &["wal_log_hints = on", "wal_keep_size = 64MB"];
const NAME: &str = "{ user name }";

fn settings() -> Settings {
    Settings { wait: Duration::from_millis(500), ..Settings::default() }
}

async fn error_of(url: &str) -> String {
    let opened = Database::connect(url, &Settings::default()).await;
    opened.err().map(|error| error.to_string()).unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn target_session_attrs_chooses_the_host() {
    let Some(primary) = Cluster::start() else { return };
    primary.execute(BLOG);
    let standby = primary.replica();
    primary.wait_for_replica(&standby);
    let url = |attrs: &str| Cluster::url_of(&[&standby, &primary], &format!("target_session_attrs={attrs}"));
    for (attrs, is_standby) in [
        ("any", true),
        ("read-write", false),
        ("primary", false),
        ("standby", true),
        ("read-only", true),
        ("prefer-standby", true),
    ] {
        let database = Database::connect(&url(attrs), &Settings::default()).await.unwrap();
        let rows = database.pool.read("SELECT pg_is_in_recovery()", &[], RowBudget::UNLIMITED).await.unwrap();
        assert_eq!(rows[0].get::<_, bool>(0), is_standby, "{attrs}");
        let created = database.pool.execute("CREATE TABLE public.t ()").await.unwrap_err().to_string();
        assert!(created.contains("read-only transaction"), "{attrs}: {created}");
        let created = database.writes.execute("CREATE TABLE public.t (); DROP TABLE public.t").await;
        assert_eq!(created.is_ok(), !is_standby, "{attrs}: {created:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn errors_name_each_host_and_why_it_does_not_fit() {
    let Some(mut primary) = Cluster::start() else { return };
    primary.execute(BLOG);
    let standby = primary.replica();
    let params = "target_session_attrs=read-write";
    let only_standby = Cluster::url_of(&[&standby], params);
    let error = error_of(&only_standby).await;
    assert!(error.contains("fits target_session_attrs=read-write: /"), "{error}");
    assert!(error.ends_with(":5432: it is a standby"), "{error}");

    // A host that does not exist is skipped.
    let hosts = format!("{only_standby}&host={}&host=/nowhere", primary.folder().display());
    assert_eq!(error_of(&hosts).await, "");
    primary.execute("ALTER SYSTEM SET default_transaction_read_only = on; SELECT pg_reload_conf()");
    until("the primary is read-only", async || {
        primary.query("SHOW default_transaction_read_only").as_deref() == Some("on")
    })
    .await;
    let error = error_of(&hosts).await;
    assert!(
        error.contains("it is a standby; ") && error.contains("its transactions are read-only"),
        "{error}"
    );
    assert!(error.contains("/nowhere:5432: error connecting to server: No such file"), "{error}");
    primary.stop();
    let error = error_of(&Cluster::url_of(&[&primary], params)).await;
    assert!(
        error.contains("target_session_attrs=read-write: /") && error.contains("error connecting"),
        "{error}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_promoted_host_is_used_and_the_former_primary_is_not() {
    let Some(mut former) = Cluster::start_with(REWINDABLE) else { return };
    former.execute(BLOG);
    let standby = former.replica();
    let url = Cluster::url_of(&[&former, &standby], "target_session_attrs=read-write");
    let served = Served::at(&url, &settings()).await;
    assert_eq!(served.point("1", NAME).await.unwrap(), r#"{"name":"Ada"}"#);
    until("the standby is polled", async || served.database.replicas.healthy() == 2).await;

    // Reads continue without a primary, writes do not.
    former.wait_for_replica(&standby);
    former.kill();
    assert_eq!(served.point("1", NAME).await.unwrap(), r#"{"name":"Ada"}"#);
    let error = served.database.writes.take(false).await.err().unwrap().to_string();
    assert!(error.contains("it is a standby"), "{error}");
    assert!(served.database.ping().await.is_err() && served.database.answers_without_primary());

    standby.promote();
    until("writes succeed", async || {
        served.database.writes.execute("UPDATE users SET name = 'Ava' WHERE id = 1").await.is_ok()
    })
    .await;
    assert_eq!(served.point("1", NAME).await.unwrap(), r#"{"name":"Ava"}"#);

    // The former primary is started without information about the promotion, and also accepts writes.
    former.start_server();
    until("it is polled", async || served.database.replicas.healthy() == 1).await;
    for _ in 0..20 {
        served.database.pool.take(true).await.unwrap();
        assert_eq!(served.point("1", NAME).await.unwrap(), r#"{"name":"Ava"}"#);
    }
    let restarted = Served::at(&url, &settings()).await;
    assert_eq!(restarted.point("1", NAME).await.unwrap(), r#"{"name":"Ava"}"#);

    former.stop();
    former.rejoin(&standby);
    until("it follows the promoted one", async || {
        former.query("SELECT name FROM users WHERE id = 1").as_deref() == Some("Ava")
    })
    .await;
    until("it is a spare replica", async || served.database.replicas.healthy() == 2).await;
}

/// The promoted standby cannot reach the former primary, but the server still can.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn open_connections_to_a_primary_that_was_replaced_are_not_used() {
    let Some(former) = Cluster::start() else { return };
    former.execute(BLOG);
    let standby = former.replica();
    let url = Cluster::url_of(&[&former, &standby], "target_session_attrs=primary");
    let served = Served::at(&url, &settings()).await;
    assert_eq!(served.point("1", NAME).await.unwrap(), r#"{"name":"Ada"}"#);
    former.wait_for_replica(&standby);
    standby.promote();
    standby.execute("UPDATE users SET name = 'Ava' WHERE id = 1");
    until("the promotion is noticed", async || served.point("1", NAME).await.unwrap() == r#"{"name":"Ava"}"#)
        .await;
    for _ in 0..20 {
        assert_eq!(served.point("1", NAME).await.unwrap(), r#"{"name":"Ava"}"#);
    }
    served.database.writes.execute("UPDATE users SET name = 'Abe' WHERE id = 1").await.unwrap();
    assert_eq!(standby.query("SELECT name FROM users WHERE id = 1").as_deref(), Some("Abe"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_host_of_a_replica_url_is_a_replica() {
    let Some(primary) = Cluster::start() else { return };
    primary.execute(BLOG);
    let replicas = [primary.replica(), primary.replica()];
    let all = [&primary, &replicas[0], &replicas[1]];
    let of = |attrs| vec![Cluster::url_of(&all, &format!("target_session_attrs={attrs}"))];
    for (attrs, count) in [("any", 3), ("standby", 2)] {
        let settings = Settings { replicas: of(attrs), ..settings() };
        let served = Served::at(&primary.url(), &settings).await;
        assert_eq!(served.point("1", NAME).await.unwrap(), r#"{"name":"Ada"}"#);
        until("they answer", async || served.database.replicas.healthy() == count).await;
    }
}
