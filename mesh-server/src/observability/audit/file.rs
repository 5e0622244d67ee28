//! An audit log in a file: one JSON object per line.

use std::collections::VecDeque;
use std::error::Error;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use super::AuditSink;
use super::entry::AuditEntry;

/// A file to which entries are appended as lines. If the file is renamed or removed, for example by log rotation, the
/// next entry is written to a new file at the path.
#[derive(Debug)]
pub struct AuditFile {
    path: PathBuf,
    file: Option<File>,
    /// The number of bytes of the first entry that are already in the file.
    partial: usize,
}

impl AuditFile {
    /// Opens a file for appending. If the file does not exist, it is created and readable only by its owner. A pipe is
    /// opened later, because opening it waits for a reader.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = if is_pipe(path) { None } else { Some(append(path)?) };
        Ok(Self { path: path.to_owned(), file, partial: 0 })
    }

    /// Returns the file that is at the path now.
    fn current(&mut self) -> io::Result<&mut File> {
        let is_current = self.file.as_ref().is_some_and(|file| {
            matches!((file.metadata(), std::fs::metadata(&self.path)), (Ok(open), Ok(named)) if is_same(&open, &named))
        });
        if !is_current {
            self.partial = 0;
            self.file = None;
        }
        match &mut self.file {
            Some(file) => Ok(file),
            none => Ok(none.insert(append(&self.path)?)),
        }
    }
}

impl AuditSink for AuditFile {
    fn write(&mut self, entries: &mut VecDeque<AuditEntry>) -> Result<(), Box<dyn Error + Send + Sync>> {
        self.current()?;
        while let Some(entry) = entries.front() {
            let line = format!("{}\n", entry.json);
            let Some(file) = &mut self.file else { break };
            // A full disk may accept only part of a line. The next attempt continues after that part.
            while let Some(rest) = line.as_bytes().get(self.partial..).filter(|rest| !rest.is_empty()) {
                match file.write(rest) {
                    Ok(0) => return Err(io::Error::from(io::ErrorKind::WriteZero).into()),
                    Ok(count) => self.partial += count,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) => return Err(format!("{}: {error}", self.path.display()).into()),
                }
            }
            self.partial = 0;
            entries.pop_front();
        }
        Ok(())
    }
}

fn append(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let opened = options.open(path);
    opened.map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))
}

#[cfg(unix)]
fn is_same(open: &Metadata, named: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    (open.dev(), open.ino()) == (named.dev(), named.ino())
}

/// Returns `true`, because an open file cannot be renamed on other systems.
#[cfg(not(unix))]
fn is_same(_: &Metadata, _: &Metadata) -> bool {
    true
}

#[cfg(unix)]
fn is_pipe(path: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt as _;
    std::fs::metadata(path).is_ok_and(|metadata| metadata.file_type().is_fifo())
}

#[cfg(not(unix))]
fn is_pipe(_: &Path) -> bool {
    false
}
