//! Dates and times, as they are read from queries, stored in columns and written in responses. `SPEC §5.5`

use mesh_schema::TimeForm;

use crate::Value;

/// Greater integers are milliseconds since the epoch rather than seconds.
const LARGEST_SECONDS: i64 = 100_000_000_000;

/// A day of the proleptic Gregorian calendar, in the years 0000–9999.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Date {
    year: i64,
    month: u8,
    day: u8,
}

impl Date {
    /// Parses `2024-05-01`; `None` if there is no such day.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let bytes = text.as_bytes();
        let (&[b'-'], &[b'-']) = (bytes.get(4..5)?, bytes.get(7..8)?) else { return None };
        if bytes.len() != 10 {
            return None;
        }
        let date = Self {
            year: digits(bytes.get(0..4)?)?,
            month: u8::try_from(digits(bytes.get(5..7)?)?).ok()?,
            day: u8::try_from(digits(bytes.get(8..10)?)?).ok()?,
        };
        let days = match date.month {
            1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
            4 | 6 | 9 | 11 => 30,
            2 if is_leap(date.year) => 29,
            2 => 28,
            _ => 0,
        };
        (1..=days).contains(&date.day).then_some(date)
    }

    /// Returns the days since the Unix epoch, counted in years that begin in March.
    fn days(self) -> i64 {
        let (year, month) = (self.year, i64::from(self.month));
        let year = if month <= 2 { year - 1 } else { year };
        let era = year.div_euclid(400);
        let year_of_era = year.rem_euclid(400);
        let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + i64::from(self.day) - 1;
        era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
    }

    fn from_days(days: i64) -> Self {
        let days = days + 719_468;
        let era = days.div_euclid(146_097);
        let day_of_era = days.rem_euclid(146_097);
        let years = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * years + years / 4 - years / 100);
        let shifted = (5 * day_of_year + 2) / 153;
        let day = (day_of_year - (153 * shifted + 2) / 5 + 1) as u8;
        let month = ((shifted + 2) % 12 + 1) as u8;
        Self { year: years + era * 400 + i64::from(month <= 2), month, day }
    }

    /// Returns the day as its column stores it.
    pub(crate) fn stored(self, form: Option<TimeForm>) -> Value {
        let midnight = Time { date: self, second: 0, nanos: 0, fraction: 0, zone: None };
        match form {
            None => Value::Text(self.text()),
            Some(_) => midnight.stored(form),
        }
    }

    fn text(self) -> String {
        format!("{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }
}

/// A day and a time of day, with the fraction and zone as written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Time {
    date: Date,
    /// Seconds since midnight.
    second: i64,
    nanos: u32,
    /// The number of digits of the fraction as written.
    fraction: u8,
    /// Minutes east of UTC; `None` without a zone.
    zone: Option<i64>,
}

impl Time {
    /// Parses `2024-05-01T12:30:00`. The `T` may be a space, a fraction and a zone may follow, and the seconds or the
    /// whole time of day may be missing.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let date = Date::parse(text.get(..10)?)?;
        let mut time = Self { date, second: 0, nanos: 0, fraction: 0, zone: None };
        let Some(rest) = text.get(10..).filter(|rest| !rest.is_empty()) else { return Some(time) };
        let rest = rest.strip_prefix(['T', 't', ' '])?;
        let (hour, minute) = (digits(rest.as_bytes().get(0..2)?)?, digits(rest.as_bytes().get(3..5)?)?);
        if rest.as_bytes().get(2) != Some(&b':') || hour > 23 || minute > 59 {
            return None;
        }
        time.second = hour * 3_600 + minute * 60;
        let mut rest = rest.get(5..)?;
        if let Some(after) = rest.strip_prefix(':') {
            let second = digits(after.as_bytes().get(0..2)?)?;
            if second > 59 {
                return None;
            }
            time.second += second;
            rest = after.get(2..)?;
            if let Some(after) = rest.strip_prefix('.') {
                let count = after.bytes().take_while(u8::is_ascii_digit).count();
                if !(1..=9).contains(&count) {
                    return None;
                }
                let fraction = u32::try_from(digits(after.as_bytes().get(..count)?)?).ok()?;
                time.nanos = fraction * 10u32.pow(9 - count as u32);
                time.fraction = count as u8;
                rest = after.get(count..)?;
            }
        }
        time.zone = zone(rest)?;
        // The conversion to UTC may lead out of the years of four digits.
        let year = Date::from_days(time.seconds().div_euclid(86_400)).year;
        (0..=9_999).contains(&year).then_some(time)
    }

    /// Returns the time as its column stores it, in UTC. Without a known form of the column it is ISO 8601 text with
    /// the fraction as written.
    pub(crate) fn stored(self, form: Option<TimeForm>) -> Value {
        let seconds = self.seconds();
        match form {
            None => {
                let zulu = self.zone.is_some();
                Value::Text(text(seconds, self.nanos, 'T', self.fraction, zulu))
            }
            Some(TimeForm::Text { separator, fraction, zulu }) => {
                Value::Text(text(seconds, self.nanos, separator, fraction.max(self.needed()), zulu))
            }
            Some(TimeForm::UnixSeconds) if self.nanos == 0 => Value::Integer(seconds),
            Some(TimeForm::UnixSeconds) => Value::Real(seconds as f64 + f64::from(self.nanos) / 1e9),
            Some(TimeForm::UnixMillis) => Value::Integer(seconds * 1_000 + i64::from(self.nanos / 1_000_000)),
        }
    }

    /// Returns the seconds since the Unix epoch.
    fn seconds(self) -> i64 {
        self.date.days() * 86_400 + self.second - self.zone.unwrap_or(0) * 60
    }

    /// Returns the number of digits that the fraction needs.
    fn needed(self) -> u8 {
        (0..=9).find(|digits| self.nanos.is_multiple_of(10u32.pow(9 - digits))).unwrap_or(9) as u8
    }
}

