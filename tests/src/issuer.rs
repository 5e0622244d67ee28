//! An issuer of tokens: it signs them, and serves its keys as a test says.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use serde_json::{Value, json};

/// What an issuer answers to a request for its keys.
#[derive(Clone, Debug)]
pub enum Answer {
    /// The keys.
    Keys,
    /// A status and a body.
    Reply(u16, Vec<u8>),
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
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    requests: AtomicUsize,
}

#[derive(Debug)]
struct State {
    answer: Answer,
    keys: Vec<Arc<SigningKey>>,
    held: Vec<TcpStream>,
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
                let serving = Arc::clone(&serving);
                thread::spawn(move || serving.serve(connection));
            }
        });
        Self { address, shared }
    }

    /// Returns the URL of the keys.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}/jwks", self.address)
    }

    /// Sets what is answered from now on. Connections that are held are closed.
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

    fn serve(&self, mut connection: TcpStream) {
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
        let (status, body) = match state.answer.clone() {
            Answer::Keys => {
                let keys: Vec<Value> = state.keys.iter().map(|key| key.jwk()).collect();
                (200, json!({"keys": keys}).to_string().into_bytes())
            }
            Answer::Reply(status, body) => (status, body),
            Answer::Hold => return state.held.push(connection),
            Answer::Cut => return,
        };
        drop(state);
        let location = format!("http://{}/elsewhere", connection.local_addr().expect("a connected socket"));
        let head = format!(
            "HTTP/1.1 {status} Status\r\nContent-Type: application/json\r\nLocation: {location}\r\nContent-Length: {}\r\n\
             Connection: close\r\n\r\n",
            body.len()
        );
        let _ = connection.write_all(head.as_bytes()).and_then(|()| connection.write_all(&body));
    }
}
