//! Resolvers and mutators by entity.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

/// Handlers by entity key, and one for all other entities.
pub(super) struct ByEntity<T: ?Sized> {
    pub(super) handlers: HashMap<String, Arc<T>>,
    pub(super) fallback: Option<Arc<T>>,
}

impl<T: ?Sized> ByEntity<T> {
    pub(super) fn find(&self, entity: &str) -> Option<&Arc<T>> {
        self.handlers.get(entity).or(self.fallback.as_ref())
    }
}

impl<T: ?Sized> Default for ByEntity<T> {
    fn default() -> Self {
        Self { handlers: HashMap::new(), fallback: None }
    }
}

impl<T: ?Sized> fmt::Debug for ByEntity<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ByEntity")
            .field("handlers", &self.handlers.keys())
            .field("fallback", &self.fallback.is_some())
            .finish()
    }
}
