//! Dates and times outside of the years of four digits: ISO 8601 with a sign and six or seven digits of the year, and
//! `infinity`.

use super::{Time, parse_date};

/// The number of years after which the calendar repeats.
const CYCLE: i64 = 400;
/// The start of a cycle within the years of four digits.
const CYCLE_START: i64 = 2_000;

/// Returns whether a text is a date, or infinite.
pub(crate) fn is_date(text: &str) -> bool {
    is_infinite(text)
        || split(text)
            .is_some_and(|(year, rest)| parse_date(&format!("{:04}-{rest}", in_cycle(year))).is_some())
}

/// Returns whether a text is a time, or infinite.
pub(crate) fn is_time(text: &str) -> bool {
    is_infinite(text)
        || split(text)
            .is_some_and(|(year, rest)| Time::parse(&format!("{:04}-{rest}", in_cycle(year))).is_some())
}

/// Returns whether a text is a value outside of the calendar.
pub fn is_infinite(text: &str) -> bool {
    matches!(text, "infinity" | "-infinity")
}

/// Splits off the year, which has four digits, or a sign and six or seven digits.
pub fn split(text: &str) -> Option<(i64, &str)> {
    let (sign, digits) = match text.as_bytes().first()? {
        b'+' => (1, text.get(1..)?),
        b'-' => (-1, text.get(1..)?),
        _ => (0, text),
    };
    let (year, rest) = digits.split_once('-')?;
    let fits = if sign == 0 { year.len() == 4 } else { (6..=7).contains(&year.len()) };
    if !fits || !year.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let year = year.parse::<i64>().ok()?;
    Some((if sign < 0 { -year } else { year }, rest))
}

/// Returns a year of four digits with the same calendar.
pub fn in_cycle(year: i64) -> i64 {
    CYCLE_START + year.rem_euclid(CYCLE)
}
