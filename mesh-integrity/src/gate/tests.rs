//! Tests of the gate: sessions, signatures, replays and clock changes.

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use futures_util::future::Either;
use proptest::prelude::*;

use super::*;
use crate::{MaybeReady, QueryRefusal, Secret, SigningKey, StoreError};

const NOW: u64 = 1_700_000_000_000;
const AIM: SignatureTarget<'static> = SignatureTarget { method: "GET", path: "/mesh/post/7", format: "json" };
const QUERY: &[u8] = b"eyJwb3N0Ijp7fX0=";
const NONCE: &str = "abcdefghijklmnop";

fn gate() -> Gate {
    Gate::new(Keys::new(&Secret::new([1; 32]).unwrap()))
}

fn login(gate: &Gate) -> IssuedSession {
    gate.login(&Identity::new("7").with_role("editor").with_tenant("acme"), [3; 16], at(NOW)).unwrap()
}

/// Returns the time `millis` milliseconds after the Unix epoch.
fn at(millis: u64) -> SystemTime {
    from_unix_millis(millis)
}

/// Returns the output of a future that is ready at the first poll.
fn ready<T>(future: impl Future<Output = T>) -> T {
    let mut cx = Context::from_waker(Waker::noop());
    match pin!(future).poll(&mut cx) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("the future is pending"),
    }
}

fn pass(
    gate: &Gate,
    issued: &IssuedSession,
    headers: &SignatureHeaders<'_>,
    target: &SignatureTarget<'_>,
    now: u64,
) -> Result<(), IntegrityError> {
    ready(async {
        let opened = gate.open(Some(issued.token.as_bytes()), at(now)).await?;
        gate.verify(&opened, &Message::new(QUERY), headers, target, at(now)).await
    })
}

fn plain(issued: &IssuedSession) -> String {
    SigningKey::new(&issued.signing_token).sign(QUERY)
}

fn bound(issued: &IssuedSession, timestamp: &str, nonce: &str) -> String {
    let message = Message::new(QUERY).bound(&AIM, timestamp.as_bytes(), nonce.as_bytes());
    SigningKey::new(&issued.signing_token).sign(&message)
}

fn proof<'a>(signature: &'a str, timestamp: &'a str, nonce: &'a str) -> SignatureHeaders<'a> {
    let some = |text: &'a str| Some(text.as_bytes()).filter(|text| !text.is_empty());
    SignatureHeaders { signature: some(signature), timestamp: some(timestamp), nonce: some(nonce) }
}

fn logout(
    gate: &Gate,
    token: &str,
    headers: &SignatureHeaders<'_>,
    target: &SignatureTarget<'_>,
    now: u64,
) -> Result<(), IntegrityError> {
    ready(gate.logout(&gate.open_token(Some(token.as_bytes()))?, headers, target, at(now)))
}

/// Formats a result for comparison.
fn outcome(result: Result<(), IntegrityError>) -> String {
    result.map_or_else(|error| format!("{error:?}"), |()| "passed".to_owned())
}

#[test]
fn missing_invalid_and_expired_tokens_are_refused() {
    let gate = gate();
    let issued = login(&gate);
    let open = |token: Option<&[u8]>, now| outcome(ready(gate.open(token, at(now))).map(drop));
    let token = issued.token.as_bytes();
    assert_eq!(open(None, NOW), "TokenMissing");
    assert_eq!(open(Some(b""), NOW), "TokenInvalid");
    assert_eq!(open(Some(b"tok_\xff"), NOW), "TokenInvalid");
    assert_eq!(open(Some(token), NOW + 15 * 60 * 1000 - 1), "passed");
    assert_eq!(open(Some(token), NOW + 15 * 60 * 1000), "TokenExpired");
    assert_eq!(open(Some(token), u64::MAX), "TokenExpired");
}

