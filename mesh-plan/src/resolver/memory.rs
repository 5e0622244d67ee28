//! A resolver over tables in memory that answers every plan.
//!
//! It scans whole tables, so that it is evidently correct: tests compare the answers of other back ends with its own.
//! Use a database for anything but small data.

#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};

use mesh_schema::{Cardinality, Link, TableName};

use crate::plan::{ColumnSource, Join, Node, Plan};
use crate::rows::evaluate::{self, Level, Records, Row};
use crate::rows::{Applied, HashKey, Rows, Table, nested_path};
use crate::{Answer, Context, Either, MaybeReady, ResolveError, Resolver, Value};

/// The column that every table has unless it brings one of that name: the row's number, counted from 1.
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
    by_name: HashMap<String, Stored>,
}

#[derive(Clone, Debug)]
struct Stored {
    columns: Vec<String>,
    rows: Vec<Vec<Value>>,
    /// The width of a row that does not fit.
    misfit: Option<usize>,
}

impl Tables {
    /// No tables.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same with one more table: its storage name (`schema.table` where the schema document names a
    /// namespace), the storage names of its columns, and its rows, with their cells in that order.
    ///
    /// NaN is stored as NULL, as databases have no place for it in an order. A row of another width makes
    /// every read of the table fail. A table that brings no column `rowid` is given one.
    pub fn with(
        mut self,
        name: &str,
        columns: impl IntoIterator<Item = impl Into<String>>,
        rows: impl IntoIterator<Item = Vec<Value>>,
    ) -> Self {
        let mut columns: Vec<String> = columns.into_iter().map(Into::into).collect();
        let mut rows: Vec<Vec<Value>> = rows.into_iter().collect();
        let misfit = rows.iter().map(Vec::len).find(|width| *width != columns.len());
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
        self.by_name.insert(name.to_owned(), Stored { columns, rows, misfit });
        self
    }

    /// Returns the rows of the plan, with all controls applied.
    ///
    /// # Errors
    /// There is no such table or column, or [`ResolveError::SumOverflow`].
    pub fn evaluate(&self, plan: &Plan) -> Result<Rows, ResolveError> {
        let node = plan.node();
        let records = evaluate::apply(self.scan(&node.table)?, plan, node, Level::Root, Applied::empty())?;
        let mut rows = Rows::with_applied(plan, Applied::all());
        fill(rows.root(), node, &ParentKey::NONE, &records)?;
        self.below(plan, node, &records, "", &mut rows)?;
        Ok(rows)
    }

    /// Adds the rows of all nodes below a node with these rows. Plans are nested as deep as queries, which
    /// is bounded.
    fn below(
        &self,
        plan: &Plan,
        node: &Node,
        parents: &Records<'_>,
        path: &str,
        rows: &mut Rows,
    ) -> Result<(), ResolveError> {
        for join in &node.joins {
            let path = nested_path(path, join);
            let table = rows
                .table(&path)
                .ok_or_else(|| ResolveError::new(format!("there is no table for the rows of '{path}'")))?;
            let mut all = self.scan(&join.node.table)?;
            all.rows.clear();
            for values in parent_keys(node, join, parents)? {
                let mut children = self.children(plan, join, &values)?;
                let key = ParentKey { names: &join.child_keys, values: &values };
                fill(table, &join.node, &key, &children)?;
                all.rows.append(&mut children.rows);
            }
            self.below(plan, &join.node, &all, &path, rows)?;
        }
        Ok(())
    }

