//! Bearers that the issuer of the profile signs.

use mesh_tests::kit::encoding::jwt;
use mesh_tests::kit::http::Request;
use serde_json::{Map, Value, json};

use super::document::now;
use super::proxy::ProxyState;

/// The names of the keys of the issuer that sign.
const KEYS: [&str; 5] = ["rs", "ps", "es", "es-2", "ed"];

/// Returns the parts of the bearer of a request without verification, or null.
pub(crate) fn read(request: &Request) -> Value {
    let credential = request.header_value("Authorization").unwrap_or_default();
    let Some(token) = credential.strip_prefix("Bearer ") else { return Value::Null };
    match jwt::read(token) {
        Some((header, claims)) => {
            let until = |name: &str| claims.get(name).and_then(Value::as_i64).map(|time| time - now());
            json!({"token": token, "left": until("exp"), "ahead": until("nbf"), "header": header, "claims": claims})
        }
        None => json!({"token": token}),
    }
}

/// Replaces the credential of a request by a token of the issuer: one with the given parts, by default one of an admin. The
/// issuer signs with the key that the header names or, if there is no key of that name, with another one.
pub(crate) fn issue(request: &mut Request, state: &ProxyState, parts: Option<&Value>) {
    let token = token(state, parts.filter(|parts| parts["claims"].is_object())).unwrap();
    request.headers.retain(|(name, _)| !name.eq_ignore_ascii_case("Authorization"));
    request.add_header("Authorization", format!("Bearer {token}"));
}

fn token(state: &ProxyState, parts: Option<&Value>) -> Result<String, String> {
    let name = parts.and_then(|parts| parts["header"]["kid"].as_str());
    let name = name.filter(|name| KEYS.contains(name)).unwrap_or("es");
    let (key, name) = match state.settings == "bearer-keys" {
        true => (jwt::Key::of_fixture(name)?, Some(name)),
        false => (jwt::Key::Secret(jwt::SECRET.into()), None),
    };
    let mut header = jwt::header(&key, name);
    let claims = match parts {
        Some(parts) => {
            let mut changes: Map<String, Value> = parts["header"].as_object().cloned().unwrap_or_default();
            changes.retain(|name, _| !["alg", "kid", "b64"].contains(&name.as_str()));
            jwt::change(&mut header, &changes);
            parts["claims"].clone()
        }
        None => json!({
            "iss": jwt::ISSUER, "aud": jwt::AUDIENCE, "sub": "1", "role": "admin", "exp": 4_000_000_000_i64,
        }),
    };
    jwt::sign(&key, &Value::Object(header).to_string(), &claims.to_string())
}
