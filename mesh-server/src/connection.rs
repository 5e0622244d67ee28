//! Connections: the listener, TLS, HTTP/1.1 and HTTP/2 with their timeouts, and the graceful shutdown.

mod activity;
mod admin_listener;
mod drain_body;
mod exchange;
mod reply_body;
mod serve_connection;
mod server;
mod stream;
mod timeouts;
#[cfg(feature = "tls")]
mod tls;
mod workers;

pub use self::server::Server;
pub use self::timeouts::Timeouts;
#[cfg(feature = "tls")]
pub use self::tls::{Tls, TlsError};
pub use self::workers::Workers;
