//! Free ports for programs that do not choose one themselves.

use std::net::TcpListener;
use std::sync::atomic::{AtomicU32, Ordering};

/// Returns a free port below the ephemeral range. The port is bound some time later, so it must not be one that the
/// system hands out to other tests.
pub(crate) fn free_port() -> u16 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let ports = 10_000_u32..30_000;
    let start = std::process::id().wrapping_mul(101);
    for _ in ports.clone() {
        let offset = start.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed)) % (ports.end - ports.start);
        let port = u16::try_from(ports.start + offset).unwrap_or_default();
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
    panic!("no port is free")
}
