//! Flat rows grouped by their parents, as a source of rows for the shaper.

use std::collections::{HashMap, HashSet};

use super::evaluate::{self, Evaluation, Level, Records, Row, SearchCells};
use super::{Applied, DeadlineCheck, Table};
use crate::plan::{ColumnSource, Node};
use crate::shape::{Cells, Flow, RowSource};
use crate::{ResolveError, Value, ValueRef};

/// The rows of one node and of the nodes below it.
pub(crate) struct RowTree {
    /// The node's path for error messages.
    pub(crate) path: String,
    pub(crate) table: Table,
    /// The index in the table of each column of the node.
    pub(crate) positions: Vec<Option<usize>>,
    pub(crate) parents: RowsByParent,
    /// The rows of a parent that is not in `parents`: for a relation with aggregates, the group of zero records.
    pub(crate) default_rows: Vec<usize>,
    pub(crate) children: Vec<Self>,
    /// The rows of [`Node::related`].
    pub(crate) related: Vec<Self>,
    /// The number of rows of the root before its page was taken.
    pub(crate) total: Option<u64>,
}

/// The rows of each parent, as indexes into the table.
pub(crate) enum RowsByParent {
    /// By the values of the parent's columns.
    ByKey { columns: Vec<usize>, rows: HashMap<Vec<HashKey>, Vec<usize>> },
    /// The rows of the root.
    Root(Vec<usize>),
}

impl RowsByParent {
    fn lists(&mut self) -> Box<dyn Iterator<Item = &mut Vec<usize>> + '_> {
        match self {
            Self::ByKey { rows, .. } => Box::new(rows.values_mut()),
            Self::Root(rows) => Box::new(std::iter::once(rows)),
        }
    }
}

impl RowTree {
    /// Keeps only the first of several rows with the same row key below one parent.
    pub(crate) fn fold_duplicates(
        &mut self,
        node: &Node,
        deadline: &DeadlineCheck,
    ) -> Result<(), ResolveError> {
        let positions: Vec<usize> =
            node.row_key.iter().filter_map(|column| self.table.column(&column.name)).collect();
        if positions.is_empty() || positions.len() != node.row_key.len() {
            return Ok(());
        }
        for list in self.parents.lists() {
            let mut seen = HashSet::with_capacity(list.len());
            let mut result = Ok(());
            list.retain(|row| {
                if result.is_ok() {
                    result = deadline.count_row();
                }
                if result.is_err() {
                    return false;
                }
                let key = row_key(&self.table, *row, &positions);
                key.contains(&HashKey::Null) || seen.insert(key)
            });
            result?;
        }
        Ok(())
    }

    /// Applies the controls of the plan that the resolver has not applied, to this node and the nodes below it. The recursion
    /// is bounded by the depth of queries.
    pub(crate) fn evaluate(
        &mut self,
        evaluation: &Evaluation<'_>,
        node: &Node,
        level: Level,
    ) -> Result<(), ResolveError> {
        let applied = evaluation.applied;
        evaluation.deadline.check()?;
        for (child, join) in self.children.iter_mut().zip(&node.joins) {
            child.evaluate(evaluation, &join.node, Level::Nested)?;
        }
        for (child, related) in self.related.iter_mut().zip(&node.related) {
            child.evaluate(evaluation, &related.node, Level::Nested)?;
        }
        let mut sources: Vec<Option<ColumnSource>> =
            self.table.columns.iter().map(|name| source_of(node, applied, name)).collect();
        // A resolver that has applied the page has already used the values that the controls need.
        if !applied.contains(Applied::PAGE) {
            self.add_values(node, &mut sources, evaluation)?;
        }
        let mut groups = Table::new(node.columns.iter().map(|column| column.name.clone()));
        let mut apply = |list: &[usize]| -> Result<(Vec<usize>, u64), ResolveError> {
            evaluation.deadline.count_row()?;
            let rows = list.iter().map(|index| Row { index: *index, cells: self.table.row(*index).into() });
            let records =
                Records { path: &self.path, sources: sources.as_slice().into(), rows: rows.collect() };
            let (records, total) = evaluate::apply(records, evaluation, node, level)?;
            let indexes = if is_ungrouped(node, applied) {
                add_groups(&mut groups, node, &records)?
            } else {
                records.rows.iter().map(|row| row.index).collect()
            };
            Ok((indexes, total))
        };
        let mut counted = 0;
        for list in self.parents.lists() {
            if list.is_empty() && node.grouping.is_none() {
                continue;
            }
            (*list, counted) = apply(list)?;
        }
        self.total = Some(counted).filter(|_| !applied.contains(Applied::PAGE));
        if is_ungrouped(node, applied) {
            if level == Level::Nested {
                self.default_rows = apply(&[])?.0;
            }
            self.positions = (0..groups.columns.len()).map(Some).collect();
            self.table = groups;
        }
        Ok(())
    }

