//! Dates and times in queries, columns and responses. `SPEC §5.5`

pub mod extended;

use jiff::SignedDuration;
use jiff::civil::{self, Date, DateTime};
use mesh_schema::TimeForm;

use crate::Value;

/// The largest number that counts as seconds since the epoch. Larger numbers are milliseconds.
const LARGEST_SECONDS: f64 = 100_000_000_000.0;

const EPOCH: DateTime = DateTime::constant(1970, 1, 1, 0, 0, 0, 0);

/// Parses `2024-05-01`; `None` if there is no such day.
pub(crate) fn parse_date(text: &str) -> Option<Date> {
    let (year, rest) = text.split_once('-')?;
    let (month, day) = rest.split_once('-')?;
    Date::new(digits(year, 4)?, digits(month, 2)?, digits(day, 2)?).ok()
}

/// Returns whether a text is a date in a year of four digits.
pub fn is_date(text: &str) -> bool {
    parse_date(text).is_some()
}

/// Returns a day in the form of its column.
pub(crate) fn stored_date(date: Date, form: Option<TimeForm>) -> Value {
    match form {
        None | Some(TimeForm::Extended | TimeForm::Mixed { .. } | TimeForm::UuidBytes) => {
            Value::Text(date.to_string())
        }
        Some(_) => Time { utc: date.into(), fraction: 0, has_zone: false }.stored(form),
    }
}

/// A time in the years 0000–9999.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Time {
    utc: DateTime,
    /// The number of digits of the fraction as written.
    fraction: usize,
    has_zone: bool,
}

impl Time {
    /// Parses `2024-05-01T12:30:00`. The `T` may be a space, a fraction and a zone may follow, and the seconds or the
    /// whole time of day may be missing.
    pub fn parse(text: &str) -> Option<Self> {
        let (date, rest) = text.split_at_checked(10)?;
        let date = parse_date(date)?;
        if rest.is_empty() {
            return Some(Self { utc: date.into(), fraction: 0, has_zone: false });
        }
        let rest = rest.strip_prefix(['T', 't', ' '])?;
        let (time, zone) = rest.split_at(rest.find(['Z', 'z', '+', '-']).unwrap_or(rest.len()));
        let (time, fraction) = match time.split_once('.') {
            Some((time, fraction)) if time.len() == 8 && (1..=9).contains(&fraction.len()) => {
                (time, fraction)
            }
            Some(_) => return None,
            None => (time, ""),
        };
        let (hour, rest) = time.split_once(':')?;
        let (minute, second) = rest.split_once(':').unwrap_or((rest, "00"));
        let nanos = match fraction.len() {
            0 => 0,
            count => digits::<i32>(fraction, count)? * 10_i32.pow(9 - count as u32),
        };
        let time = civil::Time::new(digits(hour, 2)?, digits(minute, 2)?, digits(second, 2)?, nanos).ok()?;
        let offset = SignedDuration::from_mins(offset(zone)?);
        let utc = date.to_datetime(time).checked_sub(offset).ok().filter(|utc| utc.year() >= 0)?;
        Some(Self { utc, fraction: fraction.len(), has_zone: !zone.is_empty() })
    }

    /// Returns the time in the form of its column, in UTC. For a column of unknown form it is ISO 8601 text with the
    /// fraction as written.
    pub fn stored(self, form: Option<TimeForm>) -> Value {
        let since_epoch = self.utc.duration_since(EPOCH);
        match form {
            // The last form is not one of times.
            None | Some(TimeForm::Extended | TimeForm::Mixed { .. } | TimeForm::UuidBytes) => {
                Value::Text(text(self.utc, 'T', self.fraction, self.has_zone))
            }
            Some(TimeForm::Text { separator, fraction, zulu }) => {
                let exact = fraction_digits(self.utc.subsec_nanosecond());
                Value::Text(text(self.utc, separator, exact.max(fraction.into()), zulu))
            }
            Some(TimeForm::UnixSeconds) if self.utc.subsec_nanosecond() == 0 => {
                Value::Integer(since_epoch.as_secs())
            }
            Some(TimeForm::UnixSeconds) => Value::Real(since_epoch.as_secs_f64()),
            Some(TimeForm::UnixMillis) => Value::Integer(since_epoch.as_nanos().div_euclid(1_000_000) as i64),
        }
    }

