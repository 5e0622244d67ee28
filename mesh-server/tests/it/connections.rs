//! Tests of connections: protocols, timeouts, limits, TLS, worker threads and shutdown.

mod bodies;
mod departures;
mod frames;
mod http2;
mod overload;
mod served;
mod shutdown;
mod timeouts;
mod tls;
mod workers;