#[test]
fn bound_signatures_work_once_and_in_time() {
    let gate = gate();
    let issued = login(&gate);
    let signature = bound(&issued, "1700000000", NONCE);
    let good = proof(&signature, "1700000000", NONCE);
    assert_eq!(outcome(pass(&gate, &issued, &good, &AIM, NOW)), "passed");
    assert_eq!(outcome(pass(&gate, &issued, &good, &AIM, NOW)), "Replayed(Repeated)");
    assert_eq!(outcome(pass(&gate, &issued, &good, &AIM, NOW + 60_000)), "Replayed(Repeated)");
    assert_eq!(outcome(pass(&gate, &issued, &good, &AIM, NOW + 60_001)), "Replayed(Late)");
    for (second, expected) in [
        (1_700_000_060, "passed"),
        (1_700_000_061, "Replayed(Late)"),
        (1_699_999_940, "passed"),
        (1_699_999_939, "Replayed(Late)"),
    ] {
        let (text, nonce) = (second.to_string(), format!("nonce-at-{second}"));
        let signature = bound(&issued, &text, &nonce);
        assert_eq!(
            outcome(pass(&gate, &issued, &proof(&signature, &text, &nonce), &AIM, NOW)),
            expected,
            "{second}"
        );
    }
    // An expired nonce may be used again with a new timestamp.
    let signature = bound(&issued, "1700000200", NONCE);
    let later = proof(&signature, "1700000200", NONCE);
    assert_eq!(outcome(pass(&gate, &issued, &later, &AIM, NOW + 200_000)), "passed");
}

#[test]
fn bound_signatures_are_valid_for_their_target_only() {
    let gate = gate();
    let issued = login(&gate);
    let signature = bound(&issued, "1700000000", NONCE);
    let good = proof(&signature, "1700000000", NONCE);
    for target in [
        SignatureTarget { method: "PUT", ..AIM },
        SignatureTarget { method: "HEAD", ..AIM },
        SignatureTarget { path: "/mesh/post/8", ..AIM },
        SignatureTarget { path: "/mesh/post/7/", ..AIM },
        SignatureTarget { format: "ql", ..AIM },
    ] {
        assert_eq!(outcome(pass(&gate, &issued, &good, &target, NOW)), "SignatureInvalid", "{target:?}");
    }
    for (timestamp, nonce) in
        [("1700000001", NONCE), ("01700000000", NONCE), ("1700000000", "abcdefghijklmnoP")]
    {
        let moved = proof(&signature, timestamp, nonce);
        assert_eq!(outcome(pass(&gate, &issued, &moved, &AIM, NOW)), "SignatureInvalid");
    }
    let stripped = proof(&signature, "", "");
    assert_eq!(outcome(pass(&gate, &issued, &stripped, &AIM, NOW)), "SignatureInvalid");
    assert_eq!(
        outcome(pass(&gate, &issued, &good, &AIM, NOW)),
        "passed",
        "a failed attempt does not use up the nonce"
    );
}

#[test]
fn some_requests_need_bound_signatures_although_others_do_not() {
    for (binding, refused) in [
        (Binding::Off, "passed"),
        (Binding::Accept, "SignatureMissing { unbound: true }"),
        (Binding::Require, "SignatureMissing { unbound: true }"),
    ] {
        let gate = gate().binding(binding);
        assert_eq!(gate.requires_binding(), binding == Binding::Require);
        let issued = login(&gate);
        let opened = gate.open_token(Some(issued.token.as_bytes())).unwrap();
        let verify = |headers: &SignatureHeaders<'_>| {
            outcome(ready(gate.verify_bound(&opened, &Message::new(QUERY), headers, &AIM, at(NOW))))
        };
        assert_eq!(verify(&proof(&plain(&issued), "", "")), refused, "{binding:?}");
        let signature = bound(&issued, "1700000000", NONCE);
        let is_bound = if binding == Binding::Off { "SignatureInvalid" } else { "passed" };
        assert_eq!(verify(&proof(&signature, "1700000000", NONCE)), is_bound, "{binding:?}");
        assert_ne!(verify(&SignatureHeaders::default()), "passed");
    }
}

#[test]
fn lifetimes_and_windows_are_as_configured() {
    let gate = gate().lifetime(Duration::from_secs(5)).replay_window(Duration::from_secs(3));
    let issued = login(&gate);
    assert_eq!(issued.session.expires_at, at(NOW + 5_000));
    for (second, expected) in [(1_700_000_003, "passed"), (1_700_000_004, "Replayed(Late)")] {
        let text = second.to_string();
        let signature = bound(&issued, &text, NONCE);
        assert_eq!(outcome(pass(&gate, &issued, &proof(&signature, &text, NONCE), &AIM, NOW)), expected);
    }
}

