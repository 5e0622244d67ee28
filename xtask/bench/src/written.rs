//! The bodies of writes.

/// The change of a post.
#[derive(serde::Deserialize)]
pub(crate) struct Views {
    pub(crate) views: i64,
}

/// A new comment.
#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Comment<'a> {
    pub(crate) body: &'a str,
    pub(crate) author_id: i64,
    pub(crate) created_at: &'a str,
}
