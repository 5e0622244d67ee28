//! Tokens and signatures: only issued tokens and valid signatures are accepted.

use std::sync::OnceLock;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use mesh_integrity::{
    Gate, Identity, IssuedSession, Keys, Message, Secret, SignatureHeaders, SignatureTarget, SigningKey,
    keys, token,
};
use ring::hmac;

use super::cursor::now;

const SECRET: &[u8] = b"the secret of the fuzz targets, 32 bytes or more";
/// A message that may be signed.
const STATEMENT: &[u8] = b"eyJ1c2VyIjp7fX0=";
const TARGET: SignatureTarget<'_> = SignatureTarget { method: "GET", path: "/mesh/user", format: "json" };

fn time() -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1_700_000_000)
}

fn secret() -> Secret {
    Secret::new(SECRET).expect("long enough")
}

fn gate() -> &'static (Gate, IssuedSession) {
    static GATE: OnceLock<(Gate, IssuedSession)> = OnceLock::new();
    GATE.get_or_init(|| {
        let gate = Gate::new(Keys::new(&secret()));
        let identity = Identity::new("7").with_role("editor").with_tenant("acme");
        let issued = gate.login(&identity, [9; 16], time()).expect("it fits");
        (gate, issued)
    })
}

/// Opens the input as a token, and as the payload of a token that is sealed with the correct key.
pub fn token(data: &[u8]) {
    let (gate, issued) = gate();
    let opened = now(gate.open(Some(data), time()));
    assert_eq!(opened.is_ok(), data == issued.token.as_bytes(), "{:?}", String::from_utf8_lossy(data));

    let keys = Keys::new(&secret());
    let key = hmac::Key::new(hmac::HMAC_SHA256, &secret().derive(keys::TOKEN_LABEL));
    let mut sealed = data.to_vec();
    sealed.extend_from_slice(hmac::sign(&key, data).as_ref());
    let text = format!("tok_{}", url_safe(&sealed));
    if let Ok(opened) = token::open(&keys, &text) {
        // Each session has exactly one payload.
        assert_eq!(token::seal(&keys, opened.session()).as_deref(), Ok(text.as_str()));
    }
}

/// Verifies a signature. The lines of the input are message, signature, timestamp and nonce; an empty line is a missing
/// header.
pub fn signature(data: &[u8]) {
    let (gate, issued) = gate();
    let mut lines = data.split(|byte| *byte == b'\n');
    let mut line = || lines.next().filter(|line| !line.is_empty());
    let statement = line().unwrap_or_default();
    let (signature, timestamp, nonce) = (line(), line(), line());
    let headers = SignatureHeaders { signature, timestamp, nonce };
    let message = Message::new(statement);
    let opened = now(gate.open(Some(issued.token.as_bytes()), time())).expect("a good token");
    let verified = now(gate.verify(&opened, &message, &headers, &TARGET, time())).is_ok();
    let key = SigningKey::new(&issued.signing_token);
    let bytes = match (timestamp, nonce) {
        (Some(timestamp), Some(nonce)) => message.bound(&TARGET, timestamp, nonce),
        _ => message.bytes().into_owned(),
    };
    let right = key.sign(&bytes);
    if verified {
        assert_eq!(signature, Some(right.as_bytes()), "a signature of something else");
    }
    // With the correct signature, an unbound request passes, and a bound one passes at most once.
    let headers = SignatureHeaders { signature: Some(right.as_bytes()), ..headers };
    let first = now(gate.verify(&opened, &message, &headers, &TARGET, time())).is_ok();
    match (timestamp, nonce) {
        (None, None) => assert!(first),
        (Some(_), Some(_)) => {
            assert!(now(gate.verify(&opened, &message, &headers, &TARGET, time())).is_err(), "a replay")
        }
        _ => assert!(!first, "half of a binding"),
    }
    assert_eq!(key.verify(STATEMENT, right.as_bytes()), bytes == STATEMENT);
}

fn url_safe(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let bits =
            chunk.iter().fold(0u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for index in 0..=chunk.len() {
            text.push(char::from(LETTERS[(bits >> (18 - 6 * index)) as usize & 63]));
        }
    }
    text
}
