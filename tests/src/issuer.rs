//! An issuer that signs tokens and serves its keys. A test can make it answer differently.

use std::fmt::Debug;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::{Value, json};

/// The answer of an issuer to a request for its keys.
#[derive(Clone, Debug)]
pub enum Answer {
    /// The keys.
    Keys,
    /// A status and a body.
    Reply(u16, Vec<u8>),
    /// A redirect to a URL.
    Redirect(String),
    /// Nothing, and the connection stays open.
    Hold,
    /// Nothing, and the connection is closed.
    Cut,
}

/// A key of ES256 with an id.
#[derive(Debug)]
pub struct SigningKey {
    id: String,
    pair: EcdsaKeyPair,
}

/// An issuer on a loopback port, which ends when this value is dropped.
#[derive(Debug)]
pub struct Issuer {
    address: SocketAddr,
    shared: Arc<Shared>,
    /// The certificate of the authority that has signed the issuer's, if it serves over TLS.
    authority: Option<String>,
}

/// A connection, encrypted or not.
trait Connection: Read + Write + Send + Debug {}

impl<C: Read + Write + Send + Debug> Connection for C {}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    requests: AtomicUsize,
}

#[derive(Debug)]
struct State {
    answer: Answer,
    keys: Vec<Arc<SigningKey>>,
    held: Vec<Box<dyn Connection>>,
    ended: bool,
}

impl SigningKey {
    /// Generates a key.
    #[must_use]
    pub fn generate(id: &str) -> Self {
        let random = SystemRandom::new();
        let document = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random);
        let document = document.expect("random bytes");
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, document.as_ref(), &random);
        Self { id: id.to_owned(), pair: pair.expect("a key") }
    }

    /// Returns the public key as a JWK.
    #[must_use]
    pub fn jwk(&self) -> Value {
        let (x, y) = self.pair.public_key().as_ref().get(1..).expect("a point").split_at(32);
        json!({"kty": "EC", "crv": "P-256", "use": "sig", "alg": "ES256", "kid": self.id,
               "x": URL_SAFE_NO_PAD.encode(x), "y": URL_SAFE_NO_PAD.encode(y)})
    }

    /// Returns a token with these claims, and an expiry in ten minutes unless they have one.
    #[must_use]
    pub fn token(&self, claims: &Value) -> String {
        let mut claims = claims.clone();
        if let Some(members) = claims.as_object_mut() {
            members.entry("exp").or_insert_with(|| (Issuer::now() + 600).into());
        }
        let header = json!({"alg": "ES256", "typ": "JWT", "kid": self.id});
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let signed = format!("{}.{}", part(&header), part(&claims));
        let signature = self.pair.sign(&SystemRandom::new(), signed.as_bytes()).expect("random bytes");
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
    }
}

impl Issuer {
    /// Starts an issuer with one key, `first`.
    #[must_use]
    pub fn start() -> Self {
        Self::with(None, None)
    }

    /// Starts an issuer that serves its keys over TLS, with a certificate of a private authority for 127.0.0.1.
    #[must_use]
    pub fn with_tls() -> Self {
        let (config, authority) = certificate();
        Self::with(Some(config), Some(authority))
    }

