//! `mesh-server openapi`: writes an OpenAPI description of a server.

use mesh_docs::openapi;
use mesh_integrity::Binding;

use crate::cli::args::SchemaOutputArgs;
use crate::cli::failure::Failure;
use crate::config::{Config, DocsAuth};

pub(crate) fn run(args: &SchemaOutputArgs) -> Result<(), Failure> {
    args.write_json(|config, schema| openapi::document(schema, &options(config)))
}

/// Returns the features that the settings turn on.
fn options(config: &Config) -> openapi::OpenApiOptions {
    let mut options = openapi::OpenApiOptions::new(config.base.as_str());
    if !config.docs.title.is_empty() {
        options.title.clone_from(&config.docs.title);
    }
    options.integrity = config.integrity.enabled.then_some(match config.integrity.binding {
        Binding::Off => openapi::Bound::Ignored,
        Binding::Accept => openapi::Bound::Accepted,
        Binding::Require => openapi::Bound::Required,
    });
    options.bearers = config.bearer.is_on() || !config.api_keys.table.is_empty();
    options.anonymous = !config.bearer.anonymous.is_empty();
    options.signed_only = !config.bearer.unsigned;
    options.persisted = config.persisted.enabled.then(|| config.registration());
    options.only = config.persisted.only;
    options.events = config.events.enabled;
    options.exports = config.export.enabled;
    options.mutations = config.mutations.enabled;
    options.uploads = config.uploads.enabled.then(|| config.uploads.path.clone());
    options.docs = config.docs.enabled.then(|| config.docs.path.clone());
    options.docs_guarded = config.docs.auth == DocsAuth::Admin;
    options
}
