//! How much may one read ask for and build? The bounds of planning and shaping.

/// Bounds on one read, with the protocol's defaults. `SPEC §3.10`, `SPEC §3.11`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// What the parser holds a query to.
    pub query: mesh_ql::Limits,
    /// Page size where `first` is left out.
    pub page_default: u32,
    /// Objects built for one response.
    pub rows: usize,
    /// Entries of the plan cache.
    pub plans: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { query: mesh_ql::Limits::default(), page_default: 50, rows: 100_000, plans: 1_024 }
    }
}
