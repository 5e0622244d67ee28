//! The header of the WAL index, mapped into memory, so that reading it takes no system call.
//!
//! The memory stays valid: a process that has the database open in WAL mode, as [`super::VersionReader`] has, holds a lock
//! that prevents others from truncating the file.

use std::fs::File;
use std::sync::Arc;

use super::DataVersion;

/// Bytes of the header, of which there are two copies.
const LENGTH: u64 = 2 * 48;

/// The beginning of the index.
#[cfg(unix)]
pub(crate) struct Index(vm_memory::MmapRegion);

#[cfg(unix)]
impl Index {
    /// Makes the file part of this process's memory; `None` where that cannot be, or nothing is in it.
    pub(crate) fn open(file: Arc<File>) -> Option<Self> {
        use vm_memory::{FileOffset, MmapRegion};

        // Memory past the end of a file must not be touched.
        if file.metadata().ok()?.len() < LENGTH {
            return None;
        }
        let from = FileOffset::from_arc(file, 0);
        let region = MmapRegion::build(Some(from), LENGTH as usize, libc::PROT_READ, libc::MAP_SHARED);
        region.ok().map(Self)
    }

    /// The mark of the state that the header tells of. One that a commit is just writing is like no other.
    pub(crate) fn version(&self) -> Option<DataVersion> {
        use std::sync::atomic::Ordering::Acquire;
        use vm_memory::{Bytes as _, VolatileMemory as _};

        let memory = self.0.as_volatile_slice();
        let mut version = DataVersion([0; 48]);
        for (place, word) in version.0.as_chunks_mut::<8>().0.iter_mut().enumerate() {
            *word = memory.load::<u64>(place * 8, Acquire).ok()?.to_ne_bytes();
        }
        Some(version)
    }
}

/// Nothing is known of it where files are not shared like that.
#[cfg(not(unix))]
pub(crate) enum Index {}

#[cfg(not(unix))]
impl Index {
    pub(crate) fn open(_: Arc<File>) -> Option<Self> {
        None
    }

    pub(crate) fn version(&self) -> Option<DataVersion> {
        match *self {}
    }
}
