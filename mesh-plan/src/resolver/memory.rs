//! A resolver over tables in memory that answers every plan.
//!
//! It returns whole tables, to which [`crate::Mesh`] applies the controls of the plan. That is simple enough to be evidently
//! correct: tests compare the answers of other back ends with those of this one. Use a database for anything but small data.

#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use mesh_schema::{Link, TableName};

use crate::plan::{ColumnSource, Node, Plan};
use crate::resolver::{BoxFuture, MaybeReady};
use crate::rows::{DeadlineCheck, HashKey, Rows, nested_path};
use crate::script::{Script, ScriptError, StepResult, run_reads};
use crate::{Answer, Context, ResolveError, Resolver, Value};
use futures_util::future::Either;

/// The column that contains the row number, counted from 1, in tables that have no column of this name.
const ROW_ID: &str = "rowid";

/// Tables of data in memory, by storage name.
///
/// ```
/// use mesh_plan::{Mesh, memory::Tables};
/// use mesh_schema::{FieldType, Schema};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let schema = Schema::builder()
///     .entity("post", |post| post.field("id", FieldType::Integer).field("title", FieldType::String))
///     .build()?;
/// let tables = Tables::new().with("posts", ["id", "title"], [vec![1.into(), "Hello".into()]]);
/// let mesh = Mesh::builder(schema).default_resolver(tables).build()?;
/// # let _ = mesh;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct Tables {
    by_name: HashMap<String, StoredTable>,
}

#[derive(Clone, Debug)]
struct StoredTable {
    name: String,
    columns: Vec<String>,
    rows: Vec<Vec<Value>>,
    /// The width of a row that does not fit.
    wrong_width: Option<usize>,
}

impl Tables {
    /// Creates a resolver without tables.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a table: its storage name (`schema.table` if the schema document names a namespace), the storage names of its
    /// columns, and its rows with their cells in that order.
    ///
    /// NaN is stored as NULL, since it has no position in an order. If a row has another width, every read of the table
    /// fails. A table without a column `rowid` gets one.
    pub fn with(
        mut self,
        name: &str,
        columns: impl IntoIterator<Item = impl Into<String>>,
        rows: impl IntoIterator<Item = Vec<Value>>,
    ) -> Self {
        let mut columns: Vec<String> = columns.into_iter().map(Into::into).collect();
        let mut rows: Vec<Vec<Value>> = rows.into_iter().collect();
        let wrong_width = rows.iter().map(Vec::len).find(|width| *width != columns.len());
        let has_row_id = columns.iter().any(|column| column == ROW_ID);
        if !has_row_id {
            columns.push(ROW_ID.to_owned());
        }
        for (row, number) in rows.iter_mut().zip(1i64..) {
            row.iter_mut().filter(|cell| is_nan(cell)).for_each(|cell| *cell = Value::Null);
            if !has_row_id {
                row.push(number.into());
            }
        }
        self.by_name
            .insert(name.to_owned(), StoredTable { name: name.to_owned(), columns, rows, wrong_width });
        self
    }

    /// Returns all rows of the tables that the plan reads. [`crate::Mesh`] applies the controls of the plan to them.
    ///
    /// # Errors
    /// The plan reads a table or column that does not exist.
    pub fn rows(&self, plan: &Plan) -> Result<Rows, ResolveError> {
        self.rows_with_deadline(plan, &DeadlineCheck::default())
    }

    fn rows_with_deadline(&self, plan: &Plan, deadline: &DeadlineCheck) -> Result<Rows, ResolveError> {
        let mut rows = Rows::new(plan);
        self.add(plan.node(), None, "", &mut rows, deadline)?;
        Ok(rows)
    }

    /// Adds the rows of a node and of the nodes below it. The recursion is bounded by the depth of queries.
    fn add(
        &self,
        node: &Node,
        parent: Option<(&Link, &[String])>,
        path: &str,
        rows: &mut Rows,
        deadline: &DeadlineCheck,
    ) -> Result<(), ResolveError> {
        let stored = self.find(&node.table)?;
        let table = rows.table(path);
        let table = table.ok_or_else(|| ResolveError::new(format!("the plan has no node '{path}'")))?;
        let cells = table.columns().iter().map(|name| cell_source(node, parent, stored, name));
        let cells = cells.collect::<Result<Vec<CellSource>, _>>()?;
        for (row, parent) in self.with_parents(stored, parent.map(|(link, _)| link), deadline)? {
            deadline.count_row()?;
            table.push(cells.iter().map(|cell| match cell {
                CellSource::Column(index) => row.get(*index).cloned().unwrap_or_default(),
                CellSource::Parent => parent.clone(),
            }));
        }
        for join in &node.joins {
            let path = nested_path(path, &join.name);
            self.add(&join.node, Some((&join.link, &join.child_keys)), &path, rows, deadline)?;
        }
        for related in &node.related {
            let path = nested_path(path, &related.name);
            self.add(&related.node, Some((&related.link, &related.child_keys)), &path, rows, deadline)?;
        }
        Ok(())
    }

