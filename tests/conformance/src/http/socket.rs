//! A connected socket, with or without TLS.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use rustls::pki_types::ServerName;
use rustls::{ClientConnection, StreamOwned};

use super::endpoint::Endpoint;

/// A connected socket.
#[derive(Debug)]
pub enum Socket {
    /// TCP.
    Plain(TcpStream),
    /// TLS over TCP.
    Tls(Box<StreamOwned<ClientConnection, TcpStream>>),
}

impl Socket {
    /// Completes the TLS handshake, if the endpoint has TLS.
    pub(super) fn begin(mut stream: TcpStream, endpoint: &Endpoint) -> Result<Self, String> {
        let Some(config) = endpoint.tls.clone() else { return Ok(Self::Plain(stream)) };
        let name = ServerName::try_from(endpoint.host().to_owned()).map_err(|error| error.to_string())?;
        let mut connection = ClientConnection::new(config, name).map_err(|error| error.to_string())?;
        while connection.is_handshaking() {
            connection.complete_io(&mut stream).map_err(|error| error.to_string())?;
        }
        Ok(Self::Tls(Box::new(StreamOwned::new(connection, stream))))
    }

    fn stream(&self) -> &TcpStream {
        match self {
            Self::Plain(stream) => stream,
            Self::Tls(stream) => stream.get_ref(),
        }
    }

    /// Limits how long a read waits.
    ///
    /// # Errors
    /// Returns the error of the system.
    pub fn set_read_timeout(&self, time: Option<Duration>) -> io::Result<()> {
        self.stream().set_read_timeout(time)
    }

    /// Closes the sending direction.
    ///
    /// # Errors
    /// Returns the error of the system.
    pub fn shutdown(&self) -> io::Result<()> {
        self.stream().shutdown(Shutdown::Write)
    }
}

impl Read for Socket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(stream) => stream.read(buffer),
            Self::Tls(stream) => match stream.read(buffer) {
                // Many servers close connections without the `close_notify` message of TLS.
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(0),
                read => read,
            },
        }
    }
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(stream) => stream.write(bytes),
            Self::Tls(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(stream) => stream.flush(),
            Self::Tls(stream) => stream.flush(),
        }
    }
}