    pub(super) fn utc(self) -> DateTime {
        self.utc
    }

    /// Returns the text in UTC that has the same order as the time, and is the same for all texts of the time.
    pub(crate) fn canonical(self) -> Value {
        self.utc.to_string().into()
    }
}

/// Returns the ISO 8601 text of a number that represents a time; `None` if its year does not have four digits.
pub(crate) fn from_number(form: Option<TimeForm>, number: f64) -> Option<String> {
    let utc = utc_from_number(form, number)?;
    let fraction = if utc.subsec_nanosecond() == 0 { 0 } else { 3 };
    Some(text(utc, 'T', fraction, true))
}

/// Returns the day, in UTC, of a number that represents a time.
pub(crate) fn day_from_number(form: Option<TimeForm>, number: f64) -> Option<String> {
    utc_from_number(form, number).map(|utc| utc.date().to_string())
}

pub(super) fn utc_from_number(form: Option<TimeForm>, number: f64) -> Option<DateTime> {
    let is_millis = match form {
        Some(TimeForm::UnixMillis) => true,
        Some(TimeForm::UnixSeconds) => false,
        _ => number.abs() > LARGEST_SECONDS,
    };
    let millis = if is_millis { number } else { number * 1_000.0 };
    if !millis.is_finite() {
        return None;
    }
    let utc = EPOCH.checked_add(SignedDuration::from_millis(millis.round() as i64)).ok()?;
    (utc.year() >= 0).then_some(utc)
}

/// Returns the ISO 8601 text of a time in a year of four digits.
fn text(utc: DateTime, separator: char, fraction: usize, zulu: bool) -> String {
    let mut text = format!("{utc:.fraction$}");
    if separator != 'T' {
        text.replace_range(10..11, separator.encode_utf8(&mut [0; 4]));
    }
    if zulu {
        text.push('Z');
    }
    text
}

/// Returns the number of digits that the fraction of a second needs.
fn fraction_digits(mut nanos: i32) -> usize {
    let mut digits = 9;
    while digits > 0 && nanos % 10 == 0 {
        nanos /= 10;
        digits -= 1;
    }
    digits
}

/// Parses the zone of a time: nothing, `Z`, or an offset such as `+02:00`. Returns the minutes east of UTC.
fn offset(zone: &str) -> Option<i64> {
    let sign = match zone.bytes().next() {
        None => return Some(0),
        Some(b'+') => 1,
        Some(b'-') => -1,
        Some(_) => return (zone.len() == 1).then_some(0),
    };
    let rest = zone.get(1..)?;
    let (hours, minutes) = match rest.split_once(':') {
        Some(parts) => parts,
        None if rest.len() == 2 => (rest, "00"),
        None => rest.split_at_checked(2)?,
    };
    let (hours, minutes): (i64, i64) = (digits(hours, 2)?, digits(minutes, 2)?);
    (hours <= 23 && minutes <= 59).then_some(sign * (hours * 60 + minutes))
}

