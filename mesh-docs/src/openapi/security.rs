//! Security schemes and requirements of operations. `SPEC §7`, `SPEC §17`

use serde_json::{Map, Value, json};

use super::OpenApiOptions;

/// The name of the scheme of bearers.
const BEARER: &str = "bearerAuth";

/// Returns the security schemes.
pub(super) fn schemes(options: &OpenApiOptions) -> Value {
    let key = |name: &str, description: &str| json!({"type": "apiKey", "in": "header", "name": name, "description": description});
    let mut all = Map::new();
    if options.integrity.is_some() {
        all.insert("token".to_owned(), key("X-Mesh-Token", "The token of the session"));
        let signature =
            "`sha256=` and the hex HMAC-SHA256 of the signed message, with the signing token as key";
        all.insert("signature".to_owned(), key("X-Mesh-Signature", signature));
    }
    if options.bearers {
        let bearer = json!({
            "type": "http", "scheme": "bearer", "bearerFormat": "JWT", "description": "A token of the issuer, or an API key",
        });
        all.insert(BEARER.to_owned(), bearer);
    }
    all.into()
}

/// Returns the security requirements of a read.
pub(super) fn read_requirements(options: &OpenApiOptions) -> Value {
    let mut all = signed(options);
    if options.integrity.is_none() || !options.signed_only {
        all.extend(options.bearers.then(|| json!({BEARER: []})));
        all.extend(options.anonymous.then(|| json!({})));
    }
    all.into()
}

/// Returns the security requirements of a write or a registration; `None` if they equal those of a read.
pub(super) fn write_requirements(options: &OpenApiOptions) -> Option<Value> {
    let mut all = signed(options);
    if options.integrity.is_none() {
        all.extend(options.bearers.then(|| json!({BEARER: []})));
    }
    Some(all.into()).filter(|all| *all != read_requirements(options))
}

/// Returns the security requirements of the docs surface, whose requests are not signed.
pub(super) fn docs_requirements(options: &OpenApiOptions) -> Value {
    let mut all = Vec::new();
    if options.integrity.is_some() {
        all.push(json!({"token": []}));
    }
    if options.bearers {
        all.push(json!({BEARER: []}));
    }
    all.into()
}

/// Returns the security requirements of beginning a session: of a login, or of the exchange of a bearer.
pub(super) fn login_requirements(options: &OpenApiOptions) -> Value {
    if options.bearers { json!([{}, {BEARER: []}]) } else { json!([]) }
}

fn signed(options: &OpenApiOptions) -> Vec<Value> {
    options.integrity.iter().map(|_| json!({"token": [], "signature": []})).collect()
}
