//! Failures of commands, with their exit status.

use std::error::Error;
use std::fmt;

use crate::cli::terminal::escaped_lines;

/// The failure of a command.
#[derive(Debug)]
pub(crate) struct Failure {
    /// The exit status of the process.
    pub(super) status: u8,
    /// What is wrong, escaped for a terminal.
    pub(crate) faults: Vec<String>,
}

impl Failure {
    /// Creates a failure for wrong usage or a fault at start, with exit status 2.
    pub(crate) fn usage_error(message: impl fmt::Display) -> Self {
        Self::from_faults(vec![message.to_string()])
    }

    /// Creates a failure for several faults at start, with exit status 2.
    pub(crate) fn from_faults(faults: Vec<String>) -> Self {
        Self { status: 2, faults: faults.iter().map(|fault| escaped_lines(fault)).collect() }
    }

    /// Fails with exit status 2 if there are faults.
    pub(crate) fn check(faults: Vec<String>) -> Result<(), Self> {
        if faults.is_empty() { Ok(()) } else { Err(Self::from_faults(faults)) }
    }

    /// Creates a failure for the faults of what a setting names, with exit status 2.
    pub(crate) fn of_setting(setting: &str, faults: impl IntoIterator<Item = impl fmt::Display>) -> Self {
        Self::from_faults(faults.into_iter().map(|fault| format!("'{setting}': {fault}")).collect())
    }

    /// Creates a failure for a check that found faults or a request that failed, with exit status 1.
    pub(crate) fn check_failed(message: impl fmt::Display) -> Self {
        Self { status: 1, ..Self::usage_error(message) }
    }

    /// Appends an excerpt, which may be colored, to the last fault.
    pub(crate) fn with_excerpt(mut self, excerpt: &str) -> Self {
        if let Some(last) = self.faults.last_mut() {
            last.push_str(excerpt);
        }
        self
    }
}

/// Writes a line for each fault.
impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let prefix = if self.status == 2 { "error: " } else { "" };
        write!(f, "{prefix}{}", self.faults.join(&format!("\n{prefix}")))
    }
}

/// Converts errors for which no other status is chosen.
impl<E: Error> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::usage_error(error)
    }
}

/// Results whose errors say what failed.
pub(crate) trait WithContext<T> {
    /// Turns an error into a failure with exit status 2, which begins with `what` failed.
    fn context(self, what: impl fmt::Display) -> Result<T, Failure>;
}

impl<T, E: fmt::Display> WithContext<T> for Result<T, E> {
    fn context(self, what: impl fmt::Display) -> Result<T, Failure> {
        self.map_err(|error| Failure::usage_error(format_args!("{what}: {error}")))
    }
}
