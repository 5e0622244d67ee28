//! Does the query fit the schema, and what does it come to? Checks and lowers a syntax tree in one pass.

mod columns;
mod filter;
mod group;
pub(crate) mod guard;
pub(crate) mod literal;
mod order;
mod select;
pub(crate) mod write;

use std::fmt::Write as _;
use std::sync::Arc;

use mesh_ql::{Controls, Query, ReadNode};
use mesh_schema::{Cardinality, Entity, EntityId, FieldType, Schema};
use ring::digest;

use crate::cursor::{CursorKey, UnverifiedCursor};
use crate::plan::{Column, Node, Page, PlanId, PlannedQuery, Predicate, SortKey};
use crate::policy::{SessionBinding, View};
use crate::{Limits, PlanError, PlanErrorKind, Value};
use columns::Columns;

/// Whether a query is for one record or for many; controls differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    Point,
    Collection,
}

/// Where a node stands in its query.
#[derive(Clone, Copy)]
enum Place<'a> {
    Point,
    Collection,
    Relation(&'a str, Cardinality),
}

/// Plans a query. The path's entity, if there is a path, must be the query's root. `SPEC §2.8`
pub(crate) fn plan(
    view: &View,
    limits: &Limits,
    cursors: &CursorKey,
    query: &Query,
    kind: Kind,
) -> Result<PlannedQuery, PlanError> {
    let mut planner = Planner { view, schema: &view.schema, limits, slots: Vec::new() };
    let entity = find_entity(&view.schema, &query.entity)?;
    let place = match kind {
        Kind::Point => Place::Point,
        Kind::Collection => Place::Collection,
    };
    let mut node = planner.node(entity, query.entity.clone(), &query.root, place)?;
    let seal = cursors.seal(&cursor_scope(&node));
    let mut after = None;
    if let (Some(planned), Some(page)) = (&mut node.page, &query.root.controls.page)
        && let Some(text) = &page.after
    {
        let values = UnverifiedCursor::read(text)
            .and_then(|sealed| seal.open(sealed, node.order.len()))
            .ok_or_else(|| PlanError { kind: PlanErrorKind::CursorMismatch, path: node.path.clone() })?;
        planned.after = Some(values.iter().map(|value| *value == Value::Null).collect());
        after = Some(typed(&node.columns, &node.order, values));
    }
    Ok(PlannedQuery {
        node,
        id: PlanId::default(),
        seal,
        after,
        rows: limits.rows,
        slots: planner.slots,
        digest: [0; 32],
    })
}

/// Returns the digest that cursors of a read are bound to: of everything but its page size and selection.
fn cursor_scope(node: &Node) -> [u8; 32] {
    let mut text = format!("mesh cursor 1\n{}\n", node.entity);
    for key in &node.order {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "order {key}");
    }
    if let Some(filter) = &node.filter {
        let _ = writeln!(text, "where {filter}");
    }
    if let Some(grouping) = &node.grouping {
        let _ = writeln!(text, "group {grouping}");
    }
    let mut scope = [0; 32];
    scope.copy_from_slice(digest::digest(&digest::SHA256, text.as_bytes()).as_ref());
    scope
}

/// The values of a cursor, truth values as such again: cursors hold them as the numbers that some storages do.
pub(crate) fn typed(columns: &[Column], order: &[SortKey], values: Vec<Value>) -> Arc<[Value]> {
    let ty = |key: &SortKey| key.column.and_then(|column| columns.get(column)).and_then(|column| column.ty);
    let values = order.iter().zip(values).map(|(key, value)| match (ty(key), value) {
        (Some(FieldType::Boolean), Value::Integer(value @ (0 | 1))) => Value::Boolean(value == 1),
        (_, value) => value,
    });
    values.collect()
}

/// The entity of that key.
pub(crate) fn find_entity(schema: &Schema, key: &str) -> Result<EntityId, PlanError> {
    schema.find(key).ok_or_else(|| PlanError {
        kind: PlanErrorKind::UnknownEntity {
            entity: key.to_owned(),
            nearest: nearest(key, schema.entities().map(|(_, entity)| entity.key.as_str())),
        },
        path: String::new(),
    })
}

struct Planner<'a> {
    view: &'a View,
    schema: &'a Schema,
    limits: &'a Limits,
    /// The session's values that conditions need.
    slots: Vec<SessionBinding>,
}

