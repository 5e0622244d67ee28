//! How are flat rows matched to their parents? [`Rows`] as a source for the shaper.

#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};

use crate::joined;
use crate::plan::{Join, Node, Plan};
use crate::rows::{Rows, Table, nested_path};
use crate::shape::{Cells, Flow, JsonBody, RowSource};
use crate::{ResolveError, Value, ValueRef};

impl Plan {
    /// Nests flat rows into the response.
    ///
    /// # Errors
    /// When a table lacks a column that the plan asks for, or the response grows past the bound.
    pub fn nest(&self, mut rows: Rows) -> Result<JsonBody, ResolveError> {
        let mut source = if rows.joined {
            let table = rows.tables.remove("").unwrap_or_default();
            check_width("", &table)?;
            joined::split(self.node(), &table)?
        } else {
            Nest::build(self.node(), &mut rows, String::new(), Parents::Root)?
        };
        self.shape(&mut source, 0)
    }
}

/// The rows of one node, ready to be asked for by parent.
pub(crate) struct Nest {
    pub(crate) table: Table,
    /// For each column of the node, where it stands in the table.
    pub(crate) places: Vec<Option<usize>>,
    pub(crate) parents: Parents,
    pub(crate) children: Vec<Self>,
}

/// Which rows belong to which parent.
pub(crate) enum Parents {
    /// All rows belong to the response itself.
    Root,
    /// By the values of the parent's columns.
    ByKey { columns: Vec<usize>, rows: HashMap<Vec<Key>, Vec<usize>> },
    /// By the parent's place in its table.
    ByRow(Vec<Vec<usize>>),
}

impl Nest {
    fn build(node: &Node, rows: &mut Rows, path: String, parents: Parents) -> Result<Self, ResolveError> {
        let table = rows.tables.remove(&path).unwrap_or_else(|| Table::new::<String>([]));
        check_width(&path, &table)?;
        let mut places = Vec::with_capacity(node.columns.len());
        for column in &node.columns {
            places.push(if table.is_empty() { None } else { Some(place(&table, &path, &column.name)?) });
        }
        let mut children = Vec::with_capacity(node.joins.len());
        for join in &node.joins {
            let path = nested_path(&path, join);
            let parents = by_key(join, rows.tables.get(&path), &path)?;
            children.push(Self::build(&join.node, rows, path, parents)?);
        }
        let mut nest = Self { table, places, parents, children };
        nest.fold(node);
        Ok(nest)
    }

    /// Leaves of rows that are there twice below one parent the first.
    fn fold(&mut self, node: &Node) {
        let places: Vec<usize> =
            node.row_key.iter().filter_map(|column| self.table.column(&column.name)).collect();
        if places.is_empty() || places.len() != node.row_key.len() {
            return;
        }
        let table = &self.table;
        let keep = |list: &mut Vec<usize>| {
            let mut seen = HashSet::with_capacity(list.len());
            list.retain(|row| {
                let key = key_of(table, *row, &places);
                key.contains(&Key::Null) || seen.insert(key)
            });
        };
        match &mut self.parents {
            Parents::ByKey { rows, .. } => rows.values_mut().for_each(keep),
            Parents::ByRow(rows) => rows.iter_mut().for_each(keep),
            Parents::Root => {
                let mut all: Vec<usize> = (0..table.len()).collect();
                keep(&mut all);
                if all.len() < table.len() {
                    self.parents = Parents::ByRow(vec![all]);
                }
            }
        }
    }
}

fn by_key(join: &Join, table: Option<&Table>, path: &str) -> Result<Parents, ResolveError> {
    let mut rows: HashMap<Vec<Key>, Vec<usize>> = HashMap::new();
    if let Some(table) = table.filter(|table| !table.is_empty()) {
        let places: Vec<usize> =
            join.child_keys.iter().map(|name| place(table, path, name)).collect::<Result<_, _>>()?;
        for row in 0..table.len() {
            rows.entry(key_of(table, row, &places)).or_default().push(row);
        }
    }
    Ok(Parents::ByKey { columns: join.parent_keys.clone(), rows })
}

fn place(table: &Table, path: &str, name: &str) -> Result<usize, ResolveError> {
    table.column(name).ok_or_else(|| {
        let path = if path.is_empty() { "the root" } else { path };
        ResolveError::new(format!("the rows of {path} lack the column '{name}'"))
    })
}

fn check_width(path: &str, table: &Table) -> Result<(), ResolveError> {
    table.misfit.map_or(Ok(()), |cells| {
        let columns = table.columns.len();
        let path = if path.is_empty() { "the root" } else { path };
        Err(ResolveError::new(format!("a row of {path} has {cells} cells, but there are {columns} columns")))
    })
}

impl RowSource for Nest {
    type Row<'r> = NestRow<'r>;

    fn visit<'p>(
        &mut self,
        parent: Option<&NestRow<'p>>,
        mut visitor: impl FnMut(&NestRow<'_>, &mut [Self]) -> Result<Flow, ResolveError>,
    ) -> Result<(), ResolveError> {
        let Self { table, places, parents, children } = self;
        let mut show = |index| visitor(&NestRow { table, places, index }, children);
        let listed = match (&*parents, parent) {
            (Parents::Root, _) => {
                for index in 0..table.len() {
                    if show(index)? == Flow::Stop {
                        break;
                    }
                }
                return Ok(());
            }
            (Parents::ByRow(rows), parent) => rows.get(parent.map_or(0, |parent| parent.index)),
            (Parents::ByKey { columns, rows }, Some(parent)) => {
                let key: Vec<Key> = columns.iter().map(|column| Key::of(parent.cell(*column))).collect();
                if key.contains(&Key::Null) { None } else { rows.get(&key) }
            }
            (Parents::ByKey { .. }, None) => None,
        };
        for index in listed.into_iter().flatten() {
            if show(*index)? == Flow::Stop {
                break;
            }
        }
        Ok(())
    }
}

/// A row of a table, its cells by the node's columns.
pub(crate) struct NestRow<'r> {
    table: &'r Table,
    places: &'r [Option<usize>],
    index: usize,
}

impl Cells for NestRow<'_> {
    fn cell(&self, column: usize) -> ValueRef<'_> {
        let place = self.places.get(column).copied().flatten();
        let cell = place.and_then(|place| self.table.row(self.index).get(place));
        cell.map_or(ValueRef::Null, Value::as_ref)
    }
}

/// A value that can be looked up. A whole real is the same as the integer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Key {
    Null,
    Integer(i64),
    Real(u64),
    Text(Vec<u8>),
    Bytes(Vec<u8>),
}

impl Key {
    pub(crate) fn of(value: ValueRef<'_>) -> Self {
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

/// The cells of a row at these places.
pub(crate) fn key_of(table: &Table, row: usize, places: &[usize]) -> Vec<Key> {
    let row = table.row(row);
    places.iter().map(|place| row.get(*place).map_or(Key::Null, |value| Key::of(value.as_ref()))).collect()
}
