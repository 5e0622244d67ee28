//! `mesh-server openapi` and `mesh-server json-schema`: descriptions of a server for tools and editors.

use mesh_docs::{json_schema, openapi};
use mesh_integrity::Binding;
use mesh_plan::Registration;
use mesh_schema::Schema;

use crate::cli::args::SchemaOutputArgs;
use crate::cli::failure::Failure;
use crate::cli::output::write;
use crate::cli::role_schema;
use crate::cli::server::data_source::DataSource;
use crate::cli::settings::settings;
use crate::config::{Config, DocsAuth};

pub(crate) fn run(args: &SchemaOutputArgs) -> Result<(), Failure> {
    describe(args, |config, schema| openapi::document(schema, &options(config)))
}

pub(crate) fn run_json_schema(args: &SchemaOutputArgs) -> Result<(), Failure> {
    describe(args, |config, schema| json_schema::of_queries(schema, &config.plan_limits().query))
}

fn describe(
    args: &SchemaOutputArgs,
    document: impl FnOnce(&Config, &Schema) -> serde_json::Value,
) -> Result<(), Failure> {
    let config = settings(args.settings(), args.config.as_deref())?;
    let source = DataSource::open_with_progress(&config).map_err(Failure::faults)?;
    let schema = role_schema::visible_to(source.schema, args.role.as_deref())?;
    write(args.output.as_deref(), &format!("{:#}\n", document(&config, &schema)))
}

/// Returns the features that the settings turn on.
fn options(config: &Config) -> openapi::Options {
    let mut options = openapi::Options::new(config.base.as_str());
    if !config.docs.title.is_empty() {
        options.title.clone_from(&config.docs.title);
    }
    options.integrity = config.integrity.enabled.then_some(match config.integrity.binding {
        Binding::Off => openapi::Bound::Ignored,
        Binding::Accept => openapi::Bound::Accepted,
        Binding::Require => openapi::Bound::Required,
    });
    options.rates = config.limits.per_address.is_some() || config.limits.per_session.is_some();
    let by_default = if config.integrity.enabled { Registration::Signed } else { Registration::Open };
    options.persisted = config.persisted.enabled.then(|| config.persisted.registration.unwrap_or(by_default));
    options.only = config.persisted.only;
    options.events = config.events.enabled;
    options.mutations = config.mutations.enabled;
    options.uploads = config.uploads.enabled.then(|| config.uploads.path.clone());
    options.docs = config.docs.enabled.then(|| config.docs.path.clone());
    options.docs_guarded = config.docs.auth == DocsAuth::Admin;
    options
}