    fn with(tls: Option<Arc<ServerConfig>>, authority: Option<String>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("a bound socket");
        let keys = vec![Arc::new(SigningKey::generate("first"))];
        let state = State { answer: Answer::Keys, keys, held: Vec::new(), ended: false };
        let shared = Arc::new(Shared { state: Mutex::new(state), requests: AtomicUsize::new(0) });
        let serving = Arc::clone(&shared);
        thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                if serving.state().ended {
                    return;
                }
                let connection: Box<dyn Connection> = match &tls {
                    None => Box::new(connection),
                    Some(config) => {
                        let tls = ServerConnection::new(Arc::clone(config)).expect("settings of a server");
                        Box::new(StreamOwned::new(tls, connection))
                    }
                };
                let serving = Arc::clone(&serving);
                thread::spawn(move || serving.serve(connection));
            }
        });
        Self { address, shared, authority }
    }

    /// Returns the certificate of the authority that clients have to trust.
    ///
    /// # Panics
    /// The issuer does not serve over TLS.
    #[must_use]
    pub fn authority(&self) -> &str {
        self.authority.as_deref().expect("an issuer with TLS")
    }

    /// Returns the URL of the keys.
    #[must_use]
    pub fn url(&self) -> String {
        let scheme = if self.authority.is_some() { "https" } else { "http" };
        format!("{scheme}://{}/jwks", self.address)
    }

    /// Sets the answer to further requests. Connections that are held are closed.
    pub fn answer(&self, answer: Answer) {
        let mut state = self.shared.state();
        state.answer = answer;
        state.held.clear();
    }

    /// Replaces all keys by a new one, and returns it.
    pub fn rotate(&self, id: &str) -> Arc<SigningKey> {
        let key = Arc::new(SigningKey::generate(id));
        self.shared.state().keys = vec![Arc::clone(&key)];
        key
    }

    /// Returns the current key.
    #[must_use]
    pub fn key(&self) -> Arc<SigningKey> {
        Arc::clone(self.shared.state().keys.last().expect("a key"))
    }

    /// Returns a token that is signed with the current key.
    #[must_use]
    pub fn token(&self, claims: &Value) -> String {
        self.key().token(claims)
    }

    /// Returns the number of requests for the keys.
    #[must_use]
    pub fn requests(&self) -> usize {
        self.shared.requests.load(Ordering::SeqCst)
    }

    /// Returns the time in seconds since the Unix epoch.
    #[must_use]
    pub fn now() -> u64 {
        SystemTime::now().duration_since(UNIX_EPOCH).expect("a time after 1970").as_secs()
    }
}

impl Drop for Issuer {
    fn drop(&mut self) {
        self.shared.state().ended = true;
        self.shared.state().held.clear();
        // Wakes the thread that accepts.
        let _ = TcpStream::connect(self.address);
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn serve(&self, mut connection: Box<dyn Connection>) {
        let mut head = Vec::new();
        let mut piece = [0; 1024];
        while !head.windows(4).any(|window| window == b"\r\n\r\n") {
            match connection.read(&mut piece) {
                Ok(read @ 1..) => head.extend_from_slice(piece.get(..read).unwrap_or_default()),
                _ => return,
            }
        }
        self.requests.fetch_add(1, Ordering::SeqCst);
        let mut state = self.state();
        let (status, location, body) = match state.answer.clone() {
            Answer::Keys => {
                let keys: Vec<Value> = state.keys.iter().map(|key| key.jwk()).collect();
                (200, String::new(), json!({"keys": keys}).to_string().into_bytes())
            }
            Answer::Reply(status, body) => (status, String::new(), body),
            Answer::Redirect(url) => (302, format!("Location: {url}\r\n"), Vec::new()),
            Answer::Hold => return state.held.push(connection),
            Answer::Cut => return,
        };
        drop(state);
        let head = format!(
            "HTTP/1.1 {status} Status\r\nContent-Type: application/json\r\n{location}Content-Length: {}\r\n\
             Connection: close\r\n\r\n",
            body.len()
        );
        let _ = connection
            .write_all(head.as_bytes())
            .and_then(|()| connection.write_all(&body))
            .and_then(|()| connection.flush());
    }
}

/// Returns the settings of a server whose certificate a private authority has signed, and the certificate of the authority.
fn certificate() -> (Arc<ServerConfig>, String) {
    let mut authority = CertificateParams::default();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority_key = KeyPair::generate().expect("random bytes");
    let trusted = authority.self_signed(&authority_key).expect("a certificate").pem();
    let authority = rcgen::Issuer::new(authority, authority_key);
    let key = KeyPair::generate().expect("random bytes");
    let own = CertificateParams::new(["127.0.0.1".to_owned()]).expect("an address");
    let own = own.signed_by(&key, &authority).expect("a certificate");
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions of the provider")
        .with_no_client_auth()
        .with_single_cert(vec![own.der().clone()], key)
        .expect("a certificate with its key");
    (Arc::new(config), trusted)
}
