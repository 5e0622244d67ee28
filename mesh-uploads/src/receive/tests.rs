//! Tests of receiving uploads.

mod faults;
mod hostile;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use futures_util::stream;
use proptest::prelude::*;

use super::*;
use crate::{FileStore, recover};

/// A temporary folder for one test.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Self(std::env::temp_dir().join(format!("mesh-uploads-{}-{number}", std::process::id())))
    }

    fn store(&self) -> FileStore {
        FileStore::open(&self.0).unwrap()
    }

    /// Returns the sorted relative paths of all files.
    fn files(&self) -> Vec<String> {
        let mut found = Vec::new();
        collect(&self.0, &self.0, &mut found);
        found.sort();
        found
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn collect(root: &Path, folder: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(root, &path, found);
        } else {
            found.push(path.strip_prefix(root).unwrap().display().to_string());
        }
    }
}

const CONTENT_TYPE: &str = "multipart/form-data; boundary=b0";

fn part(headers: &str, bytes: &[u8]) -> Vec<u8> {
    [b"--b0\r\nContent-Disposition: form-data; ", headers.as_bytes(), b"\r\n\r\n", bytes, b"\r\n"].concat()
}

fn file_part(bytes: &[u8]) -> Vec<u8> {
    part("name=\"file\"; filename=\"a.txt\"\r\nContent-Type: text/plain", bytes)
}

fn ended(mut parts: Vec<u8>) -> Vec<u8> {
    parts.extend_from_slice(b"--b0--\r\n");
    parts
}

fn options(policy: &UploadPolicy) -> ReceiveOptions<'_> {
    let (stated, bounds) = (StatedParts::default(), UploadLimits::default());
    ReceiveOptions { content_type: CONTENT_TYPE, stated, policy, bounds }
}

fn chunks(body: &[u8], size: usize) -> impl Stream<Item = io::Result<Bytes>> + Send + 'static {
    let chunks: Vec<_> = body.chunks(size).map(|chunk| Ok(Bytes::copy_from_slice(chunk))).collect();
    stream::iter(chunks)
}

async fn take(store: &dyn BlobStore, body: &[u8]) -> Result<ReceivedUpload, UploadError> {
    receive(store, options(&UploadPolicy::default()), chunks(body, 7)).await
}

async fn recorded() -> Result<(), RecordError<io::Error>> {
    Ok(())
}

async fn bytes_of(store: &dyn BlobStore, key: StorageKey) -> Option<Vec<u8>> {
    let blob = store.open(key, None).await.unwrap()?;
    let chunks: Vec<Bytes> = blob.bytes.try_collect().await.unwrap();
    Some(chunks.concat())
}

#[tokio::test]
async fn a_file_becomes_visible_after_its_record() {
    let folder = Folder::new();
    let store = folder.store();
    let body = ended([part("name=meta", b"{\"title\": \"x\"}"), file_part(b"hello")].concat());
    let received = take(&store, &body).await.unwrap();
    let file = received.file.clone();
    assert_eq!(received.meta, "{\"title\": \"x\"}");
    assert_eq!(
        (file.size, file.hash, file.content_type.as_str()),
        (5, ContentHash::digest(b"hello"), "text/plain")
    );

    let record = async {
        assert_eq!(bytes_of(&store, file.key).await, None);
        recorded().await
    };
    received.finish(record).await.unwrap();
    assert_eq!(bytes_of(&store, file.key).await.as_deref(), Some(&b"hello"[..]));
    let info = store.find(file.key).await.unwrap().unwrap();
    assert_eq!((info.size, info.content_type.as_str()), (5, "text/plain"));
    assert_eq!(folder.files(), [file.key.to_string(), format!("{}.type", file.key)]);
}

#[tokio::test]
async fn concurrent_uploads_of_equal_bytes_are_stored_once() {
    let folder = Folder::new();
    let store = folder.store();
    let body = ended(part("name=file", b"same"));
    let (one, two) = (take(&store, &body).await.unwrap(), take(&store, &body).await.unwrap());
    let key = one.file.key;
    let (one, two) = futures_util::future::join(one.finish(recorded()), two.finish(recorded())).await;
    assert!(one.is_ok() && two.is_ok());
    take(&store, &body).await.unwrap().finish(recorded()).await.unwrap();
    assert_eq!(folder.files(), [key.to_string()]);
}

#[tokio::test]
async fn equal_bytes_have_the_last_declared_type() {
    let folder = Folder::new();
    let store = folder.store();
    for content_type in ["text/plain", "text/html", "application/octet-stream", "application/octet-stream"] {
        let file = part(&format!("name=file\r\nContent-Type: {content_type}"), b"same");
        let received = take(&store, &ended(file)).await.unwrap();
        let key = received.file.key;
        received.finish(recorded()).await.unwrap();
        assert_eq!(store.find(key).await.unwrap().unwrap().content_type.as_str(), content_type);
        assert_eq!(folder.files().len(), 2);
    }
}

#[tokio::test]
async fn an_empty_file_is_stored() {
    let folder = Folder::new();
    let store = folder.store();
    let received = take(&store, &ended(file_part(b""))).await.unwrap();
    let key = received.file.key;
    received.finish(recorded()).await.unwrap();
    assert_eq!(bytes_of(&store, key).await.as_deref(), Some(&b""[..]));
}

#[tokio::test]
async fn ranges_of_a_file_are_read() {
    let folder = Folder::new();
    let store = folder.store();
    let bytes: Vec<u8> = (0..600_000_u32).map(|number| number as u8).collect();
    let received = take(&store, &ended(file_part(&bytes))).await.unwrap();
    let key = received.file.key;
    received.finish(recorded()).await.unwrap();
    let blob = store.open(key, Some(140_000..400_001)).await.unwrap().unwrap();
    let chunks: Vec<Bytes> = blob.bytes.try_collect().await.unwrap();
    assert!(chunks.concat() == bytes[140_000..400_001]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// The result does not depend on the chunks of the body, even if the file contains fragments of boundaries.
    #[test]
    fn the_result_does_not_depend_on_chunks(
        pieces in prop::collection::vec(prop_oneof![
            Just(b"\r\n--b".to_vec()), Just(b"\r\n".to_vec()), Just(b"--b0--".to_vec()), Just(b"\r".to_vec()),
            prop::collection::vec(any::<u8>(), 0..40),
        ], 0..30),
        size in 1_usize..90,
    ) {
        let bytes = pieces.concat();
        prop_assume!(!bytes.windows(6).any(|window| window == b"\r\n--b0"));
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let folder = Folder::new();
            let store = folder.store();
            let body = ended([file_part(&bytes), part("name=meta", b"{}")].concat());
            let policy = UploadPolicy::default();
            let received = receive(&store, options(&policy), chunks(&body, size)).await.unwrap();
            let key = received.file.key;
            received.finish(recorded()).await.unwrap();
            assert!(bytes_of(&store, key).await == Some(bytes));
        });
    }
}
