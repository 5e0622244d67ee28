//! Periods of time by which records are grouped. `SPEC §21`

use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, ToSpan as _};
use mesh_ql::TimeUnit;
use mesh_schema::TimeForm;

use super::time::{self, Time};
use crate::{Value, ValueRef};

/// The first parts of names of time zones.
const AREAS: &str = "Africa America Antarctica Arctic Asia Atlantic Australia Brazil Canada Chile Etc Europe Indian Mexico \
                     Pacific US";

/// The names of time zones without an area. Databases also know abbreviations and the names of settings.
const WITHOUT_AREA: &str = "CET CST6CDT Cuba EET EST EST5EDT Egypt Eire GB GB-Eire GMT GMT+0 GMT-0 GMT0 Greenwich HST \
                            Hongkong Iceland Iran Israel Jamaica Japan Kwajalein Libya MET MST MST7MDT NZ NZ-CHAT Navajo \
                            PRC PST8PDT Poland Portugal ROC ROK Singapore Turkey UCT UTC Universal W-SU WET Zulu";

/// Returns whether a text has the form of a name in the IANA database. It has nothing that SQL would have to escape, and no
/// database takes it for an offset.
pub(crate) fn is_zone_name(name: &str) -> bool {
    let is_one_of = |names: &str, name: &str| names.split(' ').any(|known| known.eq_ignore_ascii_case(name));
    let Some((area, place)) = name.split_once('/') else { return is_one_of(WITHOUT_AREA, name) };
    let is_letter = |byte: u8| byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'-' | b'/');
    let is_place = || place.bytes().all(is_letter) && !place.eq_ignore_ascii_case("unknown");
    let is_offset = || area.eq_ignore_ascii_case("Etc") && is_fixed_offset(place);
    is_one_of(AREAS, area) && !place.is_empty() && (is_place() || is_offset())
}

/// Returns whether it is one of the zones `Etc/GMT0` and from `Etc/GMT-14` to `Etc/GMT+12`.
fn is_fixed_offset(place: &str) -> bool {
    let Some((gmt, hours)) = place.split_at_checked(3) else { return false };
    let zones = (-14..=12).map(|hours| format!("{hours:+}"));
    gmt.eq_ignore_ascii_case("GMT") && zones.chain(["0", "-0"].map(str::to_owned)).any(|zone| zone == hours)
}

/// Divides the values of a column into periods.
#[derive(Clone, Debug)]
pub struct Periods {
    unit: TimeUnit,
    form: Option<TimeForm>,
    zone: TimeZone,
}

impl Periods {
    /// Creates periods that begin in a time zone, by default UTC. Returns `None` if the system does not know the zone.
    pub fn new(unit: TimeUnit, form: Option<TimeForm>, zone: Option<&str>) -> Option<Self> {
        let zone = zone.map_or(Some(TimeZone::UTC), |name| TimeZone::get(name).ok())?;
        Some(Self { unit, form, zone })
    }

    /// Returns the first day of the period in which a value falls, or the first instant for periods shorter than a day. NULL
    /// for values that are no times in the years 1 to 9999.
    pub fn period_of(&self, value: ValueRef<'_>) -> Value {
        let utc = match value {
            ValueRef::Text(text) => str::from_utf8(text).ok().and_then(Time::parse).map(Time::utc),
            ValueRef::Integer(number) => time::utc_from_number(self.form, number as f64),
            ValueRef::Real(number) => time::utc_from_number(self.form, number),
            ValueRef::Null | ValueRef::Boolean(_) | ValueRef::Bytes(_) => None,
        };
        utc.and_then(|utc| self.start(self.local(utc)?)).map_or(Value::Null, Value::from)
    }

    fn local(&self, utc: DateTime) -> Option<DateTime> {
        // The last days of the year 9999 are no timestamps.
        let instant = TimeZone::UTC.to_timestamp(utc).unwrap_or(Timestamp::MAX);
        let offset = SignedDuration::from_secs(self.zone.to_offset(instant).seconds().into());
        utc.checked_add(offset).ok().filter(|local| (1..=9999).contains(&local.year()))
    }

