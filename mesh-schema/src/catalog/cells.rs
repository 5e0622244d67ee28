//! The kinds of values in a column that can hold values of any type.

use super::TimeForm;
use crate::FieldType;

/// A set of kinds of values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct CellKinds(u16);

impl CellKinds {
    /// The integers 0 and 1.
    pub const BIT: Self = Self(1);
    /// Other integers that a double holds exactly.
    pub const INTEGER: Self = Self(1 << 1);
    /// Larger integers.
    pub const LARGE_INTEGER: Self = Self(1 << 2);
    /// Whole reals.
    pub const WHOLE: Self = Self(1 << 3);
    /// Other reals.
    pub const REAL: Self = Self(1 << 4);
    /// Texts that represent a boolean: `0`, `1`, `false`, `true`.
    pub const BOOLEAN_TEXT: Self = Self(1 << 5);
    /// Texts that read as an integer in canonical form, other than 0 and 1.
    pub const INTEGER_TEXT: Self = Self(1 << 6);
    /// UUIDs as text of 36 characters.
    pub const UUID_TEXT: Self = Self(1 << 7);
    /// Other texts.
    pub const TEXT: Self = Self(1 << 8);
    /// Texts that are not UTF-8.
    pub const INVALID_TEXT: Self = Self(1 << 9);
    /// 16 bytes.
    pub const UUID_BYTES: Self = Self(1 << 10);
    /// Other bytes.
    pub const BYTES: Self = Self(1 << 11);
    /// Times in another form than the most frequent one, and values that are no times.
    pub const OTHER_TIME: Self = Self(1 << 12);

    /// Adds kinds to the set.
    pub fn insert(&mut self, kinds: Self) {
        self.0 |= kinds.0;
    }

    /// Returns whether the set is empty.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns the form of the values of a field of type `ty`, whose column is declared with the type `declared` and has
    /// times in the form `times`. It is [`TimeForm::Mixed`] if some values do not compare like values of the type.
    pub(crate) fn form(
        self,
        ty: Option<FieldType>,
        declared: Option<FieldType>,
        times: Option<TimeForm>,
    ) -> Option<TimeForm> {
        use FieldType::{
            Bigint, Binary, Boolean, Date, Datetime, Decimal, Integer, Json, Number, String, Unsigned, Uuid,
        };
        const INTEGERS: CellKinds = CellKinds::BIT.or(CellKinds::INTEGER);
        const REALS: CellKinds = CellKinds::WHOLE.or(CellKinds::REAL);
        const NUMBERS: CellKinds = INTEGERS.or(REALS).or(CellKinds::LARGE_INTEGER);
        const NAMES: CellKinds = CellKinds::TEXT.or(CellKinds::UUID_TEXT);
        let has_bytes = self == Self::UUID_BYTES || self.is_empty() && declared == Some(Binary);
        if ty == Some(Uuid) && has_bytes {
            return Some(TimeForm::UuidBytes);
        }
        let fitting = match ty {
            // An id has the same text for 7 and for the text `7`.
            None => NUMBERS.or(NAMES),
            Some(String) => NAMES.or(Self::BOOLEAN_TEXT).or(Self::INTEGER_TEXT),
            Some(Integer | Unsigned) => INTEGERS.or(Self::LARGE_INTEGER).or(Self::WHOLE),
            Some(Bigint) => INTEGERS.or(Self::LARGE_INTEGER),
            Some(Number) => INTEGERS.or(REALS),
            // A column of numbers converts the text that it is compared with.
            Some(Decimal) if matches!(declared, Some(Integer | Number | Decimal)) => NUMBERS,
            Some(Decimal) => Self(0),
            Some(Boolean) if declared == Some(String) => Self::BOOLEAN_TEXT,
            Some(Boolean) => Self::BIT,
            Some(Uuid) => Self::UUID_TEXT,
            Some(Binary) => Self::BYTES.or(Self::UUID_BYTES),
            Some(Datetime | Date | Json) => Self(!Self::OTHER_TIME.0),
        };
        if self.0 & !fitting.0 == 0 {
            return times;
        }
        let separator = match times {
            Some(TimeForm::Text { separator, .. }) => separator,
            _ => 'T',
        };
        Some(TimeForm::Mixed { separator })
    }
}
