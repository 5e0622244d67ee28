//! Files generated for tools: types, clients and descriptions.

mod roles;
mod schemas;
mod typescript;
