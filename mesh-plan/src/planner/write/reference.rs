//! Records that the values of a write refer to. `SPEC §11`
//!
//! A foreign key that a client may write is a link, so its target must be visible to the client: otherwise the client could
//! link hidden records, and find out from the response of the database which records exist.

use std::collections::HashMap;

use mesh_schema::{Cardinality, Entity, EntityId, Field, Link, Schema, TableName};

use super::WritePlanner;
use super::rights::WriteKind;
use crate::mutation::{Assignment, GuardedEntity, LinkLocation, Reference, ReferenceColumn, ReferenceTarget};
use crate::plan::{ColumnSource, CompareOp, Predicate};
use crate::policy::RecordUse;
use crate::{PlanError, Value};

/// The references between the records of a schema, and the entities of each table.
#[derive(Debug, Default)]
pub(crate) struct References {
    by_entity: HashMap<EntityId, Vec<ColumnGroup>>,
    by_table: HashMap<TableName, Vec<EntityId>>,
}

/// Columns of an entity that together refer to a record.
#[derive(Debug)]
struct ColumnGroup {
    /// The columns, sorted by name.
    columns: Vec<String>,
    /// The entities that the columns may refer to, each with its columns.
    targets: Vec<(EntityId, Vec<Pair>)>,
}

/// A column of the written record, and the column of the target that it refers to.
#[derive(Clone, Debug, PartialEq)]
struct Pair {
    column: String,
    target: String,
}

impl References {
    /// Finds the references of relations, from both sides, and of the foreign keys of the database.
    pub(crate) fn new(schema: &Schema) -> Self {
        let mut references = Self::default();
        for (id, entity) in schema.entities() {
            references.by_table.entry(entity.table.clone()).or_default().push(id);
        }
        for (id, entity) in schema.entities() {
            for relation in &entity.relations {
                if let Link::Through { .. } = relation.link {
                    continue;
                }
                let other = relation.target;
                let (from, to, pairs): (_, _, Vec<Pair>) =
                    match LinkLocation::of_relation(entity, relation, schema.entity(other)) {
                        LinkLocation::InParent(key) => (id, other, key.all().map(Pair::in_parent).collect()),
                        LinkLocation::InRelated(key) => (other, id, key.all().map(Pair::in_target).collect()),
                        LinkLocation::Junction { .. } => continue,
                    };
                if is_reference(schema.entity(from), schema.entity(to), relation.cardinality, &pairs) {
                    references.add(from, to, pairs);
                }
            }
            for key in &entity.foreign_keys {
                let targets = references.by_table.get(&key.table).cloned().unwrap_or_default();
                for target in targets {
                    references.add(id, target, key.pairs.iter().map(Pair::in_parent).collect());
                }
            }
        }
        references
    }

    fn add(&mut self, entity: EntityId, target: EntityId, pairs: Vec<Pair>) {
        let mut columns: Vec<String> = pairs.iter().map(|pair| pair.column.clone()).collect();
        columns.sort();
        columns.dedup();
        let groups = self.by_entity.entry(entity).or_default();
        let target = (target, pairs);
        match groups.iter_mut().find(|group| group.columns == columns) {
            Some(group) if group.targets.contains(&target) => {}
            Some(group) => group.targets.push(target),
            None => groups.push(ColumnGroup { columns, targets: vec![target] }),
        }
    }

    /// Returns the entities of a table.
    pub(super) fn stored_in(&self, table: &TableName) -> &[EntityId] {
        self.by_table.get(table).map_or(&[], Vec::as_slice)
    }
}

