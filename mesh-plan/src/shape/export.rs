//! Exports: the records of a read as lines, written piece by piece. `SPEC §16`

use mesh_ql::named_enum;

use super::csv;
use super::{Cells as _, Flow, RowSource, SIZE_MAX, Shaper};
use crate::error::PlanErrorKind;
use crate::plan::{Node, Plan};
use crate::{PlanError, ResolveError, Value};

/// The size in bytes from which a piece is passed on.
const PIECE: usize = SIZE_MAX;

named_enum! {
    /// The text format of an export. Its name is also the suffix of files.
    ExportFormat {
        /// A JSON object per line.
        Ndjson = "ndjson",
        /// CSV as in RFC 4180, with a line of names. Text is quoted, and NULL is empty.
        Csv = "csv",
    }
}

impl ExportFormat {
    /// Returns the media type.
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Ndjson => "application/x-ndjson",
            Self::Csv => "text/csv",
        }
    }
}

impl Plan {
    /// Checks that the selection fits a format: a line of CSV cannot contain a list.
    ///
    /// # Errors
    /// [`PlanErrorKind::ListInCsv`].
    pub fn check_export(&self, format: ExportFormat) -> Result<(), PlanError> {
        match format {
            ExportFormat::Ndjson => Ok(()),
            ExportFormat::Csv => check_lists(self.node()),
        }
    }
}

fn check_lists(node: &Node) -> Result<(), PlanError> {
    for join in &node.joins {
        if !join.nesting.is_one() {
            let kind = PlanErrorKind::ListInCsv { relation: join.name.clone() };
            return Err(PlanError::new(kind, node.path.as_str()));
        }
        check_lists(&join.node)?;
    }
    Ok(())
}

/// Writes the lines of an export. A back end passes the rows in one source, or in several sources that follow each other.
pub struct ExportWriter<'p> {
    shaper: Shaper<'p>,
    format: ExportFormat,
    /// The number of written records.
    records: u64,
    /// The number of records that may be written.
    records_max: u64,
    /// The sort values of the last record.
    last: Vec<Value>,
}

impl<'p> ExportWriter<'p> {
    /// Creates a writer for a plan that was checked with [`Plan::check_export`].
    pub fn new(plan: &'p Plan, format: ExportFormat) -> Self {
        let mut shaper = Shaper::new(plan, Vec::with_capacity(PIECE + PIECE / 4));
        if format == ExportFormat::Csv {
            csv::write_names(&mut shaper.out, plan.node());
        }
        let records_max = plan.node().page.as_ref().map_or(u64::MAX, |page| plan.page_size(page).into());
        Self { shaper, format, records: 0, records_max, last: Vec::new() }
    }

    /// Writes the rows of a source, at most `count` of them, and passes each complete piece to `send`. Returns whether the
    /// source has more rows.
    ///
    /// # Errors
    /// Errors of the source and of `send`, [`ResolveError::ExportTooLong`] if there are more records than the page of the plan
    /// has, [`ResolveError::TooLarge`] for more objects in one than [`Plan::rows_max`], and [`ResolveError::TooManyBytes`] for a
    /// record of more bytes than [`Plan::bytes_max`].
    pub fn write<S: RowSource>(
        &mut self,
        source: &mut S,
        count: u64,
        mut send: impl FnMut(Vec<u8>) -> Result<(), ResolveError>,
    ) -> Result<bool, ResolveError> {
        let (mut left, mut has_more) = (count, false);
        let Self { shaper, format, records, records_max, last } = self;
        let node = shaper.plan.node();
        source.visit(None, |row, children| {
            if left == 0 {
                has_more = true;
                return Ok(Flow::Stop);
            }
            if records == records_max {
                return Err(ResolveError::ExportTooLong { records: *records_max });
            }
            left -= 1;
            *records += 1;
            shaper.rows = 0;
            match format {
                ExportFormat::Ndjson => {
                    shaper.object(node, row, children)?;
                    shaper.out.push(b'\n');
                }
                ExportFormat::Csv => {
                    csv::record(shaper, node, Some(row), children)?;
                    shaper.out.extend_from_slice(b"\r\n");
                }
            }
            if left == 0 {
                let columns = node.order.iter().filter_map(|key| key.column);
                *last = columns.map(|column| row.sort_value(column).to_value()).collect();
            }
            if shaper.out.len() >= PIECE {
                let next = Vec::with_capacity(shaper.out.capacity().min(2 * PIECE));
                send(std::mem::replace(&mut shaper.out, next))?;
            }
            Ok(Flow::Continue)
        })?;
        Ok(has_more)
    }

    /// Returns the number of records so far.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Returns the sort values of the last record for which [`Self::write`] reached its `count`.
    pub fn last(&self) -> &[Value] {
        &self.last
    }

    /// Returns the last piece, which may be empty.
    pub fn finish(self) -> Vec<u8> {
        self.shaper.out
    }
}
