//! Builds and runs a server from its settings.

pub(super) mod admin;
pub(super) mod api_keys;
pub(super) mod app_factory;
pub(super) mod audit;
pub(super) mod bearer;
pub(super) mod data_source;
pub(super) mod database;
pub(super) mod database_url;
pub(super) mod entity_settings;
pub(super) mod internal_tables;
pub(super) mod logging;
pub(super) mod purge;
pub(super) mod queries;
pub(super) mod run;
pub(super) mod schema_reload;
pub(super) mod state;
pub(super) mod uploads;