/// Parses a number of exactly this many digits.
fn digits<T: std::str::FromStr>(text: &str, count: usize) -> Option<T> {
    let is_number = text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored(text: &str, form: Option<TimeForm>) -> Option<Value> {
        Time::parse(text).map(|time| time.stored(form))
    }

    #[test]
    fn times_take_the_form_of_their_column() {
        let blank = Some(TimeForm::Text { separator: ' ', fraction: 0, zulu: false });
        let millis = Some(TimeForm::Text { separator: 'T', fraction: 3, zulu: true });
        assert_eq!(stored("2024-05-01T12:30:00Z", blank), Some("2024-05-01 12:30:00".into()));
        assert_eq!(stored("2024-05-01T01:30:00+02:00", blank), Some("2024-04-30 23:30:00".into()));
        assert_eq!(stored("2024-05-01", blank), Some("2024-05-01 00:00:00".into()));
        assert_eq!(stored("2024-05-01 12:30", millis), Some("2024-05-01T12:30:00.000Z".into()));
        assert_eq!(stored("2024-05-01t01:30:00.250+0200", None), Some("2024-04-30T23:30:00.250Z".into()));
        assert_eq!(stored("2024-05-01T01:30:00.25-02", millis), Some("2024-05-01T03:30:00.250Z".into()));
        assert_eq!(stored("2024-05-01T01:30:00.05Z", millis), Some("2024-05-01T01:30:00.050Z".into()));
        assert_eq!(stored("2024-05-01T01:30:00.0123Z", blank), Some("2024-05-01 01:30:00.0123".into()));
        assert_eq!(stored("1970-01-01T00:00:00.5", Some(TimeForm::UnixSeconds)), Some(0.5.into()));
        assert_eq!(stored("1970-01-02T00:00:01Z", Some(TimeForm::UnixSeconds)), Some(86_401.into()));
        assert_eq!(stored("1969-12-31T23:59:59.5Z", Some(TimeForm::UnixMillis)), Some((-500).into()));
    }

    #[test]
    fn malformed_times_are_refused() {
        for text in [
            "",
            "2024",
            "2023-02-29",
            "2024-05-01T",
            "2024-05-01T25:00:00",
            "2024-05-01T12:00:00+9",
            "a024-05-01",
            "2024-05-01T12:00:00.",
            "2024-05-01T12:00:00.1234567890",
            "2024-05-01T12:00.5",
            "2024-05-01T12",
            "2024-05-01T1:00:00",
            "2024-05-01T12:00:60",
            "2024-05-01T12:00:00:00",
            "2024-05-01T12:00:00+2",
            "2024-05-01T12:00:00+24:00",
            "2024-05-01T12:00:00+02:0",
            "2024-13-01",
            "2024-05-01x",
            "２024-05-01",
        ] {
            assert_eq!(Time::parse(text), None, "{text}");
        }
    }

    #[test]
    fn the_years_of_four_digits_are_stored_in_every_form() {
        let text = Some(TimeForm::Text { separator: 'T', fraction: 0, zulu: true });
        for (time, seconds) in
            [("0000-01-01T00:00:00Z", -62_167_219_200i64), ("9999-12-31T23:59:59Z", 253_402_300_799)]
        {
            assert_eq!(stored(time, text), Some(time.into()));
            assert_eq!(stored(time, Some(TimeForm::UnixSeconds)), Some(seconds.into()));
            assert_eq!(from_number(Some(TimeForm::UnixSeconds), seconds as f64).as_deref(), Some(time));
        }
        assert_eq!(Time::parse("9999-12-31T23:59:59-01:00"), None);
        assert_eq!(Time::parse("0000-01-01T00:00:00+01:00"), None);
        assert_eq!(from_number(Some(TimeForm::UnixSeconds), 253_402_300_800.0), None);
    }

    #[test]
    fn numbers_become_iso_text() {
        assert_eq!(from_number(None, 1_714_566_600.0).as_deref(), Some("2024-05-01T12:30:00Z"));
        assert_eq!(from_number(None, 1_714_566_600_250.0).as_deref(), Some("2024-05-01T12:30:00.250Z"));
        assert_eq!(from_number(Some(TimeForm::UnixSeconds), -1.0).as_deref(), Some("1969-12-31T23:59:59Z"));
        assert_eq!(from_number(None, f64::INFINITY), None);
    }
}