#[test]
fn a_logout_may_be_bound_unless_that_is_off() {
    let target = SignatureTarget { method: "POST", path: "/mesh/logout", format: "json" };
    for (binding, expected) in [(Binding::Off, "SignatureInvalid"), (Binding::Accept, "passed")] {
        let gate = gate().binding(binding);
        let issued = login(&gate);
        let message = Message::new(b"").bound(&target, b"1700000000", NONCE.as_bytes());
        let signature = SigningKey::new(&issued.signing_token).sign(&message);
        let headers = proof(&signature, "1700000000", NONCE);
        assert_eq!(outcome(logout(&gate, &issued.token, &headers, &target, NOW)), expected, "{binding:?}");
    }
}

#[test]
fn requests_are_refused_if_a_store_fails() {
    struct Broken;
    impl RevocationStore for Broken {
        fn is_revoked(&self, _: SessionId, _: u64) -> MaybeReady<'_, Result<bool, StoreError>> {
            Either::Right(Box::pin(async { Err(StoreError::new("gone")) }))
        }
        fn revoke(&self, _: SessionId, _: u64, _: u64) -> MaybeReady<'_, Result<(), StoreError>> {
            Either::Left(std::future::ready(Err(StoreError::Full)))
        }
    }
    let broken = gate().revocations(Arc::new(Broken));
    let issued = login(&broken);
    let error = ready(broken.open(Some(issued.token.as_bytes()), at(NOW))).unwrap_err();
    let IntegrityError::Unavailable(StoreError::Failed(cause)) = &error else { panic!("{error:?}") };
    assert_eq!(cause.to_string(), "gone");

    struct Gone;
    impl NonceStore for Gone {
        fn remember<'a>(&'a self, _: Nonce<'a>, _: u64) -> MaybeReady<'a, Result<NonceUse, StoreError>> {
            Either::Right(Box::pin(async { Err(StoreError::new("gone")) }))
        }
    }
    let gone = gate().nonces(Arc::new(Gone)).nonces_per_session(1);
    let signature = bound(&issued, "1700000000", NONCE);
    for _ in 0..2 {
        let result = pass(&gone, &issued, &proof(&signature, "1700000000", NONCE), &AIM, NOW);
        assert!(matches!(result, Err(IntegrityError::Unavailable(StoreError::Failed(_)))), "{result:?}");
    }
}

#[test]
fn a_signature_from_before_the_start_is_refused_and_not_counted() {
    let gate = gate().nonces(Arc::new(MemoryNonces::after(NOW))).nonces_per_session(1);
    let issued = login(&gate);
    let send = |time: u64, nonce: &str| {
        let time = (time / 1000).to_string();
        pass(&gate, &issued, &proof(&bound(&issued, &time, nonce), &time, nonce), &AIM, NOW + 1_000)
    };
    for time in [NOW - 1_000, NOW] {
        assert_eq!(outcome(send(time, "nonce-of-another-one")), "Replayed(Unknown)");
    }
    assert_eq!(outcome(send(NOW + 1_000, "nonce-of-this-one")), "passed");
}

#[test]
fn a_session_with_too_many_nonces_is_refused_and_others_are_not() {
    let gate = gate().nonces_per_session(3);
    let send = |issued: &IssuedSession, seconds: u64, number: u32| {
        let (time, nonce) = ((NOW / 1000 + seconds).to_string(), format!("nonce-number-{number:06}"));
        let signature = bound(issued, &time, &nonce);
        pass(&gate, issued, &proof(&signature, &time, &nonce), &AIM, NOW + seconds * 1000)
    };
    let one = login(&gate);
    let other = gate.login(&Identity::new("7"), [4; 16], at(NOW)).unwrap();
    for number in 0..3 {
        assert_eq!(outcome(send(&one, 0, number)), "passed");
        let again = if number < 2 { "Replayed(Repeated)" } else { "TooManyNonces { retry_after: 60.001s }" };
        assert_eq!(outcome(send(&one, 0, 0)), again);
    }
    let Err(IntegrityError::TooManyNonces { retry_after }) = send(&one, 20, 3) else { panic!("not refused") };
    assert_eq!(retry_after, Duration::from_millis(40_001), "when the first one has left the window");
    for number in 0..3 {
        assert_eq!(outcome(send(&other, 20, number)), "passed");
    }
    assert_eq!(outcome(send(&one, 61, 3)), "passed");
    assert_eq!(outcome(send(&one, 61, 3)), "Replayed(Repeated)");
}

