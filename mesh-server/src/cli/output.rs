//! Lines and files that commands write.

use std::fmt;
use std::io::{self, Write};
use std::path::Path;

use crate::cli::failure::Failure;

/// Writes a line to standard output. Who reads it may have closed it, as `head` does; that ends the command.
pub(crate) fn print(text: impl fmt::Display) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    writeln!(out, "{text}")
        .and_then(|()| out.flush())
        .map_err(|error| Failure::start(format!("output: {error}")))
}

/// Writes a text, which ends with a line, to a file, or to standard output where none is named.
pub(crate) fn write(file: Option<&Path>, text: &str) -> Result<(), Failure> {
    match file {
        None => print(text.trim_end()),
        Some(path) => std::fs::write(path, text)
            .map_err(|error| Failure::start(format!("cannot write {}: {error}", path.display()))),
    }
}

/// Writes a remark to standard error.
pub(crate) fn remark(text: impl fmt::Display) {
    let _ = writeln!(io::stderr(), "{text}");
}