    fn start(&self, local: DateTime) -> Option<String> {
        let (date, time) = (local.date(), local.time());
        let first_of = |month| Date::new(date.year(), month, 1).ok();
        let day = match self.unit {
            TimeUnit::Year => first_of(1)?,
            TimeUnit::Quarter => first_of((date.month() - 1) / 3 * 3 + 1)?,
            TimeUnit::Month => first_of(date.month())?,
            TimeUnit::Week => {
                date.checked_sub(i64::from(date.weekday().to_monday_zero_offset()).days()).ok()?
            }
            TimeUnit::Day | TimeUnit::Hour | TimeUnit::Minute => date,
        };
        Some(match self.unit {
            TimeUnit::Hour => format!("{day}T{:02}:00:00", time.hour()),
            TimeUnit::Minute => format!("{day}T{:02}:{:02}:00", time.hour(), time.minute()),
            _ => day.to_string(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(unit: TimeUnit, zone: Option<&str>, value: impl Into<Value>, expected: Option<&str>) {
        let periods = Periods::new(unit, None, zone).unwrap();
        let expected = expected.map_or(Value::Null, Value::from);
        assert_eq!(periods.period_of(value.into().as_ref()), expected);
    }

    #[test]
    fn periods_are_named_by_their_beginning() {
        let time = "2026-11-27T19:42:31.5Z";
        for (unit, start) in [
            (TimeUnit::Year, "2026-01-01"),
            (TimeUnit::Quarter, "2026-10-01"),
            (TimeUnit::Month, "2026-11-01"),
            (TimeUnit::Week, "2026-11-23"),
            (TimeUnit::Day, "2026-11-27"),
            (TimeUnit::Hour, "2026-11-27T19:00:00"),
            (TimeUnit::Minute, "2026-11-27T19:42:00"),
        ] {
            check(unit, None, time, Some(start));
        }
    }

    #[test]
    fn weeks_begin_on_mondays_also_around_the_new_year() {
        for (day, monday) in [
            ("2024-12-31", "2024-12-30"),
            ("2025-01-05", "2024-12-30"),
            ("2025-01-06", "2025-01-06"),
            ("2020-12-31", "2020-12-28"),
            ("2021-01-03", "2020-12-28"),
            ("2024-02-29", "2024-02-26"),
            ("0001-01-03", "0001-01-01"),
            ("9999-12-31", "9999-12-27"),
        ] {
            check(TimeUnit::Week, None, day, Some(monday));
        }
    }

    #[test]
    fn zones_decide_on_which_day_a_time_falls() {
        let day = TimeUnit::Day;
        check(day, Some("Europe/Berlin"), "2026-03-28T22:59:59", Some("2026-03-28"));
        check(day, Some("Europe/Berlin"), "2026-03-28T23:00:00", Some("2026-03-29"));
        // On this day the clocks were put forward.
        check(day, Some("europe/berlin"), "2026-03-29T21:59:59Z", Some("2026-03-29"));
        check(day, Some("Europe/Berlin"), "2026-03-29T22:00:00Z", Some("2026-03-30"));
        check(day, Some("America/New_York"), "2026-11-01T00:30:00-04:00", Some("2026-11-01"));
        check(day, Some("America/New_York"), "2026-11-02 04:59", Some("2026-11-01"));
        check(TimeUnit::Year, Some("Pacific/Kiritimati"), 1_767_175_200, Some("2026-01-01"));
        check(day, Some("Europe/Berlin"), "9999-12-31T12:00:00Z", Some("9999-12-31"));
        check(day, Some("Europe/Berlin"), "9999-12-31T23:30:00Z", None);
        assert!(Periods::new(day, None, Some("Europe/Entenhausen")).is_none());
    }

    #[test]
    fn values_that_are_no_times_have_no_period() {
        for value in [Value::Null, true.into(), "soon".into(), "2023-02-29".into(), vec![0u8].into()] {
            check(TimeUnit::Month, None, value, None);
        }
        check(TimeUnit::Month, None, "0000-05-01", None);
        check(TimeUnit::Month, None, f64::INFINITY, None);
        let millis = Periods::new(TimeUnit::Hour, Some(TimeForm::UnixMillis), None).unwrap();
        assert_eq!(millis.period_of(ValueRef::Integer(3_600_000)), "1970-01-01T01:00:00".into());
    }

    #[test]
    fn offsets_and_abbreviations_are_no_names_of_zones() {
        for name in [
            "Europe/Berlin",
            "america/port-au-prince",
            "America/Argentina/Buenos_Aires",
            "utc",
            "Etc/GMT+12",
            "GMT0",
            "EST5EDT",
        ] {
            assert!(is_zone_name(name), "{name}");
        }
        for name in [
            "",
            "/",
            "Europe/",
            "+02:00",
            "UTC+2",
            "Etc/GMT+13",
            "Etc/GMT+01",
            "Europe/Berlin2",
            "PST",
            "SYSTEM",
            "posix/Europe/Berlin",
            "Etc/Unknown",
            "Europe/Ber'lin",
            "Europe/Köln",
            "FOO5BAR",
        ] {
            assert!(!is_zone_name(name), "{name}");
        }
    }
}
