//! Benchmarks of the verification of bearers. Run with `cargo bench -p mesh-integrity --features bearer --bench bearer`.

#![allow(
    missing_docs,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a benchmark, whose macros document nothing"
)]

use std::hint::black_box;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use criterion::{Criterion, criterion_group, criterion_main};
use mesh_integrity::bearer::{BearerVerifier, KeySet};
use ring::rand::SystemRandom;
use ring::signature::{self, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _, RsaKeyPair, RsaPublicKeyComponents};
use serde_json::{Value, json};

const NOW: u64 = 1_700_000_000;

fn base64(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// Returns a token with the claims of an access token.
fn token(algorithm: &str, sign: impl Fn(&[u8]) -> Vec<u8>) -> String {
    let header = json!({"alg": algorithm, "typ": "at+jwt", "kid": algorithm});
    let claims = json!({
        "iss": "https://login.example.org/realms/shop", "aud": ["https://api.example.org", "account"],
        "sub": "5f0c6c8e-7f0e-4b55-9b39-3c2a4f1d8a77", "iat": NOW - 60, "nbf": NOW - 60, "exp": NOW + 600,
        "azp": "web", "scope": "openid profile email", "realm_access": {"roles": ["offline_access", "editor"]},
        "teamIds": [1, 2, 3]
    });
    let signed = format!("{}.{}", base64(header.to_string()), base64(claims.to_string()));
    format!("{signed}.{}", base64(sign(signed.as_bytes())))
}

/// Returns a token of each algorithm, and the keys.
fn tokens() -> (Vec<(&'static str, String)>, KeySet) {
    let random = SystemRandom::new();
    let rsa = RsaKeyPair::from_pkcs8(include_bytes!("../src/bearer/tests/rsa-2048.pk8")).unwrap();
    let rsa_key = RsaPublicKeyComponents::<Vec<u8>>::from(rsa.public());
    let algorithm = &signature::ECDSA_P256_SHA256_FIXED_SIGNING;
    let ec = EcdsaKeyPair::generate_pkcs8(algorithm, &random).unwrap();
    let ec = EcdsaKeyPair::from_pkcs8(algorithm, ec.as_ref(), &random).unwrap();
    let ed = Ed25519KeyPair::generate_pkcs8(&random).unwrap();
    let ed = Ed25519KeyPair::from_pkcs8(ed.as_ref()).unwrap();
    let point = ec.public_key().as_ref().split_at(33);
    let keys: Value = json!({"keys": [
        {"kty": "RSA", "kid": "RS256", "n": base64(rsa_key.n), "e": base64(rsa_key.e)},
        {"kty": "EC", "kid": "ES256", "crv": "P-256", "x": base64(&point.0[1..]), "y": base64(point.1)},
        {"kty": "OKP", "kid": "EdDSA", "crv": "Ed25519", "x": base64(ed.public_key().as_ref())}
    ]});
    let sign_rsa = |message: &[u8]| {
        let mut signature = vec![0; rsa.public().modulus_len()];
        rsa.sign(&signature::RSA_PKCS1_SHA256, &random, message, &mut signature).unwrap();
        signature
    };
    let tokens = vec![
        ("RS256", token("RS256", sign_rsa)),
        ("ES256", token("ES256", |message| ec.sign(&random, message).unwrap().as_ref().to_vec())),
        ("EdDSA", token("EdDSA", |message| ed.sign(message).as_ref().to_vec())),
    ];
    (tokens, KeySet::from_jwks(keys.to_string().as_bytes()).unwrap())
}

fn benches(criterion: &mut Criterion) {
    let verifier = BearerVerifier::new()
        .issuer("https://login.example.org/realms/shop")
        .audience(["https://api.example.org"])
        .role("realm_access.roles")
        .roles(["admin", "editor"])
        .claims(["teamIds"]);
    let (tokens, keys) = tokens();
    let now: SystemTime = UNIX_EPOCH + Duration::from_secs(NOW);
    for (algorithm, token) in &tokens {
        criterion.bench_function(&format!("verify a new bearer, {algorithm}"), |bench| {
            bench.iter(|| verifier.verify(black_box(token.as_bytes()), &keys, now).unwrap());
        });
    }
    for (algorithm, token) in &tokens {
        let opened = verifier.verify(token.as_bytes(), &keys, now).unwrap();
        criterion.bench_function(&format!("check a verified bearer, {algorithm}"), |bench| {
            bench.iter(|| verifier.check(black_box(&opened), &keys, now).unwrap());
        });
        let mut forged = token.clone().into_bytes();
        let last = forged.len() - 10;
        forged[last] = if forged[last] == b'A' { b'B' } else { b'A' };
        criterion.bench_function(&format!("refuse a forged bearer, {algorithm}"), |bench| {
            bench.iter(|| assert!(verifier.verify(black_box(&forged), &keys, now).is_err()));
        });
    }
}

criterion_group!(verifying, benches);
criterion_main!(verifying);
