//! Values that fit the type of their field, but not the column that stores it.
//!
//! Only the database decides, since its columns may have changed since the schema was loaded. This module determines which
//! values the database refused. The exception is values that the database would truncate without an error; these are refused
//! before the write.

use mesh_schema::{Entity, NativeKind, NativeType, Size};

use crate::error::{FieldFault, WriteFault};
use crate::mutation::{Assignment, GuardedEntity};
use crate::{Value, WriteError};

/// Returns the faults of values that exceed the known limits of their columns, if their fields are visible.
pub(crate) fn faults(entity: &Entity, values: &[Assignment]) -> Vec<FieldFault> {
    let visible = values.iter().filter(|value| entity.member(&value.field).is_some());
    let fault = |value: &Assignment| {
        let fault = fault(value, entity.native.get(&*value.column)?)?;
        Some(FieldFault::new(&*value.field, fault))
    };
    visible.filter_map(fault).collect()
}

/// Returns the fault of a value that the database would truncate without an error.
pub(super) fn truncation_fault(value: &Assignment, native: &NativeType) -> Option<WriteFault> {
    fault(value, native).filter(|fault| matches!(fault, WriteFault::TooManyBytes { .. }))
}

fn fault(assigned: &Assignment, native: &NativeType) -> Option<WriteFault> {
    let field = || assigned.field.to_string();
    if native.kind == NativeKind::Enum {
        let is_label = |text: &String| native.labels.contains(text);
        return match &assigned.value {
            Value::Text(text) if !is_label(text) => {
                Some(WriteFault::NoLabel { field: field(), labels: native.labels.clone() })
            }
            _ => None,
        };
    }
    let range = match native.name.as_str() {
        "int2" => Some((i64::from(i16::MIN), i64::from(i16::MAX))),
        "int4" => Some((i64::from(i32::MIN), i64::from(i32::MAX))),
        _ => None,
    };
    match (&assigned.value, native.size, range) {
        (Value::Text(text), _, _) if text.contains('\0') => Some(WriteFault::NulCharacter { field: field() }),
        // Blanks at the end are cut off.
        (Value::Text(text), Some(Size::Chars(chars)), _)
            if text.trim_end_matches(' ').chars().count() > chars as usize =>
        {
            Some(WriteFault::TooLong { field: field(), chars })
        }
        (Value::Text(text), Some(Size::Bytes(bytes)), _) if text.len() > bytes as usize => {
            Some(WriteFault::TooManyBytes { field: field(), bytes })
        }
        (Value::Text(text), Some(Size::Digits(digits)), _) if digits_before_point(text) > digits as usize => {
            Some(WriteFault::TooManyDigits { field: field(), digits })
        }
        (Value::Text(text), Some(Size::Bits(bits)), _) if is_binary(text) && text.len() != bits as usize => {
            Some(WriteFault::OtherLength { field: field(), bits })
        }
        (Value::Integer(number), _, Some((least, most))) if !(least..=most).contains(number) => {
            Some(WriteFault::OutOfRange { field: field(), least, most })
        }
        _ => None,
    }
}

/// Returns whether a text consists of the digits 0 and 1. Bits have other forms too, with other lengths.
fn is_binary(text: &str) -> bool {
    text.bytes().all(|digit| matches!(digit, b'0' | b'1'))
}

/// Counts the digits of a decimal number before its point, without zeros at the beginning.
fn digits_before_point(number: &str) -> usize {
    let digits = number.trim_start_matches(['-', '+', '0']);
    digits.bytes().take_while(u8::is_ascii_digit).count()
}

impl GuardedEntity {
    /// Returns the error for a write of which the database refused a value. It lists all values that are known not to fit
    /// their columns, and the values of `columns`, which the database named.
    pub fn unfit(&self, values: &[Assignment], columns: &[&str]) -> WriteError {
        let mut faults = faults(self.entity(), values);
        let fault = |column: &&str| {
            let field = self.field_of_column(column)?.to_owned();
            let fault = match self.entity().native.get(*column) {
                Some(native) => WriteFault::NotOfType { field: field.clone(), native: native.shown.clone() },
                None => WriteFault::Unfit { field: field.clone() },
            };
            Some(FieldFault::new(field, fault))
        };
        for named in columns.iter().filter_map(fault) {
            if !faults.iter().any(|known| known.field == named.field) {
                faults.push(named);
            }
        }
        faults.sort_by_key(|fault| values.iter().position(|value| *value.field == *fault.field));
        WriteError::Value(faults)
    }
}
