//! A store that redirects downloads.

use std::ops::Range;

use mesh_server::Uploads;
use mesh_server::mesh_plan::{BoxFuture, Value};
use mesh_server::mesh_uploads::{
    Blob, BlobInfo, BlobStore, ContentHash, ContentType, FileStore, LinkMethod, Sealed, Staged, StorageKey,
    StoreError,
};

use super::{AVATAR, Fixture, file};

/// A store that redirects downloads.
#[derive(Debug)]
struct Elsewhere(FileStore);

impl BlobStore for Elsewhere {
    fn stage<'a>(
        &'a self,
        content_type: &'a ContentType,
    ) -> BoxFuture<'a, Result<Box<dyn Staged>, StoreError>> {
        self.0.stage(content_type)
    }

    fn find(&self, key: StorageKey) -> BoxFuture<'_, Result<Option<BlobInfo>, StoreError>> {
        self.0.find(key)
    }

    fn open(
        &self,
        key: StorageKey,
        range: Option<Range<u64>>,
    ) -> BoxFuture<'_, Result<Option<Blob>, StoreError>> {
        BlobStore::open(&self.0, key, range)
    }

    fn presigned_url(
        &self,
        key: StorageKey,
        _: LinkMethod,
    ) -> BoxFuture<'_, Result<Option<String>, StoreError>> {
        Box::pin(async move { Ok(Some(format!("https://files.example/{key}?signature=1"))) })
    }

    fn find_sealed(&self, key: StorageKey) -> BoxFuture<'_, Result<Option<Box<dyn Sealed>>, StoreError>> {
        self.0.find_sealed(key)
    }

    fn abandoned(&self) -> BoxFuture<'_, Result<Vec<Box<dyn Sealed>>, StoreError>> {
        self.0.abandoned()
    }
}

#[tokio::test]
async fn downloads_are_redirected_to_a_remote_store() {
    let folder = std::env::temp_dir().join(format!("mesh-server-elsewhere-{}", std::process::id()));
    let store = Elsewhere(FileStore::open(&folder).unwrap());
    let fixture = Fixture::with(Value::Null, |mesh| mesh, |_| Uploads::new(store));
    let (_, _, body) = fixture.upload("user/7/avatar", AVATAR, &file("x")).await;
    let url = body["url"].as_str().unwrap();
    let (status, headers, body) = fixture.get(url).await;
    assert_eq!((status, body.len()), (302, 0));
    let key = ContentHash::digest(b"x").key();
    assert_eq!(headers["location"], format!("https://files.example/{key}?signature=1"));
    assert_eq!(headers["cache-control"], "no-store");
    let missing = ContentHash::digest(b"other").key();
    assert_eq!(fixture.get(&format!("/mesh/files/{missing}")).await.0, 404);
    std::fs::remove_dir_all(folder).unwrap();
}
