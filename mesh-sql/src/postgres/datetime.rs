//! Conversion of ISO 8601 dates and times, of any year that PostgreSQL can store, to the text that PostgreSQL reads.

use mesh_schema::TimeForm;

use mesh_plan::Value;
use mesh_plan::backend::extended::{in_cycle, is_infinite, split};
use mesh_plan::backend::{Time, is_date};

/// The first day, in the year 4714 BC.
const FIRST_DAY: (i64, &str) = (-4_713, "11-24");
/// The last year that a time can have.
const LAST_YEAR_OF_TIMES: i64 = 294_276;
/// The last year that a date can have.
const LAST_YEAR_OF_DATES: i64 = 5_874_897;

/// Returns a date as PostgreSQL reads it; `None` if the text is not a date that can be stored.
pub(super) fn date(text: &str) -> Option<String> {
    if is_infinite(text) {
        return Some(text.to_owned());
    }
    let (year, rest) = split_in_range(text, LAST_YEAR_OF_DATES)?;
    is_date(&format!("{:04}-{rest}", in_cycle(year))).then(|| with_era(year, rest))
}

/// Returns a time, converted to UTC, as PostgreSQL reads it; `None` if the text is not a time that can be stored.
pub(super) fn time(text: &str) -> Option<String> {
    if is_infinite(text) {
        return Some(text.to_owned());
    }
    let (written, rest) = split_in_range(text, LAST_YEAR_OF_TIMES)?;
    let form = TimeForm::Text { separator: 'T', fraction: 0, zulu: true };
    let Value::Text(utc) = Time::parse(&format!("{:04}-{rest}", in_cycle(written)))?.stored(Some(form))
    else {
        return None;
    };
    // The conversion to UTC may change the year.
    let (converted, rest) = split(&utc)?;
    let year = written + converted - in_cycle(written);
    in_range(year, rest, LAST_YEAR_OF_TIMES).then(|| with_era(year, rest))
}

fn split_in_range(text: &str, last: i64) -> Option<(i64, &str)> {
    split(text).filter(|(year, rest)| in_range(*year, rest, last))
}

fn in_range(year: i64, rest: &str, last: i64) -> bool {
    let (first, day) = FIRST_DAY;
    (year > first || (year == first && rest >= day)) && year <= last
}

/// Writes a year with its era. The year 0 of ISO 8601 is the year 1 BC.
fn with_era(year: i64, rest: &str) -> String {
    if year > 0 { format!("{year:04}-{rest}") } else { format!("{:04}-{rest} BC", 1 - year) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_have_years_of_any_length() {
        let check =
            |text: &str, expected: Option<&str>| assert_eq!(date(text).as_deref(), expected, "{text}");
        check("2024-02-29", Some("2024-02-29"));
        check("0000-02-29", Some("0001-02-29 BC"));
        check("-000043-03-15", Some("0044-03-15 BC"));
        check("+010000-01-01", Some("10000-01-01"));
        check("+5874897-12-31", Some("5874897-12-31"));
        check("-004713-11-24", Some("4714-11-24 BC"));
        check("infinity", Some("infinity"));
        for none in ["+5874898-01-01", "-004713-11-23", "2023-02-29", "+010001-02-29", "10000-01-01", "x", ""]
        {
            check(none, None);
        }
    }

    #[test]
    fn times_are_converted_to_utc() {
        let check =
            |text: &str, expected: Option<&str>| assert_eq!(time(text).as_deref(), expected, "{text}");
        check("2024-05-01T01:30:00.250+02:00", Some("2024-04-30T23:30:00.25Z"));
        check("0000-01-01", Some("0001-01-01T00:00:00Z BC"));
        check("0001-01-01T00:30:00+01:00", Some("0001-12-31T23:30:00Z BC"));
        check("9999-12-31T23:30:00-01:00", Some("10000-01-01T00:30:00Z"));
        check("+294276-12-31T23:59:59.999999Z", Some("294276-12-31T23:59:59.999999Z"));
        check("+294276-12-31T23:59:59.999999-01:00", None);
        check("-000043-03-15T00:00:00Z", Some("0044-03-15T00:00:00Z BC"));
        check("-infinity", Some("-infinity"));
        check("now", None);
    }
}
