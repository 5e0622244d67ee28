//! JWTs that the issuer of the fixture signs. `SPEC §17`

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::rand::SystemRandom;
use ring::signature::{self, EcdsaKeyPair, Ed25519KeyPair, RsaKeyPair};
use ring::{hmac, rand};
use serde_json::{Map, Value, json};

use super::base64url;
use crate::files;

/// The issuer of the fixture.
pub const ISSUER: &str = "https://issuer.example/";

/// The audience of its tokens.
pub const AUDIENCE: &str = "https://api.example";

/// The secret that it shares with the servers that have no key set.
pub const SECRET: &str = "a secret of issuer and servers, of more than 32 bytes";

/// A key of the issuer.
#[derive(Debug, Clone)]
pub enum Key {
    /// A secret that issuer and server share.
    Secret(Vec<u8>),
    /// A private key of `fixture/issuer.json`, with the name of its algorithm.
    Private {
        /// The algorithm.
        algorithm: String,
        /// The key as PKCS #8.
        pkcs8: Vec<u8>,
    },
}

impl Key {
    /// Returns a key of `fixture/issuer.json`.
    ///
    /// # Errors
    /// Returns a message if there is none of this name.
    pub fn of_fixture(name: &str) -> Result<Self, String> {
        let all: Value = serde_json::from_str(files::text("fixture/issuer.json")?)
            .map_err(|error| format!("issuer.json: {error}"))?;
        let member = |member: &str| all.get("keys")?.get(name)?.get(member)?.as_str().map(str::to_owned);
        let (algorithm, pkcs8) =
            member("alg").zip(member("pkcs8")).ok_or_else(|| format!("the issuer has no key '{name}'"))?;
        let pkcs8 = STANDARD.decode(pkcs8).map_err(|error| format!("the key '{name}': {error}"))?;
        Ok(Self::Private { algorithm, pkcs8 })
    }

    /// Returns the name of the algorithm that the key is for.
    #[must_use]
    pub fn algorithm(&self) -> &str {
        match self {
            Self::Secret(_) => "HS256",
            Self::Private { algorithm, .. } => algorithm,
        }
    }

    /// Signs a message.
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, String> {
        let random = SystemRandom::new();
        let rejected = |error: ring::error::KeyRejected| error.to_string();
        let failed = |error: ring::error::Unspecified| error.to_string();
        match self {
            Self::Secret(secret) => {
                let key = hmac::Key::new(hmac::HMAC_SHA256, secret);
                Ok(hmac::sign(&key, message).as_ref().to_vec())
            }
            Self::Private { algorithm, pkcs8 } => match algorithm.as_str() {
                "ES256" => {
                    let algorithm = &signature::ECDSA_P256_SHA256_FIXED_SIGNING;
                    let key = EcdsaKeyPair::from_pkcs8(algorithm, pkcs8, &random).map_err(rejected)?;
                    Ok(key.sign(&random, message).map_err(failed)?.as_ref().to_vec())
                }
                "EdDSA" => {
                    let key = Ed25519KeyPair::from_pkcs8_maybe_unchecked(pkcs8).map_err(rejected)?;
                    Ok(key.sign(message).as_ref().to_vec())
                }
                "RS256" => rsa(pkcs8, &signature::RSA_PKCS1_SHA256, &random, message),
                "PS256" => rsa(pkcs8, &signature::RSA_PSS_SHA256, &random, message),
                other => Err(format!("there is no algorithm '{other}'")),
            },
        }
    }
}

fn rsa(
    pkcs8: &[u8],
    padding: &'static dyn signature::RsaEncoding,
    random: &dyn rand::SecureRandom,
    message: &[u8],
) -> Result<Vec<u8>, String> {
    let key = RsaKeyPair::from_pkcs8(pkcs8).map_err(|error| error.to_string())?;
    let mut signed = vec![0; key.public().modulus_len()];
    key.sign(padding, random, message, &mut signed).map_err(|error| error.to_string())?;
    Ok(signed)
}

