//! The profiles of a server. `SPEC §1`

use std::borrow::Cow;

/// The profiles that a server offers, which determine its routes other than reads. None by default. `SPEC §1`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profiles {
    /// Login and logout.
    pub integrity: bool,
    /// Registration of queries.
    pub persisted: bool,
    /// File uploads and downloads.
    pub uploads: bool,
    /// Event streams.
    pub events: bool,
    /// Write routes.
    pub mutations: bool,
    /// The first segment of the paths of stored files. `SPEC §9.7`
    pub files: Cow<'static, str>,
}

impl Default for Profiles {
    fn default() -> Self {
        Self {
            integrity: false,
            persisted: false,
            uploads: false,
            events: false,
            mutations: false,
            files: Cow::Borrowed("files"),
        }
    }
}
