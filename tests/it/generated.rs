//! Files generated for tools: types, clients and descriptions.

mod live;
mod names;
mod python;
mod roles;
mod schemas;
mod shop;
mod typescript;
