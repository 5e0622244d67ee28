//! Files generated for tools: types, clients and descriptions.

mod live;
mod roles;
mod schemas;
mod typescript;
