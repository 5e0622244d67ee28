//! The planner, which checks a query against the schema and lowers it to a plan in one pass.

mod columns;
mod comparable;
mod context;
mod filter;
mod group;
mod limits;
pub(crate) mod literal;
mod order;
pub(crate) mod policy_condition;
mod related;
mod search;
mod select;
mod stored_values;
#[cfg(test)]
mod tests;
pub(crate) mod write;

use std::fmt::Write as _;
use std::sync::Arc;

use mesh_ql::{Controls, Name, OrParam, Query, ReadNode, Span, Spanned};
use mesh_schema::{Cardinality, Entity, EntityId, FieldType, Schema};
use ring::digest;

use crate::error::PlanErrorKind;
use crate::plan::cursor::{CursorKey, UnverifiedCursor};
use crate::plan::parameters::PageMember;
use crate::plan::{Column, Node, Page, PlanId, PlannedQuery, Predicate, RowCount, SortKey};
use crate::policy::View;
use crate::{PlanError, Value};
use columns::Columns;
use context::{NodeContext, Scope};
pub(crate) use filter::params::ParamInput;
use filter::params::Recorder;
pub use limits::Limits;
use policy_condition::Slots;

/// The role of a node in its query, which determines the controls that are allowed.
#[derive(Clone, Copy)]
enum Role<'a> {
    Point,
    Collection,
    Relation(&'a Name, Cardinality),
}

/// The kind of a read, which determines the response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReadKind {
    /// One record.
    Point,
    /// A page of records.
    Collection,
    /// All records, as lines.
    Export,
}

/// A planned query, with the values of its first run.
pub(crate) struct Planned {
    pub(crate) query: PlannedQuery,
    /// The sort values of its cursor.
    pub(crate) cursor: Option<Arc<[Value]>>,
    /// The location of the cursor in the text of the query, if it is no parameter.
    pub(crate) cursor_span: Option<Span>,
    /// The values of its parameters.
    pub(crate) inputs: Vec<Value>,
}

/// Plans a query. `SPEC §2.8`
pub(crate) fn plan(
    view: &View,
    limits: &Limits,
    cursors: &CursorKey,
    query: &Query,
    kind: ReadKind,
    param_input: ParamInput<'_>,
) -> Result<Planned, PlanError> {
    let params = Recorder::new(param_input, limits);
    let slots = Slots::new(limits.query.in_values);
    let mut planner = Planner { view, schema: &view.schema, limits, slots, params, hops: 0 };
    let entity = find_entity(&view.schema, &query.entity, query.entity.span)?;
    let role = if kind == ReadKind::Point { Role::Point } else { Role::Collection };
    if let (ReadKind::Export, Some(page)) = (kind, &query.root.controls.page) {
        let error = PlanError::new(PlanErrorKind::PageOfExport, query.entity.as_str());
        return Err(error.with_span(page.span));
    }
    let mut node = planner.node(entity, query.entity.value.clone(), &query.root, role)?;
    if let (ReadKind::Export, Some(page)) = (kind, &mut node.page) {
        page.size = RowCount::Rows(limits.export_rows);
    }
    let seal = cursors.seal(cursor_scope(&node).as_ref());
    let (mut cursor, mut cursor_span) = (None, None);
    if let (Some(_), Some(page)) = (&node.page, &query.root.controls.page)
        && let Some(requested) = page.after.as_ref().or(page.before.as_ref())
    {
        let (text, name) = match &requested.value {
            OrParam::Value(text) => {
                cursor_span = requested.span;
                (Some(text.as_str()), None)
            }
            OrParam::Param { name } => (
                planner.params.page(&node.path, (name, requested.span), PageMember::Cursor)?,
                Some(name.value.clone()),
            ),
        };
        if let Some(text) = text {
            let values = UnverifiedCursor::parse(text).and_then(|it| seal.open(it, node.order.len()));
            let values = values.ok_or_else(|| {
                let kind = match name {
                    None => PlanErrorKind::CursorMismatch,
                    Some(name) => {
                        PlanErrorKind::Parameter { name, fault: Box::new(PlanErrorKind::CursorMismatch) }
                    }
                };
                PlanError::new(kind, node.path.as_str()).with_span(requested.span)
            })?;
            cursor = Some(typed(&node.columns, &node.order, values));
        }
    }
    let id = PlanId::default();
    let (rows, bytes) = (limits.rows, limits.response_bytes);
    let slots = planner.slots.list;
    let (params, inputs) = planner.params.finish(cursor.as_deref())?;
    let related_sort_rows = node.has_related_sort().then_some(limits.related_sort_rows);
    let query = PlannedQuery { node, id, seal, rows, bytes, memory: 0, related_sort_rows, slots, params };
    Ok(Planned { query, cursor, cursor_span, inputs })
}

