//! Failures at every step of an upload: no partial file becomes visible, and every record has its bytes.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use futures_util::future::BoxFuture;

use super::*;
use crate::publish_if_recorded;
use crate::store::{Blob, BlobInfo, Sealed};

#[tokio::test]
async fn a_body_that_ends_early_leaves_nothing() {
    let body = ended([file_part(&[b'x'; 5000]), part("name=meta", b"{}")].concat());
    for tenth in 0..10 {
        let cut = &body[..body.len() * tenth / 10];
        let folder = Folder::new();
        let store = folder.store();
        assert!(take(&store, cut).await.is_err(), "ended after {} bytes", cut.len());
        let broken = chunks(cut, 100).chain(stream::iter([Err(io::ErrorKind::ConnectionReset.into())]));
        let failed = receive(&store, options(&UploadPolicy::default()), broken).await.unwrap_err();
        assert!(matches!(failed, UploadError::Body(_)), "{failed:?}");
        assert_eq!(folder.files(), [""; 0], "broke off after {} bytes", cut.len());
    }
}

#[tokio::test]
async fn a_dropped_upload_leaves_nothing() {
    let folder = Folder::new();
    let store = folder.store();
    let body = file_part(&[b'x'; 1_000_000]);
    let stalled = chunks(&body, 50_000).chain(stream::pending());
    let policy = UploadPolicy::default();
    let receiving = receive(&store, options(&policy), stalled);
    let mut receiving = Box::pin(receiving);
    while folder.files().is_empty() {
        assert!(futures_util::future::poll_immediate(&mut receiving).await.is_none());
        tokio::task::yield_now().await;
    }
    drop(receiving);
    // A write that has begun completes first, on a blocking thread.
    let removed = async {
        while !folder.files().is_empty() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), removed).await.expect("the file is removed");

    drop(take(&store, &ended(file_part(b"hello"))).await.unwrap());
    assert_eq!(folder.files(), [""; 0], "a complete file that nothing refers to");
}

/// Leaves a sealed file, as a crash does before the record is known to be written. The handle is dropped, which releases the
/// lock as the end of a process does.
async fn leave_sealed(received: ReceivedUpload) -> StorageKey {
    let key = received.file.key;
    assert!(received.finish(async { Err::<(), _>(RecordError::Unknown("a crash")) }).await.is_err());
    key
}

/// The states in which a crash can leave a store.
#[tokio::test]
async fn recovery_publishes_files_with_a_record_only() {
    for is_recorded in [true, false] {
        let folder = Folder::new();
        let store = folder.store();
        let received = take(&store, &ended(file_part(b"hello"))).await.unwrap();
        let key = leave_sealed(received).await;
        fs::write(folder.0.join("pending/4000000-0.part"), b"half").unwrap();
        assert_eq!(bytes_of(&store, key).await, None);

        let done = recover(&folder.store(), async |_| Ok::<_, io::Error>(is_recorded)).await.unwrap();
        assert_eq!((done.published, done.discarded), (usize::from(is_recorded), usize::from(!is_recorded)));
        assert_eq!(bytes_of(&store, key).await.is_some(), is_recorded);
        let expected = if is_recorded { vec![key.to_string(), format!("{key}.type")] } else { vec![] };
        assert_eq!(folder.files(), expected);
    }
}

#[tokio::test]
async fn recovery_skips_active_and_undecided_files() {
    let folder = Folder::new();
    let store = folder.store();
    let received = take(&store, &ended(file_part(b"hello"))).await.unwrap();
    let other = folder.store();
    let recovered_meanwhile = async {
        let done = recover(&other, async |_| Ok::<_, io::Error>(false)).await.unwrap();
        assert_eq!(done, crate::RecoveryReport::default());
        recorded().await
    };
    received.finish(recovered_meanwhile).await.unwrap();

    leave_sealed(take(&store, &ended(file_part(b"second"))).await.unwrap()).await;
    let done = recover(&other, async |_| Err(io::Error::other("no database"))).await.unwrap();
    assert_eq!(done.undecided, 1);
    assert_eq!(recover(&other, async |_| Ok::<_, io::Error>(true)).await.unwrap().published, 1);
}

#[tokio::test]
async fn a_recorded_file_can_be_published_by_a_reader() {
    let folder = Folder::new();
    let store = folder.store();
    let received = take(&store, &ended(file_part(b"hello"))).await.unwrap();
    let key = received.file.key;
    let record_then_read = async {
        assert!(!publish_if_recorded(&store, key, async { Ok::<_, io::Error>(false) }).await.unwrap());
        assert_eq!(bytes_of(&store, key).await, None);
        assert!(publish_if_recorded(&store, key, async { Ok::<_, io::Error>(true) }).await.unwrap());
        assert_eq!(bytes_of(&store, key).await.as_deref(), Some(&b"hello"[..]));
        recorded().await
    };
    received.finish(record_then_read).await.unwrap();
    assert!(!publish_if_recorded(&store, key, async { Ok::<_, io::Error>(true) }).await.unwrap());
    assert_eq!(folder.files().len(), 2);
}

