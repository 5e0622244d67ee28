//! Dates and times: days or microseconds since 2000 as ISO 8601 text.

use std::fmt::Write as _;

/// Days from the Unix epoch to the first of January 2000, from which the database counts.
const EPOCH: i64 = 10_957;
const DAY: i64 = 86_400_000_000;

/// A day.
pub(super) fn date(bytes: &[u8]) -> Option<String> {
    match i32::from_be_bytes(bytes.try_into().ok()?) {
        i32::MAX => Some("infinity".to_owned()),
        i32::MIN => Some("-infinity".to_owned()),
        days => {
            let mut text = String::with_capacity(10);
            push_day(&mut text, i64::from(days) + EPOCH);
            Some(text)
        }
    }
}

/// A day and a time of day, with `Z` where the column has time zones: the database counts in UTC.
pub(super) fn timestamp(bytes: &[u8], zone: bool) -> Option<String> {
    let micros = match i64::from_be_bytes(bytes.try_into().ok()?) {
        i64::MAX => return Some("infinity".to_owned()),
        i64::MIN => return Some("-infinity".to_owned()),
        micros => micros,
    };
    let mut text = String::with_capacity(28);
    push_day(&mut text, micros.div_euclid(DAY) + EPOCH);
    let of_day = micros.rem_euclid(DAY);
    let (seconds, micros) = (of_day / 1_000_000, of_day % 1_000_000);
    text.push('T');
    push_digits(&mut text, seconds / 3_600, 2);
    text.push(':');
    push_digits(&mut text, seconds / 60 % 60, 2);
    text.push(':');
    push_digits(&mut text, seconds % 60, 2);
    if micros > 0 {
        text.push('.');
        push_digits(&mut text, micros, 6);
        text.truncate(text.trim_end_matches('0').len());
    }
    if zone {
        text.push('Z');
    }
    Some(text)
}

/// Writes a day, counted from the Unix epoch, by years that begin in March. Years that four digits cannot say
/// have a sign and six, as ISO 8601 has it; the year before the first is the year 0.
fn push_day(text: &mut String, days: i64) {
    let days = days + 719_468;
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let years = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * years + years / 4 - years / 100);
    let shifted = (5 * of_year + 2) / 153;
    let month = (shifted + 2) % 12 + 1;
    let year = years + era * 400 + i64::from(month <= 2);
    match year {
        0..=9_999 => push_digits(text, year, 4),
        _ => {
            text.push(if year < 0 { '-' } else { '+' });
            push_digits(text, year.abs(), 6);
        }
    }
    text.push('-');
    push_digits(text, month, 2);
    text.push('-');
    push_digits(text, of_year - (153 * shifted + 2) / 5 + 1, 2);
}

fn push_digits(text: &mut String, value: i64, width: usize) {
    // Writing to a String cannot fail.
    let _ = write!(text, "{value:0width$}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
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
        assert_eq!(date(i32::MIN), "-infinity");
    }
}
