//! Keys, tokens and signatures match `vectors.json`, which an independent implementation computed.

#![expect(clippy::unwrap_used, reason = "this is a test")]

use std::time::{Duration, UNIX_EPOCH};

use mesh_integrity::keys::{SIGNING_LABEL, TOKEN_LABEL};
use mesh_integrity::{
    Keys, Message, Secret, Session, SessionClaims, SessionId, SignatureTarget, SigningKey, token,
};
use serde_json::Value;

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

#[test]
fn keys_tokens_and_signatures_match_the_vectors() {
    let vectors: Vec<Value> = serde_json::from_str(include_str!("vectors.json")).unwrap();
    assert_eq!(vectors.len(), 2);
    for vector in &vectors {
        let secret = Secret::new(text(&vector["secret"])).unwrap();
        assert_eq!(hex(&secret.derive(TOKEN_LABEL)), vector["tokenKey"]);
        assert_eq!(hex(&secret.derive(SIGNING_LABEL)), vector["signingKey"]);
        let expected = &vector["session"];
        let session = Session {
            user: text(&expected["user"]).to_owned(),
            session: SessionId::parse(text(&expected["session"])).unwrap(),
            role: expected["role"].as_str().map(str::to_owned),
            tenant: expected["tenant"].as_str().map(str::to_owned),
            claims: SessionClaims::default(),
            expires_at: UNIX_EPOCH + Duration::from_millis(expected["expiresAt"].as_u64().unwrap()),
        };
        let keys = Keys::new(&secret);
        let token = token::seal(&keys, &session).unwrap();
        assert_eq!(token, vector["token"]);
        assert_eq!(**token::open(&keys, &token).unwrap().session(), session);
        assert_eq!(token::signing_token(&keys, &token), vector["signingToken"]);
        let key = SigningKey::new(text(&vector["signingToken"]));
        let requests = vector["requests"].as_array().unwrap();
        assert!(!requests.is_empty());
        requests.iter().for_each(|request| check(&key, request));
    }
}

fn check(key: &SigningKey, request: &Value) {
    let statement = text(&request["statement"]).as_bytes();
    let message = match request["body"].as_str() {
        Some(body) => Message::with_body(statement, body.as_bytes()),
        None => Message::new(statement),
    };
    let bytes = match &request["bound"] {
        Value::Null => message.bytes().into_owned(),
        bound => {
            let target = SignatureTarget {
                method: text(&bound["method"]),
                path: text(&bound["path"]),
                format: text(&bound["format"]),
            };
            message.bound(&target, text(&bound["timestamp"]).as_bytes(), text(&bound["nonce"]).as_bytes())
        }
    };
    assert_eq!(String::from_utf8(bytes.clone()).unwrap(), request["message"]);
    assert_eq!(key.sign(&bytes), request["signature"]);
    assert!(key.verify(&bytes, text(&request["signature"]).as_bytes()));
}
