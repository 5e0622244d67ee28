//! Tests of connections: protocols, timeouts, limits, TLS, worker threads and shutdown.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::too_many_lines,
    reason = "tests fail by panicking, and tables of cases are long"
)]

#[cfg(test)]
#[path = "connections/bodies.rs"]
mod bodies;
#[cfg(test)]
#[path = "connections/frames.rs"]
mod frames;
#[cfg(test)]
#[path = "connections/http2.rs"]
mod http2;
#[cfg(test)]
#[path = "connections/overload.rs"]
mod overload;
#[cfg(test)]
#[path = "connections/served.rs"]
mod served;
#[cfg(test)]
#[path = "connections/timeouts.rs"]
mod timeouts;
#[cfg(test)]
#[cfg(feature = "tls")]
#[path = "connections/tls.rs"]
mod tls;
#[cfg(test)]
#[path = "connections/workers.rs"]
mod workers;