#[test]
fn debug_output_does_not_reveal_tokens() {
    let gate = gate();
    let issued = login(&gate);
    let opened = ready(gate.open(Some(issued.token.as_bytes()), at(NOW))).unwrap();
    assert_eq!(format!("{gate:?}"), "Gate { keys: Keys(0 previous), binding: Accept, .. }");
    let session = format!(
        "session: Session {{ user: \"7\", session: SessionId({}), role: Some(\"editor\"), tenant: Some(\"acme\"), \
         claims: {{}}, expires_at: {:?} }}, ..",
        "03".repeat(16),
        issued.session.expires_at
    );
    assert_eq!(format!("{issued:?}"), format!("IssuedSession {{ {session} }}"));
    assert_eq!(format!("{opened:?}"), format!("OpenedToken {{ {session} }}"));
    for error in [
        IntegrityError::QueryNotAllowed(QueryRefusal::Closed),
        IntegrityError::SignatureInvalid,
        IntegrityError::Unavailable(StoreError::Full),
    ] {
        assert!(!error.to_string().is_empty());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Changes one character of the token, signature, message, timestamp, nonce, method or path.
    #[test]
    fn one_altered_character_is_refused(part in 0usize..7, index in 0usize..1000, with in "[!-~]") {
        let gate = gate();
        let issued = login(&gate);
        let query = std::str::from_utf8(QUERY).unwrap().to_owned();
        let signature = bound(&issued, "1700000000", NONCE);
        let mut parts = [
            issued.token.clone(), signature, query, "1700000000".to_owned(), NONCE.to_owned(),
            AIM.method.to_owned(), AIM.path.to_owned(),
        ];
        let text = &mut parts[part];
        let position = index % text.len();
        prop_assume!(text[position..=position] != with);
        text.replace_range(position..=position, &with);
        let [token, signature, query, timestamp, nonce, method, path] = &parts;
        let target = SignatureTarget { method, path, format: "json" };
        let refused = ready(async {
            let opened = gate.open(Some(token.as_bytes()), at(NOW)).await?;
            let proof = proof(signature, timestamp, nonce);
            gate.verify(&opened, &Message::new(query.as_bytes()), &proof, &target, at(NOW)).await
        });
        prop_assert!(refused.is_err());
    }
}

/// Setting the clock an hour ahead and back does not revive revoked sessions, make used signatures valid, or extend
/// sessions.
#[test]
fn clock_changes_do_not_revive_sessions_or_signatures() {
    const HOUR: u64 = 60 * 60 * 1000;
    let gate = gate();
    let first = login(&gate);
    let second = gate.login(&Identity::new("8"), [4; 16], at(NOW)).unwrap();
    logout(&gate, &first.token, &SignatureHeaders::default(), &AIM, NOW).unwrap();
    let signature = bound(&second, "1700000000", NONCE);
    let once = proof(&signature, "1700000000", NONCE);
    assert_eq!(outcome(pass(&gate, &second, &once, &AIM, NOW)), "passed");
    // A logout while the clock is ahead removes expired entries.
    let ahead = gate.login(&Identity::new("9"), [5; 16], at(NOW + HOUR)).unwrap();
    logout(&gate, &ahead.token, &SignatureHeaders::default(), &AIM, NOW + HOUR).unwrap();
    for now in [NOW + HOUR, NOW, NOW - HOUR, NOW, 0, u64::MAX, NOW] {
        assert!(ready(gate.open(Some(first.token.as_bytes()), at(now))).is_err(), "revoked, at {now}");
        assert_ne!(outcome(pass(&gate, &second, &once, &AIM, now)), "passed", "replayed, at {now}");
        let alive = ready(gate.open(Some(second.token.as_bytes()), at(now))).is_ok();
        assert_eq!(alive, at(now) < second.session.expires_at, "at {now}");
    }
}
