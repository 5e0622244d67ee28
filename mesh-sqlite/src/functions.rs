//! The aggregate function `mesh_sum`: exact for integers if the total fits 64 bits. `SPEC §3.12`
//!
//! The built-in `sum` fails if a running sum overflows, even if the total does not.

use std::fmt;

use rusqlite::functions::{Aggregate, Context};
use rusqlite::types::{ToSqlOutput, Value, ValueRef};
use rusqlite::{Error, Result};

/// The error message for a total beyond 64 bits; that of the built-in `sum` is the same.
pub(super) const OVERFLOW: &str = "integer overflow";

/// The aggregate function.
pub(super) struct Sum;

/// The running total. Reals are compensated (Neumaier), as in the built-in `sum`.
#[derive(Default)]
pub(super) struct Total {
    values: u64,
    integers: i128,
    is_real: bool,
    real: f64,
    compensation: f64,
}

impl Total {
    fn add_real(&mut self, value: f64) {
        let sum = self.real + value;
        self.compensation +=
            if self.real.abs() > value.abs() { (self.real - sum) + value } else { (value - sum) + self.real };
        self.real = sum;
        self.is_real = true;
    }
}

impl Aggregate<Total, ToSqlOutput<'static>> for Sum {
    fn init(&self, _: &mut Context<'_>) -> Result<Total> {
        Ok(Total::default())
    }

    fn step(&self, call: &mut Context<'_>, total: &mut Total) -> Result<()> {
        match call.get_raw(0) {
            ValueRef::Null => return Ok(()),
            ValueRef::Integer(value) => total.integers += i128::from(value),
            ValueRef::Real(value) => total.add_real(value),
            ValueRef::Text(text) | ValueRef::Blob(text) => {
                let text = String::from_utf8_lossy(text);
                match text.trim().parse::<i64>() {
                    Ok(value) => total.integers += i128::from(value),
                    Err(_) => total.add_real(text.trim().parse().unwrap_or(0.0)),
                }
            }
        }
        total.values += 1;
        Ok(())
    }

    fn finalize(&self, _: &mut Context<'_>, total: Option<Total>) -> Result<ToSqlOutput<'static>> {
        let mut total = total.unwrap_or_default();
        let value = if total.values == 0 {
            Value::Null
        } else if total.is_real {
            if total.integers != 0 {
                total.add_real(total.integers as f64);
            }
            let sum = total.real + total.compensation;
            Value::Real(if sum.is_nan() { total.real } else { sum })
        } else {
            Value::Integer(
                i64::try_from(total.integers).map_err(|_| Error::UserFunctionError(Box::new(Overflow)))?,
            )
        };
        Ok(ToSqlOutput::Owned(value))
    }
}

#[derive(Debug)]
struct Overflow;

impl fmt::Display for Overflow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(OVERFLOW)
    }
}

impl std::error::Error for Overflow {}
