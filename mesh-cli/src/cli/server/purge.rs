//! Purges of shared caches from the settings.

use mesh_server::{Current, Purge};

use crate::cli::server::app_factory::AppFactory;
use crate::config::Config;

/// Starts notifying the configured caches of changes, if there are any caches.
pub(crate) fn start(config: &Config, factory: &AppFactory, current: &Current) {
    let settings = &config.caching.purge;
    if settings.urls.is_empty() {
        return;
    }
    let mut purge = Purge::new(settings.urls.clone());
    if let Some((name, value)) = settings.header.as_ref().and_then(|line| line.header()) {
        purge.headers.append(name, value);
    }
    if let Some(header) = config.caching.tags {
        purge.tags = header;
    }
    purge.start(current, &factory.options.changes, &factory.admin.metrics);
}
