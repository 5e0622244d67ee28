//! `mesh-server health`: requests `/readyz` of the server with these settings, for the health checks of containers.

use std::io::{Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::time::Duration;

use crate::cli::args::HealthArgs;
use crate::cli::failure::Failure;
use crate::cli::output::print;
use crate::cli::settings::settings;
use crate::config::Config;

/// Time limit of connecting and of each read and write.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Bytes of the reply that are read at most.
const MAX_REPLY: u64 = 64 << 10;

pub(crate) fn run(args: &HealthArgs) -> Result<(), Failure> {
    let config = settings(args.settings(), args.config.as_deref())?;
    let address = address(&config)?;
    let reply =
        request(address).map_err(|error| Failure::found(format!("no answer from {address}: {error}")))?;
    let (head, body) = reply.split_once("\r\n\r\n").unwrap_or((&reply, ""));
    let status = head.split(' ').nth(1).unwrap_or_default();
    if status == "200" { print(body) } else { Err(Failure::found(format!("not ready ({status}): {body}"))) }
}

/// Returns the address of the health checks, as seen from the machine of the server.
fn address(config: &Config) -> Result<SocketAddr, Failure> {
    if config.admin.listen.is_none() && config.tls.files().is_some() {
        return Err(Failure::start(
            "the main address speaks TLS, and its certificate is not for a local address: set 'admin.listen'",
        ));
    }
    let mut address = config.admin.listen.unwrap_or(config.listen);
    if address.ip().is_unspecified() {
        address.set_ip(match address.ip() {
            IpAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
        });
    }
    Ok(address)
}

fn request(address: SocketAddr) -> std::io::Result<String> {
    let mut stream = TcpStream::connect_timeout(&address, TIMEOUT)?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    stream.set_write_timeout(Some(TIMEOUT))?;
    // In HTTP/1.0 the end of the connection is the end of the reply.
    write!(stream, "GET /readyz HTTP/1.0\r\nHost: {address}\r\nConnection: close\r\n\r\n")?;
    let mut reply = Vec::new();
    stream.take(MAX_REPLY).read_to_end(&mut reply)?;
    Ok(String::from_utf8_lossy(&reply).into_owned())
}
