//! The rows of a read: the rows of each level by parent, and their cells as values.

use std::cell::OnceCell;

use mesh_plan::backend::{Cells, Flow, RowSource};
use mesh_plan::plan::Aggregate;
use mesh_plan::{Node, Plan, ResolveError, Value, ValueRef};
use mesh_ql::AggregateFn;
use mesh_sql::Layout;

/// The columns with the numbers of the level, the parent's row and the row itself. They exist only if there are several
/// levels.
const LEVEL: usize = 0;
const PARENT: usize = 1;
const ROW: usize = 2;

/// The number of decimal digits that a double represents exactly.
const EXACT_DIGITS: usize = 15;
/// The least absolute value of a double that is written without an exponent.
const EXACT_MIN: f64 = 1e-4;

/// The conversion of the cells of a driver's rows.
pub trait Decoder: 'static {
    /// A row of the driver.
    type Row;

    /// Returns the number of cells of a row.
    fn count(row: &Self::Row) -> usize;

    /// Returns whether a cell is NULL or missing.
    fn is_null(row: &Self::Row, index: usize) -> bool;

    /// Returns the integer in a cell; `None` for NULL.
    fn integer(row: &Self::Row, index: usize) -> Option<i64>;

    /// Returns the value of a cell. A time is in UTC if `is_utc` is set. A value that has to be converted is kept in `converted`.
    fn value<'r>(row: &'r Self::Row, index: usize, is_utc: bool, converted: Converted<'r>) -> ValueRef<'r>;

    /// Returns whether responses show a cell as `null` although it has a value.
    fn is_hidden(row: &Self::Row, index: usize) -> bool {
        let _ = (row, index);
        false
    }

    /// Returns the cells of a row as owned values.
    fn values(row: &Self::Row) -> Vec<Value> {
        let value = |index| {
            let cells = OnceCell::new();
            Self::value(row, index, false, Converted { cells: &cells, count: 1, column: 0 }).to_value()
        };
        (0..Self::count(row)).map(value).collect()
    }
}

/// All rows of a read: for each level, its rows with the numbers of their parents' rows, in ascending order of these
/// numbers.
pub struct LevelRows<D: Decoder>(Vec<Vec<(i64, D::Row)>>);

impl<D: Decoder> LevelRows<D> {
    /// Creates the rows of a statement with some levels.
    pub fn new(rows: Vec<D::Row>, levels: usize) -> Self {
        // The columns of numbers are missing if there is only one level.
        if levels <= 1 {
            return Self(vec![rows.into_iter().map(|row| (0, row)).collect()]);
        }
        let mut fetched: Vec<Vec<_>> = (0..levels).map(|_| Vec::new()).collect();
        for row in rows {
            let number = |column| D::integer(&row, column).unwrap_or_default();
            let (level, parent) = (number(LEVEL), number(PARENT));
            if let Some(level) = usize::try_from(level).ok().and_then(|level| fetched.get_mut(level)) {
                level.push((parent, row));
            }
        }
        // Databases do not guarantee the order. PostgreSQL usually returns the rows in it, and numbers only rows with children.
        for level in &mut fetched {
            level.sort_by_key(|(parent, row)| (*parent, D::integer(row, ROW)));
        }
        Self(fetched)
    }

    /// Returns the rows of a level.
    fn level(&self, level: usize) -> &[(i64, D::Row)] {
        self.0.get(level).map(Vec::as_slice).unwrap_or_default()
    }
}

/// The rows of one node.
pub struct NodeRowSource<'f, D: Decoder> {
    fetched: &'f LevelRows<D>,
    layout: &'f Layout,
    /// Whether the node is a record in the rows of its parents.
    is_joined_record: bool,
    joins: Vec<Self>,
}

impl<'f, D: Decoder> NodeRowSource<'f, D> {
    /// Creates the source of a node and the sources of its joins. The recursion is as deep as the query, whose depth is
    /// bounded.
    pub fn new(fetched: &'f LevelRows<D>, layout: &'f Layout, node: &Node) -> Self {
        let joins = layout.joins.iter().zip(&node.joins).map(|(layout, join)| Self {
            is_joined_record: layout.presence.is_some(),
            ..Self::new(fetched, layout, &join.node)
        });
        Self { fetched, layout, is_joined_record: false, joins: joins.collect() }
    }
}

impl<D: Decoder> RowSource for NodeRowSource<'_, D> {
    type Row<'r> = NodeRow<'r, D>;

    fn visit<'p>(
        &mut self,
        parent: Option<&NodeRow<'p, D>>,
        mut visitor: impl FnMut(&NodeRow<'_, D>, &mut [Self]) -> Result<Flow, ResolveError>,
    ) -> Result<(), ResolveError> {
        let layout = self.layout;
        let mut rows = self.fetched.level(layout.level);
        if let Some(parent) = parent {
            if self.is_joined_record {
                if layout.presence.is_some_and(|index| !D::is_null(parent.row, index)) {
                    visitor(&NodeRow::new(parent.row, layout), &mut self.joins)?;
                }
                return Ok(());
            }
            let number = D::integer(parent.row, ROW).unwrap_or_default();
            let start = rows.partition_point(|(parent, _)| *parent < number);
            let end = rows.partition_point(|(parent, _)| *parent <= number);
            rows = rows.get(start..end).unwrap_or_default();
        }
        let Some((_, first)) = rows.first() else { return Ok(()) };
        let mut current = NodeRow::new(first, layout);
        for (_, row) in rows {
            current = current.next(row);
            if visitor(&current, &mut self.joins)? == Flow::Stop {
                break;
            }
        }
        Ok(())
    }

    fn total(&mut self) -> Result<u64, ResolveError> {
        let counted = self.layout.total.and_then(|(level, column)| {
            let (_, row) = self.fetched.level(level).first()?;
            D::integer(row, column).map(i64::unsigned_abs)
        });
        counted.ok_or_else(|| ResolveError::new("the statement did not count its rows"))
    }
}

