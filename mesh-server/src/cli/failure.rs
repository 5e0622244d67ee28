//! Failures of commands, with their exit status.

use std::fmt;

/// Why a command ended without doing what it was asked to.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(super) status: u8,
    message: String,
}

impl Failure {
    /// Exit status 2: wrong usage, or a fault at start.
    pub(crate) fn start(message: impl fmt::Display) -> Self {
        Self { status: 2, message: format!("error: {message}") }
    }

    /// What is wrong, for a list of faults.
    pub(crate) fn fault(&self) -> &str {
        self.message.strip_prefix("error: ").unwrap_or(&self.message)
    }

    /// Exit status 1: a check found faults, or a request failed.
    pub(crate) fn found(message: impl fmt::Display) -> Self {
        Self { status: 1, message: message.to_string() }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// Many faults as one failure at start, a line each.
pub(crate) fn faults_at_start(faults: &[String]) -> Failure {
    Failure::start(faults.join("\nerror: "))
}
