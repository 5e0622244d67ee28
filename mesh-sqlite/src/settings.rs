//! Settings of a database.

/// The settings of a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Settings {
    /// The size of the response cache in bytes; 0 turns it off. A cached answer is served only while the database
    /// is unchanged, which is checked for every request. Turn the cache off for databases on network file systems, whose
    /// clients may see writes of others late.
    pub response_cache: usize,
    /// Whether the file is mapped into memory, which saves a copy of each page that is read. If another program truncates a
    /// mapped file during a read, the process is killed; without the map the read fails.
    pub memory_map: bool,
    /// The memory in bytes for the prepared statements of plans on each thread's connection; 0 turns their cache off.
    pub statement_cache: usize,
}

impl Settings {
    /// The recommended memory for the prepared statements of all threads, in bytes.
    pub const STATEMENT_CACHE: usize = 32 << 20;
}

impl Default for Settings {
    fn default() -> Self {
        Self { response_cache: 64 << 20, memory_map: true, statement_cache: Self::STATEMENT_CACHE / 4 }
    }
}
