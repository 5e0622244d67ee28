//! The keys that bearers are verified with: a set of public keys (JWKS), or a shared secret.
//!
//! `jsonwebtoken` parses keys and names of algorithms; `ring` verifies signatures. A key has a fixed set of algorithms,
//! so that a token cannot choose one that does not fit its key.

use std::fmt;

use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, KeyAlgorithm, KeyOperations, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey, DecodingKeyKind};
use ring::signature::{self, RsaPublicKeyComponents, UnparsedPublicKey};
use ring::{digest, hmac};
use serde_json::Value;

use super::json::parse_object;
use super::{BearerError, BearerFault};
use crate::Secret;

/// The algorithms of public keys.
const PUBLIC_ALGORITHMS: [Algorithm; 4] =
    [Algorithm::RS256, Algorithm::PS256, Algorithm::ES256, Algorithm::EdDSA];
/// The algorithms of a shared secret.
const SECRET_ALGORITHMS: [Algorithm; 1] = [Algorithm::HS256];
/// The maximum number of keys in a set.
const KEYS_MAX: usize = 100;
/// The lengths of accepted RSA keys in bits.
const RSA_BITS: std::ops::RangeInclusive<usize> = 2_048..=8_192;
/// The length of an uncompressed point of P-256, and of a key of Ed25519, in bytes.
const P256_BYTES: usize = 65;
const ED25519_BYTES: usize = 32;

/// The keys of an issuer. `Debug` shows their number only.
pub struct KeySet {
    keys: Vec<Key>,
    /// Why keys of the document are not used.
    unused: Vec<String>,
}

/// A digest that identifies a key across sets, to find out whether the key is still in use.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Thumbprint([u8; 32]);

struct Key {
    /// The id that tokens name; `None` for keys without one.
    id: Option<String>,
    thumbprint: Thumbprint,
    algorithms: Vec<Algorithm>,
    material: Material,
}

enum Material {
    Rsa { n: Vec<u8>, e: Vec<u8> },
    P256(Vec<u8>),
    Ed25519(Vec<u8>),
    Secret(hmac::Key),
}

impl KeySet {
    /// Parses a JWKS document: `{"keys": [..]}`. Keys that cannot verify bearers are left out: keys for other types,
    /// uses and algorithms, symmetric keys, and RSA keys of fewer than 2048 bits ([`KeySet::unused`]).
    ///
    /// # Errors
    /// [`KeySetError`] if the document is malformed, or if no key can be used.
    pub fn from_jwks(document: &[u8]) -> Result<Self, KeySetError> {
        let members = parse_object(document).ok_or(KeySetError::NotJson)?;
        let Some(Value::Array(items)) = members.get("keys") else { return Err(KeySetError::NoKeys) };
        if items.len() > KEYS_MAX {
            return Err(KeySetError::TooManyKeys);
        }
        let (mut keys, mut unused) = (Vec::new(), Vec::new());
        for (number, item) in (1..).zip(items) {
            match Key::parse(item) {
                Ok(key) => keys.push(key),
                Err(why) => unused.push(format!("key {number}: {why}")),
            }
        }
        if items.is_empty() {
            return Err(KeySetError::Empty);
        }
        if keys.is_empty() {
            return Err(KeySetError::NoneUsable { unused: unused.join("; ") });
        }
        Ok(Self { keys, unused })
    }

    /// Creates a set of one key: a secret shared with the issuer, for HS256. Key ids are ignored.
    pub fn from_secret(secret: &Secret) -> Self {
        let material = Material::Secret(hmac::Key::new(hmac::HMAC_SHA256, secret.bytes()));
        let key =
            Key { id: None, thumbprint: material.thumbprint(), algorithms: vec![Algorithm::HS256], material };
        Self { keys: vec![key], unused: Vec::new() }
    }

    /// Returns the number of keys.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Returns whether there are no keys.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Returns why keys of the document are not used, one entry for each.
    pub fn unused(&self) -> &[String] {
        &self.unused
    }

