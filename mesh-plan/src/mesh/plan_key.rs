//! Keys of the plan cache.

use mesh_ql::Format;

use crate::planner::Kind;

/// Returns the key of a query: the policy class of the caller, if there are classes; a letter for format and kind; the
/// text. A class begins with a digit, so keys of different parts differ.
pub(crate) fn plan_key(class: &str, format: Format, kind: Kind, text: &str) -> String {
    let prefix = match (format, kind) {
        (Format::Json, Kind::Point) => 'p',
        (Format::Json, Kind::Collection) => 'c',
        (Format::Ql, Kind::Point) => 'P',
        (Format::Ql, Kind::Collection) => 'C',
    };
    let mut key = String::with_capacity(class.len() + text.len() + 1);
    key.push_str(class);
    key.push(prefix);
    key.push_str(text);
    key
}