    /// Returns the rows of a table. For a relation through a junction, each row has the key of its parent, and occurs once
    /// for each parent.
    fn with_parents<'t>(
        &'t self,
        stored: &'t StoredTable,
        link: Option<&Link>,
        deadline: &DeadlineCheck,
    ) -> Result<Vec<(&'t [Value], &'t Value)>, ResolveError> {
        let rows = stored.rows.iter().map(Vec::as_slice);
        let Some(Link::Through { table, from, to, target, .. }) = link else {
            return Ok(rows.map(|row| (row, &Value::Null)).collect());
        };
        let junction = self.find(table)?;
        let (from, to, target) = (junction.column(from)?, junction.column(to)?, stored.column(target)?);
        let mut seen = HashSet::new();
        let mut parents: HashMap<HashKey, Vec<&Value>> = HashMap::new();
        for row in &junction.rows {
            deadline.count_row()?;
            if let (Some(from), Some(to)) = (row.get(from), row.get(to)) {
                let key = HashKey::new(to.as_ref());
                if key != HashKey::Null && seen.insert((key.clone(), HashKey::new(from.as_ref()))) {
                    parents.entry(key).or_default().push(from);
                }
            }
        }
        let mut pairs = Vec::new();
        for row in rows {
            deadline.count_row()?;
            let found = row.get(target).and_then(|target| parents.get(&HashKey::new(target.as_ref())));
            pairs.extend(found.into_iter().flatten().map(|parent| (row, *parent)));
        }
        Ok(pairs)
    }

    fn find(&self, table: &TableName) -> Result<&StoredTable, ResolveError> {
        let name = match &table.schema {
            Some(schema) => format!("{schema}.{}", table.name),
            None => table.name.clone(),
        };
        let missing = || ResolveError::new(format!("there is no table '{name}' in memory"));
        let stored = self.by_name.get(&name).ok_or_else(missing)?;
        match stored.wrong_width {
            None => Ok(stored),
            Some(cells) => Err(ResolveError::new(format!(
                "a row of table '{name}' in memory has {cells} cells, which is not one for each column"
            ))),
        }
    }
}

impl StoredTable {
    fn column(&self, name: &str) -> Result<usize, ResolveError> {
        self.columns.iter().position(|column| column == name).ok_or_else(|| {
            ResolveError::new(format!("there is no column '{name}' in the table '{}' in memory", self.name))
        })
    }
}

/// The source of a cell of a flat row.
enum CellSource {
    /// The cell of a stored column.
    Column(usize),
    /// The key of the parent, from a junction.
    Parent,
}

/// Finds the source of a column of flat rows: a column of the node, or the parent's key.
fn cell_source(
    node: &Node,
    parent: Option<(&Link, &[String])>,
    stored: &StoredTable,
    name: &str,
) -> Result<CellSource, ResolveError> {
    let mut columns = node.control_columns.iter().chain(&node.columns).chain(&node.row_key);
    let column = columns.find(|column| column.name == name).map(|column| &column.source);
    let key = parent.and_then(|(link, keys)| Some((link, keys.iter().position(|key| key == name)?)));
    match (column, key) {
        (Some(ColumnSource::Column(column)), _) => stored.column(column).map(CellSource::Column),
        (_, Some((Link::Through { .. }, _))) => Ok(CellSource::Parent),
        (_, Some((Link::Direct { pairs }, index))) => {
            stored.column(pairs.get(index).map_or("", |pair| &pair.target)).map(CellSource::Column)
        }
        (_, None) => Err(ResolveError::new(format!("the plan has no column '{name}'"))),
    }
}

impl Resolver for Tables {
    fn resolve<'a>(
        &'a self,
        plan: &'a Plan,
        context: &'a Context,
    ) -> MaybeReady<'a, Result<Answer, ResolveError>> {
        let rows = self.rows_with_deadline(plan, &DeadlineCheck::new(context.deadline));
        Either::Left(std::future::ready(rows.map(Answer::Rows)))
    }

    fn read_script<'a>(
        &'a self,
        script: Arc<dyn Script>,
        context: &'a Context,
    ) -> Option<BoxFuture<'a, Result<Vec<StepResult>, ScriptError>>> {
        let deadline = DeadlineCheck::new(context.deadline);
        let read =
            |plan: &Plan| plan.nest_with_deadline(self.rows_with_deadline(plan, &deadline)?, &deadline);
        Some(Box::pin(std::future::ready(run_reads(&*script, read))))
    }

    fn is_personal(&self) -> bool {
        false
    }
}

fn is_nan(value: &Value) -> bool {
    matches!(value, Value::Real(value) if value.is_nan())
}
