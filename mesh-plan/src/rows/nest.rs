//! Nesting of flat rows into the response.

use super::evaluate::{Evaluation, Level};
use super::tree::{HashKey, RowTree, RowsByParent, is_ungrouped, row_key};
use super::{Applied, DeadlineCheck, Rows, Table, nested_path};
use crate::plan::{Node, Plan};
use crate::resolver::Export;
use crate::shape::ExportWriter;
use crate::{JsonBody, ResolveError};

use std::collections::HashMap;

/// The number of records of an export that are written at a time.
const EXPORTED: usize = 1_000;

impl Plan {
    /// Applies the controls of the plan that the rows do not declare as applied ([`Rows::applied`]), and nests them into
    /// the response.
    ///
    /// # Errors
    /// A table lacks a column that the response or a control needs, the declaration is incomplete, or the response has
    /// more objects than [`Plan::rows_max`] or more bytes than [`Plan::bytes_max`].
    pub fn nest(&self, rows: Rows) -> Result<JsonBody, ResolveError> {
        self.nest_with_deadline(rows, &DeadlineCheck::default())
    }

    /// Nests the rows like [`Plan::nest`], and fails at the deadline.
    pub(crate) fn nest_with_deadline(
        &self,
        rows: Rows,
        deadline: &DeadlineCheck,
    ) -> Result<JsonBody, ResolveError> {
        self.shape(&mut self.tree(rows, deadline)?, 0)
    }

    /// Applies the controls of the plan and exports the rows in batches.
    pub(crate) async fn export_rows(
        &self,
        rows: Rows,
        deadline: DeadlineCheck,
        mut export: Export,
    ) -> Result<u64, ResolveError> {
        let mut tree = self.tree(rows, &deadline)?;
        let mut writer = ExportWriter::new(self, export.format);
        let RowsByParent::Root(root) = std::mem::replace(&mut tree.parents, RowsByParent::Root(Vec::new()))
        else {
            return Ok(0);
        };
        for records in root.chunks(EXPORTED) {
            tree.parents = RowsByParent::Root(records.to_vec());
            let mut pieces = Vec::new();
            writer.write(&mut tree, u64::MAX, |piece| {
                pieces.push(piece);
                Ok(())
            })?;
            for piece in pieces {
                export.send(piece).await?;
            }
            deadline.check()?;
        }
        let records = writer.records();
        export.send(writer.finish()).await?;
        Ok(records)
    }

    /// Applies the controls of the plan, and puts each row under its parent.
    fn tree(&self, mut rows: Rows, deadline: &DeadlineCheck) -> Result<RowTree, ResolveError> {
        let (node, applied) = (self.node(), rows.applied);
        check_declared(node, applied)?;
        let root = (0..rows.tables.get("").map_or(0, Table::len)).collect();
        let mut tree = build(node, &mut rows, "", RowsByParent::Root(root), deadline)?;
        if applied != Applied::all() {
            tree.evaluate(&Evaluation { plan: self, applied, deadline }, node, Level::Root)?;
        }
        tree.total = tree.total.or(rows.total);
        Ok(tree)
    }
}

/// Refuses declarations that would change the result: a page of rows that were not filtered and sorted before lacks rows.
fn check_declared(node: &Node, applied: Applied) -> Result<(), ResolveError> {
    let mut before_page = Applied::FILTER | Applied::ORDER;
    before_page.set(Applied::GROUP, node.grouping.is_some());
    for (control, needed) in [(Applied::GROUP, Applied::FILTER), (Applied::PAGE, before_page)] {
        if applied.contains(control) && !applied.contains(needed) {
            let missing = needed - applied;
            return Err(ResolveError::new(format!(
                "the rows are declared as {control:?}, but not as {missing:?}, which comes first"
            )));
        }
    }
    Ok(())
}

fn build(
    node: &Node,
    rows: &mut Rows,
    path: &str,
    parents: RowsByParent,
    deadline: &DeadlineCheck,
) -> Result<RowTree, ResolveError> {
    // A table without rows may lack columns.
    let table = rows.tables.remove(path).filter(|table| !table.is_empty());
    let table = table.unwrap_or_else(|| Table::for_node(node, rows.applied, &[]));
    let shown = if path.is_empty() { "the root" } else { path };
    check_width(shown, &table)?;
    let mut positions = Vec::with_capacity(node.columns.len());
    if !is_ungrouped(node, rows.applied) {
        for column in &node.columns {
            positions.push(match column.source.is_derived() {
                true => table.column(&column.name),
                false => Some(find(&table, shown, &column.name)?),
            });
        }
    }
    let mut children = Vec::with_capacity(node.joins.len());
    for join in &node.joins {
        let path = nested_path(path, &join.name);
        let keys = (join.parent_keys.clone(), &*join.child_keys);
        let parents = parents_by_key(keys, rows.tables.get(&path), &path, deadline)?;
        children.push(build(&join.node, rows, &path, parents, deadline)?);
    }
    let mut related = Vec::with_capacity(node.related.len());
    for other in &node.related {
        let path = nested_path(path, &other.name);
        let keys = (Vec::new(), &*other.child_keys);
        let parents = parents_by_key(keys, rows.tables.get(&path), &path, deadline)?;
        related.push(build(&other.node, rows, &path, parents, deadline)?);
    }
    let path = shown.to_owned();
    let (default_rows, total) = (Vec::new(), None);
    let mut tree = RowTree { path, table, positions, parents, default_rows, children, related, total };
    tree.fold_duplicates(node, deadline)?;
    Ok(tree)
}

/// Groups the rows of a table by the values of `child_keys`, which equal the values of these columns of the parent.
fn parents_by_key(
    (columns, child_keys): (Vec<usize>, &[String]),
    table: Option<&Table>,
    path: &str,
    deadline: &DeadlineCheck,
) -> Result<RowsByParent, ResolveError> {
    let mut rows: HashMap<Vec<HashKey>, Vec<usize>> = HashMap::new();
    if let Some(table) = table.filter(|table| !table.is_empty()) {
        let positions: Vec<usize> =
            child_keys.iter().map(|name| find(table, path, name)).collect::<Result<_, _>>()?;
        for row in 0..table.len() {
            deadline.count_row()?;
            rows.entry(row_key(table, row, &positions)).or_default().push(row);
        }
    }
    Ok(RowsByParent::ByKey { columns, rows })
}

fn find(table: &Table, path: &str, name: &str) -> Result<usize, ResolveError> {
    table
        .column(name)
        .ok_or_else(|| ResolveError::new(format!("the rows of {path} lack the column '{name}'")))
}

fn check_width(path: &str, table: &Table) -> Result<(), ResolveError> {
    table.wrong_width.map_or(Ok(()), |cells| {
        let columns = table.columns.len();
        Err(ResolveError::new(format!("a row of {path} has {cells} cells, but there are {columns} columns")))
    })
}
