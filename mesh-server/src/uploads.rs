//! Settings of uploads: the store, the accepted files, and the handlers that record them. `SPEC §9`

pub(crate) mod recovery;

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use mesh_integrity::Session;
use mesh_plan::{BoxFuture, Context, Fields};
use mesh_schema::{Field, Schema};
use mesh_uploads::{
    BlobStore, DEFAULT_MAX_BYTES, StorageKey, StoredFile, UploadError, UploadLimits, UploadPolicy,
};
use mesh_wire::WireError;

use crate::pipeline::body::Pace;

/// Settings of uploads, for [`crate::AppBuilder::uploads`]. With them, fields that the schema declares under `uploads`
/// accept files, and stored files are served.
#[derive(Clone)]
pub struct Uploads {
    pub(crate) store: Arc<dyn BlobStore>,
    pub(crate) path: Cow<'static, str>,
    pub(crate) bounds: UploadLimits,
    /// The minimum rate of bodies; `None` for the rate of other request bodies.
    pub(crate) pace: Option<Pace>,
    policy: UploadPolicy,
    /// The largest size that a field of the schema accepts.
    max_field_bytes: u64,
    handlers: HashMap<(String, String), Arc<dyn UploadHandler>>,
}

impl Uploads {
    /// Creates settings with the defaults: files of at most 25 MiB, served at `{base}/files`.
    pub fn new(store: impl BlobStore) -> Self {
        Self {
            store: Arc::new(store),
            path: Cow::Borrowed("files"),
            bounds: UploadLimits::default(),
            pace: None,
            policy: UploadPolicy::default(),
            max_field_bytes: DEFAULT_MAX_BYTES,
            handlers: HashMap::new(),
        }
    }

    /// Sets the path segment of stored files under the base path.
    #[must_use]
    pub fn path(mut self, path: impl Into<Cow<'static, str>>) -> Self {
        self.path = path.into();
        self
    }

    /// Sets the maximum size in bytes for fields that declare none.
    #[must_use]
    pub fn max_bytes(mut self, bytes: u64) -> Self {
        self.policy.max_bytes = bytes;
        self
    }

    /// Sets the accepted content types for fields that declare none; an empty list accepts all.
    #[must_use]
    pub fn content_types(mut self, types: Vec<String>) -> Self {
        self.policy.content_types = types;
        self
    }

    /// Sets the minimum rate of bodies: a client may keep the server waiting for `grace` in total. Every
    /// `bytes_per_second` bytes that it sends extend this time by one second.
    #[must_use]
    pub fn pace(mut self, bytes_per_second: u32, grace: Duration) -> Self {
        self.pace = Some(Pace { bytes_per_second: bytes_per_second.max(1), grace });
        self
    }

    /// Sets the handler that records the files of one field, instead of writing the field's column.
    #[must_use]
    pub fn handler(mut self, entity: &str, field: &str, handler: impl UploadHandler) -> Self {
        self.handlers.insert((entity.to_owned(), field.to_owned()), Arc::new(handler));
        self
    }

    /// Finds the largest size that a field of a schema accepts.
    pub(crate) fn measure(&mut self, schema: &Schema) {
        let fields = schema.entities().flat_map(|(_, entity)| &entity.fields);
        self.max_field_bytes = fields.filter_map(|field| self.max_bytes_of(field)).max().unwrap_or_default();
    }

    /// Refuses a body whose announced length is above the limit of every field of the schema. This check precedes
    /// authentication, so neither entity nor field may be looked up. `SPEC §2.1`, `SPEC §9.6`
    pub(crate) fn check_announced(&self, announced: Option<u64>) -> Result<(), UploadError> {
        let policy = UploadPolicy { max_bytes: self.max_field_bytes, content_types: Vec::new() };
        policy.check_length(announced, &self.bounds)
    }

    /// Returns the size that a field accepts; `None` if it accepts no files.
    fn max_bytes_of(&self, field: &Field) -> Option<u64> {
        Some(field.upload.as_ref()?.max_bytes.unwrap_or(self.policy.max_bytes))
    }

    /// Returns the handler of a field; `None` if its column is written.
    pub(crate) fn handler_of(&self, entity: &str, field: &str) -> Option<&Arc<dyn UploadHandler>> {
        self.handlers.get(&(entity.to_owned(), field.to_owned()))
    }

    /// Returns the policy for the files of a field; `None` if it accepts no files.
    pub(crate) fn policy_of(&self, field: &Field) -> Option<UploadPolicy> {
        let declared = field.upload.as_ref()?;
        let content_types = declared.content_types.as_ref().unwrap_or(&self.policy.content_types);
        Some(UploadPolicy { max_bytes: self.max_bytes_of(field)?, content_types: content_types.clone() })
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

/// A stored file that has passed all checks and is to be recorded.
#[derive(Clone, Debug)]
pub struct Upload {
    /// The entity of the path.
    pub entity: String,
    /// The id in the path; `None` if a record is to be created.
    pub id: Option<String>,
    /// The field that takes the file.
    pub field: String,
    /// Storage key, hash, size and type of the file.
    pub file: StoredFile,
    /// Further fields from the client, unchecked.
    pub meta: Fields<'static>,
    /// The authenticated session; `None` if integrity is off.
    pub session: Option<Arc<Session>>,
}

/// A handler that records which record a file belongs to, in place of the server.
///
/// The file is durable when the handler is called, and is published when the handler has succeeded. An error with a
/// status below 500 means that nothing was written, and the file is removed; with any other error it stays unpublished
/// until [`UploadHandler::is_recorded`] decides.
pub trait UploadHandler: Send + Sync + 'static {
    /// Writes the record, and returns its id if it is new. The handler must check `meta`, that the session may do this,
    /// and that the record exists.
    ///
    /// # Errors
    /// The error to send to the client, such as [`WireError::validation`].
    fn record(&self, upload: Upload, context: Context) -> BoxFuture<'_, Result<Option<String>, WireError>>;

    /// Returns whether a record refers to a key. Called for files that a crash left unpublished.
    ///
    /// # Errors
    /// An error leaves the file as it is.
    fn is_recorded(&self, key: StorageKey) -> BoxFuture<'_, Result<bool, WireError>>;
}
