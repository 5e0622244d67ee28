//! The settings that name entities of the schema: those of the playground and of caching.

use mesh_docs::{Access, Offers, Options};
use mesh_integrity::Binding;
use mesh_schema::{Schema, nearest};
use mesh_server::Caching;

use crate::cli::failure::Failure;
use crate::config::{Config, DocsAuth};

/// Returns the options of the playground, or a failure with all names that are not entities of the schema.
pub(crate) fn docs(config: &Config, schema: &Schema) -> Result<Options, Failure> {
    let settings = &config.docs;
    let faults: Vec<_> =
        settings.entities.iter().filter_map(|key| unknown_entity("docs.entities", key, schema)).collect();
    if !faults.is_empty() {
        return Err(Failure::from_faults(faults));
    }
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
    let mut faults = Vec::new();
    let mut caching = Caching::default();
    caching.control = settings.control.clone();
    caching.tags = settings.tags.header();
    for (key, control) in &settings.entities.0 {
        faults.extend(unknown_entity("caching.entities", key, schema));
        caching.entities.insert(key.clone(), control.clone());
    }
    if faults.is_empty() { Ok(caching) } else { Err(Failure::from_faults(faults)) }
}

/// Returns the fault of a setting that names an entity which the schema does not have.
fn unknown_entity(setting: &str, key: &str, schema: &Schema) -> Option<String> {
    if schema.find(key).is_some() {
        return None;
    }
    let near = nearest(key, schema.entities().map(|(_, entity)| entity.key.as_str()));
    let hint = near.map_or_else(String::new, |near| format!("; did you mean '{near}'?"));
    Some(format!("'{setting}': there is no entity '{key}'{hint}"))
}
