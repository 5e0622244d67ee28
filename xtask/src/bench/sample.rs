//! What is read? A sample database of so many posts, made when it is first asked for and kept.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::size::Size;
use super::{Ground, disk};

impl Ground {
    /// The sample of so many posts.
    pub(crate) fn data(&self, posts: u32, journal: &str) -> Result<PathBuf, String> {
        let path = self.folder.join(format!("sample-{posts}-{journal}.sqlite"));
        once(&path, &self.folder.join("sample.lock"), || self.make(&path, posts, journal))?;
        Ok(path)
    }

    fn make(&self, path: &Path, posts: u32, journal: &str) -> Result<(), String> {
        let size = Size::of(posts);
        // What was left of one that was stopped has the room that this one needs.
        let _ = fs::remove_file(path.with_extension("unfinished"));
        disk::has_room(&self.folder, size.room(), &format!("a sample of {size}"))?;
        eprintln!("making {}, {size} of {posts} posts, which is kept for later runs", path.display());
        let mut seed = Command::new(self.peers.join("seed"));
        seed.arg("--out").arg(path).args(["--posts", &posts.to_string(), "--journal", journal]);
        // So that what is sorted lies where the room was found.
        seed.env("SQLITE_TMPDIR", &self.folder);
        let status = seed.status().map_err(|error| format!("cannot start `seed`: {error}"))?;
        if status.success() { Ok(()) } else { Err("the sample could not be made".to_owned()) }
    }
}

/// Makes a file that is not there. Of two runs that begin at once the second waits, and finds it made: both would
/// write the same unfinished file.
fn once(path: &Path, lock: &Path, make: impl FnOnce() -> Result<(), String>) -> Result<(), String> {
    if path.exists() {
        return Ok(());
    }
    let held = File::create(lock).map_err(|error| format!("cannot write {}: {error}", lock.display()))?;
    // Some file systems have no locks. There, nobody is to start two runs.
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
    fn runs_that_begin_at_once_make_one_sample() {
        let folder = TempDir::new();
        let (path, lock) = (folder.path().join("sample"), folder.path().join("lock"));
        let made = AtomicU32::new(0);
        let make = || {
            made.fetch_add(1, Ordering::Relaxed);
            std::thread::sleep(Duration::from_millis(100));
            fs::write(&path, "rows").map_err(|error| error.to_string())
        };
        let run = || {
            once(&path, &lock, make).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), "rows");
        };
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(run);
            }
        });
        assert_eq!(made.into_inner(), 1);
        // What could not be made is tried again by the next.
        let other = folder.path().join("other");
        assert_eq!(once(&other, &lock, || Err("no room".to_owned())), Err("no room".to_owned()));
        assert_eq!(once(&other, &lock, || Ok(())), Ok(()));
    }
}
