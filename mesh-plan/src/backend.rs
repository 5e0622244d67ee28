//! What the implementations of back ends need, in addition to plans, writes and rows.

pub use crate::by_address::ByAddress;
pub use crate::shape::number_text;
pub use crate::value::is_special_decimal;
pub use crate::value::time::{Time, extended, is_date};
