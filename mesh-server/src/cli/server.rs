//! From settings to a running server: data source, application, schema reloads, logs.

pub(super) mod admin;
pub(super) mod app_factory;
pub(super) mod data_source;
pub(super) mod database;
mod database_url;
pub(super) mod log_writer;
pub(super) mod schema_reload;
