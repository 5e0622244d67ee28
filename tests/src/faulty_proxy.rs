//! A proxy between a server and its database or bucket that delays, holds, cuts or half-closes connections for a test.

use std::collections::HashSet;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// The fault that a proxy injects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fault {
    /// No fault.
    #[default]
    None,
    /// Passes each piece on after a delay.
    Delay(Duration),
    /// Passes nothing on in either direction, and keeps the connections open.
    Hold,
    /// Passes on the bytes of the server, and holds the answers of the database.
    HoldAnswers,
    /// Closes all connections, and new ones as soon as they are accepted.
    Cut,
    /// Closes each connection as soon as the database answers on it.
    CutAnswers,
    /// Sends no more answers but passes on the bytes of the server, like a database that has sent a FIN and keeps reading.
    HalfClose,
    /// Does this to a piece of bytes of the server that contains the text, such as a statement.
    At(&'static str, Strike),
}

/// What happens to a statement and its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strike {
    /// The connection is closed in place of passing the statement on.
    LoseStatement,
    /// The statement is held until the fault ends.
    HoldStatement,
    /// The statement is passed on, and the connection is closed when the answer arrives.
    LoseAnswer,
    /// The statement is passed on, and its answer is held until the fault ends.
    HoldAnswer,
}

/// A proxy on a loopback port in front of a Unix socket or another port. Its connections end when this value is dropped.
#[derive(Debug)]
pub struct FaultyProxy {
    address: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    target: Target,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    fault: Fault,
    /// Connections with a lower number are lost: their bytes are discarded.
    lost_before: usize,
    ended: bool,
    /// The connections whose next answers [`Fault::At`] concerns.
    struck: HashSet<usize>,
    connections: Vec<(TcpStream, Upstream)>,
}

#[derive(Debug)]
enum Target {
    Socket(PathBuf),
    Port(SocketAddr),
}

/// A connection to the target.
#[derive(Debug)]
enum Upstream {
    Socket(UnixStream),
    Port(TcpStream),
}

/// What to do with a piece of bytes.
enum Verdict {
    Pass,
    Close,
    /// Read on and pass on nothing.
    Discard,
}

impl FaultyProxy {
    /// Starts a proxy in front of the socket of a database.
    #[must_use]
    pub fn start(target: &Path) -> Self {
        Self::in_front_of(Target::Socket(target.to_owned()))
    }

    /// Starts a proxy in front of a TCP address.
    #[must_use]
    pub fn before_port(target: SocketAddr) -> Self {
        Self::in_front_of(Target::Port(target))
    }

    fn in_front_of(target: Target) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address");
        let shared = Arc::new(Shared { target, state: Mutex::default(), changed: Condvar::new() });
        let proxy = Self { address, shared: Arc::clone(&shared) };
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                if shared.lock().ended {
                    return;
                }
                shared.accept(client);
            }
        });
        proxy
    }

    /// Returns the address of the proxy.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Sets the fault of all connections, including those that are open.
    pub fn set(&self, fault: Fault) {
        let mut state = self.shared.lock();
        state.fault = fault;
        state.struck.clear();
        match fault {
            Fault::Cut => state.close_all(),
            Fault::HalfClose => {
                for (client, _) in &state.connections {
                    let _ = client.shutdown(Shutdown::Write);
                }
            }
            _ => {}
        }
        self.shared.changed.notify_all();
    }

    /// Discards the bytes of open connections without closing them, like a router that has lost its state. New connections work.
    pub fn lose_connections(&self) {
        let mut state = self.shared.lock();
        state.lost_before = state.connections.len();
        state.fault = Fault::None;
        self.shared.changed.notify_all();
    }

    /// Returns the number of connections that were accepted.
    #[must_use]
    pub fn accepted(&self) -> usize {
        self.shared.lock().connections.len()
    }
}

impl Drop for FaultyProxy {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.ended = true;
        state.close_all();
        drop(state);
        self.shared.changed.notify_all();
        // Wakes the thread that accepts.
        let _ = TcpStream::connect(self.address);
    }
}

impl State {
    fn close_all(&self) {
        for (client, database) in &self.connections {
            let _ = client.shutdown(Shutdown::Both);
            database.close();
        }
    }
}

