//! Files whose record may or may not have been written.

use mesh_server::mesh_plan::Value;
use mesh_server::mesh_plan::policy::{Access, Condition};
use mesh_server::mesh_schema::Entity;
use mesh_server::mesh_uploads::ContentHash;

use super::{AVATAR, Fixture, file, part};

const BROKEN: &str = r#"{"name": "broken"}"#;

#[tokio::test]
async fn after_an_internal_failure_the_file_is_hidden_and_the_cause_not_sent() {
    let fixture = Fixture::new();
    let parts = part("meta", "application/json", r#"{"name": "broken"}"#) + file("x").as_str();
    let (status, _, body) = fixture.upload("user/7/avatar", AVATAR, &parts).await;
    assert_eq!(status, 500);
    assert!(!body.to_string().contains("secret"), "{body}");
    assert_eq!(fixture.pending(), 1, "the record may have been written");
    assert_eq!(fixture.get(&format!("/mesh/files/{}", ContentHash::digest(b"x").key())).await.0, 404);
    let recovered = fixture.recovered().await;
    assert_eq!((recovered.discarded, fixture.pending()), (1, 0));
}

#[tokio::test]
async fn a_written_record_publishes_its_file_later() {
    let key = ContentHash::digest(b"x").key().to_string();
    let fixture = Fixture::with(key.as_str().into(), |mesh| mesh, |uploads| uploads);
    let parts = part("meta", "application/json", BROKEN) + file("x").as_str();
    assert_eq!(fixture.upload("user/7/avatar", AVATAR, &parts).await.0, 500);
    assert_eq!(fixture.pending(), 1);
    let (status, _, body) = fixture.get(&format!("/mesh/files/{key}")).await;
    assert_eq!((status, &body[..], fixture.pending()), (200, &b"x"[..], 0));

    // Recovery at the next start does the same.
    let parts = part("meta", "application/json", BROKEN) + file("x").as_str();
    std::fs::remove_file(fixture.folder.join(&key)).unwrap();
    assert_eq!(fixture.upload("user/7/avatar", AVATAR, &parts).await.0, 500);
    assert_eq!(fixture.recovered().await.published, 1);
    assert_eq!(fixture.get(&format!("/mesh/files/{key}")).await.0, 200);
}

#[tokio::test]
async fn records_hidden_by_a_policy_are_not_considered_missing() {
    let hidden = |_: &str, entity: &Entity| match entity.key.as_str() {
        "user" => Access::all().when(Condition::equal("name", "Somebody")),
        _ => Access::all(),
    };
    // The record was written by a caller of another class; this one cannot see it.
    let fixture = Fixture::with(Value::Null, |mesh| mesh.policy(hidden), |uploads| uploads);
    let parts = part("meta", "application/json", BROKEN) + file("x").as_str();
    let (status, _, _) = fixture.upload("user", AVATAR, &parts).await;
    assert_eq!((status, fixture.pending()), (500, 1));
    // The caller of the download sees too little to decide.
    let (status, ..) = fixture.get(&format!("/mesh/files/{}", ContentHash::digest(b"x").key())).await;
    assert!(status != 200 && fixture.pending() == 1, "{status}");
    // The server itself sees all records.
    let recovered = fixture.recovered().await;
    assert_eq!((recovered.undecided, recovered.discarded, fixture.pending()), (0, 1, 0));
}
