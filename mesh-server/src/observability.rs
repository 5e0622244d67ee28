//! Observability of the server: the record of each request, metrics, access log, traces and health checks.

mod access_log;
pub(crate) mod admin;
pub(crate) mod audit;
pub(crate) mod error_log;
pub(crate) mod health;
pub(crate) mod metrics;
#[cfg(feature = "otlp")]
pub mod otlp;
pub(crate) mod record;
pub(crate) mod report;
mod server_timing;
pub(crate) mod trace_context;