/// Returns a signed JWT of the texts of its header and payload.
///
/// # Errors
/// Returns a message if the key cannot sign.
pub fn sign(key: &Key, header: &str, payload: &str) -> Result<String, String> {
    let signed = format!("{}.{}", base64url(header), base64url(payload));
    let signature = base64url(key.sign(signed.as_bytes())?);
    Ok(format!("{signed}.{signature}"))
}

/// Returns the header of a token that is signed with a key, with the name of the key if there is one.
#[must_use]
pub fn header(key: &Key, name: Option<&str>) -> Map<String, Value> {
    let members = json!({"alg": key.algorithm(), "typ": "JWT", "kid": name});
    let Value::Object(mut members) = members else { return Map::new() };
    members.retain(|_, value| !value.is_null());
    members
}

/// Replaces members by those of `changes`, and removes members that are null in `changes`.
pub fn change(members: &mut Map<String, Value>, changes: &Map<String, Value>) {
    for (name, value) in changes {
        match value {
            Value::Null => members.remove(name),
            value => members.insert(name.clone(), value.clone()),
        };
    }
}

/// Returns header and claims of a token, without verification.
#[must_use]
pub fn read(token: &str) -> Option<(Map<String, Value>, Map<String, Value>)> {
    let mut parts = token.split('.');
    let mut object = || {
        let bytes = base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(parts.next()?).ok()?;
        serde_json::from_slice::<Map<String, Value>>(&bytes).ok()
    };
    Some((object()?, object()?))
}

#[cfg(test)]
mod tests {
    use ring::signature::UnparsedPublicKey;

    use super::*;

    #[test]
    fn the_published_token_is_reproduced() {
        let token = sign(
            &Key::Secret(b"your-256-bit-secret".to_vec()),
            r#"{"alg":"HS256","typ":"JWT"}"#,
            r#"{"sub":"1234567890","name":"John Doe","iat":1516239022}"#,
        );
        assert_eq!(
            token.unwrap(),
            "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4gRG9lIiwiaWF0IjoxNTE2MjM5MDIyfQ.SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c"
        );
    }

    #[test]
    fn tokens_of_the_fixture_verify_with_its_public_keys() {
        let set: Value = serde_json::from_str(files::text("fixture/jwks.json").unwrap()).unwrap();
        let find =
            |name: &str| set["keys"].as_array().unwrap().iter().find(|key| key["kid"] == name).unwrap();
        let part = |name: &str, member: &str| {
            let text = find(name)[member].as_str().unwrap();
            base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(text).unwrap()
        };
        for name in ["rs", "ps", "es", "es-2", "ed"] {
            let key = Key::of_fixture(name).unwrap();
            assert_eq!(find(name)["alg"], key.algorithm(), "{name}");
            let token = sign(&key, "{}", "{}").unwrap();
            let (signed, signature) = token.rsplit_once('.').unwrap();
            let signature = base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(signature).unwrap();
            let verified = match key.algorithm() {
                "ES256" => {
                    let point = [vec![4], part(name, "x"), part(name, "y")].concat();
                    UnparsedPublicKey::new(&signature::ECDSA_P256_SHA256_FIXED, point)
                        .verify(signed.as_bytes(), &signature)
                }
                "EdDSA" => UnparsedPublicKey::new(&signature::ED25519, part(name, "x"))
                    .verify(signed.as_bytes(), &signature),
                other => {
                    let of = signature::RsaPublicKeyComponents { n: part(name, "n"), e: part(name, "e") };
                    let padding = match other {
                        "PS256" => &signature::RSA_PSS_2048_8192_SHA256,
                        _ => &signature::RSA_PKCS1_2048_8192_SHA256,
                    };
                    of.verify(padding, signed.as_bytes(), &signature)
                }
            };
            assert!(verified.is_ok(), "{name}");
        }
        assert!(Key::of_fixture("stranger").is_ok() && Key::of_fixture("other").is_err());
    }
}