/// Returns whether a relation shows that the columns of `entity` are a key of `target`. A to-many relation may also compare
/// columns that identify no record, and a relation between two ids does not determine which id refers to the other.
fn is_reference(entity: &Entity, target: &Entity, cardinality: Cardinality, pairs: &[Pair]) -> bool {
    // Returns whether the columns include all id columns of an entity.
    fn cover<'p>(entity: &Entity, columns: impl Iterator<Item = &'p str> + Clone) -> bool {
        let is_covered = |id: &Field| columns.clone().any(|column| column.eq_ignore_ascii_case(&id.column));
        !entity.id.is_empty() && entity.id_fields().all(is_covered)
    }
    let between_ids =
        pairs.iter().filter(|pair| entity.is_id_column(&pair.column) && target.is_id_column(&pair.target));
    let is_shared = cover(entity, between_ids.clone().map(|pair| pair.column.as_str()))
        && cover(target, between_ids.map(|pair| pair.target.as_str()));
    let is_unique = |pair: &Pair| target.native.get(&pair.target).is_some_and(|native| native.unique);
    let identifies =
        || cover(target, pairs.iter().map(|pair| pair.target.as_str())) || pairs.iter().any(is_unique);
    !is_shared && (cardinality == Cardinality::One || identifies())
}

impl Pair {
    fn in_parent(pair: &mesh_schema::ColumnPair) -> Self {
        Self { column: pair.parent.clone(), target: pair.target.clone() }
    }

    fn in_target(pair: &mesh_schema::ColumnPair) -> Self {
        Self { column: pair.target.clone(), target: pair.parent.clone() }
    }
}

impl WritePlanner<'_> {
    /// Returns the references in the body to records that the principal might not see.
    pub(super) fn references(
        &self,
        subject: &GuardedEntity,
        values: &[Assignment],
        kind: WriteKind,
    ) -> Result<Vec<Reference>, PlanError> {
        let mut references = Vec::new();
        let Some(groups) = self.view.references.by_entity.get(&subject.entity) else {
            return Ok(references);
        };
        let is_set_by_server = |field: &str| {
            self.request.set.iter().any(|(name, _)| *name == field) || self.is_preset(subject, kind, field)
        };
        for group in groups {
            let assigned = |column: &str| values.iter().find(|value| *value.column == *column);
            let mut written = group.columns.iter().filter_map(|column| assigned(column));
            let guard = subject.check();
            let of_client =
                |value: &&Assignment| !is_set_by_server(&value.field) && fulfills(guard, value) != Some(true);
            let Some(chosen) = written.clone().find(of_client) else { continue };
            let (field, is_excluded) = (chosen.field.to_string(), fulfills(guard, chosen) == Some(false));
            // A key with NULL refers to nothing.
            if written.any(|value| value.value == Value::Null) {
                continue;
            }
            let mut targets = Vec::new();
            let mut is_free = false;
            for (id, pairs) in &group.targets {
                let entity = self.view.full_schema.entity(*id);
                if self.view.schema.find(&entity.key).is_none() {
                    continue;
                }
                // The record is found by the columns of the reference, so it needs no id.
                let mut target = self.subject_without_id(*id);
                self.guard(&mut target, RecordUse::Read, None)?;
                is_free |= target.guard.is_none();
                let columns = pairs.iter().filter_map(|pair| {
                    let value = assigned(&pair.column).map(|value| value.value.clone());
                    let (target, column) = (pair.target.clone(), pair.column.clone());
                    // A new record has no values except the assigned ones.
                    (value.is_some() || kind == WriteKind::Update).then_some(ReferenceColumn {
                        target,
                        column,
                        value,
                    })
                });
                targets.push(ReferenceTarget { subject: target, columns: columns.collect() });
            }
            if is_free {
                continue;
            }
            references.push(Reference { field, is_excluded, targets });
        }
        Ok(references)
    }
}

/// Returns whether a value is the one that the condition on the record requires, such as the id of the session's user; `None`
/// if the condition requires no particular value. The client does not choose a required value.
fn fulfills(guard: Option<&Predicate>, assigned: &Assignment) -> Option<bool> {
    match guard? {
        Predicate::All(parts) => parts.iter().find_map(|part| fulfills(Some(part), assigned)),
        Predicate::Compare { source: ColumnSource::Column(column), op: CompareOp::Eq, value } => {
            (**column == *assigned.column).then(|| value.value() == Some(&assigned.value))
        }
        _ => None,
    }
}
