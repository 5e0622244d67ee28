//! API keys in a table of the database, with the same cases as in mesh-sqlite.

#[path = "../../../mesh-backend/tests/engines/api_keys.rs"]
mod shared;

use mesh_integrity::{ApiKeyHash, ApiKeySource as _, StoredApiKey};
use mesh_tests::MariaDb;
use shared::{key, time};

use crate::{Backend as _, Database, Settings};

async fn open(server: &MariaDb) -> Database {
    Database::connect(&server.url(), &Settings::default()).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stored_keys_are_found_listed_and_deleted() {
    let Some(server) = MariaDb::start() else { return };
    shared::keys_are_found_listed_and_deleted(&open(&server).await, "my keys").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hashes_and_times_may_have_other_forms() {
    let Some(server) = MariaDb::start() else { return };
    server.execute(
        "CREATE TABLE bytes (hash binary(32) UNIQUE, owner int NOT NULL, role enum('a', 'b'), expires timestamp NULL);
         CREATE TABLE digits (hash varchar(64), owner uuid, role text, expires date);
         INSERT INTO digits VALUES (upper(repeat('0a', 32)), NULL, 'a', '2030-03-17'), ('abc', NULL, 'a', NULL),
            (NULL, NULL, 'a', NULL), (repeat('66', 32), NULL, 'a', NULL), (repeat('66', 32), NULL, 'a', NULL);",
    );
    let database = open(&server).await;
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
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn errors_name_columns_and_types() {
    let Some(server) = MariaDb::start() else { return };
    server.execute(
        "CREATE TABLE few (hash text, role text);
         CREATE TABLE wrong (hash uuid, owner text, role text, expires int)",
    );
    let database = open(&server).await;
    let faults = async |table| database.api_keys(table).await.unwrap_err().faults();
    let few = faults("few").await;
    assert_eq!(few.len(), 2, "{few:?}");
    assert!(few[0].contains("has no column 'owner'") && few[1].contains("CREATE TABLE"), "{few:?}");
    let wrong = faults("wrong").await;
    assert!(wrong[0].contains("'hash'") && wrong[0].contains("uuid; it must be text"), "{wrong:?}");
    assert!(wrong[1].contains("'expires'") && wrong[1].contains("int"), "{wrong:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_is_away_is_an_error_and_not_an_unknown_key() {
    let Some(mut server) = MariaDb::start() else { return };
    let database = open(&server).await;
    shared::a_database_that_is_away_is_an_error(&database, || server.stop()).await;
}
