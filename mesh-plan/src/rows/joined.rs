//! Splitting of one wide table of joined rows into a table for each node.

use std::collections::HashMap;

use super::tree::{HashKey, RowTree, RowsByParent, row_key};
use super::{StepCounter, Table, nested_path};
use crate::plan::Node;
use crate::{ResolveError, Value};

/// Splits a wide table by the paths of its columns.
pub(super) fn split(root: &Node, wide: &Table, steps: &StepCounter) -> Result<RowTree, ResolveError> {
    let mut part = NodePart::new(root, wide, "")?;
    for row in 0..wide.len() {
        steps.step()?;
        part.add(wide, row, 0);
    }
    Ok(part.into_tree())
}

/// The part of the wide table that belongs to one node.
struct NodePart {
    path: String,
    /// The index in the wide table of each column of the table.
    columns: Vec<usize>,
    /// The index in the table of each column of the node.
    positions: Vec<Option<usize>>,
    /// The wide columns that identify a row.
    row_key: Vec<usize>,
    /// The rows that were added, by the parent's row and the row key.
    seen: HashMap<(usize, Vec<HashKey>), usize>,
    table: Table,
    by_parent: Vec<Vec<usize>>,
    parts: Vec<Self>,
}

impl NodePart {
    fn new(node: &Node, wide: &Table, path: &str) -> Result<Self, ResolveError> {
        let wide_name = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
        let (mut columns, mut names, mut positions) = (Vec::new(), Vec::new(), Vec::new());
        for (index, column) in node.columns.iter().chain(&node.control_columns).enumerate() {
            let name = wide_name(&column.name);
            let position = wide.column(&name);
            if position.is_none() && node.needs(index) {
                return Err(ResolveError::new(format!("the joined rows lack the column '{name}'")));
            }
            positions.push(position.map(|_| columns.len()));
            if let Some(position) = position {
                columns.push(position);
                names.push(column.name.clone());
            }
        }
        positions.truncate(node.columns.len());
        let named: Vec<usize> =
            node.row_key.iter().filter_map(|column| wide.column(&wide_name(&column.name))).collect();
        let is_named = named.len() == node.row_key.len() && !named.is_empty();
        if !node.related.is_empty() {
            return Err(ResolveError::new(
                "joined rows have no related records, which a control of this query needs",
            ));
        }
        let parts = node.joins.iter().map(|join| Self::new(&join.node, wide, &nested_path(path, &join.name)));
        Ok(Self {
            parts: parts.collect::<Result<_, _>>()?,
            path: path.to_owned(),
            positions,
            row_key: if is_named { named } else { columns.clone() },
            columns,
            seen: HashMap::new(),
            table: Table::new(names),
            by_parent: Vec::new(),
        })
    }

    /// Adds the cells of a wide row to the tables of this node and of the nodes below it.
    fn add(&mut self, wide: &Table, row: usize, parent: usize) {
        let cells = wide.row(row);
        let cell = |position: &usize| cells.get(*position).unwrap_or(&Value::Null);
        let mut known = self.columns.iter().chain(&self.row_key).peekable();
        // A nested object whose columns are all NULL is absent.
        let is_nested = !self.path.is_empty() && known.peek().is_some();
        if is_nested && known.all(|position| *cell(position) == Value::Null) {
            return;
        }
        let next = self.table.len();
        let index = *self.seen.entry((parent, row_key(wide, row, &self.row_key))).or_insert(next);
        if index == next {
            self.table.push(self.columns.iter().map(|position| cell(position).clone()));
            if self.by_parent.len() <= parent {
                self.by_parent.resize_with(parent + 1, Vec::new);
            }
            if let Some(list) = self.by_parent.get_mut(parent) {
                list.push(index);
            }
        }
        for part in &mut self.parts {
            part.add(wide, row, index);
        }
    }

    fn into_tree(self) -> RowTree {
        RowTree {
            path: if self.path.is_empty() { "the root".to_owned() } else { self.path },
            table: self.table,
            positions: self.positions,
            parents: RowsByParent::ByRow(self.by_parent),
            default_rows: Vec::new(),
            related: Vec::new(),
            total: None,
            children: self.parts.into_iter().map(Self::into_tree).collect(),
        }
    }
}
