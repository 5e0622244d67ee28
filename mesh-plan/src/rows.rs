//! How does a resolver hand over flat rows? One table for each node of the plan, or one wide table.

use std::collections::HashMap;

use crate::{Join, Node, Plan, Value};

/// The flat answer of a resolver, which the service nests into the response's shape.
///
/// [`Rows::new`] makes an empty table for every node of a plan, and only for those: a relation that was not
/// asked for has no table. Order and limits are the resolver's; the service matches children to their
/// parents, folds rows that are there twice, and never shows more than a page.
///
/// Classic joined rows, one wide row for each combination, are handed over by [`Rows::joined`].
#[derive(Clone, Debug, Default)]
pub struct Rows {
    pub(crate) tables: HashMap<String, Table>,
    pub(crate) joined: bool,
}

impl Rows {
    /// An empty table for each node of the plan, with the columns that its rows must carry: those of
    /// [`Node::columns`], then the keys that lead to the parent ([`Join::child_keys`]).
    pub fn new(plan: &Plan) -> Self {
        let mut rows = Self::default();
        rows.add_node(plan.node(), String::new(), &[]);
        rows
    }

    /// One wide table. Columns of the root node go by their name, those of a nested one by its path and
    /// their name: `comments.author.name`. A nested object is absent from a row where all its columns are
    /// NULL; what is there in several rows is folded by the node's identity ([`Node::row_key`]), or by all
    /// its columns where it has none.
    pub fn joined(table: Table) -> Self {
        Self { tables: HashMap::from([(String::new(), table)]), joined: true }
    }

    /// The table of the root node.
    pub fn root(&mut self) -> &mut Table {
        self.tables.entry(String::new()).or_default()
    }

    /// The table of a nested node by its refs from the root, such as `comments.author`; `None` where the
    /// client did not ask for it.
    pub fn table(&mut self, path: &str) -> Option<&mut Table> {
        self.tables.get_mut(path)
    }

    /// Puts a table with columns of its own in the place of that node's.
    pub fn set(&mut self, path: &str, table: Table) {
        self.tables.insert(path.to_owned(), table);
    }

    fn add_node(&mut self, node: &Node, path: String, keys: &[String]) {
        let mut columns: Vec<String> = node.columns.iter().map(|column| column.name.clone()).collect();
        for key in keys.iter().chain(node.row_key.iter().map(|column| &column.name)) {
            if !columns.contains(key) {
                columns.push(key.clone());
            }
        }
        for join in &node.joins {
            self.add_node(&join.node, nested_path(&path, join), &join.child_keys);
        }
        self.tables.insert(path, Table::new(columns));
    }
}

/// The path of a nested node below the node of the given path, both without the root entity.
pub(crate) fn nested_path(parent: &str, join: &Join) -> String {
    if parent.is_empty() { join.name.clone() } else { format!("{parent}.{}", join.name) }
}

/// Flat rows with named columns. It may have more columns than the plan asks for; those are left alone.
#[derive(Clone, Debug, Default)]
pub struct Table {
    pub(crate) columns: Vec<String>,
    pub(crate) cells: Vec<Value>,
    pub(crate) rows: usize,
    pub(crate) misfit: Option<usize>,
}

impl Table {
    /// An empty table of these columns.
    pub fn new<C: Into<String>>(columns: impl IntoIterator<Item = C>) -> Self {
        Self { columns: columns.into_iter().map(Into::into).collect(), ..Self::default() }
    }

    /// The names of its columns.
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// Adds a row, its cells in the order of the columns. A row of another width makes the read fail.
    pub fn push(&mut self, row: impl IntoIterator<Item = Value>) {
        let start = self.cells.len();
        self.cells.extend(row);
        let width = self.cells.len() - start;
        if width != self.columns.len() {
            self.misfit = Some(width);
            self.cells.resize(start + self.columns.len(), Value::Null);
        }
        self.rows += 1;
    }

    /// Adds a row by asking for each column's value by its name.
    pub fn push_with(&mut self, mut cell: impl FnMut(&str) -> Value) {
        self.cells.extend(self.columns.iter().map(|column| cell(column)));
        self.rows += 1;
    }

    /// How many rows it has.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether it has no rows.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// The cells of a row, in the order of the columns; empty past the end.
    pub fn row(&self, index: usize) -> &[Value] {
        let width = self.columns.len();
        self.cells.get(index * width..(index + 1) * width).unwrap_or_default()
    }

    /// Where a column stands.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column == name)
    }
}
