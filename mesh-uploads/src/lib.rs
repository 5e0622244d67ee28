//! File uploads: multipart bodies are hashed while they stream, and stored whole or not at all.
//!
//! In reading order:
//!
//! 1. [`Statement`]: the JSON that a client signs, with the field, and the hash and type of the file.
//! 2. [`UploadPolicy`] and [`UploadLimits`]: the accepted files, and limits on the rest of a request.
//! 3. [`receive`]: turns a body into a verified file that is not visible yet. [`ReceivedUpload::finish`] makes it durable,
//!    awaits the caller's record and then publishes the file.
//! 4. [`BlobStore`]: stores files. [`FileStore`] uses a folder, `S3Store` (feature `s3`) a bucket.
//! 5. [`recover`]: at start, removes or publishes the files that a crash has left. [`sweep_orphans`] removes files without
//!    records.
//!
//! ```
//! use futures_util::stream;
//! use mesh_uploads::{
//!     ContentHash, FileStore, ReceiveOptions, RecordError, StatedParts, UploadLimits, UploadPolicy, receive,
//! };
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = std::env::temp_dir().join(format!("mesh-uploads-doc-{}", std::process::id()));
//! let store = FileStore::open(&folder)?;
//! let options = ReceiveOptions {
//!     content_type: "multipart/form-data; boundary=b",
//!     stated: StatedParts { hash: Some(ContentHash::digest(b"hello")), ..StatedParts::default() },
//!     policy: &UploadPolicy::default(),
//!     bounds: UploadLimits::default(),
//! };
//! let body = "--b\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\nhello\r\n--b--\r\n";
//! let chunks = stream::iter([Ok::<_, std::io::Error>(body.into())]);
//!
//! let received = receive(&store, options, chunks).await?;
//! let key = received.file.key;
//! // A server writes the record that refers to `key` here.
//! let recorded = async { Ok::<_, RecordError<std::io::Error>>(7) };
//! assert_eq!(received.finish(recorded).await.ok(), Some(7));
//! assert!(folder.join(key.to_string()).exists());
//! # std::fs::remove_dir_all(folder)?;
//! # Ok(())
//! # }
//! ```
//!
//! # Features
//!
//! - `s3`: `S3Store`, a store in a bucket with the S3 protocol.
//!
//! # Invariants
//!
//! - A file is visible under its key only after its bytes have been verified and are durable, and its record is written.
//! - A key is the SHA-256 of the bytes. Names from clients never become part of a path.
//! - Memory use does not depend on the size of a file, and the rest of a request is limited.
//! - Only [`FileStore`] and `S3Store` perform I/O. No other code reads a clock.
//! - A request to a bucket ends within a time limit.

#![deny(missing_docs)]

mod content_hash;
mod content_type;
mod error;
mod json;
mod multipart;
mod policy;
mod range;
mod receive;
mod statement;
mod store;

pub use content_hash::{ContentHash, ContentHasher, StorageKey};
pub use content_type::ContentType;
pub use error::{BoxError, MultipartError, StatementError, StoreError, StoreErrorKind, UploadError};
pub use policy::{DEFAULT_MAX_BYTES, UploadLimits, UploadPolicy};
pub use range::RequestedRange;
pub use receive::{
    FinishError, ReceiveOptions, ReceivedUpload, RecordError, StatedParts, StoredFile, receive,
};
pub use statement::Statement;
pub use store::{
    Blob, BlobInfo, BlobStore, FileStore, LinkMethod, RecoveryReport, Sealed, Staged, StoreFuture,
    StoredBlob, SweepReport, publish_if_recorded, recover, sweep_orphans,
};
#[cfg(feature = "s3")]
pub use store::{S3Options, S3Store};

/// Runs the examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
