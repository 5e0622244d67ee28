//! Attacks on tokens. Keys and signatures are made with ring.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use proptest::prelude::*;
use ring::rand::SystemRandom;
use ring::signature::{EcdsaKeyPair, Ed25519KeyPair, KeyPair as _, RsaKeyPair, RsaPublicKeyComponents};
use ring::{hmac, signature};
use serde_json::{Value, json};

use super::*;
use crate::Secret;

mod claims;
mod keys;

const SECRET: &[u8] = b"a secret of thirty-two bytes or more";
const NOW: u64 = 1_700_000_000;
/// A key of 2048 bits in PKCS#8, generated with `openssl genpkey` for these tests.
const RSA: &[u8] = include_bytes!("tests/rsa-2048.pk8");

fn at(seconds: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(seconds)
}

fn base64(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// An issuer with one key of each kind.
struct Issuer {
    rsa: RsaKeyPair,
    ec: EcdsaKeyPair,
    ed: Ed25519KeyPair,
}

fn issuer() -> Issuer {
    let random = SystemRandom::new();
    let algorithm = &signature::ECDSA_P256_SHA256_FIXED_SIGNING;
    let ec = EcdsaKeyPair::generate_pkcs8(algorithm, &random).unwrap();
    let ed = Ed25519KeyPair::generate_pkcs8(&random).unwrap();
    Issuer {
        rsa: RsaKeyPair::from_pkcs8(RSA).unwrap(),
        ec: EcdsaKeyPair::from_pkcs8(algorithm, ec.as_ref(), &random).unwrap(),
        ed: Ed25519KeyPair::from_pkcs8(ed.as_ref()).unwrap(),
    }
}

impl Issuer {
    fn public(&self) -> RsaPublicKeyComponents<Vec<u8>> {
        self.rsa.public().into()
    }

    fn rsa_jwk(&self) -> Value {
        let RsaPublicKeyComponents { n, e } = self.public();
        json!({"kty": "RSA", "kid": "rsa", "n": base64(n), "e": base64(e)})
    }

    fn ec_jwk(&self) -> Value {
        let point = self.ec.public_key().as_ref();
        json!({"kty": "EC", "kid": "ec", "crv": "P-256", "x": base64(&point[1..33]), "y": base64(&point[33..])})
    }

    fn ed_jwk(&self) -> Value {
        json!({"kty": "OKP", "kid": "ed", "crv": "Ed25519", "x": base64(self.ed.public_key().as_ref())})
    }

    fn keys(&self) -> KeySet {
        key_set(json!([self.rsa_jwk(), self.ec_jwk(), self.ed_jwk()])).unwrap()
    }

    fn sign(&self, algorithm: &str, message: &[u8]) -> Vec<u8> {
        let random = SystemRandom::new();
        let mut rsa = vec![0; self.rsa.public().modulus_len()];
        match algorithm {
            "RS256" => {
                self.rsa.sign(&signature::RSA_PKCS1_SHA256, &random, message, &mut rsa).unwrap();
                rsa
            }
            "PS256" => {
                self.rsa.sign(&signature::RSA_PSS_SHA256, &random, message, &mut rsa).unwrap();
                rsa
            }
            "ES256" => self.ec.sign(&random, message).unwrap().as_ref().to_vec(),
            "EdDSA" => self.ed.sign(message).as_ref().to_vec(),
            _ => hmac_of(SECRET, message),
        }
    }

    /// Returns a token with these members of the header, signed with the algorithm in them.
    fn token(&self, header: &Value, claims: &Value) -> String {
        let signed = format!("{}.{}", base64(header.to_string()), base64(claims.to_string()));
        let signature = self.sign(header["alg"].as_str().unwrap_or_default(), signed.as_bytes());
        format!("{signed}.{}", base64(signature))
    }
}

fn hmac_of(key: &[u8], message: &[u8]) -> Vec<u8> {
    hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), message).as_ref().to_vec()
}

fn key_set(keys: Value) -> Result<KeySet, KeySetError> {
    KeySet::from_jwks(json!({"keys": keys}).to_string().as_bytes())
}