impl Target {
    fn connect(&self) -> io::Result<Upstream> {
        match self {
            Self::Socket(path) => UnixStream::connect(path).map(Upstream::Socket),
            Self::Port(address) => TcpStream::connect(address).map(Upstream::Port),
        }
    }
}

impl Upstream {
    fn try_clone(&self) -> io::Result<Self> {
        match self {
            Self::Socket(stream) => stream.try_clone().map(Self::Socket),
            Self::Port(stream) => stream.try_clone().map(Self::Port),
        }
    }

    fn close(&self) {
        let _ = match self {
            Self::Socket(stream) => stream.shutdown(Shutdown::Both),
            Self::Port(stream) => stream.shutdown(Shutdown::Both),
        };
    }
}

impl Read for Upstream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Socket(stream) => stream.read(buffer),
            Self::Port(stream) => stream.read(buffer),
        }
    }
}

impl Write for Upstream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Socket(stream) => stream.write(bytes),
            Self::Port(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn accept(self: &Arc<Self>, client: TcpStream) {
        let Ok(database) = self.target.connect() else { return };
        let pair = (client.try_clone(), database.try_clone());
        let (Ok(client_copy), Ok(database_copy)) = pair else { return };
        let mut state = self.lock();
        let number = state.connections.len();
        if state.fault == Fault::Cut {
            let _ = client.shutdown(Shutdown::Both);
        }
        state.connections.push((client_copy, database_copy));
        drop(state);
        let copies = (client.try_clone(), database.try_clone());
        let (Ok(client_out), Ok(database_out)) = copies else { return };
        let (there, back) = (Arc::clone(self), Arc::clone(self));
        thread::spawn(move || there.pump(client, database_out, number, false));
        thread::spawn(move || back.pump(database, client_out, number, true));
    }

    /// Passes bytes on in one direction until either side ends.
    fn pump(&self, mut from: impl Read, mut to: impl Write, number: usize, is_answer: bool) {
        let mut buffer = [0; 1 << 14];
        while let Ok(length @ 1..) = from.read(&mut buffer) {
            let piece = buffer.get(..length).unwrap_or_default();
            match self.wait(number, (!is_answer).then_some(piece)) {
                Verdict::Pass if to.write_all(piece).is_ok() => {}
                Verdict::Discard => {}
                _ => break,
            }
        }
        // Close the connection to the other side, unless the connection is lost and must stay open.
        let state = self.lock();
        if number >= state.lost_before
            && let Some((client, database)) = state.connections.get(number)
        {
            if is_answer {
                let _ = client.shutdown(Shutdown::Both);
            } else {
                database.close();
            }
        }
    }

    /// Waits until a piece may be passed on: these bytes of the server, or an answer.
    fn wait(&self, number: usize, sent: Option<&[u8]>) -> Verdict {
        let (start, is_answer) = (Instant::now(), sent.is_none());
        let mut state = self.lock();
        loop {
            if state.ended {
                return Verdict::Close;
            }
            if number < state.lost_before {
                return Verdict::Discard;
            }
            let left = match state.fault {
                Fault::None => return Verdict::Pass,
                Fault::HoldAnswers | Fault::CutAnswers | Fault::HalfClose if !is_answer => {
                    return Verdict::Pass;
                }
                Fault::Cut | Fault::CutAnswers => return Verdict::Close,
                Fault::HalfClose => return Verdict::Discard,
                Fault::Hold | Fault::HoldAnswers => None,
                Fault::At(text, strike) => {
                    let contains =
                        |sent: &[u8]| sent.windows(text.len()).any(|window| window == text.as_bytes());
                    let is_struck = sent.map_or_else(|| state.struck.contains(&number), contains);
                    match (is_struck, strike) {
                        (true, Strike::LoseStatement) => return Verdict::Close,
                        (true, Strike::HoldStatement) if !is_answer => None,
                        (true, Strike::LoseAnswer) if is_answer => return Verdict::Close,
                        (true, Strike::HoldAnswer) if is_answer => None,
                        (true, Strike::LoseAnswer | Strike::HoldAnswer) => {
                            state.struck.insert(number);
                            return Verdict::Pass;
                        }
                        _ => return Verdict::Pass,
                    }
                }
                Fault::Delay(delay) => match delay.checked_sub(start.elapsed()) {
                    None | Some(Duration::ZERO) => return Verdict::Pass,
                    left => left,
                },
            };
            state = match left {
                Some(left) => {
                    self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0
                }
                None => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }
}
