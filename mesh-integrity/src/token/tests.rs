//! Tests of sealing and opening tokens.

use proptest::prelude::*;

use super::*;
use crate::Secret;

fn keys(byte: u8) -> Keys {
    Keys::new(&Secret::new([byte; 32]).unwrap())
}

fn session() -> Session {
    Session {
        user: "7".into(),
        session: SessionId([9; 16]),
        role: Some("editor".into()),
        tenant: None,
        claims: SessionClaims::default(),
        expires_at: from_unix_millis(1_700_000_900_000),
    }
}

/// Returns a session whose texts are as long as they may be.
fn full() -> Session {
    let long = "é".repeat(127);
    // The quotes, the braces and the name of the object have eight bytes.
    let claims = claims(serde_json::json!({"a": "x".repeat(SessionClaims::MAX_BYTES - 8)}));
    Session { user: long.clone(), role: Some(long.clone()), tenant: Some(long), claims, ..session() }
}

fn claims(value: serde_json::Value) -> SessionClaims {
    SessionClaims::new(value.as_object().unwrap().clone()).unwrap()
}

#[test]
fn sealed_sessions_are_opened() {
    let empty = Session { user: String::new(), role: Some(String::new()), ..session() };
    let with_claims =
        Session { claims: claims(serde_json::json!({"teams": [1, 2], "b": true})), ..session() };
    for session in [session(), empty, with_claims, full()] {
        let token = seal(&keys(1), &session).unwrap();
        assert_eq!(**open(&keys(1), &token).unwrap().session(), session);
    }
    let sealed = URL_SAFE_NO_PAD.decode(seal(&keys(1), &full()).unwrap().trim_start_matches(PREFIX)).unwrap();
    assert_eq!(sealed.len(), SEALED_MAX, "there is no longer token");
}

#[test]
fn overlong_fields_are_refused() {
    let long = Session { tenant: Some("x".repeat(255)), ..session() };
    assert_eq!(seal(&keys(1), &long), Err(FieldTooLong { name: "tenant", length: 255 }));
}

#[test]
fn previous_secrets_still_open_tokens() {
    let old = seal(&keys(1), &session()).unwrap();
    let rotated = keys(2).with_previous(&Secret::new([1; 32]).unwrap());
    let opened = open(&rotated, &old).unwrap();
    assert_eq!(**opened.session(), session());
    let signature = SigningKey::new(&signing_token(&keys(1), &old)).sign(b"m");
    assert!(opened.key.verify(b"m", signature.as_bytes()), "the signing key belongs to the previous secret");
    assert!(open(&keys(2), &old).is_err(), "the previous secret is required");
    assert!(
        open(&keys(1), &seal(&rotated, &session()).unwrap()).is_err(),
        "new tokens are sealed with the current secret"
    );
}

/// Altering role, tenant, user, expiry or session in the payload breaks the MAC.
#[test]
fn every_altered_bit_is_refused() {
    let token = seal(&keys(1), &session()).unwrap();
    let bytes = URL_SAFE_NO_PAD.decode(token.strip_prefix(PREFIX).unwrap()).unwrap();
    for index in 0..bytes.len() {
        for bit in 0..8 {
            let mut altered = bytes.clone();
            altered[index] ^= 1 << bit;
            let altered = format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(altered));
            assert!(matches!(open(&keys(1), &altered), Err(IntegrityError::TokenInvalid)), "byte {index}");
        }
    }
}

/// Payloads with a valid MAC that do not have the layout of this version.
#[test]
fn other_layouts_are_refused() {
    let sealed = |payload: &[u8]| {
        let tag = hmac::sign(&keys(1).current.token, payload);
        format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode([payload, tag.as_ref()].concat()))
    };
    let good: Vec<u8> = [&[1; 25][..], &[0, ABSENT, ABSENT]].concat();
    assert!(open(&keys(1), &sealed(&good)).is_ok());
    let mut other = good.clone();
    other[0] = 2;
    let trailing = [&good[..], &[0]].concat();
    let no_user: Vec<u8> = [&[1; 25][..], &[ABSENT, ABSENT, ABSENT]].concat();
    let invalid_utf8: Vec<u8> = [&[1; 25][..], &[1, 0xff, ABSENT, ABSENT]].concat();
    for payload in [&other[..], &trailing, &no_user, &invalid_utf8, &good[..27], &good[..10], b""] {
        assert!(open(&keys(1), &sealed(payload)).is_err(), "{payload:?}");
    }
}

#[test]
fn malformed_tokens_are_refused() {
    let token = seal(&keys(1), &session()).unwrap();
    let padded = format!("{token}=");
    let long = format!("{PREFIX}{}", "A".repeat(100_000));
    for text in ["", "tok_", "tok", "TOK_AAAA", &token[4..], &padded, &format!(" {token}"), &long, "tok_é"] {
        assert!(matches!(open(&keys(1), text), Err(IntegrityError::TokenInvalid)), "{text}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn every_session_is_sealed_and_opened(
        user in ".{0,60}", role in proptest::option::of(".{0,60}"), tenant in proptest::option::of(".{0,60}"),
        id: [u8; 16], expires_at: u64,
    ) {
        let expires_at = from_unix_millis(expires_at);
        let session = Session { user, session: SessionId(id), role, tenant, claims: SessionClaims::default(), expires_at };
        let token = seal(&keys(1), &session).unwrap();
        let opened = open(&keys(1), &token).unwrap();
        prop_assert_eq!(&**opened.session(), &session);
    }

    #[test]
    fn any_other_text_is_refused(text in "(tok_)?[A-Za-z0-9_-]{0,200}") {
        prop_assert!(open(&keys(1), &text).is_err());
    }

    #[test]
    fn any_altered_character_is_refused(index in 0usize..1000, with in "[ -~]") {
        let token = seal(&keys(1), &session()).unwrap();
        let at = index % token.len();
        let mut altered = token.clone();
        altered.replace_range(at..=at, &with);
        prop_assume!(altered != token);
        prop_assert!(open(&keys(1), &altered).is_err());
    }
}
