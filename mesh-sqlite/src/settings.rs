//! Settings of an open file.

use std::path::PathBuf;

/// Settings of an open file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Settings {
    /// The size of the response cache in bytes; 0 turns it off. A cached answer is served only while the database is
    /// unchanged, which is checked for every request. Turn the cache off for databases on network file systems, whose
    /// clients may see writes of others late.
    pub response_cache: usize,
    /// The memory for the prepared statements of each thread's connection, in bytes. With 0, each statement is prepared
    /// anew.
    pub statements: usize,
    /// Whether the file is mapped into memory, which saves a copy of each page that is read. If another program
    /// truncates a mapped file during a read, the process is killed; without the map the read fails.
    pub memory_map: bool,
    /// The file of the state. Without it, the state is beside the database.
    pub state: Option<PathBuf>,
}

impl Default for Settings {
    fn default() -> Self {
        Self { response_cache: 64 << 20, statements: 8 << 20, memory_map: true, state: None }
    }
}
