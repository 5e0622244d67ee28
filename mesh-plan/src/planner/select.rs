//! What does the client want to see? `$select`, field by field and relation by relation. `SPEC §3.3`

use mesh_ql::Selection;
use mesh_schema::{Cardinality, Computed, Entity, EntityId, Link, Member, Piece, Relation};

use super::columns::{self, Columns};
use super::{At, Place, Planner};
use crate::plan::{Join, Output, TemplatePiece};
use crate::shape::OutputKey;
use crate::{PlanError, PlanErrorKind};

impl Planner<'_> {
    /// The keys of the object, and the relations below it. Fields come first among the columns.
    pub(super) fn select(
        &mut self,
        at: &At<'_>,
        id: EntityId,
        select: &[Selection],
        columns: &mut Columns,
    ) -> Result<(Vec<Output>, Vec<Join>), PlanError> {
        for selection in select {
            if let Selection::Field(name) = selection
                && let Some(Member::Field(id)) = at.entity.member(name)
            {
                columns.add_field(at.entity, id, true);
            }
        }
        let mut output = Vec::with_capacity(select.len());
        let mut joins = Vec::new();
        for selection in select {
            let key = OutputKey::new(selection.name(), output.is_empty());
            match (selection, at.entity.member(selection.name())) {
                (Selection::Field(_), Some(Member::Field(id))) => {
                    let column = columns.add_field(at.entity, id, true);
                    output.push(Output::Field { key, column });
                }
                (Selection::Field(_), Some(Member::Computed(index))) => {
                    let computed = at.entity.computed.get(index);
                    let template = computed.map(|it| template(at.entity, it, columns)).unwrap_or_default();
                    output.push(Output::Computed { key, template });
                }
                (Selection::Field(name), Some(Member::Relation(_))) => {
                    return Err(at.error(PlanErrorKind::RelationWithoutSelection {
                        entity: at.entity.key.clone(),
                        relation: name.clone(),
                    }));
                }
                (Selection::Relation(name, read), Some(Member::Relation(id))) => {
                    let relation = at.entity.relation(id);
                    let place = Place::Relation(name, relation.cardinality);
                    let mut node = self.node(relation.target, format!("{}.{name}", at.path), read, place)?;
                    let target = self.schema.entity(relation.target);
                    if relation.cardinality == Cardinality::One && leads_to_id(relation, target) {
                        node.order.clear();
                    }
                    output.push(Output::Join { key, join: joins.len() });
                    joins.push(Join {
                        name: name.clone(),
                        cardinality: relation.cardinality,
                        parent_keys: parent_keys(at.entity, relation, columns),
                        child_keys: child_keys(relation, target),
                        link: relation.link.clone(),
                        node,
                    });
                }
                (Selection::Relation(name, _), Some(Member::Field(_) | Member::Computed(_))) => {
                    return Err(at.error(PlanErrorKind::FieldWithSelection {
                        entity: at.entity.key.clone(),
                        field: name.clone(),
                    }));
                }
                // Nothing is fetched for it, and the response has no such key.
                (_, None) if self.view.drops(id, selection.name()) => {}
                (_, None) => return Err(at.unknown(selection.name())),
            }
        }
        Ok((output, joins))
    }
}

fn template(entity: &Entity, computed: &Computed, columns: &mut Columns) -> Vec<TemplatePiece> {
    (computed.template.iter())
        .map(|piece| match piece {
            Piece::Text(text) => TemplatePiece::Text(text.clone()),
            Piece::Field(id) => TemplatePiece::Column(columns.add_field(entity, *id, false)),
        })
        .collect()
}

/// Whether the link compares the target's id, so that there is one row at most and nothing to order.
fn leads_to_id(relation: &Relation, target: &Entity) -> bool {
    let id = target.id.map(|id| target.field(id).column.as_str());
    match &relation.link {
        Link::Direct { pairs } => pairs.iter().any(|pair| Some(pair.target.as_str()) == id),
        Link::Through { .. } => false,
    }
}

fn parent_keys(parent: &Entity, relation: &Relation, columns: &mut Columns) -> Vec<usize> {
    match &relation.link {
        Link::Direct { pairs } => {
            pairs.iter().map(|pair| columns.add_storage(parent, &pair.parent)).collect()
        }
        Link::Through { parent: column, .. } => vec![columns.add_storage(parent, column)],
    }
}

fn child_keys(relation: &Relation, target: &Entity) -> Vec<String> {
    match &relation.link {
        Link::Direct { pairs } => {
            pairs.iter().map(|pair| columns::storage_name(target, &pair.target)).collect()
        }
        Link::Through { table, from, .. } => vec![format!("{}.{from}", table.name)],
    }
}
