//! Cells: the binary values of PostgreSQL as those of mesh-plan, and the rows of each level by parent.

use std::cell::OnceCell;

use mesh_plan::sql::postgres::Layout;
use mesh_plan::{Cells, Flow, Node, ResolveError, RowSource, Value, ValueRef};
use mesh_schema::Cardinality;
use tokio_postgres::Row;
use tokio_postgres::types::{FromSql, Type};
use uuid::Uuid;

mod numeric;
mod time;

/// Where a row has the number of its level, of its parent's row and its own, if there are several levels.
const LEVEL: usize = 0;
const PARENT: usize = 1;
const OWN: usize = 2;

/// All rows of a read, by level.
#[derive(Default)]
pub(super) struct Fetched {
    levels: Vec<Level>,
    kinds: Vec<Kind>,
}

#[derive(Default)]
struct Level {
    rows: Vec<Row>,
    /// The numbers of the rows' parents, in ascending order.
    parents: Vec<i64>,
}

impl Fetched {
    pub(super) fn new(levels: usize) -> Self {
        Self { levels: (0..levels).map(|_| Level::default()).collect(), kinds: Vec::new() }
    }

    pub(super) fn push(&mut self, row: Row) {
        if self.kinds.is_empty() {
            self.kinds = row.columns().iter().map(|column| Kind::of(column.type_())).collect();
        }
        if self.levels.len() == 1 {
            if let Some(level) = self.levels.first_mut() {
                level.rows.push(row);
            }
            return;
        }
        let number = integer(&row, LEVEL).and_then(|number| usize::try_from(number).ok()).unwrap_or_default();
        let parent = integer(&row, PARENT).unwrap_or_default();
        if let Some(level) = self.levels.get_mut(number) {
            level.rows.push(row);
            level.parents.push(parent);
        }
    }

    /// The database has no reason to mix the children of two parents, but no duty to keep them apart either.
    pub(super) fn finish(&mut self) {
        for level in &mut self.levels {
            if !level.parents.is_sorted() {
                let rows = std::mem::take(&mut level.rows);
                let mut paired: Vec<_> = std::mem::take(&mut level.parents).into_iter().zip(rows).collect();
                paired.sort_by_key(|(parent, _)| *parent);
                (level.parents, level.rows) = paired.into_iter().unzip();
            }
        }
    }
}

impl Level {
    /// The rows below one parent.
    fn below(&self, parent: i64) -> &[Row] {
        let start = self.parents.partition_point(|it| *it < parent);
        let count = self.parents.get(start..).map_or(0, |rest| rest.partition_point(|it| *it == parent));
        self.rows.get(start..start + count).unwrap_or_default()
    }
}

/// One node's rows.
pub(super) struct Source<'f> {
    fetched: &'f Fetched,
    layout: &'f Layout,
    is_one: bool,
    joins: Vec<Self>,
}

impl<'f> Source<'f> {
    /// The root's source, with those below it. Plans are nested as deep as queries, which is bounded.
    pub(super) fn new(fetched: &'f Fetched, layout: &'f Layout, node: &Node) -> Self {
        let joins = layout.joins.iter().zip(&node.joins).map(|(layout, join)| Self {
            is_one: join.cardinality == Cardinality::One,
            ..Self::new(fetched, layout, &join.node)
        });
        Self { fetched, layout, is_one: false, joins: joins.collect() }
    }
}

impl RowSource for Source<'_> {
    type Row<'r> = PostgresRow<'r>;

    fn visit<'p>(
        &mut self,
        parent: Option<&PostgresRow<'p>>,
        mut visitor: impl FnMut(&PostgresRow<'_>, &mut [Self]) -> Result<Flow, ResolveError>,
    ) -> Result<(), ResolveError> {
        let (layout, kinds) = (self.layout, self.fetched.kinds.as_slice());
        let level = self.fetched.levels.get(layout.level);
        let rows = match parent {
            Some(parent) if self.is_one => {
                let found = layout.presence.is_some_and(|index| raw(parent.row, index).is_some());
                return if found {
                    visitor(&PostgresRow::new(parent.row, kinds, layout), &mut self.joins).map(|_| ())
                } else {
                    Ok(())
                };
            }
            Some(parent) => {
                let own = integer(parent.row, OWN);
                level.zip(own).map(|(level, own)| level.below(own)).unwrap_or_default()
            }
            None => level.map(|level| level.rows.as_slice()).unwrap_or_default(),
        };
        for row in rows {
            if visitor(&PostgresRow::new(row, kinds, layout), &mut self.joins)? == Flow::Stop {
                break;
            }
        }
        Ok(())
    }
}

/// One node's part of a row.
pub(super) struct PostgresRow<'r> {
    row: &'r Row,
    kinds: &'r [Kind],
    layout: &'r Layout,
    /// Cells whose text has to be made, by column.
    made: OnceCell<Box<[OnceCell<Made>]>>,
}

/// A scalar that the row itself does not hold in the form in which it is handed on.
enum Made {
    Integer(i64),
    Real(f64),
    Text(String),
}

