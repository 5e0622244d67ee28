//! A server that gives every request the same answer.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, Stream};

/// The body that shows the fixture to the runner, and violates most rules.
pub(crate) const BODY: &str = "{\"name\":\"code\"}";

/// What a server does with the requests after the first ones.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Later {
    /// Gives them the same answer.
    Answer,
    /// Closes its listener.
    Die,
    /// Keeps the connection and sends nothing.
    Wait,
}

/// A running server, stopped when this value is dropped.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    /// The largest number of requests that were answered at the same time.
    pub(crate) most: Arc<AtomicUsize>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    pub(crate) fn new(body: &str) -> Self {
        Self::start(body, usize::MAX, Later::Answer, None)
    }

    /// Starts a server that answers the first `first` requests and then behaves as `later` specifies.
    pub(crate) fn start(body: &str, first: usize, later: Later, tls: Option<Arc<ServerConfig>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (most, stop) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        let (body, ended, peak) = (body.to_owned(), Arc::clone(&stop), Arc::clone(&most));
        let thread = std::thread::spawn(move || {
            let now = AtomicUsize::new(0);
            let mut kept = Vec::new();
            std::thread::scope(|scope| {
                for (count, stream) in listener.incoming().flatten().enumerate() {
                    if ended.load(Ordering::Relaxed) || (count >= first && later == Later::Die) {
                        break;
                    }
                    if count >= first {
                        kept.push(stream);
                        continue;
                    }
                    let (tls, now, peak, body) = (tls.clone(), &now, &peak, &body);
                    scope.spawn(move || {
                        peak.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                        answer(stream, tls, body, || {
                            now.fetch_sub(1, Ordering::SeqCst);
                        });
                    });
                }
                // Connections that wait in the backlog are refused with the listener.
                drop(listener);
            });
        });
        Self { address, most, stop, thread: Some(thread) }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/mesh", self.address)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // Wakes the listener, which then checks the flag.
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn answer(mut stream: TcpStream, tls: Option<Arc<ServerConfig>>, body: &str, done: impl FnOnce()) {
    let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n";
    let reply = format!("{head}Content-Length: {}\r\n\r\n{body}", body.len());
    let _ = stream.set_read_timeout(Some(Duration::from_secs(20)));
    if let Some(config) = tls {
        let mut connection = ServerConnection::new(config).unwrap();
        let mut stream = Stream::new(&mut connection, &mut stream);
        read_request(&mut stream);
        done();
        let _ = stream.write_all(reply.as_bytes());
        stream.conn.send_close_notify();
        let _ = stream.flush();
    } else {
        read_request(&mut stream);
        // The client begins its next request after the answer.
        done();
        let _ = stream.write_all(reply.as_bytes());
    }
}

/// Reads a request with a body of the stated length.
fn read_request(stream: &mut impl Read) {
    let mut bytes = Vec::new();
    let mut buffer = [0; 65536];
    loop {
        let text = String::from_utf8_lossy(&bytes).to_ascii_lowercase();
        if let Some((head, _)) = text.split_once("\r\n\r\n") {
            let length = head.split("content-length: ").nth(1).and_then(|rest| rest.lines().next());
            let length = length.and_then(|length| length.trim().parse().ok()).unwrap_or(0);
            let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").unwrap_or_default() + 4;
            if bytes.len() >= end + length {
                return;
            }
        }
        match stream.read(&mut buffer) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Ok(0) | Err(_) => return,
            Ok(count) => bytes.extend(&buffer[..count]),
        }
    }
}

/// Returns the settings of a server with a self-signed certificate, and the file with the certificate.
pub(crate) fn certificate(folder: &std::path::Path) -> (Arc<ServerConfig>, PathBuf) {
    let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let file = folder.join("ca.pem");
    std::fs::write(&file, made.cert.pem()).unwrap();
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = config.with_no_client_auth().with_single_cert(vec![made.cert.der().clone()], key).unwrap();
    (Arc::new(config), file)
}