/// The part of a row that belongs to one node.
pub struct NodeRow<'r, D: Decoder> {
    row: &'r D::Row,
    layout: &'r Layout,
    converted: ConvertedCells,
}

/// Converted cells, by column.
type ConvertedCells = OnceCell<Box<[OnceCell<Value>]>>;

impl<'r, D: Decoder> NodeRow<'r, D> {
    fn new(row: &'r D::Row, layout: &'r Layout) -> Self {
        Self { row, layout, converted: OnceCell::new() }
    }

    /// Moves to another row of the same layout, and reuses the memory of this one.
    fn next(mut self, row: &'r D::Row) -> Self {
        if let Some(cells) = self.converted.get_mut() {
            cells.iter_mut().for_each(|cell| drop(cell.take()));
        }
        Self { row, ..self }
    }

    /// Returns the index of a column in the row.
    fn index(&self, column: usize) -> Option<usize> {
        self.layout.columns.get(column).copied().flatten()
    }
}

impl<D: Decoder> Cells for NodeRow<'_, D> {
    fn cell(&self, column: usize) -> ValueRef<'_> {
        match self.index(column) {
            Some(index) if D::is_hidden(self.row, index) => ValueRef::Null,
            _ => self.sort_value(column),
        }
    }

    fn sort_value(&self, column: usize) -> ValueRef<'_> {
        let Some(index) = self.index(column) else { return ValueRef::Null };
        let is_utc = self.layout.timestamps.get(column).copied().unwrap_or_default();
        let count = self.layout.columns.len();
        D::value(self.row, index, is_utc, Converted { cells: &self.converted, count, column })
    }
}

/// The place of a converted cell, which is converted once.
#[derive(Clone, Copy, Debug)]
pub struct Converted<'r> {
    cells: &'r ConvertedCells,
    count: usize,
    column: usize,
}

impl<'r> Converted<'r> {
    /// Returns the value that was kept, or keeps a new one.
    pub fn get_or(self, convert: impl FnOnce() -> Value) -> ValueRef<'r> {
        let cells = self.cells.get_or_init(|| (0..self.count).map(|_| OnceCell::new()).collect());
        cells.get(self.column).map_or(ValueRef::Null, |cell| cell.get_or_init(convert).as_ref())
    }
}

/// Returns whether a plan has sums, so that a number out of range is a sum. Averages are computed from sums.
pub(crate) fn has_sums(plan: &Plan) -> bool {
    let is_sum = |aggregate: &Aggregate| matches!(aggregate.function, AggregateFn::Sum | AggregateFn::Avg);
    plan.node().grouping.as_ref().is_some_and(|grouping| grouping.aggregates.iter().any(is_sum))
}

/// Returns the double that has the same shortest decimal representation as a single.
pub fn double(single: f32) -> f64 {
    single.to_string().parse().unwrap_or_else(|_| f64::from(single))
}

/// Returns an exact number: as a number if a double holds it exactly, else as text with all digits. Zeros at the end of its
/// fraction are left out, so that a value has one text regardless of the scale of its column.
pub fn decimal(text: &[u8]) -> ValueRef<'_> {
    let short = without_zeros(text);
    let Ok(digits) = std::str::from_utf8(short) else { return ValueRef::Text(short) };
    if !short.contains(&b'.') {
        return digits.parse().map_or(ValueRef::Text(short), ValueRef::Integer);
    }
    if short.iter().filter(|byte| byte.is_ascii_digit()).count() <= EXACT_DIGITS
        && let Ok(value) = digits.parse::<f64>()
        && value.abs() >= EXACT_MIN
    {
        return ValueRef::Real(value);
    }
    ValueRef::Text(short)
}

fn without_zeros(number: &[u8]) -> &[u8] {
    if !number.contains(&b'.') {
        return number;
    }
    let end = number.iter().rposition(|digit| *digit != b'0').unwrap_or_default();
    let end = if number.get(end) == Some(&b'.') { end } else { end + 1 };
    number.get(..end).unwrap_or(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_numbers_are_numbers_if_a_double_is_exact() {
        let shown = |text: &str| format!("{:?}", decimal(text.as_bytes()).to_value());
        assert_eq!(shown("-10005"), "Integer(-10005)");
        assert_eq!(shown("1.50"), "Real(1.5)");
        assert_eq!(shown("2.00"), "Integer(2)");
        assert_eq!(shown("-0.00"), "Integer(0)");
        assert_eq!(shown("0.00000005"), "Text(\"0.00000005\")");
        assert_eq!(shown("123456789012345678.90"), "Text(\"123456789012345678.9\")");
        assert_eq!(shown("92233720368547758070"), "Text(\"92233720368547758070\")");
    }

    #[test]
    fn exact_numbers_have_no_trailing_zeros() {
        for (number, shown) in
            [("12.50", "12.5"), ("100", "100"), ("2.00", "2"), ("-0.10", "-0.1"), ("0.00", "0")]
        {
            assert_eq!(without_zeros(number.as_bytes()), shown.as_bytes());
        }
    }
}