/// Returns the digest that cursors of a read are bound to. It covers everything but page size and selection.
fn cursor_scope(node: &Node) -> digest::Digest {
    let mut text = format!("mesh cursor 1\n{}\n", node.entity);
    // A cursor is valid for pages in both directions.
    let mut order = node.order.clone();
    if node.page.as_ref().is_some_and(|page| page.reversed) {
        order.iter_mut().for_each(SortKey::reverse);
    }
    write_scope(&mut text, node, &order);
    digest::digest(&digest::SHA256, text.as_bytes())
}

fn write_scope(text: &mut String, node: &Node, order: &[SortKey]) {
    for key in order {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "order {key}");
    }
    if let Some(filter) = &node.filter {
        let _ = writeln!(text, "where {filter}");
    }
    if let Some(grouping) = &node.grouping {
        let _ = writeln!(text, "group {grouping}");
    }
    for related in &node.related {
        let sources: Vec<_> = related.node.columns.iter().map(|column| column.source.to_string()).collect();
        let _ = writeln!(text, "related {} {}", related.name, sources.join(", "));
        write_scope(text, &related.node, &related.node.order);
        text.push_str("end\n");
    }
}

/// Restores booleans among the values of a cursor, which contains them as integers.
pub(crate) fn typed(columns: &[Column], order: &[SortKey], values: Vec<Value>) -> Arc<[Value]> {
    let ty = |key: &SortKey| key.column.and_then(|column| columns.get(column)).and_then(|column| column.ty);
    let values = order.iter().zip(values).map(|(key, value)| match (ty(key), value) {
        (Some(FieldType::Boolean), Value::Integer(value @ (0 | 1))) => Value::Boolean(value == 1),
        (_, value) => value,
    });
    values.collect()
}

/// Finds the entity with that key, which a query names at `span`.
pub(crate) fn find_entity(schema: &Schema, key: &str, span: Option<Span>) -> Result<EntityId, PlanError> {
    schema
        .find(key)
        .ok_or_else(|| PlanError::new(PlanErrorKind::unknown_entity(schema, key), "").with_span(span))
}

struct Planner<'a> {
    view: &'a View,
    schema: &'a Schema,
    limits: &'a Limits,
    /// The session values that the conditions of policies need.
    slots: Slots,
    /// The parameters of conditions and pages.
    params: Recorder<'a>,
    /// The number of relations in the paths that were planned.
    hops: usize,
}

impl<'a> Planner<'a> {
    fn node(
        &mut self,
        id: EntityId,
        path: String,
        read: &ReadNode,
        role: Role<'_>,
    ) -> Result<Node, PlanError> {
        let entity = self.schema.entity(id);
        let context = NodeContext { entity, path: &path };
        check_controls(&context, &read.controls, role)?;
        let mut columns = Columns::default();
        let mut scope = Scope::new(context);
        let (output, joins, grouping) = if group::is_grouped(&read.controls) {
            let (output, grouping) = group::plan(self, &mut scope, read, &mut columns)?;
            (output, Vec::new(), Some(grouping))
        } else {
            let (output, joins) = self.select(&context, id, &read.select, &mut columns)?;
            (output, joins, None)
        };
        let requested = match &read.controls.filter {
            Some(tree) => Some(filter::plan(self, &mut scope, tree, None)?),
            None => None,
        };
        let policy = self.policy_filter(id, &mut scope)?;
        let order = match role {
            Role::Point => Vec::new(),
            _ => {
                let ranked = matches!(role, Role::Collection).then_some(requested.as_ref());
                order::plan(self, &mut scope, &read.controls.order, grouping.as_ref(), (&columns, ranked))?
            }
        };
        let mut node = Node {
            output,
            joins,
            related: scope.related,
            order,
            page: self.page(&path, &read.controls, role)?,
            row_key: if grouping.is_some() { Vec::new() } else { row_key(entity) },
            id: entity.id.iter().map(|id| columns::from_field(entity, *id, false)).collect(),
            grouping,
            ..Node::of_entity(entity)
        };
        node.restrict(policy, requested);
        if matches!(role, Role::Collection) {
            for key in &mut node.order {
                key.column = Some(columns.add_source(entity, &key.source));
            }
        }
        node.columns = columns.list;
        if node.page.as_ref().is_some_and(|page| page.reversed) {
            node.order.iter_mut().for_each(SortKey::reverse);
        }
        self.complete(entity, &mut node);
        node.path = path;
        Ok(node)
    }

