//! `Range` headers. A single range is supported; several ranges are answered with the whole file, as HTTP permits.

use std::ops::Range;

/// The range that a request selects of a file. `SPEC §9.7`
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequestedRange {
    /// The whole file, because the header is missing, or is ignored as malformed or unsupported.
    Whole,
    /// At least one byte.
    Part(Range<u64>),
    /// No bytes, because the range is beyond the end of the file or empty.
    Nothing,
}

impl RequestedRange {
    /// Parses a `Range` header for a file of `size` bytes. The caller evaluates `If-Range`.
    pub fn parse(header: Option<&str>, size: u64) -> Self {
        let Some(ranges) = header.and_then(bytes_of) else { return Self::Whole };
        let mut ranges = ranges.split(',').map(str::trim).filter(|range| !range.is_empty());
        let (Some(range), None) = (ranges.next(), ranges.next()) else { return Self::Whole };
        let Some((first, last)) = range.split_once('-') else { return Self::Whole };
        match (number(first), number(last)) {
            (Some(first), Some(last)) if first > last => Self::Whole,
            (Some(first), Some(last)) => within(first, last.saturating_add(1).min(size)),
            (Some(first), None) if last.is_empty() => within(first, size),
            (None, Some(count)) if first.is_empty() => within(size.saturating_sub(count), size),
            _ => Self::Whole,
        }
    }
}

fn bytes_of(header: &str) -> Option<&str> {
    let (unit, ranges) = header.split_once('=')?;
    unit.trim().eq_ignore_ascii_case("bytes").then_some(ranges)
}

/// Parses decimal digits. Numbers above `u64::MAX` are clamped to it, which is beyond the end of any file.
fn number(text: &str) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().unwrap_or(u64::MAX))
}

fn within(start: u64, end: u64) -> RequestedRange {
    if start < end { RequestedRange::Part(start..end) } else { RequestedRange::Nothing }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(header: &str) -> RequestedRange {
        RequestedRange::parse(Some(header), 10)
    }

    #[test]
    fn unsupported_ranges_are_ignored() {
        for header in [
            "",
            "bytes",
            "bytes=",
            "bytes=a-b",
            "bytes=4-2",
            "bytes=-",
            "bytes=+1-2",
            "lines=1-2",
            "bytes=0-1,3-4",
        ] {
            assert_eq!(parse(header), RequestedRange::Whole, "{header}");
        }
        assert_eq!(RequestedRange::parse(None, 10), RequestedRange::Whole);
    }
}