    /// The rows that belong to the parents with this key: filtered, in order, cut to their page.
    fn children(&self, plan: &Plan, join: &Join, key: &[Value]) -> Result<Records<'_>, ResolveError> {
        let children = self.linked(join, key)?;
        let mut children = evaluate::apply(children, plan, &join.node, Level::Nested, Applied::empty())?;
        if join.cardinality == Cardinality::One {
            children.rows.truncate(1);
        }
        Ok(children)
    }

    /// The target's rows that the link pairs with the key, each once.
    fn linked(&self, join: &Join, key: &[Value]) -> Result<Records<'_>, ResolveError> {
        let mut targets = self.scan(&join.node.table)?;
        match &join.link {
            Link::Direct { pairs } => {
                for (pair, key) in pairs.iter().zip(key) {
                    targets.keep(&pair.target, |cell| evaluate::equal(cell, key))?;
                }
            }
            Link::Through { table, from, to, target, .. } => {
                let mut junction = self.scan(table)?;
                for key in key {
                    junction.keep(from, |cell| evaluate::equal(cell, key))?;
                }
                let to = junction.column(to)?;
                let paired: Vec<&Value> = junction.rows.iter().filter_map(|row| row.get(to)).collect();
                targets.keep(target, |cell| paired.iter().any(|to| evaluate::equal(cell, to)))?;
            }
        }
        Ok(targets)
    }

    /// All rows of a table.
    fn scan(&self, table: &TableName) -> Result<Records<'_>, ResolveError> {
        let name = match &table.schema {
            Some(schema) => format!("{schema}.{}", table.name),
            None => table.name.clone(),
        };
        let Some(stored) = self.by_name.get(&name) else {
            return Err(ResolveError::new(format!("there is no table '{name}' in memory")));
        };
        if let Some(cells) = stored.misfit {
            return Err(ResolveError::new(format!(
                "a row of table '{name}' in memory has {cells} cells, which is not one for each column"
            )));
        }
        let sources = stored.columns.iter().map(|column| Some(ColumnSource::Column(column.clone())));
        let rows = stored.rows.iter().enumerate();
        Ok(Records {
            description: format!("the table '{name}' in memory").into(),
            sources: sources.collect(),
            rows: rows.map(|(index, cells)| Row { index, cells: cells.into() }).collect(),
        })
    }
}

impl Resolver for Tables {
    fn resolve<'a>(&'a self, plan: &'a Plan, _: &'a Context) -> MaybeReady<'a, Result<Answer, ResolveError>> {
        Either::Left(std::future::ready(self.evaluate(plan).map(Answer::Rows)))
    }

    fn is_personal(&self) -> bool {
        false
    }
}

/// What links a row to its parent.
struct ParentKey<'a> {
    /// As in [`Join::child_keys`].
    names: &'a [String],
    values: &'a [Value],
}

impl ParentKey<'_> {
    /// That of the root's rows.
    const NONE: Self = Self { names: &[], values: &[] };
}

/// The keys of the parents, each once; those with a NULL lead to nothing.
fn parent_keys(node: &Node, join: &Join, parents: &Records<'_>) -> Result<Vec<Vec<Value>>, ResolveError> {
    let mut positions = Vec::with_capacity(join.parent_keys.len());
    for column in join.parent_keys.iter().filter_map(|index| node.columns.get(*index)) {
        positions.push(parents.position(&column.source)?);
    }
    let mut seen = HashSet::new();
    let keys = parents.rows.iter().map(|row| {
        positions.iter().map(|position| row.get(*position).cloned().unwrap_or_default()).collect::<Vec<_>>()
    });
    let new = |key: &Vec<Value>| {
        let key: Vec<HashKey> = key.iter().map(|value| HashKey::new(value.as_ref())).collect();
        !key.contains(&HashKey::Null) && seen.insert(key)
    };
    Ok(keys.filter(new).collect())
}

/// Adds rows to a node's table, whose columns are found by name: those of the node, then the parent's key,
/// then the row key.
fn fill(
    table: &mut Table,
    node: &Node,
    key: &ParentKey<'_>,
    records: &Records<'_>,
) -> Result<(), ResolveError> {
    enum Cell<'v> {
        Row(usize),
        Parent(&'v Value),
    }
    let position = |source: &ColumnSource| records.position(source).map(Cell::Row);
    let mut cells = Vec::with_capacity(table.columns().len());
    for name in table.columns() {
        let of_parent = key.names.iter().zip(key.values).find(|(key, _)| *key == name);
        cells.push(match (node.columns.iter().find(|column| column.name == *name), of_parent) {
            (Some(column), _) => position(&column.source)?,
            (None, Some((_, value))) => Cell::Parent(value),
            (None, None) => match node.row_key.iter().find(|column| column.name == *name) {
                Some(column) => position(&column.source)?,
                None => return Err(ResolveError::new(format!("nothing is known of the column '{name}'"))),
            },
        });
    }
    for row in &records.rows {
        table.push(cells.iter().map(|cell| match cell {
            Cell::Row(position) => row.get(*position).cloned().unwrap_or_default(),
            Cell::Parent(value) => (*value).clone(),
        }));
    }
    Ok(())
}

fn is_nan(value: &Value) -> bool {
    matches!(value, Value::Real(value) if value.is_nan())
}