    /// Adds to each row the values of its related rows and its relevance, as further columns.
    fn add_values(
        &mut self,
        node: &Node,
        sources: &mut Vec<Option<ColumnSource>>,
        Evaluation { plan, deadline, .. }: &Evaluation<'_>,
    ) -> Result<(), ResolveError> {
        if node.related.is_empty() && node.relevance().is_none() {
            return Ok(());
        }
        let mut values: Vec<Vec<Value>> = vec![Vec::new(); self.table.len()];
        for (number, (rows, related)) in self.related.iter().zip(&node.related).enumerate() {
            let keys = related.parent_keys.iter().map(|name| {
                let missing =
                    || ResolveError::new(format!("the rows of {} lack the column '{name}'", self.path));
                self.table.column(name).ok_or_else(missing)
            });
            let keys: Vec<usize> = keys.collect::<Result<_, _>>()?;
            for (row, values) in values.iter_mut().enumerate() {
                deadline.count_row()?;
                let found = rows.rows_of(row_key(&self.table, row, &keys));
                values.push(Value::Boolean(!found.is_empty()));
                let cell = |column| found.first().map(|row| rows.cell(*row, column).to_value());
                values.extend((0..related.node.columns.len()).map(|column| cell(column).unwrap_or_default()));
            }
            sources.push(Some(ColumnSource::Exists(number)));
            let columns = 0..related.node.columns.len();
            sources.extend(columns.map(|column| Some(ColumnSource::Related { related: number, column })));
        }
        if let Some(search) = node.relevance() {
            let cells = SearchCells::new(sources, search, plan.inputs())?;
            for (row, values) in values.iter_mut().enumerate() {
                deadline.count_row()?;
                values.push(cells.relevance(self.table.row(row)));
            }
            sources.push(Some(ColumnSource::Relevance(Box::new(search.clone()))));
        }
        let names = self.table.columns.iter().cloned();
        let added = sources.iter().skip(self.table.columns.len()).flatten().map(ToString::to_string);
        let mut table = Table::new(names.chain(added));
        for (row, values) in values.into_iter().enumerate() {
            deadline.count_row()?;
            table.push(self.table.row(row).iter().cloned().chain(values));
        }
        self.table = table;
        for (position, column) in self.positions.iter_mut().zip(&node.columns) {
            if column.source.is_derived() {
                *position = sources.iter().position(|source| source.as_ref() == Some(&column.source));
            }
        }
        Ok(())
    }

    /// Returns the rows of the parent with this key.
    fn rows_of(&self, key: Vec<HashKey>) -> &[usize] {
        match &self.parents {
            RowsByParent::ByKey { rows, .. } if !key.contains(&HashKey::Null) => {
                rows.get(&key).unwrap_or(&self.default_rows)
            }
            _ => &self.default_rows,
        }
    }

    /// Returns a cell by the row's index and the index of the node's column.
    fn cell(&self, row: usize, column: usize) -> ValueRef<'_> {
        self.table.cell(row, self.positions.get(column).copied().flatten())
    }
}

