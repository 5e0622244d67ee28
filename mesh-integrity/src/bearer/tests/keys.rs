//! Key sets, and the choice of the key.

use super::*;

/// A key of 1024 bits.
const SHORT_RSA: &str = include_str!("rsa-1024.modulus");

#[test]
fn a_key_id_is_a_name_and_nothing_else() {
    let (issuer, rules) = (issuer(), BearerVerifier::new());
    let (keys, long) = (issuer.keys(), "k".repeat(257));
    let open = |id: Value| {
        rules.open(issuer.token(&json!({"alg": "RS256", "kid": id}), &claims()).as_bytes(), &keys)
    };
    for id in [
        "",
        "RSA",
        "rsa ",
        "../../../dev/null",
        "/etc/passwd",
        "' OR 1=1 --",
        "x' UNION SELECT 'k",
        "rsa\u{0}",
        "http://evil.example/k",
        "|id",
        "0",
    ] {
        assert_eq!(open(json!(id)).unwrap_err(), BearerError::UnknownKey, "{id}");
    }
    for id in [json!(long), json!(0), json!(["rsa"]), json!({"a": 1}), json!(null)] {
        assert_eq!(fault(open(id)), BearerFault::Key);
    }
    let twins = key_set(json!([issuer.rsa_jwk(), issuer.rsa_jwk()])).unwrap();
    for header in [json!({"alg": "RS256"}), json!({"alg": "RS256", "kid": "rsa"})] {
        let token = issuer.token(&header, &claims());
        assert_eq!(fault(rules.open(token.as_bytes(), &twins)), BearerFault::Key, "several keys fit");
    }
    let mut unnamed = issuer.rsa_jwk();
    unnamed.as_object_mut().unwrap().remove("kid");
    let unnamed = key_set(json!([unnamed])).unwrap();
    let token = issuer.token(&json!({"alg": "RS256", "kid": "rsa"}), &claims());
    assert_eq!(rules.open(token.as_bytes(), &unnamed).unwrap_err(), BearerError::UnknownKey);
}

#[test]
fn a_key_that_is_rotated_out_ends_its_tokens() {
    let (old, new, rules) = (issuer(), issuer(), BearerVerifier::new());
    let token = old.token(&json!({"alg": "ES256", "kid": "ec"}), &claims());
    let opened = rules.verify(token.as_bytes(), &old.keys(), at(NOW)).unwrap();
    assert_eq!(rules.check(&opened, &old.keys(), at(NOW)), Ok(()));
    assert_eq!(
        rules.check(&opened, &new.keys(), at(NOW)),
        Err(BearerError::UnknownKey),
        "the same id, another key"
    );
    let mut renamed = old.ec_jwk();
    renamed["kid"] = json!("before");
    let both = key_set(json!([renamed, new.ec_jwk()])).unwrap();
    assert_eq!(rules.check(&opened, &both, at(NOW)), Ok(()), "the key is still in use");
    assert_eq!(fault(rules.open(token.as_bytes(), &both)), BearerFault::Signature);
    assert!(old.keys() == old.keys() && old.keys() != new.keys() && both != old.keys());
}

#[test]
fn documents_of_keys_are_checked() {
    let issuer = issuer();
    let all =
        json!([issuer.rsa_jwk(), {"kty": "EC", "crv": "P-521", "x": "AA", "y": "AA"}, {"kty": "new"}, 1]);
    let keys = key_set(all).unwrap();
    assert_eq!((keys.len(), keys.unused().len(), keys.is_empty()), (1, 3, false));
    assert_eq!(format!("{keys:?}"), "KeySet(1 keys)");
    for text in ["", "<html>", "[]", "{\"keys\": [], \"keys\": []}"] {
        assert_eq!(KeySet::from_jwks(text.as_bytes()).unwrap_err(), KeySetError::NotJson, "{text}");
    }
    for text in ["{}", r#"{"keys": {}}"#, r#"{"keys": null}"#] {
        assert_eq!(KeySet::from_jwks(text.as_bytes()).unwrap_err(), KeySetError::NoKeys, "{text}");
    }
    assert_eq!(key_set(json!([])).unwrap_err(), KeySetError::Empty);
    assert_eq!(key_set(json!(vec![issuer.rsa_jwk(); 101])).unwrap_err(), KeySetError::TooManyKeys);
    let mut off_curve = issuer.ec_jwk();
    off_curve["x"] = json!(base64([0; 31]));
    assert!(matches!(key_set(json!([off_curve])), Err(KeySetError::NoneUsable { .. })));
}

#[test]
fn an_algorithm_has_to_fit_the_key_that_is_named() {
    let (issuer, rules) = (issuer(), BearerVerifier::new());
    let open = |header: Value, keys: &KeySet| rules.open(issuer.token(&header, &claims()).as_bytes(), keys);
    for (algorithm, id) in [("RS256", "ec"), ("ES256", "rsa"), ("EdDSA", "ec"), ("PS256", "ed")] {
        let header = json!({"alg": algorithm, "kid": id});
        assert_eq!(fault(open(header, &issuer.keys())), BearerFault::Algorithm, "{algorithm} {id}");
    }
    let with = |name: &str, value: Value| {
        let mut jwk = issuer.rsa_jwk();
        jwk[name] = value;
        key_set(json!([jwk]))
    };
    let header = json!({"alg": "RS256", "kid": "rsa"});
    for (name, value) in
        [("alg", json!("RS256")), ("use", json!("sig")), ("key_ops", json!(["verify", "sign"]))]
    {
        assert!(open(header.clone(), &with(name, value).unwrap()).is_ok(), "{name}");
    }
    let other = with("alg", json!("PS256")).unwrap();
    assert_eq!(fault(open(header, &other)), BearerFault::Algorithm, "the key is for PS256");
    for (name, value) in [
        ("alg", json!("ES256")),
        ("alg", json!("RS512")),
        ("alg", json!("HS256")),
        ("alg", json!("none")),
        ("alg", json!("RSA-OAEP")),
        ("use", json!("enc")),
        ("use", json!("")),
        ("key_ops", json!(["sign"])),
        ("key_ops", json!([])),
        ("kty", json!("EC")),
        ("n", json!("!")),
        ("n", json!("")),
        ("n", json!(SHORT_RSA.trim())),
        ("n", json!(format!("AAAA{}", SHORT_RSA.trim()))),
    ] {
        assert!(matches!(with(name, value.clone()), Err(KeySetError::NoneUsable { .. })), "{name} {value}");
    }
}
