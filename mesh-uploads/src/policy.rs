//! Limits on uploads: which files a field accepts, and how much surrounds the file in a request.

use crate::content_type::ContentType;
use crate::error::UploadError;

/// The largest file unless another bound is given: 25 MiB.
pub const DEFAULT_MAX_BYTES: u64 = 25 * 1024 * 1024;

/// Which files a field takes. `SPEC §9.6`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UploadPolicy {
    /// The largest file, in bytes.
    pub max_bytes: u64,
    /// The content types, where `image/*` stands for all images; empty for any.
    pub content_types: Vec<String>,
}

impl Default for UploadPolicy {
    fn default() -> Self {
        Self { max_bytes: DEFAULT_MAX_BYTES, content_types: Vec::new() }
    }
}

impl UploadPolicy {
    /// Checks the declared type of a file; one that declares none is `application/octet-stream`.
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

    /// Checks the announced length of a whole request, before any of it is read. What stands around the
    /// file is given as much room as it may take. `SPEC §9.6`
    pub fn check_length(
        &self,
        content_length: Option<u64>,
        bounds: &UploadLimits,
    ) -> Result<(), UploadError> {
        let around = u64::try_from(bounds.around()).unwrap_or(u64::MAX);
        match content_length {
            Some(length) if length > self.max_bytes.saturating_add(around) => {
                Err(UploadError::TooLarge { limit: self.max_bytes })
            }
            _ => Ok(()),
        }
    }
}

/// Limits on what stands around the file in a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UploadLimits {
    /// The boundary, in bytes; HTTP's own bound is 70.
    pub boundary_bytes: usize,
    /// What stands before a part's bytes: boundary and headers, in bytes.
    pub header_bytes: usize,
    /// The part `meta`, in bytes.
    pub meta_bytes: usize,
    /// What may follow the last boundary, in bytes.
    pub trailer_bytes: usize,
}

impl Default for UploadLimits {
    fn default() -> Self {
        Self { boundary_bytes: 70, header_bytes: 8 * 1024, meta_bytes: 64 * 1024, trailer_bytes: 1024 }
    }
}

impl UploadLimits {
    /// The most that may stand around a file: the heads of two parts, `meta`, and the end.
    fn around(&self) -> usize {
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
    fn a_type_that_is_not_listed_is_refused() {
        let policy = UploadPolicy { content_types: vec!["image/png".to_owned()], ..UploadPolicy::default() };
        assert_eq!(policy.check_type(Some("image/png")).unwrap().as_str(), "image/png");
        for declared in [Some("image/jpeg"), Some("image/png\0"), Some(""), None] {
            let refused = policy.check_type(declared).unwrap_err();
            assert!(matches!(refused, UploadError::TypeNotAllowed { .. }), "{declared:?}");
        }
    }

    #[test]
    fn without_a_list_any_well_formed_type_is_taken() {
        let policy = UploadPolicy::default();
        assert_eq!(policy.check_type(None).unwrap(), ContentType::unknown());
        assert!(policy.check_type(Some("nonsense")).is_err());
    }

    #[test]
    fn an_announced_length_may_pass_the_bound_by_what_stands_around_the_file() {
        let (policy, bounds) =
            (UploadPolicy { max_bytes: 1000, ..UploadPolicy::default() }, UploadLimits::default());
        assert!(policy.check_length(None, &bounds).is_ok());
        assert!(policy.check_length(Some(1500), &bounds).is_ok());
        assert!(policy.check_length(Some(1_000_000), &bounds).is_err());
        assert!(policy.check_length(Some(u64::MAX), &bounds).is_err());
    }
}