    /// Plans the condition of the policies on an entity's records.
    fn policy_filter(&mut self, id: EntityId, scope: &mut Scope<'_>) -> Result<Option<Predicate>, PlanError> {
        let Some(condition) = self.view.condition(id) else { return Ok(None) };
        let (slots, related) = (&mut self.slots, &mut scope.related);
        policy_condition::plan(&self.view.full_schema, id, condition, slots, related).map(Some)
    }

    fn page(&mut self, path: &str, controls: &Controls, role: Role<'_>) -> Result<Option<Page>, PlanError> {
        let requested = controls.page.as_deref();
        let last = requested.and_then(|page| page.last.as_ref());
        let paged = match role {
            Role::Point => false,
            Role::Collection => true,
            Role::Relation(..) => controls.page.is_some(),
        };
        if !paged {
            return Ok(None);
        }
        let cursor = requested.and_then(|page| page.after.as_ref().or(page.before.as_ref()));
        if let (Role::Relation(relation, _), Some(Spanned { value: OrParam::Param { name }, span })) =
            (role, cursor)
        {
            let relation = relation.value.clone();
            self.params.page(path, (name, *span), PageMember::NoCursor { relation })?;
        }
        let size = match last.or_else(|| requested?.first.as_ref()) {
            None => RowCount::Rows(self.limits.page_default),
            Some(size) => self.row_count(path, size, PageMember::Size)?,
        };
        let skip = requested.and_then(|page| page.skip.as_ref());
        let skip = skip.map(|skip| self.row_count(path, skip, PageMember::Skip)).transpose()?;
        let total = requested.is_some_and(|page| page.total);
        Ok(Some(Page { size, skip, reversed: last.is_some(), total }))
    }

    fn row_count(
        &mut self,
        path: &str,
        count: &Spanned<OrParam<u32>>,
        member: PageMember,
    ) -> Result<RowCount, PlanError> {
        match &count.value {
            OrParam::Value(rows) => Ok(RowCount::Rows(*rows)),
            OrParam::Param { name } => {
                self.params.row_count(path, (name, count.span), member).map(RowCount::Input)
            }
        }
    }
}

/// Checks that the node's controls are allowed in its role. `SPEC §3.5`, `SPEC §3.6`
fn check_controls(context: &NodeContext<'_>, controls: &Controls, role: Role<'_>) -> Result<(), PlanError> {
    let mut present = controls.present();
    let (span, kind) = match role {
        Role::Collection => return Ok(()),
        Role::Point => match present.next() {
            _ if context.entity.id.is_empty() => {
                (None, PlanErrorKind::NoId { entity: context.entity.key.clone() })
            }
            Some((control, span)) => (span, PlanErrorKind::ControlOnPoint { control }),
            None => return Ok(()),
        },
        Role::Relation(name, Cardinality::One) => match present.next() {
            Some((control, span)) => {
                (span, PlanErrorKind::ControlOnToOne { control, relation: name.value.clone() })
            }
            None => return Ok(()),
        },
        Role::Relation(name, Cardinality::Many) => {
            let relation = name.value.clone();
            let root_only = present.find(|(control, _)| *control == "$distinct");
            let page = controls.page.as_ref();
            let cursor = page.and_then(|page| page.after.as_ref().or(page.before.as_ref()));
            // The value of a parameter may be null.
            let cursor = cursor.filter(|cursor| cursor.value.value().is_some());
            match (root_only, cursor) {
                (Some((control, span)), _) => (span, PlanErrorKind::ControlOnNested { control, relation }),
                (None, Some(cursor)) => (cursor.span, PlanErrorKind::CursorOnNested { relation }),
                (None, None) => match page.filter(|page| page.total) {
                    Some(page) => (page.span, PlanErrorKind::TotalOnNested { relation }),
                    None => return Ok(()),
                },
            }
        }
    };
    Err(context.error(span, kind))
}

/// Returns the columns that identify an entity's rows; an empty list if only all columns together do.
fn row_key(entity: &Entity) -> Vec<Column> {
    let mut columns = Columns::default();
    let is_key = |name: &String| entity.tie_break.iter().any(|key| key.column == *name);
    if entity.id.is_empty() && entity.fields.iter().all(|field| is_key(&field.column)) {
        return columns.list;
    }
    for id in &entity.id {
        columns.add_field(entity, *id, false);
    }
    for key in &entity.tie_break {
        columns.add_storage(entity, &key.column);
    }
    columns.list
}
