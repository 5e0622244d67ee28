//! Dates and times: days or microseconds since 2000 as ISO 8601 text.

/// The days from the first of March of the year 0 until the day from which PostgreSQL counts.
const DAYS_BEFORE_EPOCH: i64 = 730_425;
/// The days in 400 years, after which the Gregorian calendar repeats.
const DAYS_PER_CYCLE: i64 = 146_097;
const MICROS_PER_DAY: i64 = 86_400_000_000;

/// The text of a date or time.
#[derive(Default)]
pub(super) struct TimeText {
    bytes: [u8; 32],
    length: usize,
}

impl TimeText {
    pub(super) fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }

    fn new(text: &[u8]) -> Self {
        let mut this = Self::default();
        text.iter().for_each(|byte| this.push(*byte));
        this
    }

    fn push(&mut self, byte: u8) {
        if let Some(slot) = self.bytes.get_mut(self.length) {
            *slot = byte;
            self.length += 1;
        }
    }

    /// Adds the last `count` decimal digits of a number.
    fn push_digits(&mut self, mut number: u64, count: usize) {
        let end = self.length + count;
        if let Some(digits) = self.bytes.get_mut(self.length..end) {
            for byte in digits.iter_mut().rev() {
                *byte = b'0' + (number % 10) as u8;
                number /= 10;
            }
            self.length = end;
        }
    }

    /// Adds a day, given in days since 2000. Years outside of 0000–9999 have a sign and at least six digits, as in ISO 8601;
    /// the year before 1 is the year 0.
    fn push_day(&mut self, days: i64) {
        // Years begin in March here, so that the leap day is the last one.
        let days = days + DAYS_BEFORE_EPOCH;
        let (cycle, day) = (days.div_euclid(DAYS_PER_CYCLE), days.rem_euclid(DAYS_PER_CYCLE));
        let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
        let day = day - (365 * year + year / 4 - year / 100);
        let month = (5 * day + 2) / 153;
        let day = day - (153 * month + 2) / 5 + 1;
        let (year, month) =
            if month < 10 { (400 * cycle + year, month + 3) } else { (400 * cycle + year + 1, month - 9) };
        if (0..=9_999).contains(&year) {
            self.push_digits(year.unsigned_abs(), 4);
        } else {
            self.push(if year < 0 { b'-' } else { b'+' });
            self.push_digits(year.unsigned_abs(), if year.unsigned_abs() < 1_000_000 { 6 } else { 7 });
        }
        for part in [month, day] {
            self.push(b'-');
            self.push_digits(part.unsigned_abs(), 2);
        }
    }

    /// Adds a time of day. Trailing zeros of its fraction are left out.
    fn push_time(&mut self, micros: u64) {
        let (seconds, fraction) = (micros / 1_000_000, micros % 1_000_000);
        for (separator, part) in [(b'T', seconds / 3_600), (b':', seconds / 60 % 60), (b':', seconds % 60)] {
            self.push(separator);
            self.push_digits(part, 2);
        }
        if fraction > 0 {
            self.push(b'.');
            self.push_digits(fraction, 6);
            while self.as_bytes().last() == Some(&b'0') {
                self.length -= 1;
            }
        }
    }
}

/// Formats a value of type `date`.
pub(super) fn date(bytes: &[u8]) -> Option<TimeText> {
    match i32::from_be_bytes(bytes.try_into().ok()?) {
        i32::MAX => Some(TimeText::new(b"infinity")),
        i32::MIN => Some(TimeText::new(b"-infinity")),
        days => {
            let mut text = TimeText::default();
            text.push_day(days.into());
            Some(text)
        }
    }
}

/// Formats a timestamp, with `Z` if its type has a time zone: the binary form is in UTC.
pub(super) fn timestamp(bytes: &[u8], zone: bool) -> Option<TimeText> {
    let micros = match i64::from_be_bytes(bytes.try_into().ok()?) {
        i64::MAX => return Some(TimeText::new(b"infinity")),
        i64::MIN => return Some(TimeText::new(b"-infinity")),
        micros => micros,
    };
    let mut text = TimeText::default();
    text.push_day(micros.div_euclid(MICROS_PER_DAY));
    text.push_time(micros.rem_euclid(MICROS_PER_DAY).unsigned_abs());
    if zone {
        text.push(b'Z');
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use jiff::ToSpan as _;
    use jiff::civil;

    use super::*;

    fn text(text: Option<TimeText>) -> String {
        String::from_utf8(text.unwrap().as_bytes().to_vec()).unwrap()
    }

    #[test]
    fn days_are_those_of_the_calendar() {
        let epoch = civil::date(2000, 1, 1);
        for days in (-730_485..2_921_000_i32).step_by(13).chain(-800..800) {
            let expected = epoch.checked_add(i64::from(days).days()).unwrap().to_string();
            assert_eq!(text(date(&days.to_be_bytes())), expected);
        }
    }

    #[test]
    fn dates_and_times_are_iso_8601() {
        let timestamp = |micros: i64, zone| text(timestamp(&micros.to_be_bytes(), zone));
        assert_eq!(timestamp(0, false), "2000-01-01T00:00:00");
        assert_eq!(timestamp(-1, true), "1999-12-31T23:59:59.999999Z");
        assert_eq!(timestamp(757_382_400_500_000, true), "2024-01-01T00:00:00.5Z");
        assert_eq!(timestamp(i64::MAX, true), "infinity");
        assert_eq!(timestamp(-63_113_904_000_000_000, false), "0000-01-01T00:00:00");
        assert_eq!(timestamp(-63_113_904_000_000_001, true), "-000001-12-31T23:59:59.999999Z");
        assert_eq!(timestamp(252_455_616_000_000_000, true), "+010000-01-01T00:00:00Z");
        let date = |days: i32| text(date(&days.to_be_bytes()));
        assert_eq!(date(0), "2000-01-01");
        assert_eq!(date(8_825), "2024-02-29");
        assert_eq!(date(-10_957), "1970-01-01");
        assert_eq!(date(2_145_031_948), "+5874897-12-31");
        assert_eq!(date(-2_451_507), "-004712-01-01");
        assert_eq!(date(i32::MIN), "-infinity");
    }
}