impl<'r> PostgresRow<'r> {
    fn new(row: &'r Row, kinds: &'r [Kind], layout: &'r Layout) -> Self {
        Self { row, kinds, layout, made: OnceCell::new() }
    }

    fn made(&self, column: usize, make: impl FnOnce() -> Option<Made>) -> ValueRef<'_> {
        let cells = self.made.get_or_init(|| self.layout.columns.iter().map(|_| OnceCell::new()).collect());
        let Some(cell) = cells.get(column) else { return ValueRef::Null };
        // A value that the database sent and that cannot be read has no text; there is none such.
        match cell.get_or_init(|| make().unwrap_or(Made::Text(String::new()))) {
            Made::Integer(value) => ValueRef::Integer(*value),
            Made::Real(value) => ValueRef::Real(*value),
            Made::Text(text) => ValueRef::Text(text.as_bytes()),
        }
    }
}

impl Cells for PostgresRow<'_> {
    fn cell(&self, column: usize) -> ValueRef<'_> {
        let Some(index) = self.layout.columns.get(column).copied().flatten() else { return ValueRef::Null };
        let (Some(bytes), Some(kind)) = (raw(self.row, index), self.kinds.get(index)) else {
            return ValueRef::Null;
        };
        match kind {
            Kind::Text => ValueRef::Text(bytes),
            Kind::Integer => be_integer(bytes).map_or(ValueRef::Null, ValueRef::Integer),
            Kind::Boolean => ValueRef::Boolean(bytes.first().is_some_and(|byte| *byte != 0)),
            Kind::Real8 => {
                bytes.try_into().map_or(ValueRef::Null, |it| ValueRef::Real(f64::from_be_bytes(it)))
            }
            Kind::Real4 => bytes.try_into().map_or(ValueRef::Null, |it| {
                let value = f32::from_be_bytes(it);
                // The shortest text that is this value among those of its own precision.
                ValueRef::Real(value.to_string().parse().unwrap_or_else(|_| f64::from(value)))
            }),
            Kind::JsonBinary => ValueRef::Text(bytes.get(1..).unwrap_or_default()),
            Kind::Bytes => ValueRef::Bytes(bytes),
            Kind::Uuid => self.made(column, || {
                Uuid::from_slice(bytes).ok().map(|uuid| Made::Text(uuid.hyphenated().to_string()))
            }),
            Kind::Numeric => self.made(column, || numeric::read(bytes)),
            Kind::Date => self.made(column, || time::date(bytes).map(Made::Text)),
            Kind::Timestamp { zone } => self.made(column, || time::timestamp(bytes, *zone).map(Made::Text)),
        }
    }
}

/// A cell that outlives its row.
pub(super) fn value(row: &Row, index: usize) -> Value {
    let kinds: Vec<_> = row.columns().iter().map(|column| Kind::of(column.type_())).collect();
    let layout = Layout { columns: vec![Some(index)], ..Layout::default() };
    PostgresRow::new(row, &kinds, &layout).cell(0).to_value()
}

/// How the bytes of a column are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Text,
    Integer,
    Boolean,
    Real4,
    Real8,
    Numeric,
    Uuid,
    Date,
    Timestamp { zone: bool },
    Bytes,
    JsonBinary,
}

impl Kind {
    /// Statements cast what is not among these to text.
    fn of(ty: &Type) -> Self {
        match *ty {
            Type::INT2 | Type::INT4 | Type::INT8 => Self::Integer,
            Type::BOOL => Self::Boolean,
            Type::FLOAT4 => Self::Real4,
            Type::FLOAT8 => Self::Real8,
            Type::NUMERIC => Self::Numeric,
            Type::UUID => Self::Uuid,
            Type::DATE => Self::Date,
            Type::TIMESTAMP => Self::Timestamp { zone: false },
            Type::TIMESTAMPTZ => Self::Timestamp { zone: true },
            Type::BYTEA => Self::Bytes,
            Type::JSONB => Self::JsonBinary,
            _ => Self::Text,
        }
    }
}

/// The bytes of a cell as they came.
struct Raw<'a>(&'a [u8]);

impl<'a> FromSql<'a> for Raw<'a> {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn std::error::Error + Sync + Send>> {
        Ok(Self(raw))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

/// The bytes of a cell; `None` for NULL, and where there is no such cell.
fn raw(row: &Row, place: usize) -> Option<&[u8]> {
    row.try_get::<_, Option<Raw<'_>>>(place).ok().flatten().map(|raw| raw.0)
}

fn integer(row: &Row, place: usize) -> Option<i64> {
    be_integer(raw(row, place)?)
}

fn be_integer(bytes: &[u8]) -> Option<i64> {
    match bytes.len() {
        2 => bytes.try_into().ok().map(|it| i16::from_be_bytes(it).into()),
        4 => bytes.try_into().ok().map(|it| i32::from_be_bytes(it).into()),
        8 => bytes.try_into().ok().map(i64::from_be_bytes),
        _ => None,
    }
}
