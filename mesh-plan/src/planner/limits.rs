//! Bounds of planning and shaping.

/// Bounds on one read, with the protocol's defaults. `SPEC §3.10`, `SPEC §3.11`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bounds of the query text.
    pub query: mesh_ql::Limits,
    /// The page size of a query without `first`.
    pub page_default: u32,
    /// The largest number of rows that the database may scan, by its estimate, for an order by values of related records.
    pub related_sort_rows: u64,
    /// The largest number of objects in one response.
    pub rows: usize,
    /// The largest number of bytes of one response.
    pub response_bytes: usize,
    /// The largest number of records of an export.
    pub export_rows: u32,
    /// The largest number of entries of the plan cache.
    pub plans: usize,
    /// The largest estimated number of bytes of the plan cache.
    pub plan_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            query: mesh_ql::Limits::default(),
            page_default: 50,
            related_sort_rows: 50_000_000,
            rows: 100_000,
            response_bytes: 32 * 1_024 * 1_024,
            export_rows: 1_000_000,
            plans: 1_024,
            plan_bytes: 16 << 20,
        }
    }
}
