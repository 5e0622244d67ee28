//! The fixture of these tests: tokens of an issuer that shares a secret.

use std::time::Duration;

use data_encoding::BASE64URL_NOPAD;
use mesh_server::mesh_integrity::Secret;
use mesh_server::mesh_integrity::bearer::{BearerVerifier, KeySet};
use mesh_server::{App, AppBuilder, Bearer};
use ring::hmac;
use serde_json::{Value, json};

use crate::integrity::site::{Ask, mesh, since_1970};

pub(crate) const SHARED: &[u8] = b"the secret that the issuer shares with the server";
pub(crate) const ALL: &str = r#"{"post":{"$select":{"id":true}}}"#;

/// Returns a token with these claims.
pub(crate) fn token(claims: &Value) -> String {
    let url = |text: String| BASE64URL_NOPAD.encode(text.as_bytes());
    let signed = format!("{}.{}", url(json!({"alg": "HS256"}).to_string()), url(claims.to_string()));
    let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, SHARED), signed.as_bytes());
    format!("{signed}.{}", BASE64URL_NOPAD.encode(tag.as_ref()))
}

/// Returns the Unix time that is `seconds` from now.
pub(crate) fn in_seconds(seconds: i64) -> i64 {
    since_1970().as_secs() as i64 + seconds
}

/// Returns a token of an editor of acme that is valid for a minute.
pub(crate) fn ada() -> String {
    token(&json!({"sub": "ada", "role": "editor", "org": "acme", "exp": in_seconds(60)}))
}

pub(crate) fn verifier() -> BearerVerifier {
    BearerVerifier::new().tenant("org").leeway(Duration::from_secs(5))
}

pub(crate) fn bearer() -> Bearer {
    Bearer::new(verifier(), KeySet::from_secret(&Secret::new(SHARED).unwrap()))
}

/// Starts an application that requires bearers.
pub(crate) fn bearer_app() -> AppBuilder {
    let mut app = App::builder(mesh());
    app.options.authenticator.bearer = Some(bearer());
    app
}

impl Ask {
    /// Adds a bearer.
    pub(crate) fn bearer(self, token: &str) -> Self {
        self.header("Authorization", format!("Bearer {token}"))
    }
}
