//! Rates such as `100/s`: a number of requests per second, minute or hour.

use std::fmt;
use std::num::NonZeroU32;
use std::time::Duration;

const MAX_COUNT: u32 = 1_000_000;
/// Names and seconds of the units.
const UNITS: [(&str, u64); 3] = [("s", 1), ("m", 60), ("h", 3_600)];

/// A number of requests per second, minute or hour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    count: NonZeroU32,
    unit: (&'static str, u64),
}

impl Rate {
    /// Parses `100/s`, `30/m` or `500/h`. Returns `None`, which is no limit, for a rate of 0.
    ///
    /// ```
    /// use mesh_server::Rate;
    ///
    /// assert_eq!(Rate::parse("100/s").unwrap().unwrap().to_string(), "100/s");
    /// assert_eq!(Rate::parse("0/s"), Ok(None));
    /// assert!(Rate::parse("100").is_err());
    /// ```
    ///
    /// # Errors
    /// The text has another form, or its number is above a million.
    pub fn parse(text: &str) -> Result<Option<Self>, RateError> {
        let refused = || RateError { text: text.to_owned() };
        let (count, unit) = text.trim().split_once('/').ok_or_else(refused)?;
        let unit = *UNITS.iter().find(|(name, _)| *name == unit.trim()).ok_or_else(refused)?;
        let count: u32 = count.trim().parse().map_err(|_| refused())?;
        if count > MAX_COUNT {
            return Err(refused());
        }
        Ok(NonZeroU32::new(count).map(|count| Self { count, unit }))
    }

    /// Creates a rate of at least one request per minute.
    pub(crate) fn per_minute(count: u32) -> Self {
        Self { count: NonZeroU32::new(count).unwrap_or(NonZeroU32::MIN), unit: ("m", 60) }
    }

    /// Returns the length of the unit, over which a burst is averaged.
    pub(super) fn period(self) -> Duration {
        Duration::from_secs(self.unit.1)
    }

    /// Returns the time between two requests at this rate.
    pub(crate) fn interval(self) -> Duration {
        self.period() / self.count.get()
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.count, self.unit.0)
    }
}

/// The error of a text that is not a rate.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{text}' is not a rate such as '100/s', '30/m' or '500/h', of at most {MAX_COUNT}")]
pub struct RateError {
    text: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_parsed_and_printed() {
        for (text, shown) in [("1/s", "1/s"), (" 20 / m ", "20/m"), ("1000000/h", "1000000/h")] {
            assert_eq!(Rate::parse(text).unwrap().unwrap().to_string(), shown);
        }
        for off in ["0/s", "0/m"] {
            assert_eq!(Rate::parse(off), Ok(None));
        }
        for text in ["", "/", "1", "1/", "/s", "-1/s", "1.5/s", "1/d", "1/sec", "1000001/s", "1/s/s", "x/s"] {
            assert!(Rate::parse(text).is_err(), "{text}");
        }
    }
}
