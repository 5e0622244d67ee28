//! The parts of the tests that need other programs or take long.

/// The environment variable with the names of the parts that are left out, separated by commas.
pub const LEAVE_OUT: &str = "MESH_LEAVE_OUT";

/// A part of the tests that `cargo xtask test` leaves out, and `cargo xtask test --all` runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Database servers, alone and in clusters.
    Engines,
    /// The playground in a browser.
    Browser,
    /// Type checkers, validators and other servers.
    Tools,
    /// The test of the conformance cases.
    Judge,
}

impl Part {
    /// All parts.
    pub const ALL: [Self; 4] = [Self::Engines, Self::Browser, Self::Tools, Self::Judge];

    /// Returns what is tested.
    #[must_use]
    pub const fn what(self) -> &'static str {
        match self {
            Self::Engines => "PostgreSQL and MariaDB, alone and in clusters",
            Self::Browser => "the playground in a browser",
            Self::Tools => "generated code in type checkers, packages, other servers as proxies and stores",
            Self::Judge => "that each conformance case notices a fault",
        }
    }

    /// Returns the names of all parts, in the form that [`LEAVE_OUT`] takes.
    #[must_use]
    pub fn names() -> String {
        Self::ALL.map(Self::name).join(",")
    }

    /// Returns whether the tests of this part are left out.
    #[must_use]
    pub fn is_left_out(self) -> bool {
        std::env::var(LEAVE_OUT).is_ok_and(|names| names.split(',').any(|name| name == self.name()))
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Engines => "engines",
            Self::Browser => "browser",
            Self::Tools => "tools",
            Self::Judge => "judge",
        }
    }
}
