//! The state in the database: its layout, migrations and bounds.

use mesh_integrity::{Claimed, NonceRow, NonceTable, NonceUse, RevocationStore, SessionId};
use mesh_plan::persisted::{ParamDeclarations, PersistedQuery, QueryStore};
use mesh_ql::Format;

use super::Cluster;
use crate::state::{self, State};
use crate::{Backend as _, Database, OpenError, Settings};

/// The layout 1.0, as its servers create it.
const LAYOUT_1_0: &str = include_str!("layout_1_0.sql");
const VERSION: &str = "SELECT string_agg(major || '.' || minor, ',') FROM mesh.layout";
const SESSION: SessionId = SessionId([7; 16]);

async fn state(cluster: &Cluster, queries: usize) -> Result<State, OpenError> {
    let database = Database::connect(&cluster.url(), &Settings::default()).await?;
    state::open(&database, queries).await.map_err(|error| database.open_error(error))
}

fn nonce(text: &str, time: u64) -> NonceRow {
    NonceRow { session: SESSION, text: text.into(), time, until: time + 1 }
}

async fn is_new(state: &State, text: &str) -> bool {
    state.insert(vec![nonce(text, 1)], 1).await.unwrap() == [NonceUse::New]
}

#[tokio::test]
async fn a_server_claims_timestamps_while_it_is_alone() {
    let Some(cluster) = Cluster::start() else { return };
    let one = state(&cluster, 10).await.unwrap();
    assert_eq!(one.mark().await.unwrap(), 0);
    let rows = vec![nonce("b-_9", 5_000), nonce("a", 1_500)];
    assert_eq!(one.insert(rows, 0).await.unwrap(), [NonceUse::New; 2]);
    let claimed = one.claim(2_000, 0).await.unwrap();
    assert_eq!(claimed, Some(Claimed { after: 0, used: vec![nonce("a", 1_500)] }));
    assert_eq!(one.claim(2_000, 0).await.unwrap(), None, "the mark is there");
    let other = state(&cluster, 10).await.unwrap();
    for state in [&one, &other] {
        assert_eq!(state.claim(3_000, 0).await.unwrap(), None, "they are two");
        assert_eq!(state.mark().await.unwrap(), 2_000);
        let rows = vec![nonce("c", 2_000), nonce("b-_9", 5_000)];
        assert_eq!(state.insert(rows, 0).await.unwrap(), [NonceUse::Unknown, NonceUse::Used]);
    }
    drop(one);
    cluster.execute("UPDATE mesh.server SET seen = seen - interval '1 minute'");
    let claimed = other.claim(5_000, 0).await.unwrap();
    assert_eq!(claimed, Some(Claimed { after: 2_000, used: vec![nonce("b-_9", 5_000)] }));
}

/// An insertion that has read the mark is complete before the mark is raised.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nonces_are_stored_or_claimed() {
    let Some(cluster) = Cluster::start() else { return };
    let (one, other) = (state(&cluster, 10).await.unwrap(), state(&cluster, 10).await.unwrap());
    let inserting = async {
        let mut accepted = Vec::new();
        for time in 1..400u64 {
            let row = nonce(&format!("n{time}"), time * 1_000);
            if other.insert(vec![row.clone()], 0).await.unwrap() == [NonceUse::New] {
                accepted.push(row);
            }
        }
        accepted
    };
    let claiming = async {
        let mut used = Vec::new();
        for time in (1..400u64).step_by(7) {
            // The other server counts as ended.
            cluster.execute("UPDATE mesh.server SET seen = seen - interval '1 minute'");
            used.extend(one.claim(time * 1_000, 0).await.unwrap().unwrap().used);
        }
        used.extend(one.claim(1_000_000, 0).await.unwrap().unwrap().used);
        used
    };
    let (mut accepted, mut used) = tokio::join!(inserting, claiming);
    for rows in [&mut accepted, &mut used] {
        rows.sort_by_key(|row| row.time);
    }
    let late: Vec<_> = accepted.iter().filter(|row| !used.contains(row)).collect();
    assert_eq!((late, accepted.len()), (Vec::new(), used.len()), "the claims know all that were accepted");
}

/// Writes as a server of layout 1.0 does.
fn write_as_1_0(cluster: &Cluster, query: &PersistedQuery, nonce: &str) {
    let id: String = query.id().as_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    let (format, text) = (query.format().as_str(), query.text());
    let session = "07".repeat(16);
    cluster.execute(LAYOUT_1_0);
    cluster.execute(&format!(
        "INSERT INTO mesh.query (id, format, text) VALUES ('\\x{id}', '{format}', '{text}') ON CONFLICT (id) DO NOTHING;
         INSERT INTO mesh.nonce AS n (session, nonce, until) VALUES ('\\x{session}', '{nonce}', 1 << 30);
         INSERT INTO mesh.revocation AS r (session, until) VALUES ('\\x{session}', 1::bigint << 50) ON CONFLICT DO NOTHING;
         INSERT INTO mesh.attempt AS a (key, step, paid_off) VALUES ('\\x{id}', 1, 1) ON CONFLICT DO NOTHING;"
    ));
}

#[tokio::test]
async fn the_state_of_the_previous_release_is_kept() {
    let Some(cluster) = Cluster::start() else { return };
    let query = PersistedQuery::new(Format::Ql, "{ post title }");
    write_as_1_0(&cluster, &query, "used");
    for start in ["first", "second"] {
        let state = state(&cluster, 10).await.unwrap();
        assert_eq!(cluster.query(VERSION).as_deref(), Some("1.3"), "after the {start} start");
        assert!(state.is_revoked(SESSION, 0).await.unwrap());
        assert!(!is_new(&state, "used").await);
        assert_eq!(state.claim(2, 1).await.unwrap(), None, "a server of that release may still run");
        assert!(state.find(query.id()).await.unwrap().is_some());
    }
}

