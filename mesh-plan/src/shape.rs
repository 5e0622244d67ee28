//! Nesting of rows into the JSON of a response.
//!
//! The shaper walks the plan, pulls the rows of each node from a [`RowSource`], parent by parent, and writes JSON while
//! they arrive, so only the bytes of the response are kept. SQL back ends lend the cells of their driver; the flat rows of a
//! custom resolver ([`crate::Rows`]) are a source as well.

mod csv;
mod export;
mod json;
pub(crate) mod key;
mod records;
mod scalar;
#[cfg(test)]
mod tests;

use bytes::Bytes;

use crate::plan::cursor::CursorValues;
use crate::plan::{ComputedInputs, Node, Output, Page, Plan, ReadTarget, TemplatePiece};
use crate::{ResolveError, ValueRef};
pub use export::{ExportFormat, ExportWriter};
pub use key::OutputKey;
pub(crate) use scalar::write_text;

/// Bounds of the memory in bytes that is reserved for a response.
const SIZE_MIN: usize = 512;
const SIZE_MAX: usize = 64 * 1_024;
/// The size in bytes from which the unused room of a response is released, since it may wait for its reader for a long time.
const SIZE_LARGE: usize = 1_024 * 1_024;

/// The cells of one row, by their index in [`Node::columns`].
pub trait Cells {
    /// Returns the cell of a column; NULL if there is none.
    fn cell(&self, column: usize) -> ValueRef<'_>;

    /// Returns the value of a column for a cursor. It differs from the cell if responses show a value that is not NULL as
    /// `null`.
    fn sort_value(&self, column: usize) -> ValueRef<'_> {
        self.cell(column)
    }
}

/// Whether a source continues to visit rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// Visit the next row.
    Continue,
    /// No more rows are needed.
    Stop,
}

/// A source of the rows of one plan node, with a source for each of its joins.
pub trait RowSource: Sized {
    /// A row of this node, valid while it is visited.
    type Row<'r>: Cells;

    /// Visits the rows of the node in the order of the plan: all rows of the root node, or the rows that belong to `parent`.
    /// A parent whose key is NULL has no rows. The visitor receives the sources of the node's joins in the order of the
    /// plan.
    ///
    /// # Errors
    /// Fails if the rows cannot be fetched, and passes on errors of the visitor.
    fn visit<'p>(
        &mut self,
        parent: Option<&Self::Row<'p>>,
        visitor: impl FnMut(&Self::Row<'_>, &mut [Self]) -> Result<Flow, ResolveError>,
    ) -> Result<(), ResolveError>;

    /// Returns the number of all rows of the root, regardless of the page. It is called after the rows were visited, if
    /// [`Page::total`](crate::plan::Page::total) is set.
    ///
    /// # Errors
    /// Fails if the rows cannot be counted.
    fn total(&mut self) -> Result<u64, ResolveError>;
}

/// A finished response body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonBody {
    /// The JSON text.
    pub bytes: Bytes,
    /// The number of objects in it.
    pub rows: usize,
    /// The digest of the text ([`JsonBody::digest`]), if it is known already.
    pub digest: Option<u128>,
}

impl JsonBody {
    /// Returns a digest of a text for entity tags. It is not cryptographic: collisions can be constructed.
    pub fn digest(bytes: &[u8]) -> u128 {
        twox_hash::XxHash3_128::oneshot(bytes)
    }
}

impl Plan {
    /// Writes the response from a source of rows for the root node. `size_hint` is the expected length of the response
    /// in bytes, or 0 if it is unknown. `SPEC §5`
    ///
    /// # Errors
    /// Errors of the source, [`ResolveError::TooLarge`] for a response of more objects than [`Plan::rows_max`], and
    /// [`ResolveError::TooManyBytes`] for one of more bytes than [`Plan::bytes_max`].
    pub fn shape<S: RowSource>(&self, source: &mut S, size_hint: usize) -> Result<JsonBody, ResolveError> {
        let mut shaper = Shaper::new(self, Vec::with_capacity(size_hint.clamp(SIZE_MIN, SIZE_MAX)));
        match self.target {
            ReadTarget::Point(_) => shaper.one(self.node(), source, None)?,
            ReadTarget::Collection => self.collection(&mut shaper, source)?,
        }
        shaper.check_length()?;
        if shaper.out.len() >= SIZE_LARGE {
            shaper.out.shrink_to_fit();
        }
        Ok(JsonBody { bytes: shaper.out.into(), rows: shaper.rows, digest: None })
    }

    /// Returns the response if it is known without reading: no record can have the id of the point read.
    pub fn known_body(&self) -> Option<JsonBody> {
        let is_known = matches!(&self.target, ReadTarget::Point(id) if id.is_impossible());
        is_known.then(|| JsonBody { bytes: Bytes::from_static(b"null"), rows: 0, digest: None })
    }

