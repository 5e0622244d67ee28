//! Bearers from the settings.

use std::future::ready;
use std::io::Read as _;
use std::path::PathBuf;

use mesh_backend::error::with_causes;
use mesh_integrity::Secret;
use mesh_integrity::bearer::{BearerVerifier, KeySet};
use mesh_server::{Bearer, Health, Jwks, regular_file};

use crate::cli::failure::{Failure, WithContext as _};
use crate::config::Config;
use crate::config::parse::SecretText;

/// The source of the keys for bearer tokens.
enum Keys {
    Jwks(Jwks),
    Secret(Secret),
}

/// Builds bearers, if the settings have keys for them. A key set that cannot be read does not prevent the start.
/// `health` gets a check of the keys.
pub(crate) async fn bearer(config: &Config, health: &Health) -> Result<Option<Bearer>, Failure> {
    let settings = &config.bearer;
    let Some(keys) = keys(config)? else { return Ok(None) };
    if settings.audience.is_empty() && matches!(keys, Keys::Jwks(_)) {
        tracing::warn!("'bearer.audience' is not set: tokens issued for other services are accepted");
    }
    let verifier = verifier(config);
    let bearer = match keys {
        Keys::Jwks(jwks) => Bearer::from_jwks(verifier, jwks, settings.refresh).await,
        Keys::Secret(secret) => Bearer::new(verifier, KeySet::from_secret(&secret)),
    };
    let probed = bearer.clone();
    health.probe("bearer", move || Box::pin(ready(probed.health())));
    Ok(Some(bearer))
}

/// Checks the keys: a secret is long enough, a key set can be read. Returns notes about keys that are not used.
pub(crate) async fn check(config: &Config) -> Result<Vec<String>, Failure> {
    match keys(config)? {
        None | Some(Keys::Secret(_)) => Ok(Vec::new()),
        Some(Keys::Jwks(jwks)) => match jwks.read().await {
            Ok(keys) => {
                Ok(keys.unused().iter().map(|why| format!("'bearer.jwks': {why}; it is not used")).collect())
            }
            Err(error) => Err(Failure::usage_error(format!("'bearer.jwks': {}", with_causes(&error)))),
        },
    }
}

fn verifier(config: &Config) -> BearerVerifier {
    let settings = &config.bearer;
    let verifier = BearerVerifier::new()
        .audience(settings.audience.iter().cloned())
        .leeway(settings.leeway)
        .id(settings.id.as_str())
        .role(settings.role.as_str())
        .roles(settings.roles.iter().cloned())
        .tenant(settings.tenant.as_str())
        .claims(settings.claims.iter().cloned());
    if settings.issuer.is_empty() { verifier } else { verifier.issuer(settings.issuer.as_str()) }
}

fn keys(config: &Config) -> Result<Option<Keys>, Failure> {
    let settings = &config.bearer;
    if let Some(location) = &settings.jwks {
        let jwks =
            Jwks::parse(location).map_err(|error| Failure::usage_error(format!("'bearer.jwks' {error}")))?;
        return Ok(Some(Keys::Jwks(jwks)));
    }
    let secret = read_secret("bearer", settings.secret.as_ref(), settings.secret_file.as_ref())?;
    Ok(secret.map(Keys::Secret))
}

/// Returns the secret of a section, from its setting or from a file.
pub(crate) fn read_secret(
    section: &str,
    text: Option<&SecretText>,
    file: Option<&PathBuf>,
) -> Result<Option<Secret>, Failure> {
    let bytes = match (text, file) {
        (Some(secret), _) => secret.0.clone().into_bytes(),
        (None, Some(path)) => {
            let mut bytes = Vec::new();
            let read = regular_file::open(path).and_then(|mut file| file.read_to_end(&mut bytes));
            read.context(format_args!("cannot read the secret in {}", path.display()))?;
            // Editors end a file with a line break, which is not part of the secret.
            bytes.truncate(bytes.trim_ascii_end().len());
            bytes
        }
        (None, None) => return Ok(None),
    };
    Secret::new(bytes).map(Some).context(format_args!("'{section}.secret'"))
}
