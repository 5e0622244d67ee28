//! Shared values that are compared by their address.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// A shared value, compared by its address. A clone keeps the address from being reused.
#[derive(Debug, Default)]
pub struct ByAddress<T>(pub Arc<T>);

impl<T> Clone for ByAddress<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> PartialEq for ByAddress<T> {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl<T> Eq for ByAddress<T> {}

impl<T> Hash for ByAddress<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Arc::as_ptr(&self.0).hash(state);
    }
}
