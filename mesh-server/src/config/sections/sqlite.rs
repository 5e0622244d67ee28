//! How is a SQLite file read?

use crate::config::load::Reader;
use crate::config::parse;

/// Reads of a SQLite file: the section `[sqlite]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sqlite {
    /// Whether the file is mapped into memory.
    pub(crate) mmap: bool,
}

impl Sqlite {
    pub(in crate::config) fn read(reader: &mut Reader<'_>) -> Self {
        Self { mmap: reader.read("sqlite.mmap", parse::boolean, Self::default().mmap) }
    }
}

impl Default for Sqlite {
    fn default() -> Self {
        Self { mmap: true }
    }
}
