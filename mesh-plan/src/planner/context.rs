//! The read node that is being planned, for lookups and errors.

use mesh_ql::Span;
use mesh_schema::Entity;

use crate::{PlanError, PlanErrorKind};

/// The entity and the path of a node.
pub(super) struct NodeContext<'a> {
    pub(super) entity: &'a Entity,
    /// Dotted names from the root entity.
    pub(super) path: &'a str,
}

impl NodeContext<'_> {
    /// Creates an error about a part of the node's query.
    pub(super) fn error(&self, span: Option<Span>, kind: impl Into<PlanErrorKind>) -> PlanError {
        PlanError::new(kind, self.path).with_span(span)
    }

    pub(super) fn unknown_field(&self, name: &str, span: Option<Span>) -> PlanError {
        let kind = PlanErrorKind::UnknownField {
            entity: self.entity.key.clone(),
            field: name.to_owned(),
            nearest: nearest(name, self.entity.names()),
        };
        self.error(span, kind)
    }
}

/// Returns the name that `name` is probably a misspelling of.
pub(super) fn nearest<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Option<String> {
    mesh_schema::nearest(name, names).map(str::to_owned)
}
