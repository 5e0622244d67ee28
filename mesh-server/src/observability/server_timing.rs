//! The header `Server-Timing` of reads, in milliseconds with two decimals.

use std::time::Duration;

use bytes::Bytes;
use http::header::{HeaderName, HeaderValue};

use super::record::{ReadRecord, nanoseconds};

/// The name of the header.
pub(crate) const SERVER_TIMING: HeaderName = HeaderName::from_static("server-timing");

/// The resolution in nanoseconds. A finer one would make timing attacks easier.
const STEP: u64 = 10_000;

/// Returns the header: `plan` until the read starts, `sql` in the back end including shaping, and `total`.
pub(crate) fn header(read: ReadRecord, total: Duration) -> Option<HeaderValue> {
    let mut value = Vec::with_capacity(64);
    for (name, duration) in
        [("plan;dur=", read.until_start), (", sql;dur=", read.duration), (", total;dur=", total)]
    {
        let steps = nanoseconds(duration) / STEP;
        value.extend_from_slice(name.as_bytes());
        value.extend_from_slice(itoa::Buffer::new().format(steps / 100).as_bytes());
        let [tenths, hundredths] = [steps / 10 % 10, steps % 10].map(|digit| b'0' + digit as u8);
        value.extend_from_slice(&[b'.', tenths, hundredths]);
    }
    HeaderValue::from_maybe_shared(Bytes::from(value)).ok()
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
