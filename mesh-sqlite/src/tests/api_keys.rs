//! Keys are stored and found in every form that their columns may have.

#[path = "../../../mesh-backend/tests/engines/api_keys.rs"]
mod shared;

use mesh_integrity::{ApiKeyHash, ApiKeySource as _};
use shared::time;

use crate::Backend as _;
use crate::tests::File;

const TABLE: &str = "my keys";

#[tokio::test]
async fn stored_keys_are_found_listed_and_deleted() {
    let file = File::new("");
    shared::keys_are_found_listed_and_deleted(&file.database(), TABLE).await;
}

#[tokio::test]
async fn hashes_and_times_may_have_other_forms() {
    let file = File::new(
        "CREATE TABLE \"my keys\" (\"Hash\", owner INTEGER, role TEXT, expires);
         INSERT INTO \"my keys\" VALUES
            (upper(hex(zeroblob(32))), 7, 'a', 1900000000),
            (X'1111111111111111111111111111111111111111111111111111111111111111', NULL, NULL, 1900000000000),
            (replace(hex(zeroblob(32)), '00', '22'), 'x', 'b', '2030-03-17T19:46:40+02:00'),
            (replace(hex(zeroblob(32)), '00', '33'), 'x', 'b', '2030-03-17 17:46:40'),
            (replace(hex(zeroblob(32)), '00', '44'), 'x', 'b', 'tomorrow'),
            (replace(hex(zeroblob(32)), '00', '55'), 'x', 'b', '');
         INSERT INTO \"my keys\" VALUES ('abc', 'x', 'b', NULL), (NULL, 'x', 'b', NULL), (X'11', 'x', 'b', NULL),
            (replace(hex(zeroblob(32)), '00', '66'), 'x', 'b', NULL),
            (replace(hex(zeroblob(32)), '00', '66'), 'y', 'b', NULL);",
    );
    let keys = file.database().api_keys(TABLE).await.unwrap();
    for (byte, owner, seconds) in [
        (0, Some("7"), 1_900_000_000),
        (0x11, None, 1_900_000_000),
        (0x22, Some("x"), 1_900_000_000),
        (0x33, Some("x"), 1_900_000_000),
        // A value that is not a time counts as expired.
        (0x44, Some("x"), 0),
        (0x55, Some("x"), 0),
    ] {
        let found = keys.find(ApiKeyHash([byte; 32])).await.unwrap().unwrap();
        assert_eq!((found.owner.as_deref(), found.expires), (owner, Some(time(seconds))), "{byte:x}");
    }
    assert_eq!(keys.find(ApiKeyHash([0x66; 32])).await.unwrap(), None, "two keys have this hash");
    let (listed, malformed) = keys.list().await.unwrap();
    assert_eq!((listed.len(), malformed), (8, 3));
    assert!(keys.delete(ApiKeyHash([0x11; 32])).await.unwrap(), "a hash of bytes");
}

#[tokio::test]
async fn errors_name_the_columns() {
    let file = File::new("CREATE TABLE \"my keys\" (hash TEXT, role TEXT)");
    let error = file.database().api_keys(TABLE).await.unwrap_err();
    assert_eq!(error.faults().len(), 2, "{error}");
    assert!(
        error.to_string().contains("has no column 'owner'") && error.to_string().contains("CREATE TABLE")
    );
}

#[tokio::test]
async fn a_missing_file_is_an_error_and_not_an_unknown_key() {
    let file = File::new("");
    let remove = || std::fs::remove_file(file.path()).unwrap();
    shared::a_database_that_is_away_is_an_error(&file.database(), remove).await;
}
