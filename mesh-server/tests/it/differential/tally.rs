//! Counts of what a test has compared.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::AddAssign;

/// Counts by their names.
#[derive(Default)]
pub(crate) struct Tally(BTreeMap<&'static str, usize>);

impl Tally {
    pub(crate) fn add(&mut self, name: &'static str, count: usize) {
        *self.0.entry(name).or_default() += count;
    }

    pub(crate) fn count(&self, name: &str) -> usize {
        self.0.get(name).copied().unwrap_or_default()
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        other.0.into_iter().for_each(|(name, count)| self.add(name, count));
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts: Vec<_> = self.0.iter().map(|(name, count)| format!("{count} {name}")).collect();
        f.write_str(&counts.join(", "))
    }
}
