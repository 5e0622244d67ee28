//! The result of a committed write.

use crate::{Change, JsonBody, ResolveError};

/// The result of a committed write.
#[derive(Debug)]
pub struct WriteReply {
    /// The entity of the record that the reply shows.
    pub entity: String,
    /// The id of that record as in [`crate::RecordId::Text`]; empty if the reply has no body.
    pub id: String,
    /// The record in the requested shape; `None` if the reply has no body. It is an error if the record was written, but could
    /// not be read afterwards.
    pub body: Result<Option<JsonBody>, ResolveError>,
    /// Whether the record is new.
    pub created: bool,
    /// The written records.
    pub changes: Vec<Change>,
}
