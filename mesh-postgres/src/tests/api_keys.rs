//! API keys in a table of the database.

#[path = "../../../mesh-backend/tests/engines/api_keys.rs"]
mod shared;

use mesh_integrity::{ApiKeyHash, ApiKeySource, StoredApiKey};

use shared::{key, time};

use super::Cluster;
use crate::{Backend as _, Database, Settings};

async fn open(cluster: &Cluster) -> Database {
    Database::connect(&cluster.url(), &Settings::default()).await.unwrap()
}

#[tokio::test]
async fn stored_keys_are_found_listed_and_deleted() {
    let Some(cluster) = Cluster::start() else { return };
    let database = open(&cluster).await;
    for table in ["my keys", "public.other"] {
        shared::keys_are_found_listed_and_deleted(&database, table).await;
    }
}

#[tokio::test]
async fn hashes_and_times_may_have_other_forms() {
    let Some(cluster) = Cluster::start() else { return };
    cluster.execute(
        "CREATE TYPE rank AS ENUM ('a', 'b');
         CREATE TABLE bytes (hash bytea UNIQUE, owner integer NOT NULL, role rank, expires timestamp);
         CREATE TABLE digits (hash varchar(64), owner uuid, role text, expires date);
         CREATE TABLE padded (hash char(64), owner uuid, role text, expires timestamptz);
         INSERT INTO digits VALUES (upper(repeat('0a', 32)), NULL, 'a', '2030-03-17'), ('abc', NULL, 'a', NULL),
            (NULL, NULL, 'a', NULL), (repeat('66', 32), NULL, 'a', NULL), (repeat('66', 32), NULL, 'a', NULL);
         INSERT INTO padded VALUES (repeat('0a', 32), NULL, 'a', 'infinity'), (repeat('0b', 32), NULL, 'a', '-infinity');",
    );
    let database = open(&cluster).await;
    let bytes = database.api_keys("bytes").await.unwrap();
    let mut owned = StoredApiKey { role: Some("a".to_owned()), expires: Some(time(1_900_000_000)), ..key(1) };
    assert!(bytes.insert(&owned).await.is_err(), "an owner is required");
    owned.owner = Some("7".to_owned());
    bytes.insert(&owned).await.unwrap();
    assert_eq!(bytes.find(owned.hash).await.unwrap(), Some(owned.clone()));
    assert!(bytes.delete(owned.hash).await.unwrap());

    let digits = database.api_keys("digits").await.unwrap();
    let found = digits.find(ApiKeyHash([0x0a; 32])).await.unwrap().unwrap();
    assert_eq!(found.expires, Some(time(1_899_936_000)));
    assert_eq!(digits.find(ApiKeyHash([0x66; 32])).await.unwrap(), None, "two keys have this hash");
    let (listed, malformed) = digits.list().await.unwrap();
    assert_eq!((listed.len(), malformed), (3, 2));

    let padded = database.api_keys("padded").await.unwrap();
    let has_expired = async |byte| {
        padded.find(ApiKeyHash([byte; 32])).await.unwrap().unwrap().has_expired(time(1_900_000_000))
    };
    assert!(!has_expired(0x0a).await && has_expired(0x0b).await);
}

#[tokio::test]
async fn errors_name_columns_and_types() {
    let Some(cluster) = Cluster::start() else { return };
    cluster.execute(
        "CREATE TABLE few (hash text, role text);
         CREATE TABLE wrong (hash uuid, owner text, role text, expires integer)",
    );
    let database = open(&cluster).await;
    let faults = async |table| database.api_keys(table).await.unwrap_err().faults();
    let few = faults("few").await;
    assert_eq!(few.len(), 2, "{few:?}");
    assert!(few[0].contains("has no column 'owner'") && few[1].contains("CREATE TABLE"), "{few:?}");
    let wrong = faults("wrong").await;
    assert!(wrong[0].contains("'hash'") && wrong[0].contains("uuid; it must be text or bytea"), "{wrong:?}");
    assert!(wrong[1].contains("'expires'") && wrong[1].contains("int4"), "{wrong:?}");
}

#[tokio::test]
async fn a_database_that_is_away_is_an_error_and_not_an_unknown_key() {
    let Some(mut cluster) = Cluster::start() else { return };
    let database = open(&cluster).await;
    shared::a_database_that_is_away_is_an_error(&database, || cluster.stop()).await;
}
