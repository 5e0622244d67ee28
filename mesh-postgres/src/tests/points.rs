//! Point reads of one query at the same time.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use futures_util::future::join_all;
use mesh_plan::policy::{Access, Condition, SessionValue};
use mesh_plan::{Context, Mesh, Principal, RecordId, Request};
use mesh_ql::Format;
use mesh_schema::{Entity, Schema};
use mesh_tests::PATIENCE;

use super::shared::share;
use super::{Cluster, Served, until};
use crate::{Backend as _, Settings};

const PLACES: &str = r#"
CREATE TABLE owners (id integer PRIMARY KEY, name text NOT NULL);
INSERT INTO owners SELECT i, 'owner ' || i FROM generate_series(1, 5) i;
CREATE TABLE places (
    id integer PRIMARY KEY, name text NOT NULL, photo text NOT NULL DEFAULT '', owner_id integer REFERENCES owners
);
INSERT INTO places (id, name, owner_id) SELECT i, 'place ' || i, nullif(i % 6, 0) FROM generate_series(1, 200) i;
CREATE TABLE visits (
    day date, place text COLLATE "C", note text NOT NULL, PRIMARY KEY (day, place)
);
INSERT INTO visits SELECT DATE '2026-01-01' + i, place, i || ' ' || place FROM generate_series(0, 20) i,
    unnest(ARRAY['a', 'NULL', 'null', '', '{b,c}', 'a"b', 'a\b', ' a ', '$1', '''']) place;
CREATE TABLE quotients (id integer PRIMARY KEY, quotient integer);
CREATE TABLE slow_places (id integer PRIMARY KEY, name text);
"#;

/// The maximum number of statements for a hundred reads in batches.
const FEW: u64 = 30;

async fn serve(cluster: &Cluster) -> Arc<Served> {
    cluster.execute(PLACES);
    Arc::new(Served::open(cluster, &Settings::default()).await)
}

impl Served {
    /// Reads records of these ids at the same time, after a read of the first id shares a connection. Returns the results and
    /// the number of statements.
    async fn points(&self, query: &str, first: &str, ids: &[String]) -> (Vec<String>, u64) {
        share(self, &self.mesh.plan(&Request::point(Format::Ql, query, first)).unwrap()).await;
        let before = self.database.pool.shared().1;
        let reads = join_all(ids.iter().map(|id| self.point(id, query))).await;
        let results = reads.into_iter().map(|read| read.unwrap_or_else(|error| error.to_string()));
        (results.collect(), self.database.pool.shared().1 - before)
    }

    /// Reads records of these ids at the same time until that takes few statements: on a busy machine, the trial of a batch may
    /// be too slow.
    async fn points_in_batches(&self, query: &str, first: &str, ids: &[String]) -> Vec<String> {
        let start = Instant::now();
        loop {
            let (results, statements) = self.points(query, first, ids).await;
            if (1..FEW).contains(&statements) {
                return results;
            }
            assert!(start.elapsed() < PATIENCE, "{statements}");
        }
    }
}

#[tokio::test]
async fn concurrent_point_reads_are_few_statements() {
    let Some(cluster) = Cluster::start() else { return };
    let served = serve(&cluster).await;
    let query = "{ place name owner { name } }";
    // Some ids occur twice, some have no record, and some places have no owner.
    let ids: Vec<String> = (150..230).chain(170..190).map(|id| id.to_string()).collect();
    let results = served.points_in_batches(query, "1", &ids).await;
    for (id, result) in ids.iter().zip(&results) {
        let id: u32 = id.parse().unwrap();
        let owner = match id % 6 {
            0 => "null".to_owned(),
            owner => format!(r#"{{"name":"owner {owner}"}}"#),
        };
        let expected = format!(r#"{{"name":"place {id}","owner":{owner}}}"#);
        assert_eq!(*result, if id <= 200 { expected } else { "null".to_owned() });
    }
}

#[tokio::test]
async fn ids_of_several_parts_and_of_any_characters_find_their_records() {
    let Some(cluster) = Cluster::start() else { return };
    let served = serve(&cluster).await;
    let mut ids = Vec::new();
    let mut expected = Vec::new();
    for day in 0..10 {
        for place in ["a", "NULL", "null", "", "{b,c}", "a\"b", "a\\b", " a ", "$1", "'", "b", "a\0"] {
            let parts = [format!("2026-01-{:02}", day + 1), place.to_owned()];
            ids.push(RecordId::Parts(&parts).to_text(2).into_owned());
            let note = serde_json::to_string(&format!("{day} {place}")).unwrap();
            expected.push(if ["b", "a\0"].contains(&place) {
                "null".to_owned()
            } else {
                format!(r#"{{"note":{note}}}"#)
            });
        }
    }
    let results = served.points_in_batches("{ visit note }", "2026-01-20,a", &ids).await;
    assert_eq!(results, expected);
}

#[tokio::test]
async fn each_principal_reads_its_own_records() {
    let Some(cluster) = Cluster::start() else { return };
    let served = serve(&cluster).await;
    let owned = |_: &str, entity: &Entity| match entity.key.as_str() {
        "place" => Access::all().when(Condition::equal("ownerId", SessionValue::UserId)),
        _ => Access::all(),
    };
    let mesh = Mesh::builder(Schema::clone(served.mesh.schema()))
        .default_resolver(served.database.clone())
        .policy(owned)
        .build()
        .unwrap();
    let owners: Vec<_> =
        (1..=5).map(|owner| Principal::new(owner.to_string(), "s").with_role("owner")).collect();
    let read = async |owner: usize, id: usize| {
        let id = id.to_string();
        let request =
            Request::point(Format::Ql, "{ place id }", &*id).with_principal(Some(&owners[owner - 1]));
        let body = mesh.read(&mesh.plan(&request).unwrap(), &Context::default()).await.unwrap();
        body.bytes.to_vec() == format!(r#"{{"id":{id}}}"#).into_bytes()
    };
    let all: Vec<_> = (1..=5).flat_map(|owner| (1..=60).map(move |id| (owner, id))).collect();
    read(1, 1).await;
    for _ in 0..3 {
        let found = join_all(all.iter().map(|(owner, id)| read(*owner, *id))).await;
        for ((owner, id), found) in all.iter().zip(found) {
            assert_eq!(found, id % 6 == *owner, "place {id} and owner {owner}");
        }
    }
}

/// The statement of a batch fails if one of its reads does. The others are answered all the same.
#[tokio::test]
async fn a_read_that_fails_affects_no_other() {
    let Some(cluster) = Cluster::start() else { return };
    let served = serve(&cluster).await;
    cluster.execute(
        "DROP TABLE quotients; CREATE VIEW quotients AS SELECT id, 100 / (id - 7) AS quotient FROM places",
    );
    let ids: Vec<String> = (1..=50).map(|id| id.to_string()).collect();
    let (results, _) = served.points("{ quotient quotient }", "1", &ids).await;
    for (id, result) in (1..).zip(results) {
        match id {
            7 => assert!(!result.starts_with('{'), "{result}"),
            id => assert_eq!(result, format!(r#"{{"quotient":{}}}"#, 100 / (id - 7))),
        }
    }
}

/// The rows of a batch together may be larger than those of a read on a shared connection.
#[tokio::test]
async fn large_records_are_read_at_the_same_time() {
    let Some(cluster) = Cluster::start() else { return };
    let served = serve(&cluster).await;
    cluster.execute("UPDATE places SET photo = repeat('x', 50000)");
    let ids: Vec<String> = (1..=100).map(|id| id.to_string()).collect();
    let (results, _) = served.points("{ place photo }", "1", &ids).await;
    assert!(results.iter().all(|result| result.len() == 50_000 + r#"{"photo":""}"#.len()));
}

/// Reads that are fast alone share connections, although many of them together take longer than a shared connection allows.
#[tokio::test]
async fn reads_that_are_slow_together_are_answered() {
    let Some(cluster) = Cluster::start() else { return };
    let served = serve(&cluster).await;
    cluster.execute(
        "DROP TABLE slow_places; CREATE VIEW slow_places AS SELECT id, name || pg_sleep(0.005) AS name FROM places",
    );
    let ids: Vec<String> = (1..=60).map(|id| id.to_string()).collect();
    let query = "{ slowPlace name }";
    for _ in 0..2 {
        let (results, _) = served.points(query, "1", &ids).await;
        for (id, result) in ids.iter().zip(results) {
            assert_eq!(result, format!(r#"{{"name":"place {id}"}}"#));
        }
    }
}

#[tokio::test]
async fn reads_do_not_wait_for_those_that_are_not_polled() {
    let Some(cluster) = Cluster::start() else { return };
    let served = serve(&cluster).await;
    let query = "{ place name }";
    let ids: Vec<String> = (1..=20).map(|id| id.to_string()).collect();
    served.points(query, "1", &ids).await;
    let plan = served.mesh.plan(&Request::point(Format::Ql, query, "1")).unwrap();
    let context = Context::default();
    let mut running: Vec<_> = (0..4).map(|_| served.mesh.read(&plan, &context).boxed()).collect();
    assert!(running.iter_mut().all(|read| read.as_mut().now_or_never().is_none()));
    let read = tokio::time::timeout(Duration::from_secs(5), served.point("2", query)).await;
    assert_eq!(read.unwrap().unwrap(), r#"{"name":"place 2"}"#);
    for read in running {
        assert_eq!(read.await.unwrap().bytes.to_vec(), br#"{"name":"place 1"}"#);
    }
}

/// Neither the read before a batch nor those in it hold up others when they are dropped.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dropped_reads_do_not_hold_up_those_that_gather() {
    let Some(cluster) = Cluster::start() else { return };
    let served = serve(&cluster).await;
    let query = "{ place name }";
    let plan = served.mesh.plan(&Request::point(Format::Ql, query, "1")).unwrap();
    share(&served, &plan).await;
    let context = Context::default();
    for _ in 0..50 {
        let mut running: Vec<_> = (0..4).map(|_| served.mesh.read(&plan, &context).boxed()).collect();
        // On a busy machine, an answer may arrive within this poll.
        running.iter_mut().for_each(|read| drop(read.as_mut().now_or_never()));
        let waiting: Vec<_> = (1..=20)
            .map(|id: u32| {
                let served = Arc::clone(&served);
                tokio::spawn(async move { served.point(&id.to_string(), query).await.unwrap() })
            })
            .collect();
        drop(running);
        for (id, read) in (1..).zip(waiting) {
            let read = tokio::time::timeout(Duration::from_secs(30), read).await.unwrap();
            assert_eq!(read.unwrap(), format!(r#"{{"name":"place {id}"}}"#));
        }
    }
    let slots = Settings::default().connections;
    until("all answers have arrived", async || served.database.usage().free == slots).await;
}

/// A runtime that ends while reads gather leaves nothing behind that those of another one would wait for.
#[test]
fn a_runtime_that_ends_takes_its_reads_with_it() {
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let Some(cluster) = Cluster::start() else { return };
    let (first, query) = (runtime(), "{ place name }");
    let served = first.block_on(serve(&cluster));
    let ids: Vec<String> = (1..=20).map(|id| id.to_string()).collect();
    let read_all = async |served: &Served| {
        let (results, _) = served.points(query, "1", &ids).await;
        assert!(results.iter().zip(&ids).all(|(name, id)| *name == format!(r#"{{"name":"place {id}"}}"#)));
    };
    first.block_on(read_all(&served));
    let context = Context::default();
    let plan = served.mesh.plan(&Request::point(Format::Ql, query, "1")).unwrap();
    let mut reads: Vec<_> = (0..4).map(|_| served.mesh.read(&plan, &context).boxed()).collect();
    first.block_on(async { reads.iter_mut().for_each(|read| drop(read.as_mut().now_or_never())) });
    assert!(served.database.pool.batches.are_sent());
    drop(first);
    assert!(!served.database.pool.batches.are_sent());
    drop(reads);
    runtime().block_on(read_all(&served));
}
