//! `mesh-server health`: is the server of these settings ready? For health checks where there is no other program.

use std::io::{Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::time::Duration;

use crate::cli::args::HealthArgs;
use crate::cli::failure::Failure;
use crate::cli::failure::faults_at_start;
use crate::cli::output::print;
use crate::cli::settings::settings;
use crate::config::Config;

/// How long the server may take to answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// More than this no answer has.
const LENGTH: u64 = 64 << 10;

pub(crate) fn run(args: &HealthArgs) -> Result<(), Failure> {
    let config =
        settings(args.settings(), args.config.as_deref()).map_err(|faults| faults_at_start(&faults))?;
    let address = address(&config)?;
    let reply = ask(address).map_err(|error| Failure::found(format!("no answer from {address}: {error}")))?;
    let (head, body) = reply.split_once("\r\n\r\n").unwrap_or((&reply, ""));
    let status = head.split(' ').nth(1).unwrap_or_default();
    if status == "200" { print(body) } else { Err(Failure::found(format!("not ready ({status}): {body}"))) }
}

/// Where the server of these settings tells how it is, seen from its own machine.
fn address(config: &Config) -> Result<SocketAddr, Failure> {
    if config.admin.listen.is_none() && config.tls.files().is_some() {
        return Err(Failure::start(
            "the main address speaks TLS, for names that a check on the machine does not use: set 'admin.listen'",
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

fn ask(address: SocketAddr) -> std::io::Result<String> {
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    // The end of a reply of this version is that of the connection.
    write!(stream, "GET /readyz HTTP/1.0\r\nHost: {address}\r\nConnection: close\r\n\r\n")?;
    let mut reply = Vec::new();
    stream.take(LENGTH).read_to_end(&mut reply)?;
    Ok(String::from_utf8_lossy(&reply).into_owned())
}
