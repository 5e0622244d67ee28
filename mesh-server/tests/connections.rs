//! Is a client served, waited for and given up as it should be, whatever it speaks and however it behaves?

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests fail by panicking"
)]

#[cfg(test)]
#[path = "connections/served.rs"]
mod served;
#[cfg(test)]
#[cfg(feature = "tls")]
#[path = "connections/tls.rs"]
mod tls;
