//! The schema of a [`Mesh`] as principals see it.

use std::sync::Arc;

use mesh_schema::Schema;

use super::Mesh;
use crate::Principal;

impl Mesh {
    /// Returns the whole schema, without the restrictions of policies.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.views.unrestricted().schema
    }

    /// Returns the schema as a principal sees it, without what policies hide. Ids are those of the whole schema.
    pub fn schema_for(&self, principal: Option<&Principal>) -> Arc<Schema> {
        Arc::clone(&self.views.find(principal).schema)
    }

    /// Returns the class of a principal: plans of equal queries are equal within a class. It is empty without policies.
    pub fn policy_class(&self, principal: Option<&Principal>) -> Box<str> {
        self.views.find(principal).class.clone()
    }

    /// Returns whether plans depend on the principal.
    pub fn has_policies(&self) -> bool {
        self.views.has_policies()
    }
}
