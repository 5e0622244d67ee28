//! Tests of orphan removal: a file that any record refers to stays.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use bytes::Bytes;

use super::*;
use crate::content_hash::ContentHash;
use crate::content_type::ContentType;
use crate::store::{FileStore, recover};

struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Self(std::env::temp_dir().join(format!("mesh-sweep-{}-{number}", std::process::id())))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

async fn put(store: &FileStore, bytes: &'static [u8]) -> StorageKey {
    let key = ContentHash::digest(bytes).key();
    let mut staged = store.stage(&ContentType::parse("text/plain").unwrap()).await.unwrap();
    staged.write(Bytes::from_static(bytes)).await.unwrap();
    staged.seal(key).await.unwrap().publish().await.unwrap();
    key
}

const ANY_AGE: Duration = Duration::ZERO;

#[tokio::test]
async fn files_without_a_record_are_found_and_removed() {
    let folder = Folder::new();
    let store = FileStore::open(&folder.0).unwrap();
    let (needed, other) = (put(&store, b"needed").await, put(&store, b"other").await);
    let recorded = |key| async move { Ok::<_, ()>(key == needed) };
    let swept = sweep_orphans(&store, (ANY_AGE, false), recorded).await.unwrap();
    assert_eq!((swept.seen, swept.removed, swept.undecided), (2, 0, 0));
    assert!(matches!(&swept.unrecorded[..], [found] if found.key == other && found.size == 5));
    let young = sweep_orphans(&store, (Duration::from_secs(3_600), true), recorded).await.unwrap();
    assert_eq!((young.seen, young.unrecorded.len()), (2, 0));
    assert_eq!(sweep_orphans(&store, (ANY_AGE, true), recorded).await.unwrap().removed, 1);
    assert_eq!(store.find(other).await.unwrap(), None);
    assert!(store.find(needed).await.unwrap().is_some());
    // The bytes and the content type are removed.
    let left = fs::read_dir(folder.0.join("sha256")).unwrap().flatten();
    assert_eq!(left.map(|group| fs::read_dir(group.path()).unwrap().count()).sum::<usize>(), 2);
    assert_eq!(fs::read_dir(folder.0.join("pending")).unwrap().count(), 0);
}

/// An upload of the same bytes writes its record between the two lookups.
#[tokio::test]
async fn a_file_that_gets_a_record_during_the_sweep_is_published_again() {
    let folder = Folder::new();
    let store = FileStore::open(&folder.0).unwrap();
    let key = put(&store, b"again").await;
    let mut lookups = 0;
    let recorded = |_| {
        lookups += 1;
        std::future::ready(Ok::<_, ()>(lookups == 2))
    };
    let swept = sweep_orphans(&store, (ANY_AGE, true), recorded).await.unwrap();
    assert_eq!((swept.removed, swept.unrecorded.len(), lookups), (0, 0, 2));
    let found = store.find(key).await.unwrap().unwrap();
    assert_eq!((found.size, found.content_type.as_str()), (5, "text/plain"));
}

#[tokio::test]
async fn files_whose_record_cannot_be_looked_up_stay() {
    let folder = Folder::new();
    let store = FileStore::open(&folder.0).unwrap();
    let key = put(&store, b"undecided").await;
    let swept = sweep_orphans(&store, (ANY_AGE, true), |_| async { Err::<bool, _>(()) }).await.unwrap();
    assert_eq!((swept.undecided, swept.removed), (1, 0));
    assert!(store.find(key).await.unwrap().is_some());
}

/// The process ends between unpublishing a file and the second lookup.
#[tokio::test]
async fn unpublished_files_are_recovered() {
    let folder = Folder::new();
    let store = FileStore::open(&folder.0).unwrap();
    let key = put(&store, b"left").await;
    drop(store.unpublish(key).await.unwrap().unwrap());
    assert_eq!(store.find(key).await.unwrap(), None);
    let recovered = recover(&store, |_| async { Ok::<_, ()>(true) }).await.unwrap();
    assert_eq!(recovered.published, 1);
    assert_eq!(store.find(key).await.unwrap().unwrap().content_type.as_str(), "text/plain");
}
