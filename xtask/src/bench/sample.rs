//! The sample database. It is created on first use and kept for later runs.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::Setup;
use super::machine::disk;
use super::workload::size::Size;

impl Setup {
    /// Returns the sample with this number of posts.
    pub(crate) fn data(&self, posts: u32, journal: &str) -> Result<PathBuf, String> {
        let path = self.folder.join(format!("sample-{posts}-{journal}.sqlite"));
        create_once(&path, &self.folder.join("sample.lock"), || self.create(&path, posts, journal))?;
        Ok(path)
    }

    /// Copies a sample for a run that changes it.
    pub(crate) fn copy(&self, data: &Path) -> Result<PathBuf, String> {
        let path = self.folder.join("writes.sqlite");
        for suffix in ["", "-wal", "-shm"] {
            let _ = fs::remove_file(format!("{}{suffix}", path.display()));
        }
        fs::copy(data, &path).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
        Ok(path)
    }

    fn create(&self, path: &Path, posts: u32, journal: &str) -> Result<(), String> {
        let size = Size::from_posts(posts);
        // Free the disk space of an interrupted run.
        let _ = fs::remove_file(path.with_extension("unfinished"));
        disk::check_space(&self.folder, size.disk_space(), &format!("a sample of {size}"))?;
        eprintln!("creating {}, {size} with {posts} posts; later runs reuse it", path.display());
        let mut seed = Command::new(self.peers.join("seed"));
        seed.arg("--out").arg(path).args(["--posts", &posts.to_string(), "--journal", journal]);
        // Sort in the directory that was checked for free space.
        seed.env("SQLITE_TMPDIR", &self.folder);
        let status = seed.status().map_err(|error| format!("cannot start `seed`: {error}"))?;
        if status.success() { Ok(()) } else { Err("the sample could not be created".to_owned()) }
    }
}

/// Creates a file unless it exists. A lock ensures that concurrent runs do not write the same file.
fn create_once(path: &Path, lock: &Path, make: impl FnOnce() -> Result<(), String>) -> Result<(), String> {
    if path.exists() {
        return Ok(());
    }
    let held = File::create(lock).map_err(|error| format!("cannot write {}: {error}", lock.display()))?;
    // File systems without locks do not support concurrent runs.
    let _ = held.lock();
    if path.exists() { Ok(()) } else { make() }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::time::Duration;

    use mesh_tests::TempDir;

    use super::*;

    #[test]
    fn concurrent_runs_create_one_sample() {
        let folder = TempDir::new();
        let (path, lock) = (folder.path().join("sample"), folder.path().join("lock"));
        let made = AtomicU32::new(0);
        let make = || {
            made.fetch_add(1, Ordering::Relaxed);
            std::thread::sleep(Duration::from_millis(100));
            fs::write(&path, "rows").map_err(|error| error.to_string())
        };
        let run = || {
            create_once(&path, &lock, make).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), "rows");
        };
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(run);
            }
        });
        assert_eq!(made.into_inner(), 1);
        // The next run retries after a failure.
        let other = folder.path().join("other");
        assert_eq!(create_once(&other, &lock, || Err("no room".to_owned())), Err("no room".to_owned()));
        assert_eq!(create_once(&other, &lock, || Ok(())), Ok(()));
    }
}
