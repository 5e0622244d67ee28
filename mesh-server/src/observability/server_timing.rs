//! The header `Server-Timing` of reads, in milliseconds with two decimals.

use std::cell::RefCell;
use std::time::Duration;

use http::header::{HeaderName, HeaderValue};

use super::record::{ReadRecord, nanoseconds};

/// The name of the header.
pub(crate) const SERVER_TIMING: HeaderName = HeaderName::from_static("server-timing");

/// The resolution in nanoseconds. A finer one would make timing attacks easier.
const STEP: u64 = 10_000;

thread_local! {
    /// The last value of this thread, which is often the next one too. Formatting takes 2,000 instructions.
    static LAST: RefCell<Option<([u64; 3], HeaderValue)>> = const { RefCell::new(None) };
}

/// Returns the header: `plan` until the read starts, `sql` in the back end including shaping, and `total`.
pub(crate) fn header(read: ReadRecord, total: Duration) -> Option<HeaderValue> {
    let steps = [read.until_start, read.duration, total].map(|duration| nanoseconds(duration) / STEP);
    LAST.with_borrow_mut(|last| {
        if let Some((_, value)) = last.as_ref().filter(|(known, _)| *known == steps) {
            return Some(value.clone());
        }
        let value = value(steps)?;
        *last = Some((steps, value.clone()));
        Some(value)
    })
}

fn value([plan, sql, total]: [u64; 3]) -> Option<HeaderValue> {
    let milliseconds = |steps: u64| format!("{}.{:02}", steps / 100, steps % 100);
    let (plan, sql, total) = (milliseconds(plan), milliseconds(sql), milliseconds(total));
    HeaderValue::try_from(format!("plan;dur={plan}, sql;dur={sql}, total;dur={total}")).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_milliseconds_with_two_decimals() {
        let read = ReadRecord {
            rows: 1,
            until_start: Duration::from_nanos(12_345),
            duration: Duration::from_nanos(1_239_999),
        };
        assert_eq!(
            header(read, Duration::from_nanos(12_030_000_000)).unwrap(),
            "plan;dur=0.01, sql;dur=1.23, total;dur=12030.00"
        );
        assert_eq!(
            header(read, Duration::from_nanos(12_030_009_999)).unwrap(),
            header(read, Duration::from_nanos(12_030_000_000)).unwrap()
        );
        let nothing = ReadRecord { rows: 0, until_start: Duration::ZERO, duration: Duration::ZERO };
        assert_eq!(
            header(nothing, Duration::from_nanos(9_999)).unwrap(),
            "plan;dur=0.00, sql;dur=0.00, total;dur=0.00"
        );
    }
}
