//! How is one wide table of joined rows taken apart? A table for each node, every row once below its parent.

use std::collections::HashMap;

use crate::nest::{Key, Nest, Parents, key_of};
use crate::plan::{Node, Output, TemplatePiece};
use crate::rows::{Table, nested_path};
use crate::{ResolveError, Value};

/// Splits a wide table by the paths of its columns.
pub(crate) fn split(root: &Node, wide: &Table) -> Result<Nest, ResolveError> {
    let mut part = Part::new(root, wide, "")?;
    for row in 0..wide.len() {
        part.take(wide, row, 0);
    }
    let mut nest = part.into_nest();
    nest.parents = Parents::Root;
    Ok(nest)
}

/// What one node takes from the wide table.
struct Part {
    /// For each column of the node, where it stands in the wide table.
    columns: Vec<Option<usize>>,
    /// The wide columns that tell its rows apart.
    identity: Vec<usize>,
    /// Whether a row that is NULL throughout stands for no object.
    nested: bool,
    seen: HashMap<(usize, Vec<Key>), usize>,
    table: Table,
    of_parent: Vec<Vec<usize>>,
    parts: Vec<Self>,
}

impl Part {
    fn new(node: &Node, wide: &Table, path: &str) -> Result<Self, ResolveError> {
        let wide_name = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
        let columns: Vec<_> =
            node.columns.iter().map(|column| wide.column(&wide_name(&column.name))).collect();
        for (index, column) in node.columns.iter().enumerate() {
            let missing = columns.get(index).copied().flatten().is_none();
            if missing && is_needed(node, index) {
                let name = wide_name(&column.name);
                return Err(ResolveError::new(format!("the joined rows lack the column '{name}'")));
            }
        }
        let named: Vec<usize> =
            node.row_key.iter().filter_map(|column| wide.column(&wide_name(&column.name))).collect();
        let identity = if named.len() == node.row_key.len() && !named.is_empty() {
            named
        } else {
            columns.iter().flatten().copied().collect()
        };
        let parts = node
            .joins
            .iter()
            .map(|join| Self::new(&join.node, wide, &nested_path(path, join)))
            .collect::<Result<_, _>>()?;
        Ok(Self {
            table: Table::new(node.columns.iter().map(|column| column.name.clone())),
            columns,
            identity,
            nested: !path.is_empty(),
            seen: HashMap::new(),
            of_parent: Vec::new(),
            parts,
        })
    }

    /// Takes what one wide row holds for this node and those below it.
    fn take(&mut self, wide: &Table, row: usize, parent: usize) {
        let cells = wide.row(row);
        let cell = |place: Option<usize>| place.and_then(|place| cells.get(place)).unwrap_or(&Value::Null);
        let mut places = self.columns.iter().flatten().chain(&self.identity).peekable();
        let known = places.peek().is_some();
        if self.nested && known && places.all(|place| *cell(Some(*place)) == Value::Null) {
            return;
        }
        let next = self.table.len();
        let index = *self.seen.entry((parent, key_of(wide, row, &self.identity))).or_insert(next);
        if index == next {
            self.table.push(self.columns.iter().map(|place| cell(*place).clone()));
            if self.of_parent.len() <= parent {
                self.of_parent.resize_with(parent + 1, Vec::new);
            }
            if let Some(list) = self.of_parent.get_mut(parent) {
                list.push(index);
            }
        }
        for part in &mut self.parts {
            part.take(wide, row, index);
        }
    }

    fn into_nest(self) -> Nest {
        Nest {
            places: (0..self.table.columns.len()).map(Some).collect(),
            table: self.table,
            parents: Parents::ByRow(self.of_parent),
            children: self.parts.into_iter().map(Self::into_nest).collect(),
        }
    }
}

/// Whether the response or a cursor shows that column; keys that only join are not needed in wide rows.
fn is_needed(node: &Node, column: usize) -> bool {
    let shown = node.output.iter().any(|output| match output {
        Output::Field { column: shown, .. } => *shown == column,
        Output::Computed { template, .. } => template.iter().any(|piece| match piece {
            TemplatePiece::Text(_) => false,
            TemplatePiece::Column(shown) => *shown == column,
            TemplatePiece::Code { columns, .. } => columns.contains(&column),
        }),
        Output::Join { .. } => false,
    });
    shown || node.order.iter().any(|key| key.column == Some(column))
}
