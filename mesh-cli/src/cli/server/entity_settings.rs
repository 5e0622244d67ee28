//! The settings that name entities of the schema: those of the playground and of caching.

use mesh_docs::{Access, Offers, Options};
use mesh_integrity::Binding;
use mesh_schema::{Schema, nearest};
use mesh_server::Caching;

use crate::cli::failure::Failure;
use crate::config::parse::did_you_mean;
use crate::config::{Config, DocsAuth};

/// Returns the options of the playground, or a failure with all names that are not entities of the schema.
pub(crate) fn docs(config: &Config, schema: &Schema) -> Result<Options, Failure> {
    let settings = &config.docs;
    check_entities("docs.entities", &settings.entities, schema)?;
    let auth = match settings.auth {
        DocsAuth::Open => Access::Open,
        DocsAuth::Admin => Access::Admin,
    };
    let integrity = &config.integrity;
    let offers = Offers {
        binding: integrity.enabled && integrity.binding == Binding::Require,
        bound_writes: integrity.enabled && integrity.binding != Binding::Off,
        ..Offers::default()
    };
    let options = Options::default()
        .path(&settings.path)
        .title(settings.title.as_str())
        .theme(settings.theme)
        .auth(auth)
        .sql(settings.sql)
        .view_as(settings.view_as.iter().cloned())
        .offers(offers);
    Ok(if settings.entities.is_empty() {
        options
    } else {
        options.entities(settings.entities.iter().cloned())
    })
}

/// Returns the caching of reads, or a failure with all names that are not entities of the schema.
pub(crate) fn caching(config: &Config, schema: &Schema) -> Result<Caching, Failure> {
    let settings = &config.caching;
    check_entities("caching.entities", settings.entities.keys(), schema)?;
    let entities = settings.entities.clone().into_iter().collect();
    Ok(Caching { control: settings.control.clone(), entities, tags: settings.tags })
}

/// Checks that a setting names entities of the schema.
fn check_entities<'k>(
    setting: &str,
    keys: impl IntoIterator<Item = &'k String>,
    schema: &Schema,
) -> Result<(), Failure> {
    let unknown = keys.into_iter().filter(|key| schema.find(key).is_none());
    Failure::check(unknown.map(|key| format!("'{setting}': {}", unknown_entity(key, schema))).collect())
}

/// Describes a key that no entity of the schema has.
pub(crate) fn unknown_entity(key: &str, schema: &Schema) -> String {
    let near = nearest(key, schema.entities().map(|(_, entity)| entity.key.as_str()));
    format!("there is no entity '{key}'{}", did_you_mean(near.map(|near| format!("'{near}'"))))
}
