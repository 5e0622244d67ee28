//! The bound on sorting by values of related records, which no index covers. `SPEC §14.9`

use std::cell::RefCell;
use std::collections::HashMap;
use std::time::{Duration, Instant};

use mesh_plan::{Node, Plan, ResolveError};
use mesh_schema::{Link, TableName};
use mesh_sql::sqlite::Statements;
use rusqlite::Connection;
use sea_query::{Expr, Func, Query, SqliteQueryBuilder};

use super::{failed, row_count, steps};

/// The maximum number of rows that are counted in a table without `ANALYZE` statistics.
const COUNTED: u64 = 1_000_000;

/// A statement that reads as little as possible.
const ONE_ROW: &str = "SELECT 1 FROM main.sqlite_schema LIMIT 1";

/// The time for which the estimated size of a table is used.
const SIZE_AGE: Duration = Duration::from_secs(60);

/// Estimated numbers of rows, by table.
#[derive(Debug, Default)]
pub(crate) struct TableSizes(RefCell<HashMap<TableName, (Instant, u64)>>);

/// Refuses a plan that scans more rows than its bound allows to sort by values of related records.
pub(crate) fn check(
    connection: &Connection,
    sizes: &TableSizes,
    plan: &Plan,
    statements: &Statements,
) -> Result<(), ResolveError> {
    match plan.related_sort_rows() {
        Some(bound) => Check { connection, sizes, bound }.node(plan.node(), statements),
        None => Ok(()),
    }
}

/// A check on one connection.
struct Check<'c> {
    connection: &'c Connection,
    sizes: &'c TableSizes,
    bound: u64,
}

impl Check<'_> {
    /// Checks a node and those below it. The recursion is as deep as the query, whose depth is bounded.
    fn node(&self, node: &Node, tree: &Statements) -> Result<(), ResolveError> {
        if node.sorts_related()
            && let Some(statement) = tree.rows.statement()
        {
            // A connection notices new indexes when it reads, not when it explains.
            self.connection.query_row(ONE_ROW, [], |_| Ok(())).map_err(failed)?;
            let steps = steps(self.connection, statement).map_err(failed)?;
            if steps.iter().any(|step| step.contains("TEMP B-TREE FOR") && step.ends_with("ORDER BY")) {
                self.steps(node, &steps)?;
            }
        }
        (node.joins.iter().zip(&tree.joins)).try_for_each(|(join, tree)| self.node(&join.node, tree))
    }

    /// Checks the steps of a statement that sorts. For each row of the node, tables of related records without an index are
    /// scanned.
    fn steps(&self, node: &Node, steps: &[String]) -> Result<(), ResolveError> {
        let bound = self.bound;
        let (mut rows, mut related, mut through, mut missing) = (1, 0u64, None, None);
        for step in steps {
            let mut words = step.split(' ');
            let (Some(kind), Some(alias)) = (words.next(), words.next()) else { continue };
            let found = find(node, alias);
            through = found.or(through);
            let (below, table) = match (kind, found, through) {
                ("SCAN", Some((_, None)), _) => {
                    rows = self.size(&node.table)?;
                    continue;
                }
                ("SEARCH", Some((_, None)), _) => {
                    if let Some(part) = range(step) {
                        rows = self.size(&node.table)? / part;
                    }
                    continue;
                }
                ("SCAN", Some((below, Some(_))), _) => (below, &below.table),
                // The junction table of the related records in the step before.
                ("SCAN", None, Some((below, Some(Link::Through { table, .. })))) => (below, table),
                _ => continue,
            };
            related = related.saturating_add(self.size(table)?);
            missing = Some(below);
        }
        let scanned = rows.saturating_mul(related.saturating_add(1));
        if scanned <= bound {
            return Ok(());
        }
        let hint = match missing {
            Some(below) => format!("an index for the relation '{}' would help", below.path),
            None => "narrow the records with `$where` on a field that has an index".to_owned(),
        };
        Err(ResolveError::SortTooLarge { path: node.path.clone(), scanned, bound, hint })
    }

    /// Returns the estimated number of rows of a table; 0 for a view.
    fn size(&self, table: &TableName) -> Result<u64, ResolveError> {
        let known = self.sizes.0.borrow().get(table).copied();
        if let Some((at, rows)) = known
            && at.elapsed() < SIZE_AGE
        {
            return Ok(rows);
        }
        let rows = estimate(self.connection, table).map_err(failed)?;
        self.sizes.0.borrow_mut().insert(table.clone(), (Instant::now(), rows));
        Ok(rows)
    }
}

/// Returns the divisor of a table's rows that SQLite's planner uses to estimate the search of a range: 4, or 64 if the
/// range has two ends. Returns `None` for a search by equality, which finds few rows.
fn range(step: &str) -> Option<u64> {
    match (step.contains("=?"), step.matches('?').count()) {
        (true, _) | (_, 0) => None,
        (false, 1) => Some(4),
        (false, _) => Some(64),
    }
}

/// Finds the node of an alias, and how it is related to the node above: `t0` is the alias of the node itself, and `t0_1` the
/// one of its related records with the number 1.
fn find<'a>(node: &'a Node, alias: &str) -> Option<(&'a Node, Option<&'a Link>)> {
    let mut parts = alias.strip_prefix('t')?.split('_');
    parts.next()?.parse::<usize>().ok()?;
    let mut found = (node, None);
    for part in parts {
        let related = found.0.related.get(part.parse::<usize>().ok()?)?;
        found = (&related.node, Some(&related.link));
    }
    Some(found)
}

/// Estimates the number of rows of a table: from `ANALYZE`, by counting a small table, or from the range of row ids.
fn estimate(connection: &Connection, table: &TableName) -> rusqlite::Result<u64> {
    const ANALYZED: &str = "SELECT CAST(stat AS INTEGER) FROM main.sqlite_stat1 WHERE lower(tbl) = lower(?1)";
    // The table of statistics is missing if nothing was analyzed.
    let analyzed = connection.query_row(ANALYZED, [&table.name], |row| row.get::<_, i64>(0));
    if let Ok(rows) = analyzed {
        return Ok(rows.unsigned_abs());
    }
    match row_count(connection, table, COUNTED)? {
        None => Ok(0),
        Some(rows) if rows < COUNTED => Ok(rows),
        Some(rows) => Ok(row_id_range(connection, table).unwrap_or(rows).max(rows)),
    }
}

/// Returns the number of row ids between the first and the last one. A table without row ids has none.
fn row_id_range(connection: &Connection, table: &TableName) -> rusqlite::Result<u64> {
    let end = |value| {
        let sql =
            Query::select().expr(value).from(("main", table.name.clone())).to_string(SqliteQueryBuilder);
        connection.query_row(&sql, [], |row| row.get::<_, i64>(0))
    };
    let row_id = || Expr::col("rowid");
    let (first, last) = (end(Func::min(row_id()))?, end(Func::max(row_id()))?);
    Ok(last.abs_diff(first).saturating_add(1))
}