/// Returns whether the rows of a grouped read have not been grouped yet.
pub(super) fn is_ungrouped(node: &Node, applied: Applied) -> bool {
    node.grouping.is_some() && !applied.contains(Applied::GROUP)
}

/// Returns the source of a column of flat rows.
fn source_of(node: &Node, applied: Applied, name: &str) -> Option<ColumnSource> {
    let shown = if is_ungrouped(node, applied) { &[][..] } else { &node.columns };
    let mut columns = shown.iter().chain(&node.control_columns).chain(&node.row_key);
    columns.find(|column| column.name == name).map(|column| column.source.clone())
}

/// Adds groups to the table of a node and returns their indexes.
fn add_groups(table: &mut Table, node: &Node, groups: &Records<'_>) -> Result<Vec<usize>, ResolveError> {
    let positions: Vec<usize> =
        node.columns.iter().map(|column| groups.position(&column.source)).collect::<Result<_, _>>()?;
    let start = table.len();
    for row in &groups.rows {
        table.push(positions.iter().map(|position| row.get(*position).cloned().unwrap_or_default()));
    }
    Ok((start..table.len()).collect())
}

impl RowSource for RowTree {
    type Row<'r> = TreeRow<'r>;

    fn visit<'p>(
        &mut self,
        parent: Option<&TreeRow<'p>>,
        mut visitor: impl FnMut(&TreeRow<'_>, &mut [Self]) -> Result<Flow, ResolveError>,
    ) -> Result<(), ResolveError> {
        let Self { table, positions, parents, default_rows, children, .. } = self;
        let rows = match (&*parents, parent) {
            (RowsByParent::Root(rows), _) => Some(rows),
            (RowsByParent::ByKey { columns, rows }, Some(parent)) => {
                let key: Vec<_> = columns.iter().map(|column| HashKey::new(parent.cell(*column))).collect();
                if key.contains(&HashKey::Null) { None } else { rows.get(&key) }
            }
            (RowsByParent::ByKey { .. }, None) => None,
        };
        for index in rows.unwrap_or(default_rows) {
            if visitor(&TreeRow { table, positions, index: *index }, children)? == Flow::Stop {
                break;
            }
        }
        Ok(())
    }

    fn total(&mut self) -> Result<u64, ResolveError> {
        self.total
            .ok_or_else(|| ResolveError::new("the resolver took a page of the rows without counting them"))
    }
}

/// A row of a table, with cells by the node's columns.
pub(crate) struct TreeRow<'r> {
    table: &'r Table,
    positions: &'r [Option<usize>],
    index: usize,
}

impl Cells for TreeRow<'_> {
    fn cell(&self, column: usize) -> ValueRef<'_> {
        self.table.cell(self.index, self.positions.get(column).copied().flatten())
    }
}

/// A value as a key of a hash table. A whole real equals the integer of the same value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum HashKey {
    Null,
    Integer(i64),
    Real(u64),
    Text(Vec<u8>),
    Bytes(Vec<u8>),
}

impl HashKey {
    pub(crate) fn new(value: ValueRef<'_>) -> Self {
        match value {
            ValueRef::Null => Self::Null,
            ValueRef::Boolean(value) => Self::Integer(value.into()),
            ValueRef::Integer(value) => Self::Integer(value),
            ValueRef::Real(value) if value.abs() < 2f64.powi(63) && value.fract() == 0.0 => {
                Self::Integer(value as i64)
            }
            ValueRef::Real(value) => Self::Real(value.to_bits()),
            ValueRef::Text(value) => Self::Text(value.to_vec()),
            ValueRef::Bytes(value) => Self::Bytes(value.to_vec()),
        }
    }
}

/// Returns the cells of a row at these positions.
pub(super) fn row_key(table: &Table, row: usize, positions: &[usize]) -> Vec<HashKey> {
    let row = table.row(row);
    let cell = |position: &usize| row.get(*position).map_or(HashKey::Null, |it| HashKey::new(it.as_ref()));
    positions.iter().map(cell).collect()
}
