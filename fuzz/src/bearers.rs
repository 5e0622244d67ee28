//! Bearers: tokens, their claims, and documents of keys.

use std::time::{Duration, UNIX_EPOCH};

use data_encoding::BASE64URL_NOPAD;
use mesh_integrity::bearer::{BearerVerifier, KeySet};
use mesh_integrity::{Secret, SessionClaims};
use ring::hmac;

const SECRET: &[u8; 32] = b"the secret of these fuzz targets";

/// The first byte decides what the rest is: `k` a document of keys, `c` claims that the issuer has signed, `h` a header with
/// which it has signed claims; anything else is a token.
pub(super) fn bearer(data: &[u8]) {
    let verifier = BearerVerifier::new().audience(["api"]).tenant("org.id").claims(["teams", "a.b"]);
    let keys = KeySet::from_secret(&Secret::new(*SECRET).expect("32 bytes"));
    match data.split_first() {
        Some((b'k', document)) => {
            if let Ok(keys) = KeySet::from_jwks(document) {
                assert!(!keys.is_empty());
                assert!(
                    verifier.open(&signed(br#"{"alg":"HS256"}"#, br#"{"sub":"7","exp":1}"#), &keys).is_err()
                );
            }
        }
        Some((b'c', claims)) => {
            let Ok(opened) = verifier.open(&signed(br#"{"alg":"HS256"}"#, claims), &keys) else { return };
            let session = opened.session();
            assert!((1..=254).contains(&session.user.len()));
            let claims: serde_json::Map<_, _> =
                session.claims.iter().map(|(name, value)| (name.to_owned(), value.clone())).collect();
            assert!(SessionClaims::new(claims).is_ok());
            let late = session.expires_at + Duration::from_secs(31);
            assert!(verifier.check(&opened, &keys, late).is_err(), "it has expired");
        }
        Some((b'h', header)) => {
            let _ = verifier.open(&signed(header, br#"{"sub":"7","exp":1,"aud":"api"}"#), &keys);
        }
        _ => assert!(verifier.verify(data, &keys, UNIX_EPOCH).is_err(), "nothing has signed it"),
    }
}

fn signed(header: &[u8], claims: &[u8]) -> Vec<u8> {
    let signed = format!("{}.{}", BASE64URL_NOPAD.encode(header), BASE64URL_NOPAD.encode(claims));
    let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, SECRET), signed.as_bytes());
    format!("{signed}.{}", BASE64URL_NOPAD.encode(tag.as_ref())).into_bytes()
}
