//! Limits on uploads: the files that a field accepts, and the size of the rest of a request.

use crate::content_type::ContentType;
use crate::error::UploadError;

/// The default limit on the size of a file: 25 MiB.
pub const DEFAULT_MAX_BYTES: u64 = 25 * 1024 * 1024;

/// The files that a field accepts. `SPEC §9.6`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UploadPolicy {
    /// The maximum size of a file in bytes.
    pub max_bytes: u64,
    /// The accepted content types, such as `image/png` or `image/*`; empty for any.
    pub content_types: Vec<String>,
}

impl Default for UploadPolicy {
    fn default() -> Self {
        Self { max_bytes: DEFAULT_MAX_BYTES, content_types: Vec::new() }
    }
}

impl UploadPolicy {
    /// Checks the declared type of a file, which defaults to `application/octet-stream`.
    pub(crate) fn check_type(&self, declared: Option<&str>) -> Result<ContentType, UploadError> {
        let refused = || UploadError::TypeNotAllowed {
            found: declared.unwrap_or_default().chars().take(100).collect(),
            allowed: self.content_types.clone(),
        };
        let found = match declared {
            Some(declared) => ContentType::parse(declared).ok_or_else(refused)?,
            None => ContentType::unknown(),
        };
        if self.content_types.is_empty() || found.is_among(&self.content_types) {
            Ok(found)
        } else {
            Err(refused())
        }
    }

    /// Checks the `Content-Length` of a request before its body is read. It may exceed the limit by the maximum size of the
    /// multipart framing. `SPEC §9.6`
    ///
    /// # Errors
    /// [`UploadError::TooLarge`] if the file must be larger than the limit.
    pub fn check_length(
        &self,
        content_length: Option<u64>,
        bounds: &UploadLimits,
    ) -> Result<(), UploadError> {
        let overhead = u64::try_from(bounds.overhead()).unwrap_or(u64::MAX);
        match content_length {
            Some(length) if length > self.max_bytes.saturating_add(overhead) => {
                Err(UploadError::TooLarge { limit: self.max_bytes })
            }
            _ => Ok(()),
        }
    }
}

/// Limits on the parts of a request other than the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UploadLimits {
    /// The maximum length of the boundary in bytes; RFC 2046 allows 70.
    pub boundary_bytes: usize,
    /// The maximum length of the boundary and headers before a part, in bytes.
    pub header_bytes: usize,
    /// The maximum length of the part `meta`, in bytes.
    pub meta_bytes: usize,
    /// The maximum length of the text after the last boundary, in bytes.
    pub trailer_bytes: usize,
}

impl Default for UploadLimits {
    fn default() -> Self {
        Self { boundary_bytes: 70, header_bytes: 8 * 1024, meta_bytes: 64 * 1024, trailer_bytes: 1024 }
    }
}

impl UploadLimits {
    /// Returns the maximum size of the request without the file: the headers of two parts, `meta`, and the end.
    fn overhead(&self) -> usize {
        2 * (self.header_bytes + self.boundary_bytes)
            + self.meta_bytes
            + self.boundary_bytes
            + self.trailer_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_that_are_not_listed_are_refused() {
        let policy = UploadPolicy { content_types: vec!["image/png".to_owned()], ..UploadPolicy::default() };
        assert_eq!(policy.check_type(Some("image/png")).unwrap().as_str(), "image/png");
        for declared in [Some("image/jpeg"), Some("image/png\0"), Some(""), None] {
            let refused = policy.check_type(declared).unwrap_err();
            assert!(matches!(refused, UploadError::TypeNotAllowed { .. }), "{declared:?}");
        }
    }

    #[test]
    fn any_well_formed_type_is_accepted_without_a_list() {
        let policy = UploadPolicy::default();
        assert_eq!(policy.check_type(None).unwrap(), ContentType::unknown());
        assert!(policy.check_type(Some("nonsense")).is_err());
    }

    #[test]
    fn the_content_length_may_exceed_the_limit_by_the_framing() {
        let (policy, bounds) =
            (UploadPolicy { max_bytes: 1000, ..UploadPolicy::default() }, UploadLimits::default());
        assert!(policy.check_length(None, &bounds).is_ok());
        assert!(policy.check_length(Some(1500), &bounds).is_ok());
        assert!(policy.check_length(Some(1_000_000), &bounds).is_err());
        assert!(policy.check_length(Some(u64::MAX), &bounds).is_err());
    }
}