    /// Returns whether a key is in the set.
    pub(crate) fn contains(&self, key: Thumbprint) -> bool {
        self.keys.iter().any(|other| other.thumbprint == key)
    }

    /// Verifies a signature with the key that a token names. Without a name, exactly one key must fit the algorithm.
    pub(super) fn verify(
        &self,
        algorithm: Algorithm,
        id: Option<&str>,
        signed: &[u8],
        signature: &[u8],
    ) -> Result<Thumbprint, BearerError> {
        let is_shared = |key: &Key| matches!(key.material, Material::Secret(_));
        let accepted =
            if self.keys.iter().any(is_shared) { &SECRET_ALGORITHMS[..] } else { &PUBLIC_ALGORITHMS };
        if !accepted.contains(&algorithm) {
            return Err(BearerFault::Algorithm.into());
        }
        let is_named = |key: &&Key| is_shared(key) || id.is_none_or(|id| key.id.as_deref() == Some(id));
        let fits = |key: &&Key| key.algorithms.contains(&algorithm);
        let mut named = self.keys.iter().filter(is_named).peekable();
        if named.peek().is_none() {
            return Err(BearerError::UnknownKey);
        }
        let mut fitting = named.filter(fits);
        match (fitting.next(), fitting.next()) {
            (Some(key), None) if key.verifies(algorithm, signed, signature) => Ok(key.thumbprint),
            (Some(_), None) => Err(BearerFault::Signature.into()),
            (Some(_), Some(_)) => Err(BearerFault::Key.into()),
            (None, _) => Err(BearerFault::Algorithm.into()),
        }
    }
}

impl PartialEq for KeySet {
    /// Two sets are equal if they have the same keys under the same ids for the same algorithms, in the same order.
    fn eq(&self, other: &Self) -> bool {
        let parts = |set: &Self| -> Vec<_> {
            set.keys.iter().map(|key| (key.id.clone(), key.thumbprint.0, key.algorithms.clone())).collect()
        };
        parts(self) == parts(other)
    }
}

impl fmt::Debug for KeySet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeySet({} keys)", self.keys.len())
    }
}

