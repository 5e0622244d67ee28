//! Flat rows of a resolver: one table for each node of the plan.

mod deadline;
mod evaluate;
mod nest;
#[cfg(test)]
mod tests;
mod tree;

use std::collections::{HashMap, HashSet};

use bitflags::bitflags;

use crate::{Node, Plan, Value, ValueRef};
pub(crate) use deadline::DeadlineCheck;
pub use evaluate::Total;
pub(crate) use tree::HashKey;

/// The flat rows of a resolver, which [`crate::Mesh`] filters, groups, sorts, pages and nests.
///
/// [`Rows::new`] makes an empty table for every node of a plan, and only for those: a relation that is not part of the query
/// has no table. Children are matched to their parents by key. If several rows below one parent have the same row key, the
/// first is kept.
///
/// A resolver that applies controls itself, such as a filter in a request to another service, declares that with
/// [`Rows::applied`].
///
/// ```
/// use mesh_plan::{Applied, Plan, Rows};
///
/// fn sorted(plan: &Plan) -> Rows {
///     let rows = Rows::new(plan);
///     // … rows that satisfy all filters of the plan, in its order …
///     rows.applied(Applied::FILTER | Applied::ORDER)
/// }
/// ```
#[derive(Clone, Debug, Default)]
pub struct Rows {
    pub(crate) tables: HashMap<String, Table>,
    pub(crate) applied: Applied,
    pub(crate) total: Option<u64>,
}

impl Rows {
    /// Creates an empty table for each node of the plan, with the columns that its rows need: the columns of the response
    /// ([`Node::columns`]), the parent's key ([`Join::child_keys`](crate::plan::Join::child_keys)) and the columns that controls
    /// use ([`Node::control_columns`]). The table of a grouped read has the columns of the rows that are grouped.
    pub fn new(plan: &Plan) -> Self {
        Self::with_applied(plan, Applied::empty())
    }

    /// Creates empty tables with the columns that are needed when these controls have been applied, and declares them as
    /// applied. With [`Applied::GROUP`], the table of a grouped read has a column for each group key and aggregate. With
    /// [`Applied::PAGE`], it has the values of related records by which the rows were sorted, for the cursors.
    pub fn with_applied(plan: &Plan, applied: Applied) -> Self {
        let mut rows = Self { applied, ..Self::default() };
        rows.add_node(plan.node(), String::new(), &[]);
        rows
    }

    /// Declares the controls that have already been applied to these rows. Rows are filtered before they are grouped and
    /// sorted, and paged last, so a declaration of a later control must include the earlier ones.
    #[must_use]
    pub fn applied(mut self, applied: Applied) -> Self {
        self.applied |= applied;
        self
    }

    /// Sets the number of all records, groups or distinct combinations, regardless of the page. A resolver that has applied
    /// [`Applied::PAGE`] counts them if [`crate::plan::Page::total`] is set.
    #[must_use]
    pub fn total(mut self, total: u64) -> Self {
        self.total = Some(total);
        self
    }

    /// Returns the table of the root node.
    pub fn root(&mut self) -> &mut Table {
        self.tables.entry(String::new()).or_default()
    }

    /// Returns the table of a nested node by its path from the root, such as `comments.author`; `None` if the node is not
    /// part of the query.
    pub fn table(&mut self, path: &str) -> Option<&mut Table> {
        self.tables.get_mut(path)
    }

    /// Replaces the table of a node.
    pub fn set(&mut self, path: &str, table: Table) {
        self.tables.insert(path.to_owned(), table);
    }

    fn add_node(&mut self, node: &Node, path: String, keys: &[String]) {
        let table = Table::for_node(node, self.applied, keys);
        for join in &node.joins {
            self.add_node(&join.node, nested_path(&path, &join.name), &join.child_keys);
        }
        for related in &node.related {
            self.add_node(&related.node, nested_path(&path, &related.name), &related.child_keys);
        }
        self.tables.insert(path, table);
    }
}

impl Table {
    /// Creates an empty table with the columns that the rows of a node need.
    fn for_node(node: &Node, applied: Applied, keys: &[String]) -> Self {
        let is_ungrouped = tree::is_ungrouped(node, applied);
        let is_paged = applied.contains(Applied::PAGE);
        let shown = if is_ungrouped { &[][..] } else { &node.columns };
        let controls = if applied.is_all() { &[][..] } else { &node.control_columns };
        let shown =
            shown.iter().filter(|column| is_paged || !column.source.is_derived()).map(|column| &column.name);
        let others = controls.iter().chain(&node.row_key).map(|column| &column.name);
        let mut seen = HashSet::new();
        Self::new(shown.chain(keys).chain(others).filter(|name| seen.insert(*name)))
    }
}

/// Returns the path of a nested node below the node with the given path, both without the root entity.
pub(crate) fn nested_path(parent: &str, name: &str) -> String {
    if parent.is_empty() { name.to_owned() } else { format!("{parent}.{name}") }
}

/// Flat rows with named columns. Columns that the plan does not need are ignored.
#[derive(Clone, Debug, Default)]
pub struct Table {
    pub(crate) columns: Vec<String>,
    pub(crate) cells: Vec<Value>,
    pub(crate) rows: usize,
    pub(crate) wrong_width: Option<usize>,
}

impl Table {
    /// Creates an empty table with these columns.
    pub fn new<C: Into<String>>(columns: impl IntoIterator<Item = C>) -> Self {
        Self { columns: columns.into_iter().map(Into::into).collect(), ..Self::default() }
    }

    /// Returns the names of the columns.
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// Adds a row with cells in the order of the columns. A row of another width makes the read fail.
    pub fn push(&mut self, row: impl IntoIterator<Item = Value>) {
        let start = self.cells.len();
        self.cells.extend(row);
        let width = self.cells.len() - start;
        if width != self.columns.len() {
            self.wrong_width = Some(width);
            self.cells.resize(start + self.columns.len(), Value::Null);
        }
        self.rows += 1;
    }

    /// Adds a row with the value that `cell` returns for the name of each column.
    pub fn push_with(&mut self, mut cell: impl FnMut(&str) -> Value) {
        self.cells.extend(self.columns.iter().map(|column| cell(column)));
        self.rows += 1;
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Returns whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Returns the cells of a row in the order of the columns; an empty slice past the end.
    pub fn row(&self, index: usize) -> &[Value] {
        let width = self.columns.len();
        self.cells.get(index * width..(index + 1) * width).unwrap_or_default()
    }

    /// Returns the cell of a row; NULL if there is none.
    fn cell(&self, row: usize, column: Option<usize>) -> ValueRef<'_> {
        let cell = column.and_then(|column| self.row(row).get(column));
        cell.map_or(ValueRef::Null, Value::as_ref)
    }

    /// Returns the index of a column.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column == name)
    }
}

bitflags! {
    /// The controls of a plan that a resolver has applied to its rows. [`crate::Mesh`] applies all others.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct Applied: u8 {
        /// The id of a point read, and the filters of all nodes, which include the conditions of policies.
        const FILTER = 1;
        /// Grouping, aggregates, `distinct` and the filter on groups.
        const GROUP = 1 << 1;
        /// The order of all nodes.
        const ORDER = 1 << 2;
        /// The pages of all nodes. Rows begin after the skipped ones ([`crate::Plan::skipped_rows`]), those of the root also
        /// after the cursor ([`crate::Plan::cursor`]), and the root has one row more than the page if another page follows.
        const PAGE = 1 << 3;
    }
}
