//! Settings of uploads: the store, the accepted files, and the handlers that record them. `SPEC §9`

pub(crate) mod recovery;

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use mesh_integrity::Session;
use mesh_plan::{BoxFuture, Context, Fields};
use mesh_schema::{Field, Schema};
use mesh_uploads::{BlobStore, StorageKey, StoredFile, UploadError, UploadLimits, UploadPolicy};
use mesh_wire::WireError;

use crate::pipeline::body::Pace;

/// Settings of uploads, for [`crate::AppOptions::uploads`]. With them, fields that the schema declares under `uploads`
/// accept files, and stored files are served.
#[derive(Clone)]
pub struct Uploads {
    /// The path segment of stored files under the base path, `files` by default.
    pub path: Cow<'static, str>,
    /// What is accepted for fields that declare no size or no content types: files of at most 25 MiB and any type by default.
    pub policy: UploadPolicy,
    /// The minimum rate of bodies; `None` for the rate of other request bodies.
    pub pace: Option<Pace>,
    pub(crate) store: Arc<dyn BlobStore>,
    pub(crate) bounds: UploadLimits,
    handlers: HashMap<(String, String), Arc<dyn UploadHandler>>,
}

impl Uploads {
    /// Creates settings with the defaults.
    pub fn new(store: impl BlobStore) -> Self {
        Self {
            path: Cow::Borrowed("files"),
            policy: UploadPolicy::default(),
            pace: None,
            store: Arc::new(store),
            bounds: UploadLimits::default(),
            handlers: HashMap::new(),
        }
    }

    /// Sets the handler that records the files of one field, instead of writing the field's column.
    #[must_use]
    pub fn handler(mut self, entity: &str, field: &str, handler: impl UploadHandler) -> Self {
        self.handlers.insert((entity.to_owned(), field.to_owned()), Arc::new(handler));
        self
    }

    /// Returns the largest size that a field of a schema accepts; `None` if no field accepts files.
    pub(crate) fn max_bytes(&self, schema: &Schema) -> Option<u64> {
        let fields = schema.entities().flat_map(|(_, entity)| &entity.fields);
        fields.filter_map(|field| self.max_bytes_of(field)).max()
    }

    /// Refuses a body whose announced length is above the limit of every field of the schema. This check precedes
    /// authentication, so neither entity nor field may be looked up. `SPEC §2.1`, `SPEC §9.6`
    pub(crate) fn check_announced(&self, schema: &Schema, announced: Option<u64>) -> Result<(), UploadError> {
        let max_bytes = self.max_bytes(schema).unwrap_or_default();
        let policy = UploadPolicy { max_bytes, content_types: Vec::new() };
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

opaque_debug!(Uploads);

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
