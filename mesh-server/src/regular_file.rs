//! Opening of configured files, which are regular files: opening a pipe blocks until another program writes to it.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::Path;
use std::time::SystemTime;

/// The time of the last change and the length of a file, by which a change is noticed.
pub type Stamp = (SystemTime, u64);

/// Opens a file for reading.
///
/// # Errors
/// The file cannot be opened, or is not a regular file.
pub fn open(path: &Path) -> io::Result<File> {
    check(path)?;
    File::open(path)
}

/// Reads a file of text.
///
/// # Errors
/// The errors of [`open`], or the file is not UTF-8.
pub fn read_to_string(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    open(path)?.read_to_string(&mut text)?;
    Ok(text)
}

/// Returns the stamp of a file; `None` if there is no file. Symbolic links are followed, as mounted secrets use them.
pub fn stamp(path: &Path) -> Option<Stamp> {
    let metadata = fs::metadata(path).ok()?;
    Some((metadata.modified().ok()?, metadata.len()))
}

/// Checks that a path names a regular file, for libraries that open it themselves.
///
/// # Errors
/// The file does not exist, or is not a regular file.
pub fn check(path: &Path) -> io::Result<()> {
    let is_regular = fs::metadata(path)?.is_file();
    is_regular.then_some(()).ok_or_else(|| io::Error::other("it is not a regular file"))
}
