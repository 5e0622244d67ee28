//! Point reads of one query at the same time.

use std::sync::Arc;

use futures_util::future::join_all;
use mesh_plan::policy::{Access, Condition, SessionValue};
use mesh_plan::{Context, Mesh, Principal, RecordId, Request};
use mesh_ql::Format;
use mesh_schema::{Entity, Schema};

use super::shared::share;
use super::{Cluster, Served};
use crate::Settings;

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
    unnest(ARRAY['a', 'NULL', 'null', '', '{b,c}', 'a"b', 'a\b', ' a ']) place;
CREATE TABLE quotients (id integer PRIMARY KEY, quotient integer);
"#;

async fn serve(cluster: &Cluster) -> Arc<Served> {
    cluster.execute(PLACES);
    Arc::new(Served::open(cluster, &Settings::default()).await)
}

impl Served {
    /// Reads records of these ids at the same time, after a read of the first id shares a connection.
    async fn points(&self, query: &str, first: &str, ids: &[String]) -> Vec<String> {
        share(self, &self.mesh.plan(&Request::point(Format::Ql, query, first)).unwrap()).await;
        let reads = join_all(ids.iter().map(|id| self.point(id, query))).await;
        reads.into_iter().map(|read| read.unwrap_or_else(|error| error.to_string())).collect()
    }
}

#[tokio::test]
async fn each_point_read_gets_its_own_record() {
    let Some(cluster) = Cluster::start() else { return };
    let served = serve(&cluster).await;
    let query = "{ place name owner { name } }";
    // Some ids occur twice, some have no record, and some places have no owner.
    let ids: Vec<String> = (150..230).chain(170..190).map(|id| id.to_string()).collect();
    let results = served.points(query, "1", &ids).await;
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
        for place in ["a", "NULL", "null", "", "{b,c}", "a\"b", "a\\b", " a ", "b"] {
            let parts = [format!("2026-01-{:02}", day + 1), place.to_owned()];
            ids.push(RecordId::Parts(&parts).to_text(2).into_owned());
            let note = serde_json::to_string(&format!("{day} {place}")).unwrap();
            expected.push(if place == "b" { "null".to_owned() } else { format!(r#"{{"note":{note}}}"#) });
        }
    }
    let results = served.points("{ visit note }", "2026-01-20,a", &ids).await;
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

#[tokio::test]
async fn a_read_that_fails_affects_no_other() {
    let Some(cluster) = Cluster::start() else { return };
    let served = serve(&cluster).await;
    cluster.execute(
        "DROP TABLE quotients; CREATE VIEW quotients AS SELECT id, 100 / (id - 7) AS quotient FROM places",
    );
    let ids: Vec<String> = (1..=50).map(|id| id.to_string()).collect();
    let results = served.points("{ quotient quotient }", "1", &ids).await;
    for (id, result) in (1..).zip(results) {
        match id {
            7 => assert!(!result.starts_with('{'), "{result}"),
            id => assert_eq!(result, format!(r#"{{"quotient":{}}}"#, 100 / (id - 7))),
        }
    }
}

#[tokio::test]
async fn large_records_are_read_at_the_same_time() {
    let Some(cluster) = Cluster::start() else { return };
    let served = serve(&cluster).await;
    cluster.execute("UPDATE places SET photo = repeat('x', 50000)");
    let ids: Vec<String> = (1..=100).map(|id| id.to_string()).collect();
    let results = served.points("{ place photo }", "1", &ids).await;
    assert!(results.iter().all(|result| result.len() == 50_000 + r#"{"photo":""}"#.len()));
}