    /// Writes `{items, pageInfo}`. A row past the page is not written; it shows that there is another page. `SPEC §5.2`
    fn collection<S: RowSource>(&self, shaper: &mut Shaper<'_>, source: &mut S) -> Result<(), ResolveError> {
        let node = self.node();
        let page = node.page.as_ref();
        let mut items = Items::new(self, page);
        let mut has_more = false;
        let (mut first, mut last) = (None, CursorValues::default());
        shaper.out.extend_from_slice(br#"{"items":["#);
        source.visit(None, |row, children| {
            if items.is_full() {
                has_more = true;
                return Ok(Flow::Stop);
            }
            items.begin(&mut shaper.out);
            last.clear();
            for column in node.order.iter().filter_map(|key| key.column) {
                let key = row.sort_value(column);
                shaper.check_cell(key)?;
                last.push(node.columns.get(column).and_then(|column| column.ty), key);
            }
            if first.is_none() {
                first = Some(last.clone());
            }
            shaper.object(node, row, children)?;
            Ok(Flow::Continue)
        })?;
        items.finish(&mut shaper.out);
        let total = match page {
            Some(page) if page.total => Some(source.total()?),
            _ => None,
        };
        let out = &mut shaper.out;
        let flag = |flag| if flag { &b"true"[..] } else { b"false" };
        let is_reversed = page.is_some_and(|page| page.reversed);
        let has_next = if is_reversed { self.cursor.is_some() } else { has_more };
        out.extend_from_slice(br#"],"pageInfo":{"hasNextPage":"#);
        out.extend_from_slice(flag(has_next));
        if is_reversed {
            out.extend_from_slice(br#","hasPreviousPage":"#);
            out.extend_from_slice(flag(has_more));
        }
        match &mut first {
            None => out.extend_from_slice(br#","startCursor":null,"endCursor":null"#),
            Some(first) => {
                let (start, end) = if is_reversed { (&mut last, first) } else { (first, &mut last) };
                out.extend_from_slice(br#","startCursor":""#);
                self.query.seal.write(out, start);
                out.extend_from_slice(br#"","endCursor":""#);
                self.query.seal.write(out, end);
                out.push(b'"');
            }
        }
        if let Some(total) = total {
            out.extend_from_slice(br#","totalCount":"#);
            out.extend_from_slice(total.to_string().as_bytes());
        }
        out.extend_from_slice(b"}}");
        Ok(())
    }
}

/// The items of an array while they are written.
struct Items {
    /// The number of items that may be added.
    left: u32,
    is_first: bool,
    /// Where each item begins, if the items come in reverse.
    reversed: Option<Vec<usize>>,
}

impl Items {
    fn new(plan: &Plan, page: Option<&Page>) -> Self {
        Self {
            left: page.map_or(u32::MAX, |page| plan.page_size(page)),
            is_first: true,
            reversed: page.filter(|page| page.reversed).map(|_| Vec::new()),
        }
    }

    fn is_full(&self) -> bool {
        self.left == 0
    }

    /// Begins an item at the end of `out`.
    fn begin(&mut self, out: &mut Vec<u8>) {
        if !self.is_first {
            out.push(b',');
        }
        self.is_first = false;
        self.left -= 1;
        if let Some(starts) = &mut self.reversed {
            starts.push(out.len());
        }
    }

    /// Puts items that came in reverse into the order of the response.
    fn finish(self, out: &mut Vec<u8>) {
        let starts = self.reversed.unwrap_or_default();
        let Some(first) = starts.first() else { return };
        let written = out.split_off(*first);
        let mut end = written.len();
        for start in starts.iter().rev().map(|start| start - first) {
            if end < written.len() {
                out.push(b',');
            }
            out.extend_from_slice(written.get(start..end).unwrap_or_default());
            // The separator before the item.
            end = start.saturating_sub(1);
        }
    }
}

struct Shaper<'p> {
    plan: &'p Plan,
    out: Vec<u8>,
    rows: usize,
    rows_max: usize,
    bytes_max: usize,
}

impl<'p> Shaper<'p> {
    fn new(plan: &'p Plan, out: Vec<u8>) -> Self {
        Self { plan, out, rows: 0, rows_max: plan.rows_max(), bytes_max: plan.bytes_max() }
    }

    /// Counts an object against the bound of objects.
    fn count_object(&mut self) -> Result<(), ResolveError> {
        self.rows += 1;
        if self.rows > self.rows_max { Err(ResolveError::TooLarge { rows: self.rows_max }) } else { Ok(()) }
    }

    fn too_many_bytes(&self) -> ResolveError {
        ResolveError::TooManyBytes { bytes: self.bytes_max }
    }

    /// Refuses a response that is already too long.
    fn check_length(&self) -> Result<(), ResolveError> {
        if self.out.len() > self.bytes_max { Err(self.too_many_bytes()) } else { Ok(()) }
    }

    /// Refuses text or bytes that would make the response too long, before they are written.
    #[inline]
    fn check_cell(&self, cell: ValueRef<'_>) -> Result<(), ResolveError> {
        let (ValueRef::Text(bytes) | ValueRef::Bytes(bytes)) = cell else { return Ok(()) };
        if bytes.len() > self.bytes_max.saturating_sub(self.out.len()) {
            return Err(self.too_many_bytes());
        }
        Ok(())
    }

    /// Writes the first row as an object, or `null` if there is none.
    fn one<S: RowSource>(
        &mut self,
        node: &Node,
        source: &mut S,
        parent: Option<&S::Row<'_>>,
    ) -> Result<(), ResolveError> {
        let mut found = false;
        source.visit(parent, |row, children| {
            found = true;
            self.object(node, row, children)?;
            Ok(Flow::Stop)
        })?;
        if !found {
            self.out.extend_from_slice(b"null");
        }
        Ok(())
    }

    /// Writes the rows of a to-many relation, at most one page.
    fn many<S: RowSource>(
        &mut self,
        node: &Node,
        source: &mut S,
        parent: &S::Row<'_>,
    ) -> Result<(), ResolveError> {
        let mut items = Items::new(self.plan, node.page.as_ref());
        self.out.push(b'[');
        source.visit(Some(parent), |row, children| {
            if items.is_full() {
                return Ok(Flow::Stop);
            }
            items.begin(&mut self.out);
            self.object(node, row, children)?;
            Ok(Flow::Continue)
        })?;
        items.finish(&mut self.out);
        self.out.push(b']');
        Ok(())
    }

    /// Writes one object. The recursion is bounded by the depth of queries.
    fn object<S: RowSource>(
        &mut self,
        node: &Node,
        row: &S::Row<'_>,
        children: &mut [S],
    ) -> Result<(), ResolveError> {
        self.count_object()?;
        if node.output.is_empty() {
            self.out.push(b'{');
        }
        for output in &node.output {
            match output {
                Output::Field { key, column } => {
                    key.write(&mut self.out);
                    let known = node.columns.get(*column);
                    let (ty, form) = known.map_or((None, None), |it| (it.ty, it.time_form));
                    let cell = row.cell(*column);
                    self.check_cell(cell)?;
                    scalar::write(&mut self.out, ty, form, cell);
                }
                Output::Part { key, column, at } => {
                    key.write(&mut self.out);
                    let cell = row.cell(*column);
                    self.check_cell(cell)?;
                    scalar::write_part(&mut self.out, cell, at);
                }
                Output::Join { key, join } => {
                    key.write(&mut self.out);
                    let (Some(join), Some(child)) = (node.joins.get(*join), children.get_mut(*join)) else {
                        return Err(ResolveError::new("a row source lacks the source of a join"));
                    };
                    if join.nesting.is_one() {
                        self.one(&join.node, child, Some(row))?;
                    } else {
                        self.many(&join.node, child, row)?;
                    }
                }
                Output::Computed { key, template } => {
                    key.write(&mut self.out);
                    self.computed(node, row, template)?;
                }
            }
        }
        self.out.push(b'}');
        self.check_length()
    }

    /// Writes the text of a template or the result of a function. `SPEC §13.5`
    fn computed(
        &mut self,
        node: &Node,
        row: &impl Cells,
        template: &[TemplatePiece],
    ) -> Result<(), ResolveError> {
        if let [TemplatePiece::Code { function, columns }] = template {
            let inputs = columns.iter().map(|column| {
                let known = node.columns.get(*column);
                let (ty, form) = known.map_or((None, None), |it| (it.ty, it.time_form));
                scalar::to_input(ty, form, row.cell(*column))
            });
            let value = function.call(&ComputedInputs::new(function, inputs.collect()));
            self.check_cell(value.as_ref())?;
            scalar::write(&mut self.out, None, None, value.as_ref());
            return Ok(());
        }
        let mut text = Vec::new();
        for piece in template {
            match piece {
                TemplatePiece::Text(piece) => text.extend_from_slice(piece.as_bytes()),
                TemplatePiece::Column(column) => {
                    let known = node.columns.get(*column);
                    let (ty, form) = known.map_or((None, None), |it| (it.ty, it.time_form));
                    let cell = row.cell(*column);
                    self.check_cell(cell)?;
                    write_text(&mut text, ty, form, cell);
                }
                TemplatePiece::Code { .. } => {}
            }
            self.check_cell(ValueRef::Text(&text))?;
        }
        json::write_bytes(&mut self.out, &text);
        Ok(())
    }
}
