//! Failures of commands, with their exit status.

use std::error::Error;
use std::fmt;

/// Why a command failed.
#[derive(Debug)]
pub(crate) struct Failure {
    /// The exit status of the process.
    pub(super) status: u8,
    message: String,
}

impl Failure {
    /// Wrong usage, or a fault at start: exit status 2.
    pub(crate) fn start(message: impl fmt::Display) -> Self {
        Self { status: 2, message: format!("error: {message}") }
    }

    /// Several faults at start, a line each: exit status 2.
    pub(crate) fn faults(faults: Vec<String>) -> Self {
        Self::start(faults.join("\nerror: "))
    }

    /// A check that found faults, or a request that failed: exit status 1.
    pub(crate) fn found(message: impl fmt::Display) -> Self {
        Self { status: 1, message: message.to_string() }
    }

    /// Returns the message, for a list of faults.
    pub(crate) fn fault(&self) -> &str {
        self.message.strip_prefix("error: ").unwrap_or(&self.message)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// Returns an error with its sources, separated by colons.
pub(crate) fn chain(error: &(dyn Error + 'static)) -> String {
    let errors = std::iter::successors(Some(error), |error| (*error).source());
    errors.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}
