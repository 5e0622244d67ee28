//! One module for each command, with its arguments.

pub(super) mod api_key;
pub(super) mod check;
pub(super) mod completions;
pub(super) mod demo;
pub(super) mod explain;
pub(super) mod files;
pub(super) mod hash_password;
pub(super) mod health;
pub(super) mod introspect;
pub(super) mod json_schema;
pub(super) mod mcp;
pub(super) mod openapi;
pub(super) mod policy_test;
pub(super) mod query;
pub(super) mod serve;
pub(super) mod types;
pub(super) mod upload;
