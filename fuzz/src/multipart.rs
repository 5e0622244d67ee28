//! Multipart bodies: a file is stored whole under its hash or not at all, however the body is split into chunks.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::stream;
use mesh_uploads::{
    Blob, BlobInfo, BlobStore, ContentHash, ContentType, ReceiveOptions, RecordError, RequestedRange, Sealed,
    Staged, StatedParts, Statement, StorageKey, StoreError, UploadLimits, UploadPolicy, receive,
};

use super::cursor::now;

/// Receives an upload. The first byte of the input selects the chunk size; the rest is a body with the boundary `b0`.
pub fn multipart(data: &[u8]) {
    let Some((split, body)) = data.split_first() else { return };
    let whole = store(body, usize::MAX);
    let chunked = store(body, usize::from(*split).max(1));
    // Limits on the framing are counted in chunks, so the result near a limit may depend on them.
    if body.len() <= UploadLimits::default().trailer_bytes || (whole.is_some() && chunked.is_some()) {
        assert_eq!(whole, chunked, "another outcome with chunks of {split} bytes");
    }
}

/// Parses the input as the statement of an upload, and as a `Range` header.
pub fn statement(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match Statement::parse(text) {
        Ok(statement) => {
            assert!(statement.check("\0 no entity", None).is_err());
            assert_eq!(Statement::parse(&statement.to_string()), Ok(statement));
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    if let Some(hash) = ContentHash::parse(text) {
        assert!(hash.to_string().eq_ignore_ascii_case(text), "{hash}");
        assert_eq!(hash.key().hash(), hash);
    }
    if let Some(key) = StorageKey::parse(text) {
        assert_eq!(key.to_string(), text);
    }
    for size in [0, 1, 10, u64::MAX] {
        if let RequestedRange::Part(range) = RequestedRange::parse(Some(text), size) {
            assert!(range.start < range.end && range.end <= size, "{range:?} of {size}");
        }
    }
}

/// Stores an upload. Returns its storage key and `meta`, or `None` if the body is refused.
fn store(body: &[u8], size: usize) -> Option<(StorageKey, String)> {
    let files = Memory::default();
    let policy = UploadPolicy { max_bytes: 10_000, ..UploadPolicy::default() };
    let incoming = ReceiveOptions {
        content_type: "multipart/form-data; boundary=b0",
        stated: StatedParts::default(),
        policy: &policy,
        bounds: UploadLimits::default(),
    };
    // A large body in single bytes would be slow without testing more.
    let size = size.max(body.len() / 1_000 + 1);
    let pieces: Vec<_> =
        body.chunks(size).map(|it| Ok::<_, std::io::Error>(Bytes::copy_from_slice(it))).collect();
    let received = now(receive(&files, incoming, stream::iter(pieces)));
    let Ok(received) = received else {
        assert!(files.is_clean(), "a refused upload leaves a file");
        return None;
    };
    assert!(received.file.size <= policy.max_bytes);
    assert!(serde_json::from_str::<serde_json::Map<_, serde_json::Value>>(&received.meta).is_ok());
    let (key, meta) = (received.file.key, received.meta.clone());
    assert!(files.published(key).is_none(), "published before its record");
    now(received.finish(async { Ok::<_, RecordError<()>>(()) })).expect("published");
    let bytes = files.published(key).expect("the file");
    assert_eq!(ContentHash::digest(&bytes).key(), key);
    Some((key, meta))
}

#[derive(Clone, Debug, Default)]
struct Memory(Arc<Mutex<Files>>);

#[derive(Debug, Default)]
struct Files {
    /// Files that are staged or sealed.
    unpublished: usize,
    published: HashMap<String, Vec<u8>>,
}

impl Memory {
    fn is_clean(&self) -> bool {
        let files = self.0.lock().expect("no panic");
        files.unpublished == 0 && files.published.is_empty()
    }

    fn published(&self, key: StorageKey) -> Option<Vec<u8>> {
        self.0.lock().expect("no panic").published.get(&key.to_string()).cloned()
    }
}

struct StagedFile {
    files: Memory,
    bytes: Vec<u8>,
}

impl Drop for StagedFile {
    fn drop(&mut self) {
        self.files.0.lock().expect("no panic").unpublished -= 1;
    }
}

impl Staged for StagedFile {
    fn write(&mut self, bytes: Bytes) -> BoxFuture<'_, Result<(), StoreError>> {
        self.bytes.extend_from_slice(&bytes);
        Box::pin(async { Ok(()) })
    }

    fn seal(self: Box<Self>, key: StorageKey) -> BoxFuture<'static, Result<Box<dyn Sealed>, StoreError>> {
        Box::pin(async move { Ok(Box::new(SealedFile { staged: *self, key }) as Box<dyn Sealed>) })
    }
}

struct SealedFile {
    staged: StagedFile,
    key: StorageKey,
}

impl Sealed for SealedFile {
    fn key(&self) -> StorageKey {
        self.key
    }

    fn publish(self: Box<Self>) -> BoxFuture<'static, Result<(), StoreError>> {
        let bytes = self.staged.bytes.clone();
        self.staged.files.0.lock().expect("no panic").published.insert(self.key.to_string(), bytes);
        Box::pin(async { Ok(()) })
    }

    fn discard(self: Box<Self>) -> BoxFuture<'static, Result<(), StoreError>> {
        Box::pin(async { Ok(()) })
    }
}

impl BlobStore for Memory {
    fn stage<'a>(&'a self, _: &'a ContentType) -> BoxFuture<'a, Result<Box<dyn Staged>, StoreError>> {
        self.0.lock().expect("no panic").unpublished += 1;
        let staged = StagedFile { files: self.clone(), bytes: Vec::new() };
        Box::pin(async { Ok(Box::new(staged) as Box<dyn Staged>) })
    }

    fn find(&self, _: StorageKey) -> BoxFuture<'_, Result<Option<BlobInfo>, StoreError>> {
        Box::pin(async { Ok(None) })
    }

    fn open(&self, _: StorageKey, _: Option<Range<u64>>) -> BoxFuture<'_, Result<Option<Blob>, StoreError>> {
        Box::pin(async { Ok(None) })
    }

    fn find_sealed(&self, _: StorageKey) -> BoxFuture<'_, Result<Option<Box<dyn Sealed>>, StoreError>> {
        Box::pin(async { Ok(None) })
    }

    fn abandoned(&self) -> BoxFuture<'_, Result<Vec<Box<dyn Sealed>>, StoreError>> {
        Box::pin(async { Ok(Vec::new()) })
    }
}
