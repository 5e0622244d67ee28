//! The columns that the rows of a node must have.

use mesh_schema::{Entity, FieldId, Link};

use crate::plan::{Column, ColumnSource, Node};

/// Collects the columns of a node, each once.
#[derive(Default)]
pub(super) struct Columns {
    pub(super) list: Vec<Column>,
}

impl Columns {
    /// Adds a field, or marks it as selected if it exists, and returns its index.
    pub(super) fn add_field(&mut self, entity: &Entity, id: FieldId, selected: bool) -> usize {
        self.add(from_field(entity, id, selected))
    }

    /// Adds a storage column and returns its index.
    pub(super) fn add_storage(&mut self, entity: &Entity, column: &str) -> usize {
        match entity.field_of_column(column) {
            Some(id) => self.add_field(entity, id, false),
            None => self.add(untyped(storage_name(entity, column), ColumnSource::Column(column.to_owned()))),
        }
    }

    /// Adds the column of an order key and returns its index. The columns of buckets and
    /// aggregates already exist.
    pub(super) fn add_source(&mut self, entity: &Entity, source: &ColumnSource) -> usize {
        let known = self.list.iter().position(|other| other.source == *source);
        match (known, source) {
            (Some(index), _) => index,
            (None, ColumnSource::Column(column)) => self.add_storage(entity, column),
            (None, ColumnSource::Aggregate(_) | ColumnSource::Bucket(_)) => 0,
            (None, source) => self.add(untyped(source.to_string(), source.clone())),
        }
    }

    /// Adds a column and returns its index.
    pub(super) fn add(&mut self, column: Column) -> usize {
        let is_same = |other: &Column| other.source == column.source && other.name == column.name;
        match self.list.iter_mut().enumerate().find(|(_, other)| is_same(other)) {
            Some((index, other)) => {
                other.selected |= column.selected;
                index
            }
            None => {
                self.list.push(column);
                self.list.len() - 1
            }
        }
    }
}

/// Returns the name of a storage column in flat rows: the name of its field, or without a field the name of the column,
/// qualified by the table if a member of the entity has that name.
pub(super) fn storage_name(entity: &Entity, column: &str) -> String {
    // Hidden members count too, so that the name is the same for all roles.
    let is_member = || {
        let mut relations = entity.relations.iter().map(|relation| &relation.name);
        let mut computed = entity.computed.iter().map(|computed| &computed.name);
        let mut fields = entity.fields.iter().map(|field| &field.name);
        fields.any(|name| name == column)
            || relations.any(|name| name == column)
            || computed.any(|name| name == column)
    };
    match entity.field_of_column(column) {
        Some(id) => entity.field(id).name.clone(),
        None if is_member() => format!("{}.{column}", entity.table.name),
        None => column.to_owned(),
    }
}

/// Returns the storage columns that filter, grouping and order of a node use.
pub(super) fn of_controls(entity: &Entity, node: &Node) -> Vec<Column> {
    let mut columns = Columns::default();
    let mut add = |source: &ColumnSource| {
        if let Some(column) = source.column() {
            columns.add_storage(entity, column);
        }
    };
    node.filter.iter().for_each(|filter| filter.for_each_source(&mut add));
    node.order.iter().for_each(|key| add(&key.source));
    for related in &node.related {
        match &related.link {
            Link::Direct { pairs } => {
                pairs.iter().for_each(|pair| add(&ColumnSource::Column(pair.parent.clone())));
            }
            Link::Through { parent, .. } => add(&ColumnSource::Column(parent.clone())),
        }
    }
    if let Some(grouping) = &node.grouping {
        let inputs = grouping.aggregates.iter().filter_map(|aggregate| aggregate.column.as_ref());
        inputs.for_each(|column| add(&ColumnSource::Column(column.clone())));
        grouping.keys.iter().for_each(&mut add);
    }
    columns.list
}

/// Returns a column of unknown type that the client has not selected.
fn untyped(name: String, source: ColumnSource) -> Column {
    Column { name, source, ty: None, time_form: None, selected: false }
}

/// Returns the column of a field.
pub(super) fn from_field(entity: &Entity, id: FieldId, selected: bool) -> Column {
    let field = entity.field(id);
    Column {
        name: field.name.clone(),
        source: ColumnSource::Column(field.column.clone()),
        ty: field.ty,
        time_form: field.time_form,
        selected,
    }
}

/// Returns the columns of a parent that a relation compares, each with the name of the column with its value in flat rows of the
/// target.
pub(super) fn link_columns<'l>(link: &'l Link, target: &Entity) -> Vec<(&'l str, String)> {
    match link {
        Link::Direct { pairs } => {
            pairs.iter().map(|pair| (&*pair.parent, storage_name(target, &pair.target))).collect()
        }
        Link::Through { table, from, parent, .. } => vec![(parent, format!("{}.{from}", table.name))],
    }
}
