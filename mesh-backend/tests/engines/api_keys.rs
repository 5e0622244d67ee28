//! API keys in a table: what holds for every database. The tests of each back end include this file.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use mesh_backend::backend::Backend;
use mesh_integrity::{ApiKeyHash, ApiKeySource as _, StoredApiKey};

/// Returns a key whose hash repeats one byte.
pub(crate) fn key(byte: u8) -> StoredApiKey {
    let role = Some("reader".to_owned());
    StoredApiKey { hash: ApiKeyHash([byte; 32]), owner: None, role, expires: None }
}

pub(crate) fn time(seconds: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(seconds)
}

/// Creates the table, and checks that stored keys are found, listed and deleted.
pub(crate) async fn keys_are_found_listed_and_deleted(database: &impl Backend, table: &str) {
    let missing = database.api_keys(table).await.unwrap_err().faults().concat();
    assert!(
        missing.contains(&format!("no table '{table}'")) && missing.contains("CREATE TABLE"),
        "{missing}"
    );
    database.create_api_keys_table(table).await.unwrap();
    database.create_api_keys_table(table).await.unwrap();
    let keys = database.api_keys(table).await.unwrap();
    let owned = StoredApiKey { owner: Some("7".to_owned()), expires: Some(time(1_900_000_000)), ..key(0xab) };
    for key in [&key(1), &owned] {
        keys.insert(key).await.unwrap();
        assert_eq!(keys.find(key.hash).await.unwrap().as_ref(), Some(key));
    }
    assert!(keys.insert(&owned).await.is_err(), "a hash is unique");
    assert_eq!(keys.list().await.unwrap(), (vec![key(1), owned.clone()], 0));
    assert!(keys.delete(owned.hash).await.unwrap());
    assert!(!keys.delete(owned.hash).await.unwrap());
    assert_eq!(keys.find(owned.hash).await.unwrap(), None);
    assert_eq!(keys.list().await.unwrap().0, [key(1)]);
}

/// Checks that a key is not unknown because the database is away.
pub(crate) async fn a_database_that_is_away_is_an_error(database: &impl Backend, stop: impl FnOnce()) {
    database.create_api_keys_table("keys").await.unwrap();
    let keys = database.api_keys("keys").await.unwrap();
    assert_eq!(keys.find(key(1).hash).await.unwrap(), None);
    stop();
    assert!(keys.find(key(1).hash).await.is_err());
}
