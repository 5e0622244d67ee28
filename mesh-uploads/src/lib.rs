//! File uploads: multipart bodies are hashed while they stream, and stored whole or not at all.
//!
//! In reading order:
//!
//! 1. [`Statement`]: the JSON that a client signs, which says what field the file is for and what its hash is;
//! 2. [`UploadPolicy`] and [`UploadLimits`]: which files are taken, and how much of a request is read to find out;
//! 3. [`receive`]: a body becomes a checked, durable file that nobody sees yet; [`ReceivedUpload::finish`] awaits the
//!    caller's record and then shows the file;
//! 4. [`BlobStore`]: where files are. [`FileStore`] is a folder, `S3Store` (feature `s3`) speaks the S3 protocol;
//! 5. [`recover`], to be called at start, clears what a crash has left, and [`sweep_orphans`] finds files whose records are
//!    gone.
//!
//! ```
//! use futures_util::stream;
//! use mesh_uploads::{UploadLimits, ContentHash, FileStore, ReceiveOptions, RecordError, UploadPolicy, receive};
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = std::env::temp_dir().join(format!("mesh-uploads-doc-{}", std::process::id()));
//! let store = FileStore::open(&folder)?;
//! let incoming = ReceiveOptions {
//!     content_type: "multipart/form-data; boundary=b",
//!     hash: Some(ContentHash::digest(b"hello")),
//!     policy: &UploadPolicy::default(),
//!     bounds: UploadLimits::default(),
//! };
//! let body = "--b\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\nhello\r\n--b--\r\n";
//! let chunks = stream::iter([Ok::<_, std::io::Error>(body.into())]);
//!
//! let received = receive(&store, incoming, chunks).await?;
//! let key = received.file.key;
//! // In place of this, write the record that points to `key`.
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
//! - `s3`: `S3Store`, a store that speaks the S3 protocol.
//!
//! # Invariants
//! - A file is seen under its key only when all its bytes are durable, have been checked, and the record is written.
//! - A key is the SHA-256 of the bytes; nothing that a client names becomes part of a path.
//! - Memory does not depend on the size of a file, and what stands around it in a request is bounded.
//! - Only [`FileStore`] and `S3Store` do input or output. Nothing reads a clock.

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
pub use error::{BoxError, MultipartError, UploadError};
pub use policy::{DEFAULT_MAX_BYTES, UploadLimits, UploadPolicy};
pub use range::RequestedRange;
pub use receive::{FinishError, ReceiveOptions, ReceivedUpload, RecordError, StoredFile, receive};
pub use statement::{Statement, StatementError};
pub use store::{
    Blob, BlobInfo, BlobStore, FileStore, RecoveryReport, Sealed, Staged, StoreError, StoredBlob,
    SweepReport, publish_if_recorded, recover, sweep_orphans,
};
#[cfg(feature = "s3")]
pub use store::{S3Options, S3Store};

/// The README's example is run, too.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
