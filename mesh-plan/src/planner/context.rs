//! The read node that is being planned, for lookups and errors.

use mesh_ql::Span;
use mesh_schema::Entity;

use crate::PlanError;
use crate::error::PlanErrorKind;
use crate::plan::Related;

/// The entity and the path of a node.
#[derive(Clone, Copy)]
pub(super) struct NodeContext<'a> {
    pub(super) entity: &'a Entity,
    /// Dotted names from the root entity.
    pub(super) path: &'a str,
}

/// A node whose controls are being planned.
pub(super) struct Scope<'a> {
    pub(super) context: NodeContext<'a>,
    /// The related records that the controls use so far.
    pub(super) related: Vec<Related>,
}

impl<'a> Scope<'a> {
    pub(super) fn new(context: NodeContext<'a>) -> Self {
        Self { context, related: Vec::new() }
    }
}

impl NodeContext<'_> {
    /// Creates an error about a part of the node's query.
    pub(super) fn error(&self, span: Option<Span>, kind: impl Into<PlanErrorKind>) -> PlanError {
        PlanError::new(kind, self.path).with_span(span)
    }

    pub(super) fn unknown_field(&self, name: &str, span: Option<Span>) -> PlanError {
        self.error(span, PlanErrorKind::unknown_field(self.entity, name))
    }
}

/// Returns the name that `name` is probably a misspelling of.
pub(super) fn nearest<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Option<String> {
    mesh_schema::nearest(name, names).map(str::to_owned)
}
