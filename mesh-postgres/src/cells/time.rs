//! Dates and times: days or microseconds since 2000 as ISO 8601 text.

use jiff::civil::{self, Time};
use jiff::{SignedDuration, Span};

/// The day from which PostgreSQL counts.
const EPOCH: civil::Date = civil::date(2000, 1, 1);
/// The days in 400 years, after which the Gregorian calendar repeats.
const DAYS_PER_CYCLE: i64 = 146_097;
const MICROS_PER_DAY: i64 = 86_400_000_000;

/// Formats a value of type `date`.
pub(super) fn date(bytes: &[u8]) -> Option<String> {
    match i32::from_be_bytes(bytes.try_into().ok()?) {
        i32::MAX => Some("infinity".to_owned()),
        i32::MIN => Some("-infinity".to_owned()),
        days => format_day(days.into()),
    }
}

/// Formats a timestamp, with `Z` if its type has a time zone: the binary form is in UTC.
pub(super) fn timestamp(bytes: &[u8], zone: bool) -> Option<String> {
    let micros = match i64::from_be_bytes(bytes.try_into().ok()?) {
        i64::MAX => return Some("infinity".to_owned()),
        i64::MIN => return Some("-infinity".to_owned()),
        micros => micros,
    };
    let day = format_day(micros.div_euclid(MICROS_PER_DAY))?;
    let since_midnight = SignedDuration::from_micros(micros.rem_euclid(MICROS_PER_DAY));
    let time = Time::midnight().checked_add(since_midnight).ok()?;
    Some(format!("{day}T{time}{}", if zone { "Z" } else { "" }))
}

/// Formats a day, given in days since [`EPOCH`]. Years outside of 0000–9999 have a sign and six digits, as in ISO 8601;
/// the year before 1 is the year 0.
fn format_day(days: i64) -> Option<String> {
    // PostgreSQL stores years up to 5874897, jiff only those up to 9999, so the day is looked up in the cycle that begins
    // in 2000.
    let (cycle, day) = (days.div_euclid(DAYS_PER_CYCLE), days.rem_euclid(DAYS_PER_CYCLE));
    let date = EPOCH.checked_add(Span::new().try_days(day).ok()?).ok()?;
    let (year, month, day) = (i64::from(date.year()) + 400 * cycle, date.month(), date.day());
    Some(match year {
        0..=9_999 => format!("{year:04}-{month:02}-{day:02}"),
        _ => format!("{year:+07}-{month:02}-{day:02}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_and_times_are_iso_8601() {
        let timestamp = |micros: i64, zone| timestamp(&micros.to_be_bytes(), zone).unwrap();
        assert_eq!(timestamp(0, false), "2000-01-01T00:00:00");
        assert_eq!(timestamp(-1, true), "1999-12-31T23:59:59.999999Z");
        assert_eq!(timestamp(757_382_400_500_000, true), "2024-01-01T00:00:00.5Z");
        assert_eq!(timestamp(i64::MAX, true), "infinity");
        assert_eq!(timestamp(-63_113_904_000_000_000, false), "0000-01-01T00:00:00");
        assert_eq!(timestamp(-63_113_904_000_000_001, true), "-000001-12-31T23:59:59.999999Z");
        assert_eq!(timestamp(252_455_616_000_000_000, true), "+010000-01-01T00:00:00Z");
        let date = |days: i32| date(&days.to_be_bytes()).unwrap();
        assert_eq!(date(0), "2000-01-01");
        assert_eq!(date(8_825), "2024-02-29");
        assert_eq!(date(-10_957), "1970-01-01");
        assert_eq!(date(2_145_031_948), "+5874897-12-31");
        assert_eq!(date(-2_451_507), "-004712-01-01");
        assert_eq!(date(i32::MIN), "-infinity");
    }
}
