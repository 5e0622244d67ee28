//! State is shared between processes and survives a restart.

use std::time::SystemTime;

use mesh_integrity::{
    Claimed, NonceRow, NonceTable, NonceUse, RevocationStore, SessionId, StoreError, unix_millis,
};
use mesh_plan::persisted::{PersistedQuery, QueryId, QueryStore};
use mesh_ql::Format;

use super::*;
use crate::tests::File;

fn open(file: &File) -> State {
    limited(file, StateLimits::default())
}

fn limited(file: &File, limits: StateLimits) -> State {
    State::open(&State::default_path(&file.path()), limits).unwrap()
}

fn id(number: u8) -> SessionId {
    SessionId([number; 16])
}

#[test]
fn the_default_path_is_beside_the_database() {
    assert_eq!(State::default_path(Path::new("/data/blog.db")), Path::new("/data/blog.db.mesh-state"));
}

#[tokio::test]
async fn a_revocation_is_visible_to_others_and_survives_a_restart() {
    let file = File::new("");
    let (here, there) = (open(&file), open(&file));
    assert!(!there.is_revoked(id(1), 0).await.unwrap());
    here.revoke(id(1), 1_000, 0).await.unwrap();
    assert!(there.is_revoked(id(1), 0).await.unwrap());
    assert!(here.is_revoked(id(1), 0).await.unwrap());
    assert!(!there.is_revoked(id(2), 0).await.unwrap());
    there.revoke(id(1), 1_000, 0).await.unwrap();
    drop((here, there));
    assert!(open(&file).is_revoked(id(1), 0).await.unwrap());
}

#[cfg(unix)]
#[test]
fn all_paths_to_a_database_have_one_state() {
    let file = File::new("");
    let state = State::default_path(&file.path());
    let folder = file.folder();
    std::fs::create_dir(folder.join("links")).unwrap();
    std::os::unix::fs::symlink("../t.db", folder.join("links/relative.db")).unwrap();
    std::os::unix::fs::symlink(folder.join("links/relative.db"), folder.join("chain.db")).unwrap();
    std::os::unix::fs::symlink(folder, folder.join("folder")).unwrap();
    for path in ["links/relative.db", "chain.db", "folder/t.db", "links/../t.db", "./t.db"] {
        assert_eq!(State::default_path(&folder.join(path)), state, "{path}");
    }
}

/// A server must not go on with a file that other servers do not use.
#[cfg(unix)]
#[tokio::test]
async fn a_file_that_is_no_longer_at_its_path_is_not_used() {
    let file = File::new("");
    let state = open(&file);
    let (path, aside) = (state.path().to_owned(), file.folder().join("aside"));
    let rename = |from: &Path, to: &Path| {
        for suffix in ["-wal", "-shm", ""] {
            let name = |path: &Path| format!("{}{suffix}", path.display());
            std::fs::rename(name(from), name(to)).unwrap();
        }
    };
    let assert_unusable = async |what: &str| {
        assert!(matches!(state.is_revoked(id(1), 0).await, Err(StoreError::Failed(_))), "{what}");
        assert!(state.revoke(id(1), 1_000, 0).await.is_err(), "{what}");
        assert!(state.insert(vec![nonce(1, "nonce", 2_000)], 0).await.is_err(), "{what}");
        assert!(state.claim(1_000, 1_000).await.is_err(), "{what}");
        assert!(state.mark().await.is_err(), "{what}");
    };
    rename(&path, &aside);
    assert_unusable("it was removed").await;
    let other = open(&file);
    assert_unusable("it was replaced").await;
    other.revoke(id(1), 1_000, 0).await.unwrap();
    rename(&path, &file.folder().join("other"));
    rename(&aside, &path);
    assert!(!state.is_revoked(id(1), 0).await.unwrap(), "it was put back");
    assert!(other.is_revoked(id(1), 0).await.is_err());
}

/// Concurrent logouts and lookups of several processes.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_logouts_are_all_visible() {
    let file = File::new("");
    let mut tasks = Vec::new();
    for process in 0..4u8 {
        let (state, other) = (open(&file), open(&file));
        tasks.push(tokio::spawn(async move {
            for number in 0..25 {
                let id = id(process * 25 + number);
                assert!(!other.is_revoked(id, 0).await.unwrap());
                state.revoke(id, 1_000, 0).await.unwrap();
                assert!(other.is_revoked(id, 0).await.unwrap(), "{id} is visible immediately");
            }
            other
        }));
    }
    let mut states = Vec::new();
    for task in tasks {
        states.push(task.await.unwrap());
    }
    for state in states {
        for number in 0..100 {
            assert!(state.is_revoked(id(number), 0).await.unwrap(), "{number}");
        }
    }
}

