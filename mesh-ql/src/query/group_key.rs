//! The entries of `$groupBy`. `SPEC §3.8`, `SPEC §21`

use serde::Serialize;

use crate::named_enum;
use crate::span::{Name, Spanned};

/// One entry of `$groupBy`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum GroupKey {
    /// A field.
    Field(Name),
    /// The period of time in which the value of a field falls.
    Bucket(Bucket),
}

impl GroupKey {
    /// Returns the name of the key in items and in other controls: that of the field, or the alias of the bucket.
    pub fn name(&self) -> &Name {
        match self {
            Self::Field(name) => name,
            Self::Bucket(bucket) => &bucket.alias,
        }
    }
}

/// A group key that cuts time into periods. `SPEC §21`
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Bucket {
    /// The field, of type `date` or `datetime`.
    pub field: Name,
    /// The length of the periods.
    #[serde(rename = "by")]
    pub unit: Spanned<TimeUnit>,
    /// The name of the key: `[A-Za-z_][A-Za-z0-9_]{0,63}`.
    #[serde(rename = "as")]
    pub alias: Name,
    /// The IANA name of the time zone in which periods begin; UTC by default. Only with days and longer periods.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zone: Option<Name>,
}

impl TimeUnit {
    /// Returns whether it is shorter than a day.
    pub fn is_within_day(self) -> bool {
        matches!(self, Self::Hour | Self::Minute)
    }
}

named_enum! {
    /// The length of a period of time.
    #[expect(missing_docs, reason = "each variant is named as on the wire")]
    TimeUnit {
        Year = "year",
        Quarter = "quarter",
        Month = "month",
        Week = "week",
        Day = "day",
        Hour = "hour",
        Minute = "minute",
    }
}