fn secret() -> KeySet {
    KeySet::from_secret(&Secret::new(SECRET).unwrap())
}

fn claims() -> Value {
    json!({"sub": "7", "exp": NOW + 60})
}

/// Returns a token of the shared secret with this text as the payload.
fn raw(header: &str, payload: &str) -> String {
    let signed = format!("{}.{}", base64(header), base64(payload));
    let signature = hmac_of(SECRET, signed.as_bytes());
    format!("{signed}.{}", base64(signature))
}

fn shared(claims: &Value) -> String {
    raw(r#"{"alg":"HS256"}"#, &claims.to_string())
}

fn verify(rules: &BearerVerifier, token: &str) -> Result<OpenedBearer, BearerError> {
    rules.verify(token.as_bytes(), &secret(), at(NOW))
}

fn fault<T: std::fmt::Debug>(result: Result<T, BearerError>) -> BearerFault {
    match result {
        Err(BearerError::Invalid(fault)) => fault,
        other => panic!("not invalid: {other:?}"),
    }
}

#[test]
fn every_algorithm_is_verified_with_its_key() {
    let (issuer, rules) = (issuer(), BearerVerifier::new());
    let keys = issuer.keys();
    for (algorithm, id) in [("RS256", "rsa"), ("PS256", "rsa"), ("ES256", "ec"), ("EdDSA", "ed")] {
        let token = issuer.token(&json!({"alg": algorithm, "kid": id, "typ": "JWT"}), &claims());
        let opened = rules.verify(token.as_bytes(), &keys, at(NOW)).unwrap();
        assert_eq!(opened.session().user, "7");
        assert_eq!(opened.session().expires_at, at(NOW + 60));
        let unnamed = issuer.token(&json!({"alg": algorithm}), &claims());
        assert!(rules.verify(unnamed.as_bytes(), &keys, at(NOW)).is_ok(), "one key fits {algorithm}");
        let other = claims_of_other_user(&token);
        assert_eq!(fault(rules.open(other.as_bytes(), &keys)), BearerFault::Signature, "{algorithm}");
    }
    assert_eq!(verify(&rules, &shared(&claims())).unwrap().session().user, "7");
}

/// Returns the token with the claims of another user.
fn claims_of_other_user(token: &str) -> String {
    let parts: Vec<&str> = token.split('.').collect();
    format!("{}.{}.{}", parts[0], base64(json!({"sub": "8", "exp": NOW + 60}).to_string()), parts[2])
}

#[test]
fn a_public_key_is_no_shared_secret() {
    let (issuer, rules) = (issuer(), BearerVerifier::new());
    let jwk = issuer.rsa_jwk();
    let forms: [Vec<u8>; 5] = [
        issuer.rsa.public().as_ref().to_vec(),
        issuer.public().n,
        jwk["n"].as_str().unwrap().as_bytes().to_vec(),
        jwk.to_string().into_bytes(),
        Vec::new(),
    ];
    for key in forms {
        for header in [r#"{"alg":"HS256"}"#, r#"{"alg":"HS256","kid":"rsa"}"#] {
            let signed = format!("{}.{}", base64(header), base64(claims().to_string()));
            let token = format!("{signed}.{}", base64(hmac_of(&key, signed.as_bytes())));
            assert_eq!(fault(rules.open(token.as_bytes(), &issuer.keys())), BearerFault::Algorithm);
        }
    }
    let oct = json!({"kty": "oct", "kid": "oct", "k": base64(SECRET)});
    assert!(matches!(key_set(json!([oct])), Err(KeySetError::NoneUsable { .. })));
    let keys = key_set(json!([issuer.rsa_jwk(), oct])).unwrap();
    let token = issuer.token(&json!({"alg": "HS256", "kid": "oct"}), &claims());
    assert_eq!(fault(rules.open(token.as_bytes(), &keys)), BearerFault::Algorithm);
    let public = issuer.token(&json!({"alg": "RS256", "kid": "rsa"}), &claims());
    assert_eq!(fault(verify(&rules, &public)), BearerFault::Algorithm, "a secret is no public key");
}

/// Attack without a session: a token with `alg: none`, a foreign algorithm, or a public key used as a shared
/// secret.
#[test]
fn no_spelling_of_none_and_no_other_algorithm_is_accepted() {
    let (issuer, rules) = (issuer(), BearerVerifier::new());
    for name in [
        "none",
        "None",
        "NONE",
        "nOnE",
        "none ",
        " none",
        "",
        "null",
        "HS384",
        "HS512",
        "RS384",
        "RS512",
        "PS512",
        "ES384",
        "ES512",
        "ES256K",
        "Ed25519",
        "Ed448",
        "rs256",
        "hs256",
        "HS256 ",
        "RS256\u{0}",
        "dir",
        "A256KW",
    ] {
        let header = json!({"alg": name, "kid": "rsa"});
        let signed = format!("{}.{}", base64(header.to_string()), base64(claims().to_string()));
        for signature in [String::new(), base64(hmac_of(SECRET, signed.as_bytes()))] {
            let token = format!("{signed}.{signature}");
            for keys in [issuer.keys(), secret()] {
                assert_eq!(fault(rules.open(token.as_bytes(), &keys)), BearerFault::Algorithm, "{name:?}");
            }
        }
    }
    for header in [json!({}), json!({"alg": null}), json!({"alg": ["HS256"]}), json!({"alg": 1})] {
        assert_eq!(fault(verify(&rules, &raw(&header.to_string(), "{}"))), BearerFault::Algorithm);
    }
    let unsigned = format!("{}.{}.", base64(r#"{"alg":"HS256"}"#), base64(claims().to_string()));
    assert_eq!(fault(verify(&rules, &unsigned)), BearerFault::Signature);
}

/// Attack without a session: tokens with critical extensions, for another audience or of another use.
#[test]
fn critical_extensions_and_tokens_for_other_uses_are_refused() {
    let rules = BearerVerifier::new();
    for crit in [json!(["exp"]), json!(["b64"]), json!([]), json!(null), json!("exp")] {
        let header = json!({"alg": "HS256", "crit": crit, "b64": false, "exp": 1});
        assert_eq!(fault(verify(&rules, &raw(&header.to_string(), "{}"))), BearerFault::Critical);
    }
    for name in ["logout+jwt", "dpop+jwt", "secevent+jwt", "JOSE", ""] {
        let header = json!({"alg": "HS256", "typ": name});
        assert_eq!(fault(verify(&rules, &raw(&header.to_string(), "{}"))), BearerFault::Type, "{name}");
    }
    for name in ["JWT", "jwt", "at+jwt", "application/at+jwt"] {
        let header = json!({"alg": "HS256", "typ": name});
        assert!(verify(&rules, &raw(&header.to_string(), &claims().to_string())).is_ok(), "{name}");
    }
}

/// Attack without a session: altered, truncated and oversized tokens.
#[test]
fn malformed_tokens_are_refused() {
    let rules = BearerVerifier::new();
    let good = shared(&claims());
    let parts: Vec<&str> = good.split('.').collect();
    let (header, payload, signature) = (parts[0], parts[1], parts[2]);
    for (token, expected) in [
        (String::new(), BearerFault::Parts),
        ("..".to_owned(), BearerFault::Json { part: "header" }),
        ("mk_0123".to_owned(), BearerFault::Parts),
        (format!("{header}.{payload}"), BearerFault::Parts),
        (format!("{good}.x"), BearerFault::Parts),
        (format!("{good}.x.y"), BearerFault::Encrypted),
        (format!("{good}.x.y.z"), BearerFault::Parts),
        (format!("{good}="), BearerFault::Base64 { part: "signature" }),
        (format!("{header}=.{payload}.{signature}"), BearerFault::Base64 { part: "header" }),
        (format!("{header}.{payload}.{signature} "), BearerFault::Base64 { part: "signature" }),
        (format!("{header}.{payload}.{signature}\n"), BearerFault::Base64 { part: "signature" }),
        (format!("{header}.{payload}+.{signature}"), BearerFault::Signature),
        (format!("é.{payload}.{signature}"), BearerFault::Base64 { part: "header" }),
        (raw("[]", "{}"), BearerFault::Json { part: "header" }),
        (raw(r#"{"alg":"HS256"}"#, "[]"), BearerFault::Json { part: "payload" }),
        (raw(r#"{"alg":"HS256"}"#, "\"text\""), BearerFault::Json { part: "payload" }),
        (raw(r#"{"alg":"HS256"}"#, ""), BearerFault::Json { part: "payload" }),
        (raw(r#"{"alg":"HS256","alg":"HS256"}"#, "{}"), BearerFault::Json { part: "header" }),
        (raw(r#"{"alg":"none","alg":"HS256"}"#, "{}"), BearerFault::Json { part: "header" }),
        (
            raw(r#"{"alg":"HS256"}"#, r#"{"sub":"7","exp":9e9,"sub":"8"}"#),
            BearerFault::Json { part: "payload" },
        ),
        (
            raw(r#"{"alg":"HS256"}"#, r#"{"sub":"7","exp":9e9,"a":{"b":1,"b":2}}"#),
            BearerFault::Json { part: "payload" },
        ),
        ("a".repeat(16 * 1024 + 1), BearerFault::TooLong { most: 16 * 1024 }),
        (format!("{good}{}", "A".repeat(16 * 1024)), BearerFault::TooLong { most: 16 * 1024 }),
        (raw(&"[".repeat(5_000), "{}"), BearerFault::Json { part: "header" }),
    ] {
        assert_eq!(fault(verify(&rules, &token)), expected, "{token}");
    }
    assert_eq!(fault(rules.open(b"\xff\xff.a.b", &secret())), BearerFault::Base64 { part: "header" });
}

#[test]
fn every_altered_bit_of_a_signature_is_refused() {
    let (issuer, rules) = (issuer(), BearerVerifier::new());
    let token = issuer.token(&json!({"alg": "ES256"}), &claims());
    let (signed, signature) = token.rsplit_once('.').unwrap();
    let signature = URL_SAFE_NO_PAD.decode(signature).unwrap();
    for index in 0..signature.len() {
        let mut altered = signature.clone();
        altered[index] ^= 1;
        let token = format!("{signed}.{}", base64(altered));
        assert_eq!(fault(rules.open(token.as_bytes(), &issuer.keys())), BearerFault::Signature);
    }
    for shape in [vec![], vec![0; 64], signature[..63].to_vec(), [&signature[..], &[0]].concat()] {
        let token = format!("{signed}.{}", base64(shape));
        assert_eq!(fault(rules.open(token.as_bytes(), &issuer.keys())), BearerFault::Signature);
    }
}

#[test]
fn the_session_id_depends_on_what_is_signed_only() {
    let (issuer, rules) = (issuer(), BearerVerifier::new());
    let header = json!({"alg": "ES256"});
    let id = |claims: &Value| {
        let token = issuer.token(&header, claims);
        rules.open(token.as_bytes(), &issuer.keys()).unwrap().session().session
    };
    assert_eq!(id(&claims()), id(&claims()), "signatures of ES256 differ");
    assert_ne!(id(&claims()), id(&json!({"sub": "7", "exp": NOW + 61})));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn no_text_is_accepted_without_a_signature(text in "[A-Za-z0-9_-]{0,60}(\\.[A-Za-z0-9_-]{0,60}){0,5}") {
        prop_assert!(BearerVerifier::new().open(text.as_bytes(), &secret()).is_err());
    }

    #[test]
    fn no_bytes_cause_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(BearerVerifier::new().open(&bytes, &secret()).is_err());
        let _ = KeySet::from_jwks(&bytes);
    }

    #[test]
    fn any_payload_that_is_signed_is_read_or_refused(payload in "\\{(\"(sub|exp|nbf|aud|role)\":(\"x\"|1|1e400|-1|\\[\\]|\\{\\}|null)(,|\\})){0,4}") {
        let rules = BearerVerifier::new().audience(["x"]);
        let _ = verify(&rules, &raw(r#"{"alg":"HS256"}"#, &payload));
    }
}