#[cfg(unix)]
#[tokio::test]
async fn revocations_are_read_from_the_database_only_after_a_commit() {
    let file = File::new("");
    let (here, there) = (open(&file), open(&file));
    let without_tables = Mutex::new(Connection::open_in_memory().unwrap());
    let is_revoked = |database| here.inner.revoked.contains(id(1), database);
    assert!(is_revoked(&without_tables).is_err());
    assert!(!is_revoked(&here.inner.lookups).unwrap());
    assert!(!is_revoked(&without_tables).unwrap());
    there.revoke(id(1), 1_000, 0).await.unwrap();
    assert!(is_revoked(&without_tables).is_err());
    assert!(is_revoked(&here.inner.lookups).unwrap());
    assert!(is_revoked(&without_tables).unwrap());
}

#[tokio::test]
async fn earlier_servers_are_notified_of_revocations() {
    let file = File::new("");
    let state = open(&file);
    let signal = file.folder().join("t.db.mesh-state-signal");
    state.revoke(id(1), 1_000, 0).await.unwrap();
    assert!(!signal.exists());
    std::fs::write(&signal, "..").unwrap();
    state.revoke(id(2), 1_000, 0).await.unwrap();
    assert_eq!(std::fs::read(&signal).unwrap(), b"...");
}

#[tokio::test]
async fn expired_entries_are_deleted() {
    let file = File::new("");
    let state = limited(&file, StateLimits { revocations: 2, ..StateLimits::default() });
    state.revoke(id(1), 1_000, 0).await.unwrap();
    state.revoke(id(2), 2_000, 0).await.unwrap();
    assert!(matches!(state.revoke(id(3), 3_000, 999).await, Err(StoreError::Full)));
    assert!(state.is_revoked(id(1), 999).await.unwrap(), "a full store keeps its entries");
    state.revoke(id(3), 3_000, 1_000).await.unwrap();
    assert!(is_new(&state, 1, "nonce", 2_000, 1_000).await);
    state.inner.sweep(5_000).unwrap();
    assert!(!state.is_revoked(id(3), 5_000).await.unwrap());
    let count = |table: &str| -> i64 {
        let sql = format!("SELECT count(*) FROM {table}");
        state.inner.lookups.lock().query_row(&sql, [], |row| row.get(0)).unwrap()
    };
    let rows = count("revocation");
    assert_eq!(rows, 0);
    let rows = count("nonce");
    assert_eq!(rows, 0);
}

fn nonce(session: u8, text: &str, until: u64) -> NonceRow {
    NonceRow { session: id(session), text: text.into(), time: until - 1, until }
}