#[tokio::test]
async fn servers_of_neighboring_versions_share_the_schema() {
    let Some(cluster) = Cluster::start() else { return };
    let here = state(&cluster, 10).await.unwrap();
    let query = PersistedQuery::new(Format::Ql, "{ post id }");
    write_as_1_0(&cluster, &query, "used");
    assert!(here.find(query.id()).await.unwrap().is_some());
    assert!(!is_new(&here, "used").await);
    // A server of a later version adds to the layout.
    cluster.execute(
        "ALTER TABLE mesh.query ADD COLUMN note text; ALTER TABLE mesh.nonce ADD COLUMN path text;
         ALTER TABLE mesh.revocation ADD COLUMN reason text NOT NULL DEFAULT '';
         CREATE TABLE mesh.more (id integer); UPDATE mesh.layout SET minor = 9",
    );
    let again = state(&cluster, 10).await.unwrap();
    assert_eq!(cluster.query(VERSION).as_deref(), Some("1.9"), "the version is not lowered");
    for (number, state) in [here, again].into_iter().enumerate() {
        let query = PersistedQuery::new(Format::Ql, format!("{{ post f{number} }}"));
        state.save(&query).await.unwrap();
        assert!(state.find(query.id()).await.unwrap().is_some());
        assert!(is_new(&state, &format!("new-{number}")).await);
        let session = SessionId([number as u8; 16]);
        state.revoke(session, u64::MAX >> 1, 1).await.unwrap();
        assert!(state.is_revoked(session, 1).await.unwrap());
    }
}

#[tokio::test]
async fn declarations_of_parameters_are_added_to_layout_1_2() {
    let Some(cluster) = Cluster::start() else { return };
    drop(state(&cluster, 10).await.unwrap());
    cluster.execute("ALTER TABLE mesh.query DROP COLUMN params; UPDATE mesh.layout SET minor = 2");
    let query = PersistedQuery::new(Format::Ql, "{ post title }");
    write_as_1_0(&cluster, &query, "used");
    let here = state(&cluster, 10).await.unwrap();
    assert_eq!(cluster.query(VERSION).as_deref(), Some("1.3"));
    assert_eq!(here.find(query.id()).await.unwrap(), Some(query.clone()));
    let declared = ParamDeclarations::parse(r#"{"n":{"type":"string","default":"\u0000"}}"#).unwrap();
    let with_params = PersistedQuery::new(Format::Json, "{}").with_params(declared);
    here.save(&with_params).await.unwrap();
    // The earlier server still runs.
    write_as_1_0(&cluster, &query, "used too");
    for state in [here, state(&cluster, 10).await.unwrap()] {
        assert_eq!(state.find(with_params.id()).await.unwrap().as_ref(), Some(&with_params));
        assert_eq!(state.find(query.id()).await.unwrap().as_ref(), Some(&query));
    }
}

#[tokio::test]
async fn a_newer_major_layout_is_refused() {
    let Some(cluster) = Cluster::start() else { return };
    drop(state(&cluster, 10).await.unwrap());
    cluster.execute("UPDATE mesh.layout SET major = 2");
    let error = state(&cluster, 10).await.map(drop).unwrap_err();
    assert!(error.is_newer_layout());
    let error = error.to_string();
    let expected =
        "the schema 'mesh' has layout 2, but this server reads only layouts up to 1; use a newer server";
    assert!(error.ends_with(expected), "{error}");
}

#[tokio::test]
async fn servers_that_start_together_migrate_once() {
    let Some(cluster) = Cluster::start() else { return };
    cluster.execute(LAYOUT_1_0);
    let starts = (0..6).map(|_| state(&cluster, 10));
    for state in futures_util::future::join_all(starts).await {
        state.unwrap();
    }
    assert_eq!(cluster.query(VERSION).as_deref(), Some("1.3"));
}

#[tokio::test]
async fn a_current_layout_needs_no_right_to_create() {
    let Some(cluster) = Cluster::start() else { return };
    drop(state(&cluster, 10).await.unwrap());
    cluster.execute(
        "CREATE ROLE limited LOGIN; GRANT USAGE ON SCHEMA mesh TO limited;
         GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA mesh TO limited;
         REVOKE CREATE ON DATABASE postgres FROM PUBLIC",
    );
    let url = cluster.url().replace("mesh@", "limited@");
    assert_ne!(url, cluster.url());
    let database = Database::connect(&url, &Settings::default()).await.unwrap();
    let query = PersistedQuery::new(Format::Ql, "{ post id }");
    state::open(&database, 10).await.unwrap().save(&query).await.unwrap();
}

#[tokio::test]
async fn queries_are_bounded_by_number_and_bytes() {
    let Some(cluster) = Cluster::start() else { return };
    let state = state(&cluster, 3).await.unwrap();
    let queries: Vec<_> = (0..5).map(|number| PersistedQuery::new(Format::Ql, number.to_string())).collect();
    for (count, query) in (1..).zip(&queries) {
        state.save(query).await.unwrap();
        let kept = cluster.query("SELECT count(*) FROM mesh.query").unwrap();
        assert_eq!(kept, count.min(3).to_string());
    }
    assert!(state.find(queries[1].id()).await.unwrap().is_none());
    assert!(state.find(queries[2].id()).await.unwrap().is_some());
    for letter in ["a", "b", "c"] {
        let query = PersistedQuery::new(Format::Ql, letter.repeat(15 << 20));
        state.save(&query).await.unwrap();
    }
    let bytes = "SELECT count(*) || ' ' || sum(octet_length(text)) FROM mesh.query";
    assert_eq!(cluster.query(bytes), Some(format!("2 {}", 30 << 20)));
}