impl Key {
    fn parse(item: &Value) -> Result<Self, &'static str> {
        let jwk: Jwk = serde_json::from_value(item.clone()).map_err(|_| "it is not a valid JWK")?;
        let common = &jwk.common;
        if !matches!(common.public_key_use, None | Some(PublicKeyUse::Signature)) {
            return Err("its use is not signatures");
        }
        if common
            .key_operations
            .as_ref()
            .is_some_and(|operations| !operations.contains(&KeyOperations::Verify))
        {
            return Err("its operations do not include 'verify'");
        }
        let possible: &[Algorithm] = match &jwk.algorithm {
            AlgorithmParameters::RSA(_) => &[Algorithm::RS256, Algorithm::PS256],
            AlgorithmParameters::EllipticCurve(key) if key.curve == EllipticCurve::P256 => {
                &[Algorithm::ES256]
            }
            AlgorithmParameters::OctetKeyPair(key) if key.curve == EllipticCurve::Ed25519 => {
                &[Algorithm::EdDSA]
            }
            AlgorithmParameters::OctetKey(_) => {
                return Err("it is a secret, which a set of public keys cannot have");
            }
            _ => return Err("its type or curve is not supported"),
        };
        let is_stated = |algorithm: &Algorithm| match common.key_algorithm {
            None => true,
            Some(stated) => stated == KeyAlgorithm::from(*algorithm),
        };
        let algorithms: Vec<_> = possible.iter().copied().filter(is_stated).collect();
        if algorithms.is_empty() {
            return Err("its algorithm is not supported, or does not fit its type");
        }
        let key = DecodingKey::from_jwk(&jwk).map_err(|_| "its parameters are not base64url")?;
        let material = match (key.kind(), &jwk.algorithm) {
            (DecodingKeyKind::RsaModulusExponent { n, e }, _) => {
                let n = without_leading_zeros(n).to_vec();
                let bits = n.len() * 8 - n.first().map_or(0, |byte| byte.leading_zeros() as usize);
                if !RSA_BITS.contains(&bits) {
                    return Err("its modulus has fewer than 2048 or more than 8192 bits");
                }
                Material::Rsa { n, e: without_leading_zeros(e).to_vec() }
            }
            (DecodingKeyKind::SecretOrDer(point), AlgorithmParameters::EllipticCurve(_))
                if point.len() == P256_BYTES =>
            {
                Material::P256(point.clone())
            }
            (DecodingKeyKind::SecretOrDer(key), AlgorithmParameters::OctetKeyPair(_))
                if key.len() == ED25519_BYTES =>
            {
                Material::Ed25519(key.clone())
            }
            _ => return Err("its parameters do not have the length of its curve"),
        };
        Ok(Self { id: common.key_id.clone(), thumbprint: material.thumbprint(), algorithms, material })
    }

    fn verifies(&self, algorithm: Algorithm, signed: &[u8], signature: &[u8]) -> bool {
        match (&self.material, algorithm) {
            (Material::Rsa { n, e }, Algorithm::RS256) => {
                let key = RsaPublicKeyComponents { n, e };
                key.verify(&signature::RSA_PKCS1_2048_8192_SHA256, signed, signature).is_ok()
            }
            (Material::Rsa { n, e }, Algorithm::PS256) => {
                let key = RsaPublicKeyComponents { n, e };
                key.verify(&signature::RSA_PSS_2048_8192_SHA256, signed, signature).is_ok()
            }
            (Material::P256(point), Algorithm::ES256) => {
                let key = UnparsedPublicKey::new(&signature::ECDSA_P256_SHA256_FIXED, point);
                key.verify(signed, signature).is_ok()
            }
            (Material::Ed25519(key), Algorithm::EdDSA) => {
                UnparsedPublicKey::new(&signature::ED25519, key).verify(signed, signature).is_ok()
            }
            // Compared in constant time.
            (Material::Secret(key), Algorithm::HS256) => hmac::verify(key, signed, signature).is_ok(),
            _ => false,
        }
    }
}

impl Material {
    fn thumbprint(&self) -> Thumbprint {
        let (kind, first, second) = match self {
            Self::Rsa { n, e } => (b"n", &n[..], &e[..]),
            Self::P256(point) => (b"p", &point[..], &[][..]),
            Self::Ed25519(key) => (b"d", &key[..], &[][..]),
            // A MAC under the secret rather than a digest, because a digest allows checking guesses of the secret.
            Self::Secret(key) => return Thumbprint::new(hmac::sign(key, b"mesh bearer key").as_ref()),
        };
        let mut context = digest::Context::new(&digest::SHA256);
        context.update(kind);
        context.update(&(first.len() as u64).to_be_bytes());
        context.update(first);
        context.update(second);
        Thumbprint::new(context.finish().as_ref())
    }
}

impl Thumbprint {
    fn new(bytes: &[u8]) -> Self {
        let mut thumbprint = [0; 32];
        thumbprint.iter_mut().zip(bytes).for_each(|(byte, from)| *byte = *from);
        Self(thumbprint)
    }
}

fn without_leading_zeros(bytes: &[u8]) -> &[u8] {
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    bytes.get(zeros..).unwrap_or_default()
}

/// A JWKS document that cannot be used.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeySetError {
    /// The document is not a JSON object.
    #[error("it is not a JSON object with distinct members")]
    NotJson,
    /// The document has no list of keys.
    #[error("it has no list 'keys'")]
    NoKeys,
    /// The list has no keys.
    #[error("its list 'keys' is empty")]
    Empty,
    /// The list has too many keys.
    #[error("it has more than {KEYS_MAX} keys")]
    TooManyKeys,
    /// No key can be used.
    #[error("it has no key that can verify bearer tokens ({unused})")]
    NoneUsable {
        /// The reasons.
        unused: String,
    },
}
