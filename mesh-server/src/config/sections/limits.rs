//! Limits of requests, queries and replies: `[limits]`. `SPEC §3.5`, `SPEC §3.11`, `SPEC §12.2`, `SPEC §12.6`

use mesh_server::Rate;

use crate::config::define::settings;
use crate::config::parse::{self, GIBIBYTE, MEBIBYTE};

settings! {
    /// Limits of requests, queries and replies: the section `[limits]`.
    Limits["limits."] {
        /// Largest `first` of a page
        page_max: u32 = mesh_ql::Limits::default().page_max, parse::count(1, 1_000_000);
        /// Records of a page without `first`; at most `page_max`
        page_default: u32 = page_max.min(mesh_plan::Limits::default().page_default), parse::count(1, 1_000_000);
        /// Levels of nested relations
        depth: usize = mesh_ql::Limits::default().depth, parse::count(0, mesh_ql::Limits::MAX_DEPTH as u64);
        /// Selected fields and relations of a query
        fields: usize = mesh_ql::Limits::default().fields, parse::count(1, 100_000);
        /// Objects of one answer
        rows: usize = mesh_plan::Limits::default().rows, parse::count(1, 100_000_000);
        /// Bytes of query text
        query_bytes: usize = mesh_ql::Limits::default().query_bytes, parse::size(1, GIBIBYTE);
        /// Bytes of a JSON body
        body_bytes: usize = mesh_server::Limits::default().body_bytes, parse::size(1, GIBIBYTE);
        /// Bytes of request line and headers
        header_bytes: usize = mesh_server::Limits::default().header_bytes, parse::size(1_024, 16 * MEBIBYTE);
        /// Connections that are open at a time
        connections: usize = 10_000, parse::count(1, 1_000_000);
        /// Requests that wait for a database or a resolver at a time
        requests: usize = mesh_server::Limits::default().requests, parse::count(1, 1_000_000);
        /// Login attempts per minute, for each account and each address
        login_per_minute: u32 = 10, parse::count(1, 1_000_000);
        /// Levels of a filter
        filter_depth: usize = mesh_ql::Limits::default().filter_depth, parse::count(1, mesh_ql::Limits::MAX_FILTER_DEPTH as u64);
        /// Combinators and conditions of a filter
        filter_nodes: usize = mesh_ql::Limits::default().filter_nodes, parse::count(1, 1_000);
        /// Values of `in` or `nin`
        in_values: usize = mesh_ql::Limits::default().in_values, parse::count(1, 10_000);
        /// Fields of `$groupBy` or `$distinct`, keys of `$orderBy`
        group_keys: usize = mesh_ql::Limits::default().group_keys, parse::count(1, 64);
        /// Entries of `$aggregate`
        aggregates: usize = mesh_ql::Limits::default().aggregates, parse::count(1, 1_000);
        /// Requests of one client address, such as `100/s`
        per_address: Option<Rate> = None, parse::rate;
        /// Requests of one session, such as `30/m`
        per_session: Option<Rate> = None, parse::rate;
    }
    sections {}
}
