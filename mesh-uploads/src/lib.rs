//! Bytes in, stored file out: uploads that arrive as multipart, are hashed while they stream, and are stored
//! whole or not at all.
//!
//! In reading order:
//!
//! 1. [`Statement`]: the JSON that a client signs, which says what field the file is for and what its hash is;
//! 2. [`Policy`] and [`Bounds`]: which files are taken, and how much of a request is read to find out;
//! 3. [`receive`]: a body becomes a checked, durable file that nobody sees yet; [`Received::finish`] awaits the
//!    caller's record and then shows the file;
//! 4. [`BlobStore`]: where files are. [`FileStore`] is a folder, `S3Store` (feature `s3`) speaks the S3 protocol;
//! 5. [`recover`], to be called at start, clears what a crash has left, and [`sweep`] finds files whose records are
//!    gone.
//!
//! ```
//! use futures_util::stream;
//! use mesh_uploads::{Bounds, ContentHash, FileStore, Incoming, NotRecorded, Policy, receive};
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = std::env::temp_dir().join(format!("mesh-uploads-doc-{}", std::process::id()));
//! let store = FileStore::open(&folder)?;
//! let incoming = Incoming {
//!     content_type: "multipart/form-data; boundary=b",
//!     hash: Some(ContentHash::of(b"hello")),
//!     policy: &Policy::default(),
//!     bounds: Bounds::default(),
//! };
//! let body = "--b\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\nhello\r\n--b--\r\n";
//! let chunks = stream::iter([Ok::<_, std::io::Error>(body.into())]);
//!
//! let received = receive(&store, incoming, chunks).await?;
//! let key = received.file.key;
//! // In place of this, write the record that points to `key`.
//! let recorded = async { Ok::<_, NotRecorded<std::io::Error>>(7) };
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

mod content_type;
mod error;
mod json;
mod key;
mod multipart;
mod policy;
mod range;
mod receive;
mod statement;
mod store;

pub use content_type::ContentType;
pub use error::{BoxError, PartsError, UploadError};
pub use key::{ContentHash, Hasher, Key};
pub use policy::{Bounds, DEFAULT_MAX_BYTES, Policy};
pub use range::Wanted;
pub use receive::{Incoming, NotRecorded, Received, StoredFile, Unfinished, receive};
pub use statement::{Statement, StatementError};
pub use store::{
    Blob, BlobInfo, BlobStore, FileStore, Recovered, Sealed, Staged, StoreError, Stored, Swept, recover,
    settle, sweep,
};
#[cfg(feature = "s3")]
pub use store::{S3Options, S3Store};

/// The README's example is run, too.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
