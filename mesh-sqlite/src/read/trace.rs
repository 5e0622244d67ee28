//! The cost of a statement in traced reads.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use mesh_plan::{Node, TracedStatement, Value, ValueRef};
use mesh_sql::Statement;
use mesh_sql::sqlite::Param;

/// The cost of a statement's runs, without the statements of nested nodes.
#[derive(Default)]
pub(super) struct Cost {
    /// The values that were bound in the first run, by the indexes of their parameters.
    params: BTreeMap<usize, Value>,
    /// The time at which the current search for a row started.
    start: Option<Instant>,
    duration: Duration,
    rows: u64,
    runs: u64,
}

impl Cost {
    /// Records a value that is bound.
    pub(super) fn bind(&mut self, index: usize, value: ValueRef<'_>) {
        if self.runs == 0 {
            self.params.insert(index, value.to_value());
        }
    }

    /// Starts a run.
    pub(super) fn begin(&mut self) {
        self.runs += 1;
        self.resume();
    }

    /// Starts the search for a row.
    pub(super) fn resume(&mut self) {
        self.start = Some(Instant::now());
    }

    /// Ends the search for a row. `found` states whether there was one.
    pub(super) fn pause(&mut self, found: bool) {
        self.rows += u64::from(found);
        self.duration += self.start.take().map_or(Duration::ZERO, |start| start.elapsed());
    }

    /// Returns the record of a statement.
    pub(super) fn record(&self, statement: &Statement<Param>, node: &Node) -> TracedStatement {
        let params = (1..).zip(&statement.params).map(|(index, param)| match param {
            Param::Value(value) => value.clone(),
            _ => self.params.get(&index).cloned().unwrap_or_default(),
        });
        TracedStatement::new(statement.sql.as_str(), self.duration, self.rows)
            .with_params(params)
            .with_node(&node.path, self.runs)
    }
}

#[cfg(test)]
mod tests;
