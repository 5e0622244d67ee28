//! Planning of `$select`: fields and relations. `SPEC §3.3`

use mesh_ql::{Name, Selection};
use mesh_schema::{Cardinality, Computed, Entity, EntityId, FieldType, Link, Member, Piece, Relation};

use super::columns::{self, Columns};
use super::context::NodeContext;
use super::{Planner, Role};
use crate::PlanError;
use crate::error::PlanErrorKind;
use crate::plan::{Join, Nesting, Node, Output, TemplatePiece};
use crate::shape::OutputKey;
use crate::value::json::JsonPointer;

impl Planner<'_> {
    /// Plans the keys of the object and the relations below it. The columns of fields come first.
    pub(super) fn select(
        &mut self,
        context: &NodeContext<'_>,
        id: EntityId,
        select: &[Selection],
        columns: &mut Columns,
    ) -> Result<(Vec<Output>, Vec<Join>), PlanError> {
        let entity = context.entity;
        for selection in select {
            if let Selection::Field { name, at: None, .. } = selection
                && let Some(Member::Field(id)) = entity.member(name)
            {
                columns.add_field(entity, id, true);
            }
        }
        let mut output = Vec::with_capacity(select.len());
        let mut joins = Vec::new();
        for selection in select {
            if let Selection::Field { alias: Some(alias), .. }
            | Selection::Relation { alias: Some(alias), .. } = selection
                && entity.member(alias).is_some()
            {
                let (entity, name) = (entity.key.clone(), alias.value.clone());
                return Err(context.error(alias.span, PlanErrorKind::AliasOfMember { entity, alias: name }));
            }
            let key = OutputKey::new(selection.key(), output.is_empty());
            match (selection, entity.member(selection.name())) {
                (Selection::Field { name, .. }, Some(Member::Relation(_))) => {
                    let (entity, relation) = (entity.key.clone(), name.value.clone());
                    let kind = PlanErrorKind::RelationWithoutSelection { entity, relation };
                    return Err(context.error(name.span, kind));
                }
                (Selection::Field { name, at, .. }, Some(member)) => {
                    output.push(field(context, (key, name, at.as_ref()), member, columns)?);
                }
                (Selection::Relation { name, node: read, .. }, Some(Member::Relation(id))) => {
                    let relation = entity.relation(id);
                    let role = Role::Relation(name, relation.cardinality);
                    let path = format!("{}.{}", context.path, selection.key());
                    let mut node = self.node(relation.target, path, read, role)?;
                    let target = self.schema.entity(relation.target);
                    if relation.cardinality == Cardinality::One && has_one_record(relation, target) {
                        node.order.clear();
                    }
                    let keys = columns::link_columns(&relation.link, target).into_iter();
                    let (parent_keys, child_keys) =
                        keys.map(|(parent, child)| (columns.add_storage(entity, parent), child)).unzip();
                    output.push(Output::Join { key, join: joins.len() });
                    joins.push(Join {
                        name: selection.key().value.clone(),
                        relation: name.value.clone(),
                        nesting: nesting(relation.cardinality, &node),
                        is_unique: links_to_unique(relation, target),
                        is_same_type: links_alike(relation),
                        parent_keys,
                        child_keys,
                        link: relation.link.clone(),
                        node,
                    });
                }
                (Selection::Relation { name, .. }, Some(Member::Field(_) | Member::Computed(_))) => {
                    let (entity, field) = (entity.key.clone(), name.value.clone());
                    let kind = PlanErrorKind::FieldWithSelection { entity, field };
                    return Err(context.error(name.span, kind));
                }
                // A dropped field is left out of the response without an error.
                (_, None) if self.view.is_dropped(id, selection.name()) => {}
                (_, None) => return Err(context.unknown_field(selection.name(), selection.name().span)),
            }
        }
        Ok((output, joins))
    }
}

/// Plans a field, a part of a JSON field, or a computed field.
fn field(
    context: &NodeContext<'_>,
    (key, name, at): (OutputKey, &Name, Option<&Name>),
    member: Member,
    columns: &mut Columns,
) -> Result<Output, PlanError> {
    let entity = context.entity;
    match (member, at) {
        (Member::Field(id), None) => Ok(Output::Field { key, column: columns.add_field(entity, id, true) }),
        (Member::Field(id), Some(at)) if entity.field(id).ty == Some(FieldType::Json) => {
            let column = columns.add_field(entity, id, false);
            Ok(Output::Part { key, column, at: JsonPointer::new(at) })
        }
        (Member::Computed(index), None) => {
            let template = entity.computed.get(index).map(|it| template(entity, it, columns));
            Ok(Output::Computed { key, template: template.unwrap_or_default() })
        }
        _ => Err(context.error(name.span, PlanErrorKind::NotJson { field: name.value.clone() })),
    }
}

fn nesting(cardinality: Cardinality, node: &Node) -> Nesting {
    match (cardinality, &node.grouping) {
        (Cardinality::One, _) => Nesting::Record,
        (Cardinality::Many, None) => Nesting::Records,
        (Cardinality::Many, Some(grouping)) if grouping.keys.is_empty() => Nesting::Group,
        (Cardinality::Many, Some(_)) => Nesting::Groups,
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

/// Returns whether the link compares the target's whole id or another key. If so, there is at most one record, and it needs
/// no order.
pub(super) fn has_one_record(relation: &Relation, target: &Entity) -> bool {
    let mut id = target.id_fields().map(|field| &field.column);
    let is_id = match &relation.link {
        Link::Direct { pairs } => {
            !target.id.is_empty() && id.all(|column| pairs.iter().any(|pair| pair.target == *column))
        }
        Link::Through { .. } => false,
    };
    is_id || links_to_unique(relation, target)
}

/// Returns whether the link compares all columns of a key of the database, so that a parent has at most one record.
pub(super) fn links_to_unique(relation: &Relation, target: &Entity) -> bool {
    let Link::Direct { pairs } = &relation.link else { return false };
    let is_compared = |column: &String| pairs.iter().any(|pair| pair.target == *column);
    target.unique.iter().any(|key| key.iter().all(is_compared))
}

/// Returns whether the compared columns are stored as the same type.
pub(super) fn links_alike(relation: &Relation) -> bool {
    matches!(&relation.link, Link::Direct { pairs } if pairs.iter().all(|pair| pair.is_same_type))
}