impl<'a> Planner<'a> {
    fn node(
        &mut self,
        id: EntityId,
        path: String,
        read: &ReadNode,
        place: Place<'_>,
    ) -> Result<Node, PlanError> {
        let at = At { entity: self.schema.entity(id), path: &path };
        check_place(&read.controls, place, &at)?;
        let mut columns = Columns::default();
        let grouped = group::is_grouped(&read.controls);
        let (output, joins, grouping) = if grouped {
            let (output, grouping) = group::plan(&at, read, &mut columns)?;
            (output, Vec::new(), Some(grouping))
        } else {
            let (output, joins) = self.select(&at, id, &read.select, &mut columns)?;
            (output, joins, None)
        };
        let asked = read.controls.filter.as_ref().map(|tree| filter::plan(&at, tree)).transpose()?;
        let filter = match (self.guard(id)?, asked) {
            (Some(guard), Some(asked)) => Some(Predicate::All(vec![guard, asked])),
            (guard, asked) => guard.or(asked),
        };
        let order = match place {
            Place::Point => Vec::new(),
            Place::Relation(_, Cardinality::One) => order::tie_break(&at),
            _ => order::plan(&at, &read.controls.order, grouping.as_ref(), &columns)?,
        };
        let mut node = Node {
            entity: at.entity.key.clone(),
            table: at.entity.table.clone(),
            output,
            joins,
            filter,
            order,
            page: self.page(&read.controls, place),
            row_key: if grouped { Vec::new() } else { row_key(at.entity) },
            id: at.entity.id.map(|id| columns::of_field(at.entity, id, false)),
            native: Arc::clone(&at.entity.native),
            grouping,
            columns: Vec::new(),
            control_columns: Vec::new(),
            path: String::new(),
        };
        if matches!(place, Place::Collection) {
            for key in &mut node.order {
                key.column = Some(columns.add_source(at.entity, &key.source));
            }
        }
        node.control_columns = columns::of_controls(at.entity, &node);
        node.columns = columns.list;
        node.path = path;
        Ok(node)
    }

    /// What the entity's records fulfill that are there for whoever asks.
    fn guard(&mut self, id: EntityId) -> Result<Option<Predicate>, PlanError> {
        let Some(condition) = self.view.condition(id) else { return Ok(None) };
        let planned = guard::add(&self.view.whole, id, condition, &mut self.slots);
        planned.map(Some).map_err(|error| guard::of_policy(&error))
    }

    fn page(&self, controls: &Controls, place: Place<'_>) -> Option<Page> {
        let first = controls.page.as_ref().and_then(|page| page.first).unwrap_or(self.limits.page_default);
        let paged = match place {
            Place::Point => false,
            Place::Collection => true,
            Place::Relation(..) => controls.page.is_some(),
        };
        paged.then_some(Page { first, after: None })
    }
}

/// The node that is being planned, for error texts.
struct At<'a> {
    entity: &'a Entity,
    path: &'a str,
}

impl At<'_> {
    fn error(&self, kind: impl Into<PlanErrorKind>) -> PlanError {
        PlanError { kind: kind.into(), path: self.path.to_owned() }
    }

    fn unknown(&self, name: &str) -> PlanError {
        let entity = self.entity;
        self.error(PlanErrorKind::UnknownField {
            entity: entity.key.clone(),
            field: name.to_owned(),
            nearest: nearest(name, entity.names()),
        })
    }
}

/// Whether the node's controls may stand where they do. `SPEC §3.5`, `SPEC §3.6`
fn check_place(controls: &Controls, place: Place<'_>, at: &At<'_>) -> Result<(), PlanError> {
    match place {
        Place::Collection => Ok(()),
        Place::Point => {
            if at.entity.id.is_none() {
                return Err(at.error(PlanErrorKind::NoId { entity: at.entity.key.clone() }));
            }
            controls
                .first()
                .map_or(Ok(()), |control| Err(at.error(PlanErrorKind::ControlOnPoint { control })))
        }
        Place::Relation(relation, Cardinality::One) => controls.first().map_or(Ok(()), |control| {
            Err(at.error(PlanErrorKind::ControlOnToOne { control, relation: relation.to_owned() }))
        }),
        Place::Relation(relation, Cardinality::Many) => {
            let nested = Controls { filter: None, order: Vec::new(), page: None, ..controls.clone() };
            if let Some(control) = nested.first() {
                return Err(
                    at.error(PlanErrorKind::ControlOnNested { control, relation: relation.to_owned() })
                );
            }
            if controls.page.as_ref().is_some_and(|page| page.after.is_some()) {
                return Err(at.error(PlanErrorKind::CursorOnNested { relation: relation.to_owned() }));
            }
            Ok(())
        }
    }
}

/// The columns that tell an entity's rows apart; none where only all columns together might.
fn row_key(entity: &Entity) -> Vec<Column> {
    let mut columns = Columns::default();
    let is_key = |name: &String| entity.tie_break.iter().any(|key| key.column == *name);
    if entity.id.is_none() && entity.fields.iter().all(|field| is_key(&field.column)) {
        return columns.list;
    }
    if let Some(id) = entity.id {
        columns.add_field(entity, id, false);
    }
    for key in &entity.tie_break {
        columns.add_storage(entity, &key.column);
    }
    columns.list
}

/// The one of the names that was probably meant.
fn nearest<'a>(word: &str, names: impl Iterator<Item = &'a str>) -> Option<String> {
    mesh_schema::nearest(word, names).map(str::to_owned)
}
