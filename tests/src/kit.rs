//! The conformance kit, and the server of this repository as its target.

pub mod json_schema;
pub mod reference;

pub use mesh_conformance::*;
