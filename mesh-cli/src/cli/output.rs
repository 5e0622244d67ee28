//! Standard output, standard error, and files that commands write.

use std::fmt;
use std::io::{self, Write};
use std::path::Path;

use crate::cli::failure::{Failure, WithContext as _};
use crate::cli::terminal::escaped_lines;

/// Writes a line to standard output. A closed pipe, as with `head`, ends the command.
pub(crate) fn print(text: impl fmt::Display) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    writeln!(out, "{text}").and_then(|()| out.flush()).context("cannot write to standard output")
}

/// Writes a text that ends with a line break to a file, or to standard output if `file` is `None`.
pub(crate) fn write(file: Option<&Path>, text: &str) -> Result<(), Failure> {
    match file {
        None => print(text.trim_end()),
        Some(path) => std::fs::write(path, text).context(format_args!("cannot write {}", path.display())),
    }
}

/// Writes lines to standard error. A failure is ignored, because there is nowhere to report it.
pub(crate) fn print_stderr(text: impl fmt::Display) {
    let _ = writeln!(io::stderr(), "{}", escaped_lines(&text.to_string()));
}

/// Writes a failure, whose text is escaped already, to standard error.
pub(super) fn report(failure: &Failure) {
    let _ = writeln!(io::stderr(), "{failure}");
}
