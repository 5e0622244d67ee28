//! Which columns must a row carry? Collects them, each once.

use mesh_schema::{Entity, FieldId};

use crate::plan::{Column, ColumnSource, Node};

/// The columns of a node in the making.
#[derive(Default)]
pub(super) struct Columns {
    pub(super) list: Vec<Column>,
}

impl Columns {
    /// Adds a field and returns its place; one that is there already is found, and marked if it is selected.
    pub(super) fn add_field(&mut self, entity: &Entity, id: FieldId, selected: bool) -> usize {
        self.add(of_field(entity, id, selected))
    }

    /// Adds a storage column, under its field's name where it has a field.
    pub(super) fn add_storage(&mut self, entity: &Entity, column: &str) -> usize {
        match entity.field_of_column(column) {
            Some(id) => self.add_field(entity, id, false),
            None => self.add(Column {
                name: storage_name(entity, column),
                source: ColumnSource::Column(column.to_owned()),
                ty: None,
                time_form: None,
                selected: false,
            }),
        }
    }

    /// Adds whatever an order key compares. Aggregates are there already.
    pub(super) fn add_source(&mut self, entity: &Entity, source: &ColumnSource) -> usize {
        if let Some(place) = self.find(source) {
            return place;
        }
        match source {
            ColumnSource::Column(column) => self.add_storage(entity, column),
            ColumnSource::Aggregate(_) => 0,
        }
    }

    /// Adds a column as it is.
    pub(super) fn add(&mut self, column: Column) -> usize {
        let same = |there: &Column| there.source == column.source && there.name == column.name;
        match self.list.iter_mut().position(|there| same(there)) {
            Some(place) => {
                if let Some(there) = self.list.get_mut(place) {
                    there.selected |= column.selected;
                }
                place
            }
            None => {
                self.list.push(column);
                self.list.len() - 1
            }
        }
    }

    /// Where a value with that source stands.
    pub(super) fn find(&self, source: &ColumnSource) -> Option<usize> {
        self.list.iter().position(|there| there.source == *source)
    }
}

/// What flat rows call a storage column: its field's name, or where it has none its own, with the table's in
/// front if a field elsewhere has taken that.
pub(super) fn storage_name(entity: &Entity, column: &str) -> String {
    match entity.field_of_column(column) {
        Some(id) => entity.field(id).name.clone(),
        None if entity.member(column).is_none() => column.to_owned(),
        None => format!("{}.{column}", entity.table.name),
    }
}

/// Returns the storage columns that filter, grouping and order of a node use.
pub(super) fn of_controls(entity: &Entity, node: &Node) -> Vec<Column> {
    let mut columns = Columns::default();
    let mut add = |source: &ColumnSource| {
        if let ColumnSource::Column(column) = source {
            columns.add_storage(entity, column);
        }
    };
    node.filter.iter().for_each(|filter| filter.for_each_source(&mut add));
    node.order.iter().for_each(|key| add(&key.source));
    if let Some(grouping) = &node.grouping {
        let inputs = grouping.aggregates.iter().filter_map(|aggregate| aggregate.column.as_ref());
        grouping.keys.iter().chain(inputs).for_each(|column| add(&ColumnSource::Column(column.clone())));
    }
    columns.list
}

/// A field as a column.
pub(super) fn of_field(entity: &Entity, id: FieldId, selected: bool) -> Column {
    let field = entity.field(id);
    Column {
        name: field.name.clone(),
        source: ColumnSource::Column(field.column.clone()),
        ty: field.ty,
        time_form: field.time_form,
        selected,
    }
}
