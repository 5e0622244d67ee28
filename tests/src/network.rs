//! Connections from chosen addresses, and many of them.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpStream};

use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, connect, socket_with};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Connects from a source address. On Linux, all addresses in `127.0.0.0/8` are those of this machine, so a test can act
/// as several clients.
///
/// # Errors
/// The address cannot be used, or the server does not accept the connection.
pub fn connect_from(source: Ipv4Addr, server: SocketAddr) -> io::Result<TcpStream> {
    let socket = socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    bind(&socket, &SocketAddrV4::new(source, 0))?;
    connect(&socket, &server)?;
    Ok(TcpStream::from(socket))
}

/// Raises the limit of open files of this process and of those that it starts. Returns whether it suffices.
#[must_use]
pub fn raise_file_limit(files: u64) -> bool {
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|current| current >= files) {
        return true;
    }
    let maximum = limit.maximum;
    maximum.is_none_or(|maximum| maximum >= files)
        && setrlimit(Resource::Nofile, Rlimit { current: Some(files), maximum }).is_ok()
}