async fn is_new(state: &State, session: u8, text: &str, until: u64, now: u64) -> bool {
    state.insert(vec![nonce(session, text, until)], now).await.unwrap() == [NonceUse::New]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_nonce_is_new_for_one_process_only() {
    let file = File::new("");
    let mut tasks = Vec::new();
    for _ in 0..4 {
        let state = open(&file);
        tasks.push(tokio::spawn(async move {
            let mut new = 0;
            for number in 0..50 {
                new += u32::from(is_new(&state, 1, &format!("n{number}"), 1_000, 0).await);
            }
            new
        }));
    }
    let mut new = 0;
    for task in tasks {
        new += task.await.unwrap();
    }
    assert_eq!(new, 50);
    let state = open(&file);
    assert!(!is_new(&state, 1, "n7", 1_000, 999).await);
    assert!(is_new(&state, 2, "n7", 1_000, 999).await, "nonces belong to a session");
    assert!(is_new(&state, 1, "n7", 2_000, 1_000).await, "it has expired");
}

#[tokio::test]
async fn a_server_claims_timestamps_while_it_is_alone() {
    let file = File::new("");
    let one = open(&file);
    assert_eq!(one.mark().await.unwrap(), 0);
    let rows = vec![nonce(1, "a", 1_500), nonce(1, "b", 5_000)];
    assert_eq!(one.insert(rows, 0).await.unwrap(), [NonceUse::New; 2]);
    let claimed = one.claim(2_000, 0).await.unwrap();
    assert_eq!(claimed, Some(Claimed { after: 0, used: vec![nonce(1, "a", 1_500)] }));
    assert_eq!(one.claim(2_000, 0).await.unwrap(), None, "the mark is there");
    let other = open(&file);
    for state in [&one, &other] {
        assert_eq!(state.claim(3_000, 0).await.unwrap(), None, "they are two");
        assert_eq!(state.mark().await.unwrap(), 2_000);
        let rows = vec![nonce(1, "c", 2_001), nonce(1, "b", 5_000)];
        assert_eq!(state.insert(rows, 0).await.unwrap(), [NonceUse::Unknown, NonceUse::Used]);
    }
    drop(one);
    let claimed = other.claim(5_000, 0).await.unwrap();
    assert_eq!(claimed, Some(Claimed { after: 2_000, used: vec![nonce(1, "b", 5_000)] }));
    assert_eq!(open(&file).mark().await.unwrap(), 5_000);
}

/// Nonces are not written to the disk immediately, so a crash of the machine may lose them, and the mark.
#[tokio::test]
async fn timestamps_from_before_the_start_of_the_machine_are_claimed() {
    let file = File::new("");
    let before = unix_millis(SystemTime::now());
    assert_eq!(open(&file).mark().await.unwrap(), 0, "a new file");
    let connection = Connection::open(State::default_path(&file.path())).unwrap();
    connection.execute("UPDATE nonce_mark SET boot = 'an earlier one'", []).unwrap();
    let mark = open(&file).mark().await.unwrap();
    assert!(mark >= before);
    connection.execute("UPDATE nonce_mark SET time = time + 1", []).unwrap();
    // Other systems have no boot id, so each start of a server counts as a boot.
    let same_boot = Path::new("/proc/sys/kernel/random/boot_id").exists();
    assert_eq!(open(&file).mark().await.unwrap() == mark + 1, same_boot);
}

#[tokio::test]
async fn queries_are_found_by_others_and_after_a_restart() {
    let file = File::new("");
    let query = PersistedQuery::new(Format::Ql, "{ post title }");
    {
        let (here, there) = (open(&file), open(&file));
        here.save(&query).await.unwrap();
        here.save(&query).await.unwrap();
        let found = there.find(query.id()).await.unwrap().unwrap();
        assert_eq!((found.format(), found.text()), (Format::Ql, "{ post title }"));
    }
    assert!(open(&file).find(query.id()).await.unwrap().is_some());
    assert!(open(&file).find(QueryId::new(Format::Json, "{ post title }")).await.unwrap().is_none());
}

#[tokio::test]
async fn the_oldest_queries_above_the_limits_are_deleted() {
    let file = File::new("");
    let state = limited(&file, StateLimits { queries: 3, query_bytes: 100, ..StateLimits::default() });
    let queries: Vec<_> = (0..5).map(|number| PersistedQuery::new(Format::Ql, number.to_string())).collect();
    for query in &queries {
        state.save(query).await.unwrap();
    }
    let kept = |query: &PersistedQuery| {
        let found = state.find(query.id());
        async { found.await.unwrap().is_some() }
    };
    assert!(!kept(&queries[1]).await && kept(&queries[2]).await && kept(&queries[4]).await);
    state.save(&PersistedQuery::new(Format::Ql, "x".repeat(99))).await.unwrap();
    assert!(!kept(&queries[3]).await && kept(&queries[4]).await, "by bytes");
}

#[test]
fn files_of_other_programs_are_refused_and_unchanged() {
    let file = File::new("");
    let open = |name: &str| State::open(&file.folder().join(name), StateLimits::default());
    std::fs::write(
        file.folder().join("text"),
        "this is no database, but it is long enough to be looked at".repeat(9),
    )
    .unwrap();
    assert!(open("text").unwrap_err().to_string().ends_with("it is not a SQLite database"));
    assert!(open("missing/state").is_err());
    let other = Connection::open(file.folder().join("other")).unwrap();
    other.execute_batch("CREATE TABLE post (id INTEGER)").unwrap();
    let error = open("other").unwrap_err().to_string();
    assert!(error.ends_with("it belongs to another program"), "{error}");
    let tables: i64 = other.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0)).unwrap();
    assert_eq!(tables, 1, "the file is unchanged");
}