#[tokio::test]
async fn a_refused_record_removes_the_file_and_an_unknown_one_keeps_it_sealed() {
    let folder = Folder::new();
    let store = folder.store();
    let body = ended(file_part(b"hello"));
    let refused = take(&store, &body).await.unwrap();
    let key = refused.file.key;
    let result = refused.finish(async { Err::<(), _>(RecordError::Refused("no such record")) }).await;
    assert!(matches!(result, Err(FinishError::Record("no such record"))));
    assert_eq!(folder.files(), [""; 0]);

    let unknown = take(&store, &body).await.unwrap();
    assert!(unknown.finish(async { Err::<(), _>(RecordError::Unknown("too slow")) }).await.is_err());
    assert_eq!(bytes_of(&store, key).await, None);
    assert!(publish_if_recorded(&store, key, async { Ok::<_, io::Error>(true) }).await.unwrap());
    assert!(bytes_of(&store, key).await.is_some());
}

#[tokio::test]
async fn a_truncated_file_is_replaced_by_the_next_upload() {
    let folder = Folder::new();
    let store = folder.store();
    let body = ended(part("name=file", b"hello"));
    let first = take(&store, &body).await.unwrap();
    let key = first.file.key;
    first.finish(recorded()).await.unwrap();
    fs::write(folder.0.join(key.to_string()), b"he").unwrap();
    take(&store, &body).await.unwrap().finish(recorded()).await.unwrap();
    assert_eq!(bytes_of(&store, key).await.as_deref(), Some(&b"hello"[..]));
}

/// A store that fails after a number of steps, like a full disk.
#[derive(Clone, Debug)]
struct Failing {
    store: FileStore,
    left: Arc<AtomicUsize>,
}

impl Failing {
    fn step(&self) -> Result<(), StoreError> {
        let left = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
        let full = || StoreError::new("write a file", io::Error::from(io::ErrorKind::StorageFull));
        left.map(|_| ()).map_err(|_| full())
    }
}

impl BlobStore for Failing {
    fn stage<'a>(
        &'a self,
        content_type: &'a ContentType,
    ) -> BoxFuture<'a, Result<Box<dyn Staged>, StoreError>> {
        Box::pin(async move {
            self.step()?;
            let staged = self.store.stage(content_type).await?;
            Ok(Box::new(FailingFile { file: staged, failing: self.clone() }) as Box<dyn Staged>)
        })
    }

    fn find(&self, key: StorageKey) -> BoxFuture<'_, Result<Option<BlobInfo>, StoreError>> {
        self.store.find(key)
    }

    fn open(
        &self,
        key: StorageKey,
        range: Option<std::ops::Range<u64>>,
    ) -> BoxFuture<'_, Result<Option<Blob>, StoreError>> {
        BlobStore::open(&self.store, key, range)
    }

    fn find_sealed(&self, key: StorageKey) -> BoxFuture<'_, Result<Option<Box<dyn Sealed>>, StoreError>> {
        self.store.find_sealed(key)
    }

    fn abandoned(&self) -> BoxFuture<'_, Result<Vec<Box<dyn Sealed>>, StoreError>> {
        self.store.abandoned()
    }
}

struct FailingFile<T: ?Sized> {
    failing: Failing,
    file: Box<T>,
}

impl Staged for FailingFile<dyn Staged> {
    fn write(&mut self, bytes: Bytes) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move {
            self.failing.step()?;
            self.file.write(bytes).await
        })
    }

    fn seal(self: Box<Self>, key: StorageKey) -> BoxFuture<'static, Result<Box<dyn Sealed>, StoreError>> {
        Box::pin(async move {
            self.failing.step()?;
            let file = self.file.seal(key).await?;
            Ok(Box::new(FailingFile { failing: self.failing, file }) as Box<dyn Sealed>)
        })
    }
}

impl Sealed for FailingFile<dyn Sealed> {
    fn key(&self) -> StorageKey {
        self.file.key()
    }

    fn publish(self: Box<Self>) -> BoxFuture<'static, Result<(), StoreError>> {
        Box::pin(async move {
            self.failing.step()?;
            self.file.publish().await
        })
    }

    fn discard(self: Box<Self>) -> BoxFuture<'static, Result<(), StoreError>> {
        self.file.discard()
    }
}

#[tokio::test]
async fn a_failing_store_publishes_nothing_and_keeps_recorded_files() {
    let bytes = vec![b'x'; 1_000_000];
    let body = ended(file_part(&bytes));
    let policy = UploadPolicy::default();
    for steps in 0.. {
        let folder = Folder::new();
        let store = Failing { store: folder.store(), left: Arc::new(AtomicUsize::new(steps)) };
        let key = ContentHash::digest(&bytes).key();
        match receive(&store, options(&policy), chunks(&body, 60_000)).await {
            Err(error) => {
                assert!(matches!(error, UploadError::Store(_)), "{error:?}");
                assert_eq!(folder.files(), [""; 0], "after {steps} steps");
                continue;
            }
            Ok(received) => match received.finish(recorded()).await {
                Ok(()) => {}
                Err(FinishError::Seal(_)) => {
                    assert_eq!(folder.files(), [""; 0], "after {steps} steps");
                    continue;
                }
                // The record is written, so the bytes must be available.
                Err(error) => {
                    assert!(matches!(error, FinishError::Publish { .. }), "{error:?}");
                    assert_eq!(bytes_of(&store, key).await, None);
                    let found = publish_if_recorded(&store, key, async { Ok::<_, io::Error>(true) }).await;
                    assert!(found.unwrap());
                    assert!(bytes_of(&store, key).await.is_some());
                    continue;
                }
            },
        }
        assert!(steps > 6, "stage, four blocks, seal and publish can fail, and did at {steps} steps");
        break;
    }
}