fn is_leap(year: i64) -> bool {
    year.rem_euclid(4) == 0 && (year.rem_euclid(100) != 0 || year.rem_euclid(400) == 0)
}

/// Returns the ISO 8601 text of a number that represents a time; `None` if its year has more than four digits.
pub(crate) fn from_number(form: Option<TimeForm>, number: f64) -> Option<String> {
    let millis = match form {
        Some(TimeForm::UnixMillis) => true,
        Some(TimeForm::UnixSeconds) => false,
        _ => number.abs() > LARGEST_SECONDS as f64,
    };
    let scaled = if millis { number } else { number * 1_000.0 };
    if !scaled.is_finite() || scaled.abs() > 3e14 {
        return None;
    }
    let total = scaled.round() as i64;
    let (seconds, rest) = (total.div_euclid(1_000), total.rem_euclid(1_000) as u32);
    let year = Date::from_days(seconds.div_euclid(86_400)).year;
    let fraction = if rest == 0 { 0 } else { 3 };
    (0..=9_999).contains(&year).then(|| text(seconds, rest * 1_000_000, 'T', fraction, true))
}

fn text(seconds: i64, nanos: u32, separator: char, fraction: u8, zulu: bool) -> String {
    let date = Date::from_days(seconds.div_euclid(86_400)).text();
    let second = seconds.rem_euclid(86_400);
    let mut out =
        format!("{date}{separator}{:02}:{:02}:{:02}", second / 3_600, second / 60 % 60, second % 60);
    if fraction > 0 {
        let digits = format!("{nanos:09}");
        out.push('.');
        out.extend(digits.chars().take(fraction.into()));
    }
    if zulu {
        out.push('Z');
    }
    out
}

/// Parses the rest of a time: nothing, `Z`, or an offset such as `+02:00`.
#[expect(clippy::option_option, reason = "malformed, absent and present are three things")]
fn zone(text: &str) -> Option<Option<i64>> {
    if text.is_empty() {
        return Some(None);
    }
    if text == "Z" || text == "z" {
        return Some(Some(0));
    }
    let sign = match text.as_bytes().first()? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let rest = text.as_bytes().get(1..)?;
    let (hours, minutes) = match rest.len() {
        2 => (digits(rest)?, 0),
        4 => (digits(rest.get(..2)?)?, digits(rest.get(2..)?)?),
        5 if rest.get(2) == Some(&b':') => (digits(rest.get(..2)?)?, digits(rest.get(3..)?)?),
        _ => return None,
    };
    (hours <= 23 && minutes <= 59).then_some(Some(sign * (hours * 60 + minutes)))
}

fn digits(bytes: &[u8]) -> Option<i64> {
    bytes
        .iter()
        .try_fold(0i64, |value, byte| byte.is_ascii_digit().then(|| value * 10 + i64::from(byte - b'0')))
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
            "2024-13-01",
            "2024-05-01x",
            "２024-05-01",
        ] {
            assert_eq!(Time::parse(text), None, "{text}");
        }
    }

    #[test]
    fn days_and_dates_are_inverse() {
        for days in (-719_528..2_932_896).step_by(97) {
            let date = Date::from_days(days);
            assert_eq!(Date::parse(&date.text()), Some(date));
            assert_eq!(date.days(), days);
        }
    }

    #[test]
    fn numbers_become_iso_text() {
        assert_eq!(from_number(None, 1_714_566_600.0).as_deref(), Some("2024-05-01T12:30:00Z"));
        assert_eq!(from_number(None, 1_714_566_600_250.0).as_deref(), Some("2024-05-01T12:30:00.250Z"));
        assert_eq!(from_number(Some(TimeForm::UnixSeconds), -1.0).as_deref(), Some("1969-12-31T23:59:59Z"));
        assert_eq!(from_number(None, f64::INFINITY), None);
    }
}
