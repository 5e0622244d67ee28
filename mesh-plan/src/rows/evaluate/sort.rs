//! Sorting that ends at the deadline.

use std::cmp::Ordering;

use crate::ResolveError;
use crate::rows::StepCounter;

/// The number of items that are sorted between two readings of the clock. Sorting them takes a few milliseconds.
const RUN: usize = 8_192;

/// Sorts items; equal ones keep their order.
pub(super) fn sort_by<T>(
    items: &mut Vec<T>,
    steps: &StepCounter,
    compare: impl Fn(&T, &T) -> Ordering,
) -> Result<(), ResolveError> {
    steps.check()?;
    if items.len() <= RUN {
        items.sort_by(compare);
        return Ok(());
    }
    let mut runs = Vec::with_capacity(items.len().div_ceil(RUN));
    let mut left = std::mem::take(items).into_iter();
    loop {
        steps.check()?;
        let mut run: Vec<T> = left.by_ref().take(RUN).collect();
        if run.is_empty() {
            break;
        }
        run.sort_by(&compare);
        runs.push(run);
    }
    while runs.len() > 1 {
        let mut merged = Vec::with_capacity(runs.len().div_ceil(2));
        let mut left = runs.into_iter();
        while let Some(first) = left.next() {
            merged.push(match left.next() {
                Some(second) => merge(first, second, steps, &compare)?,
                None => first,
            });
        }
        runs = merged;
    }
    *items = runs.pop().unwrap_or_default();
    Ok(())
}

/// Merges two sorted runs. Among equal items, those of the first run come first.
fn merge<T>(
    first: Vec<T>,
    second: Vec<T>,
    steps: &StepCounter,
    compare: impl Fn(&T, &T) -> Ordering,
) -> Result<Vec<T>, ResolveError> {
    let mut merged = Vec::with_capacity(first.len() + second.len());
    let (mut first, mut second) = (first.into_iter().peekable(), second.into_iter().peekable());
    loop {
        steps.step()?;
        let next = match (first.peek(), second.peek()) {
            (Some(left), Some(right)) if compare(right, left) == Ordering::Less => second.next(),
            (Some(_), _) => first.next(),
            (None, _) => second.next(),
        };
        match next {
            Some(item) => merged.push(item),
            None => return Ok(merged),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::time::{Duration, Instant};

    use super::*;

    /// Items in no order, many of them equal, each with its number.
    fn items(count: usize) -> Vec<(usize, usize)> {
        (0..count).map(|number| (number * 7_919 % 1_013, number)).collect()
    }

    #[test]
    fn equal_items_keep_their_order() {
        for count in [0, 1, 2, RUN - 1, RUN, RUN + 1, 2 * RUN, 5 * RUN + 3] {
            let mut sorted = items(count);
            sort_by(&mut sorted, &StepCounter::default(), |left, right| left.0.cmp(&right.0)).unwrap();
            let mut expected = items(count);
            expected.sort_by_key(|item| item.0);
            assert_eq!(sorted, expected, "{count} items");
        }
    }

    #[test]
    fn a_sort_ends_soon_after_the_deadline() {
        let comparisons = |deadline: Option<(Instant, usize)>| {
            let count = Cell::new(0);
            let compare = |left: &(usize, usize), right: &(usize, usize)| {
                count.set(count.get() + 1);
                if let Some((deadline, after)) = deadline
                    && count.get() == after
                {
                    while Instant::now() < deadline {
                        std::hint::spin_loop();
                    }
                }
                left.cmp(right)
            };
            let steps = StepCounter::new(deadline.map(|(deadline, _)| deadline));
            let result = sort_by(&mut items(20 * RUN), &steps, compare);
            (result, count.get())
        };
        let (all, count) = comparisons(None);
        all.unwrap();
        for after in [1_000, count / 2, count - 5_000] {
            let deadline = Instant::now() + Duration::from_secs(5);
            let (result, last) = comparisons(Some((deadline, after)));
            assert!(matches!(result, Err(ResolveError::TimedOut)), "{result:?}");
            let run = 2 * RUN * RUN.ilog2() as usize;
            assert!(last < after + run, "{last} comparisons, the deadline passed after {after}");
        }
    }
}
