//! Several point reads of one query as one read.

use std::collections::HashMap;

use super::{Cells as _, Flow, JsonBody, RowSource, SIZE_MIN, Shaper, write_text};
use crate::plan::CompareOp;
use crate::plan::{Column, Comparand, Node, Predicate, ReadTarget, SortKey};
use crate::{Key, Plan, ResolveError, Value, ValueRef};

use bytes::Bytes;
use mesh_ql::{Direction, Nulls};

/// The number of ids with several parts whose conditions are one list.
const ANY_MAX: usize = 64;

impl Plan {
    /// Returns one read that replaces a point read for each of these ids. Its rows come in any order, and are for
    /// [`Plan::shape_records`].
    #[must_use]
    pub fn for_records(&self, ids: &[Key]) -> Self {
        let mut node = self.query.node.clone();
        let ids = condition(&node.id, ids);
        node.filter = Some(match node.filter.take() {
            Some(filter) => Predicate::All(vec![filter, ids]),
            None => ids,
        });
        for id in node.id.clone() {
            let known = node.columns.iter().position(|column| column.source == id.source);
            let column = known.unwrap_or(node.columns.len());
            node.order.push(SortKey {
                source: id.source.clone(),
                direction: Direction::Asc,
                nulls: Nulls::Last,
                nullable: true,
                breaks_ties: true,
                column: Some(column),
            });
            if known.is_none() {
                node.columns.push(Column { selected: false, ..id });
            }
        }
        Self { target: ReadTarget::Collection, ..self.with_node(node) }
    }

    /// Writes the records of a source for a plan of [`Plan::for_records`], each as its point read would, in the order of these
    /// ids. A record that is not among the rows is `None`.
    ///
    /// # Errors
    /// Those of [`Plan::shape`].
    pub fn shape_records<S: RowSource>(
        &self,
        source: &mut S,
        ids: &[Key],
    ) -> Result<Vec<Option<JsonBody>>, ResolveError> {
        let node = self.node();
        let columns = || node.order.iter().filter_map(|key| key.column);
        let mut shaper = Shaper::new(self, Vec::with_capacity(SIZE_MIN));
        // Rows are usually in the order of the ids. Other rows are found by the texts of their ids.
        let mut in_order = Vec::with_capacity(ids.len());
        let mut others = HashMap::new();
        source.visit(None, |row, children| {
            let (start, rows) = (shaper.out.len(), shaper.rows);
            shaper.object(node, row, children)?;
            shaper.check_length()?;
            let part = (start..shaper.out.len(), shaper.rows - rows);
            let cells = || columns().map(|column| row.cell(column));
            match ids.get(in_order.len()) {
                Some(id) if cells().eq(id.iter().map(Value::as_ref)) => in_order.push(part),
                _ => drop(others.insert(id_text(node, cells()), part)),
            }
            Ok(Flow::Continue)
        })?;
        let written = Bytes::from(shaper.out);
        let body = |(place, id): (usize, &Key)| {
            let other = || others.get(&id_text(node, id.iter().map(Value::as_ref)));
            let (range, rows) = in_order.get(place).or_else(other)?;
            Some(JsonBody { bytes: written.slice(range.clone()), rows: *rows, digest: None })
        };
        Ok(ids.iter().enumerate().map(body).collect())
    }
}

/// Returns the condition that a record has one of these ids.
fn condition(columns: &[Column], ids: &[Key]) -> Predicate {
    if let [column] = columns {
        if let Some((first, last)) = Key::consecutive(ids) {
            let bound = |op, id: i64| {
                let value = Comparand::Value(Value::Integer(id));
                Predicate::Compare { source: column.source.clone(), op, value }
            };
            return Predicate::All(vec![bound(CompareOp::Gte, first), bound(CompareOp::Lte, last)]);
        }
        let values = ids.iter().filter_map(|id| id.first()).cloned().map(Comparand::Value).collect();
        return Predicate::In { source: column.source.clone(), values, negated: false };
    }
    let is_part = |(column, value): (&Column, &Value)| Predicate::Compare {
        source: column.source.clone(),
        op: CompareOp::Eq,
        value: Comparand::Value(value.clone()),
    };
    let is_id = |id: &Key| Predicate::All(columns.iter().zip(id.iter()).map(is_part).collect());
    // SQLite bounds the depth of an expression, and each condition of a list is a level.
    let any = |ids: &[Key]| Predicate::Any(ids.iter().map(is_id).collect());
    Predicate::Any(ids.chunks(ANY_MAX).map(any).collect())
}

/// Returns the text of an id. Equal ids have equal texts, even if a value has several forms in the storage.
fn id_text<'v>(node: &Node, parts: impl Iterator<Item = ValueRef<'v>>) -> Vec<u8> {
    let mut text = Vec::new();
    for (column, part) in node.id.iter().zip(parts) {
        write_text(&mut text, column.ty, column.time_form, part);
        text.push(0);
    }
    text
}
