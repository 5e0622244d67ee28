//! Dates and times: days or microseconds since 2000 as ISO 8601 text.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::Offset;

/// The microseconds from 1970 until the time from which PostgreSQL counts.
const EPOCH: i64 = 946_684_800_000_000;
/// The days in 400 years, after which the Gregorian calendar repeats.
const DAYS_PER_CYCLE: i64 = 146_097;
const MICROS_PER_DAY: i64 = 86_400_000_000;

/// Formats a value of type `date`.
pub(super) fn date(bytes: &[u8]) -> Option<String> {
    match i32::from_be_bytes(bytes.try_into().ok()?) {
        i32::MAX => Some("infinity".to_owned()),
        i32::MIN => Some("-infinity".to_owned()),
        days => format(days.into(), 0, |time| time.date().to_string()),
    }
}

/// Formats a timestamp, with `Z` if its type has a time zone: the binary form is in UTC.
pub(super) fn timestamp(bytes: &[u8], zone: bool) -> Option<String> {
    match i64::from_be_bytes(bytes.try_into().ok()?) {
        i64::MAX => Some("infinity".to_owned()),
        i64::MIN => Some("-infinity".to_owned()),
        micros => {
            let (days, micros) = (micros.div_euclid(MICROS_PER_DAY), micros.rem_euclid(MICROS_PER_DAY));
            format(days, micros, |time| if zone { format!("{time}Z") } else { time.to_string() })
        }
    }
}

/// Formats a time, given in days since 2000 and microseconds of its day. Years outside of 0000–9999 have a sign and at least six
/// digits, as in ISO 8601; the year before 1 is the year 0.
fn format(days: i64, micros: i64, show: impl Fn(DateTime) -> String) -> Option<String> {
    // The same day in the years from 2000 to 2399.
    let (cycles, days) = (days.div_euclid(DAYS_PER_CYCLE), days.rem_euclid(DAYS_PER_CYCLE));
    let time = Timestamp::from_microsecond(EPOCH + days * MICROS_PER_DAY + micros).ok()?;
    let time = Offset::UTC.to_datetime(time);
    let mut text = show(time);
    match i64::from(time.year()) + 400 * cycles {
        2_000..2_400 => {}
        year @ 0..10_000 => text.replace_range(..4, &format!("{year:04}")),
        year => text.replace_range(..4, &format!("{year:+07}")),
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use jiff::ToSpan as _;
    use jiff::civil;

    use super::*;

    #[test]
    fn days_are_those_of_the_calendar() {
        let epoch = civil::date(2000, 1, 1);
        for days in (-730_485..2_921_000_i32).step_by(13).chain(-800..800) {
            let expected = epoch.checked_add(i64::from(days).days()).unwrap().to_string();
            assert_eq!(date(&days.to_be_bytes()).unwrap(), expected);
        }
    }

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
