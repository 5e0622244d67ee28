//! Where do files go, which are taken, and who writes down that they are there? `SPEC §9`

mod column;
mod recovery;

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use mesh_integrity::Session;
use mesh_plan::{BoxFuture, Context, Fields};
use mesh_schema::Field;
use mesh_uploads::{BlobStore, StorageKey, StoredFile, UploadLimits, UploadPolicy};
use mesh_wire::WireError;

use crate::body::Pace;

pub(crate) use column::{Place, find_record, write_column};
pub(crate) use recovery::{Sight, is_recorded, recover, sweep};

/// Uploads for an [`crate::App`]: with it, fields that the schema declares under `uploads` take files, and
/// stored files are served.
#[derive(Clone)]
pub struct Uploads {
    pub(crate) store: Arc<dyn BlobStore>,
    pub(crate) path: Cow<'static, str>,
    pub(crate) bounds: UploadLimits,
    /// That of other bodies unless set.
    pub(crate) pace: Option<Pace>,
    policy: UploadPolicy,
    handlers: HashMap<(String, String), Arc<dyn UploadHandler>>,
}

impl Uploads {
    /// Files go to that store, are served at `{base}/files`, and have 25 MiB at most.
    pub fn new(store: impl BlobStore) -> Self {
        Self {
            store: Arc::new(store),
            path: Cow::Borrowed("files"),
            bounds: UploadLimits::default(),
            pace: None,
            policy: UploadPolicy::default(),
            handlers: HashMap::new(),
        }
    }

    /// The same with stored files at another segment under the base path.
    #[must_use]
    pub fn at(mut self, path: impl Into<Cow<'static, str>>) -> Self {
        self.path = path.into();
        self
    }

    /// The same with another bound for fields that declare none.
    #[must_use]
    pub fn max_bytes(mut self, bytes: u64) -> Self {
        self.policy.max_bytes = bytes;
        self
    }

    /// The same with content types for fields that declare none; an empty list is any.
    #[must_use]
    pub fn content_types(mut self, types: Vec<String>) -> Self {
        self.policy.content_types = types;
        self
    }

    /// The same with another patience: a client may keep the server waiting for `grace` in all, and earns
    /// time back with every byte at the rate of `bytes_per_second`.
    #[must_use]
    pub fn pace(mut self, bytes_per_second: u32, grace: Duration) -> Self {
        self.pace = Some(Pace { bytes_per_second: bytes_per_second.max(1), grace });
        self
    }

    /// The same with an own handler for the files of one field, in place of the one that writes the field's
    /// column.
    #[must_use]
    pub fn handler(mut self, entity: &str, field: &str, handler: impl UploadHandler) -> Self {
        self.handlers.insert((entity.to_owned(), field.to_owned()), Arc::new(handler));
        self
    }

    /// Who writes down files of that field, if not the column's writer does.
    pub(crate) fn handler_of(&self, entity: &str, field: &str) -> Option<&Arc<dyn UploadHandler>> {
        // Two owned strings for one look-up: uploads are rare beside what they cost otherwise.
        self.handlers.get(&(entity.to_owned(), field.to_owned()))
    }

    /// Which files a field takes; `None` for fields that take none.
    pub(crate) fn policy_of(&self, field: &Field) -> Option<UploadPolicy> {
        let declared = field.upload.as_ref()?;
        let content_types = declared.content_types.as_ref().unwrap_or(&self.policy.content_types);
        Some(UploadPolicy {
            max_bytes: declared.max_bytes.unwrap_or(self.policy.max_bytes),
            content_types: content_types.clone(),
        })
    }
}

impl fmt::Debug for Uploads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Uploads")
            .field("store", &self.store)
            .field("policy", &self.policy)
            .finish_non_exhaustive()
    }
}

/// A file that has passed all checks and waits for its record.
#[derive(Clone, Debug)]
pub struct Upload {
    /// The entity of the path.
    pub entity: String,
    /// The record of the path; `None` where a new one is to be made.
    pub id: Option<String>,
    /// The field that takes the file.
    pub field: String,
    /// Storage key, hash, size and type of the file.
    pub file: StoredFile,
    /// Further fields that the client gives, not checked against anything.
    pub meta: Fields,
    /// Whose request it is; `None` where integrity is off.
    pub session: Option<Arc<Session>>,
}

/// Writes down that a file belongs to a record, in place of the server's own way.
///
/// The file is durable, and becomes visible when this is done. An error with a status below 500 says that
/// nothing was written, and the file is removed; with any other it is kept out of sight until
/// [`UploadHandler::is_recorded`] says whether it is needed.
pub trait UploadHandler: Send + Sync + 'static {
    /// Writes it down, and returns the id of the new record where one was made. The handler is to check
    /// whether the session may do this, whether the record exists, and what `meta` says.
    ///
    /// # Errors
    /// What the client is to be told: [`WireError::validation`], for instance.
    fn record(&self, upload: Upload, context: Context) -> BoxFuture<'_, Result<Option<String>, WireError>>;

    /// Whether some record points to that key. It is asked for files that a crash left between being complete
    /// and being visible.
    ///
    /// # Errors
    /// Where this cannot be found out now; the file is then left as it is.
    fn is_recorded(&self, key: StorageKey) -> BoxFuture<'_, Result<bool, WireError>>;
}
