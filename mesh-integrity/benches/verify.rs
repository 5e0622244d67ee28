//! Benchmarks of token and signature verification. Run with `cargo bench -p mesh-integrity`.

#![allow(missing_docs, clippy::unwrap_used, reason = "a benchmark, whose macros document nothing")]

use std::future::Future;
use std::hint::black_box;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use mesh_integrity::{
    Gate, Identity, IssuedSession, Keys, Message, Secret, SignatureHeaders, SignatureTarget, SigningKey,
    token,
};

const NOW: u64 = 1_700_000_000_000;
const TARGET: SignatureTarget<'static> =
    SignatureTarget { method: "GET", path: "/mesh/post/4711", format: "json" };

/// `X-Mesh-Query` of a point read with six fields.
const W1: &[u8] = b"eyJwb3N0Ijp7IiRzZWxlY3QiOnsiaWQiOnRydWUsInRpdGxlIjp0cnVlLCJib2R5Ijp0cnVlLCJwdWJsaXNoZWQiOnRydWUsInZpZXdzIjp0cnVlLCJwdWJsaXNoZWRBdCI6dHJ1ZX19fQ==";

fn at(millis: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_millis(millis)
}

fn keys() -> Keys {
    Keys::new(&Secret::new(*b"32 or more bytes from a random source").unwrap())
}

/// Creates a gate whose tokens outlive the benchmark's clock, and a session with role and tenant.
fn session() -> (Gate, IssuedSession) {
    let gate = Gate::new(keys()).lifetime(Duration::from_secs(86_400 * 365));
    let identity = Identity::new("4711").with_role("editor").with_tenant("north");
    let issued = gate.login(&identity, [7; 16], at(NOW)).unwrap();
    (gate, issued)
}

/// Returns the output of a future that is ready at the first poll.
fn ready<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => unreachable!("stores in memory are always ready"),
    }
}

fn benches(criterion: &mut Criterion) {
    let keys = keys();
    let (gate, IssuedSession { token, signing_token, .. }) = session();
    let key = SigningKey::new(&signing_token);
    let signature = key.sign(W1);
    criterion.bench_function("open a token", |bench| {
        bench.iter(|| token::open(&keys, black_box(&token)).unwrap());
    });
    criterion.bench_function("verify a signature", |bench| {
        bench.iter(|| assert!(key.verify(black_box(W1), signature.as_bytes())));
    });
    let proof = SignatureHeaders { signature: Some(signature.as_bytes()), ..SignatureHeaders::default() };
    criterion.bench_function("open a token and verify a signature", |bench| {
        bench.iter(|| {
            let opened = ready(gate.open(Some(token.as_bytes()), at(NOW))).unwrap();
            ready(gate.verify(&opened, &Message::new(black_box(W1)), &proof, &TARGET, at(NOW))).unwrap();
        });
    });
    let cached = ready(gate.open(Some(token.as_bytes()), at(NOW))).unwrap();
    criterion.bench_function("verify a signature with a cached token", |bench| {
        bench.iter(|| {
            ready(gate.check(cached.session(), at(NOW))).unwrap();
            ready(gate.verify(&cached, &Message::new(black_box(W1)), &proof, &TARGET, at(NOW))).unwrap();
        });
    });
    let mut number = 0u64;
    criterion.bench_function("open a token and verify a bound signature", |bench| {
        // At 100 per second, nonces expire before the session reaches its share of the capacity.
        let signed = || {
            number += 1;
            let (time, nonce) = (NOW + number * 10, format!("nonce-{number:016}"));
            let timestamp = (time / 1_000).to_string();
            let bytes = Message::new(W1).bound(&TARGET, timestamp.as_bytes(), nonce.as_bytes());
            (time, timestamp, nonce, key.sign(&bytes))
        };
        let verify = |(time, timestamp, nonce, signature): (u64, String, String, String)| {
            let proof = SignatureHeaders {
                signature: Some(signature.as_bytes()),
                timestamp: Some(timestamp.as_bytes()),
                nonce: Some(nonce.as_bytes()),
            };
            let opened = ready(gate.open(Some(token.as_bytes()), at(time))).unwrap();
            ready(gate.verify(&opened, &Message::new(W1), &proof, &TARGET, at(time))).unwrap()
        };
        bench.iter_batched(signed, verify, BatchSize::SmallInput);
    });
}

criterion_group!(verifying, benches);
criterion_main!(verifying);
