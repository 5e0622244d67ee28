//! Queries that are known by an id: `[persisted]`. `SPEC §8`

use std::path::PathBuf;

use mesh_plan::Registration;

use crate::config::define::settings;
use crate::config::parse;

settings! {
    /// Queries that are known by an id: the section `[persisted]`.
    Persisted["persisted."] {
        /// Whether queries can be sent by id.
        enabled: bool = true, parse::boolean;
        /// Who may register queries: `open`, `signed` or `closed`; without it, `signed` if requests are signed, else `open`.
        registration: Option<Registration> = None, parse::some(parse::choice);
        /// Whether only registered queries are answered.
        only: bool = false, parse::boolean;
        /// JSON file of queries that are registered at start.
        preload: Option<PathBuf> = None, parse::present;
        /// Most registered queries.
        max_entries: usize = 10_000, parse::count(1, 10_000_000);
    }
    sections {}
}

impl parse::Choice for Registration {
    const CHOICES: &[(&'static str, Self)] =
        &[("open", Self::Open), ("signed", Self::Signed), ("closed", Self::Closed)];
}
