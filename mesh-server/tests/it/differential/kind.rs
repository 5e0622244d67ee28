//! The kinds of values, with their types in schemas and engines.

use mesh_plan::Value;
use mesh_schema::FieldType;

use super::dice::Dice;
use super::documents::{self, JSON_TYPES};

/// Times in each of the formats that a column may have: days around the new year, a leap day, and an hour before midnight in
/// Berlin on the day when clocks are put forward.
pub(crate) const TIMES: [[&str; 5]; 5] = [
    [
        "2024-01-01T00:00:00",
        "2024-05-01T10:00:00",
        "2023-12-31T23:59:59",
        "2024-02-29T05:30:00",
        "2024-03-31T21:30:00",
    ],
    [
        "2024-01-01 00:00:00",
        "2024-05-01 10:00:00",
        "2023-12-31 23:59:59",
        "2024-02-29 05:30:00",
        "2024-03-31 21:30:00",
    ],
    [
        "2024-01-01T00:00:00.000Z",
        "2024-05-01T10:00:00.000Z",
        "2023-12-31T23:59:59.500Z",
        "2024-02-29T05:30:00.000Z",
        "2024-03-31T21:30:00.000Z",
    ],
    ["1704067200", "1714557600", "1704067199", "1709184600", "1711920600"],
    ["1704067200000", "1714557600000", "1704067199500", "1709184600000", "1711920600000"],
];

pub(crate) const TEXTS: [&str; 16] =
    ["a", "b", "B", "é", "É", "", "ab", "%", "a_b", "it's", "say \"hi\"", "\\", "日本", "a%", " ", "12"];

/// The kind of values in a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    Integer,
    Real,
    Boolean,
    /// Booleans in a column of text.
    BooleanText,
    /// Booleans in a column of reals.
    BooleanReal,
    Bigint,
    /// 64-bit integers whose sums overflow.
    Huge,
    Decimal,
    /// Times, written as in this entry of [`TIMES`].
    Time(usize),
    Date,
    /// Days in a column of numbers, as in this entry of [`TIMES`].
    DateNumber(usize),
    /// JSON documents, in columns of the type with this index in [`JSON_TYPES`].
    Json(usize),
    Binary,
}

impl Kind {
    pub(super) fn random(dice: &mut Dice) -> Self {
        match dice.below(19) {
            0..=2 => Self::Text,
            3 | 4 => Self::Integer,
            5 => Self::Real,
            6 => Self::Boolean,
            7 => Self::Bigint,
            8 => Self::Huge,
            9 => Self::Decimal,
            10 | 11 => Self::Time(dice.below(TIMES.len())),
            12 => Self::Date,
            13 => Self::BooleanText,
            14 => Self::BooleanReal,
            15 => Self::DateNumber(3 + dice.below(2)),
            16 => Self::Binary,
            _ => Self::Json(dice.below(JSON_TYPES.len())),
        }
    }

    pub(super) fn ty(self) -> FieldType {
        match self {
            Self::Text => FieldType::String,
            Self::Integer => FieldType::Integer,
            Self::Real => FieldType::Number,
            Self::Boolean | Self::BooleanText | Self::BooleanReal => FieldType::Boolean,
            Self::Bigint | Self::Huge => FieldType::Bigint,
            Self::Decimal => FieldType::Decimal,
            Self::Time(_) => FieldType::Datetime,
            Self::Date | Self::DateNumber(_) => FieldType::Date,
            Self::Json(_) => FieldType::Json,
            Self::Binary => FieldType::Binary,
        }
    }

    pub(super) fn declaration(self) -> &'static str {
        match self {
            Self::Text | Self::BooleanText => "TEXT",
            Self::Integer | Self::DateNumber(_) => "INTEGER",
            Self::Real | Self::BooleanReal => "REAL",
            Self::Boolean => "BOOLEAN",
            Self::Bigint | Self::Huge => "BIGINT",
            Self::Decimal => "DECIMAL(10, 2)",
            Self::Time(_) => "DATETIME",
            Self::Date => "DATE",
            Self::Json(_) => "JSON",
            Self::Binary => "BLOB",
        }
    }

    /// Returns the type in PostgreSQL whose values are written as in SQLite.
    pub(super) fn postgres(self) -> &'static str {
        match self {
            Self::Text | Self::BooleanText => "text",
            Self::Integer => "integer",
            Self::Real | Self::BooleanReal => "double precision",
            Self::Boolean => "boolean",
            Self::Bigint | Self::Huge => "bigint",
            Self::Decimal => "numeric",
            Self::Time(0) => "timestamp",
            Self::Time(1 | 2) => "text",
            Self::Time(_) | Self::DateNumber(_) => "bigint",
            Self::Date => "date",
            Self::Json(form) => JSON_TYPES[form],
            Self::Binary => "bytea",
        }
    }

    pub(super) fn value(self, dice: &mut Dice) -> Value {
        if dice.chance(25) {
            return Value::Null;
        }
        match self {
            Self::Text => dice.pick(&TEXTS).into(),
            Self::Integer => (dice.below(6) as i64 - 1).into(),
            Self::Real => dice.pick(&[0.25, 0.5, 1.0, 2.0, -3.25, 1000.75]).into(),
            Self::Boolean => (dice.below(2) as i64).into(),
            Self::Bigint => dice.pick(&[1, 4, -5, 7, 9_007_199_254_740_993i64]).into(),
            Self::Huge => dice.pick(&[i64::MIN, i64::MAX, 0, 1]).into(),
            Self::Decimal => dice.pick(&[Value::from(1.5), 2.into(), 0.25.into(), 10.into()]),
            Self::BooleanText => dice.pick(&["0", "1", "false", "true"]).into(),
            Self::BooleanReal => dice.pick(&[0.0, 1.0]).into(),
            Self::DateNumber(form) => dice.pick(&TIMES[form]).parse::<i64>().unwrap().into(),
            Self::Time(form) => match dice.pick(&TIMES[form]) {
                text if form < 3 => text.into(),
                number => number.parse::<i64>().unwrap().into(),
            },
            Self::Date => dice.pick(&["2024-01-01", "2024-05-01", "2023-12-31", "2024-02-29"]).into(),
            Self::Json(form) => documents::random(dice, form).into(),
            Self::Binary => dice.pick(&[vec![0u8, 255], vec![1, 2, 3]]).into(),
        }
    }
}
