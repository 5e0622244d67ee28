//! Where does a page start, and how is it ordered? Exact for mixed directions, ties and NULLs.

use mesh_ql::{Direction, Nulls};

use super::{Names, Operand, Params, predicate};
use crate::Value;
use crate::plan::{CompareOp, SortKey};

/// `ORDER BY` with a blank before it, or nothing. PostgreSQL puts NULL last where it ascends and first where it
/// descends; saying so again would only keep it from using an index.
pub(super) fn order_by(names: &Names<'_>, order: &[SortKey]) -> String {
    let keys: Vec<_> = order
        .iter()
        .map(|key| {
            let sql = names(&key.source).comparable().sql;
            let rest = match (key.direction, key.nulls) {
                (Direction::Asc, Nulls::First) if key.nullable => " NULLS FIRST",
                (Direction::Asc, _) => "",
                (Direction::Desc, Nulls::Last) if key.nullable => " DESC NULLS LAST",
                (Direction::Desc, _) => " DESC",
            };
            format!("{sql}{rest}")
        })
        .collect();
    if keys.is_empty() { String::new() } else { format!(" ORDER BY {}", keys.join(", ")) }
}

/// The rows that follow the one with these sort values. With no keys there is one row, and nothing after it.
pub(super) fn after(params: &mut Params, names: &Names<'_>, order: &[SortKey], values: &[Value]) -> String {
    let keys = order.iter().zip(values).enumerate().map(|(place, (key, value))| {
        let operand = names(&key.source).comparable();
        Key { key, operand, place, value }
    });
    let keys: Vec<_> = keys.collect();
    as_row(params, &keys).or_else(|| after_keys(params, &keys)).unwrap_or_else(|| "FALSE".to_owned())
}

/// A key with a value of the cursor, whose place in it is left open in the statement.
struct Key<'a> {
    key: &'a SortKey,
    operand: Operand,
    place: usize,
    value: &'a Value,
}

impl Key<'_> {
    /// A comparison with the value, in parentheses.
    fn compare(&self, params: &mut Params, op: CompareOp) -> String {
        if matches!(self.value, Value::Text(text) if text.contains('\0')) {
            params.is_closed = true;
            return predicate::compare(params, &self.operand, op, self.value);
        }
        let right = params.after(self.place, &self.operand.class, self.value);
        let is_read = self.operand.class.value(self.value).is_some();
        let left = if is_read { self.operand.sql.clone() } else { self.operand.to_text().sql };
        format!("({left} {} {right})", predicate::operator(op))
    }
}

/// All keys at once, where they run the same way and NULL is not among them: an index on them can start right
/// at the row.
fn as_row(params: &mut Params, keys: &[Key<'_>]) -> Option<String> {
    let [Key { key: first, .. }, _, ..] = keys else { return None };
    let plain = |Key { key, operand, value, .. }: &Key<'_>| {
        !key.nullable && key.direction == first.direction && operand.class.value(value).is_some()
    };
    if !keys.iter().all(plain) {
        return None;
    }
    let left: Vec<_> = keys.iter().map(|key| key.operand.sql.as_str()).collect();
    let right: Vec<_> =
        keys.iter().map(|key| params.after(key.place, &key.operand.class, key.value)).collect();
    let op = if first.direction == Direction::Asc { ">" } else { "<" };
    Some(format!("(({}) {op} ({}))", left.join(", "), right.join(", ")))
}

/// After a value of the first key: beyond it, or equal to it and after the rest of the keys.
fn after_keys(params: &mut Params, keys: &[Key<'_>]) -> Option<String> {
    let (first, rest) = keys.split_first()?;
    let Key { key, operand, value, .. } = first;
    let column = &operand.sql;
    let nulls_follow = key.nullable && key.nulls == Nulls::Last;
    if **value == Value::Null {
        let tied = after_keys(params, rest).map(|rest| format!("({column} IS NULL AND {rest})"));
        return Some(match (key.nulls, tied) {
            (Nulls::Last, tied) => tied.unwrap_or_else(|| "FALSE".to_owned()),
            (Nulls::First, None) => format!("({column} IS NOT NULL)"),
            (Nulls::First, Some(tied)) => format!("({column} IS NOT NULL OR {tied})"),
        });
    }
    let (strict, open) = match key.direction {
        Direction::Asc => (CompareOp::Gt, CompareOp::Gte),
        Direction::Desc => (CompareOp::Lt, CompareOp::Lte),
    };
    let beyond = first.compare(params, strict);
    let rest_sql = after_keys(params, rest);
    Some(match (rest_sql, nulls_follow) {
        (None, false) => beyond,
        (None, true) => format!("({beyond} OR {column} IS NULL)"),
        // In this form an index on the key can start right at the value.
        (Some(rest), false) => {
            let from = first.compare(params, open);
            format!("({from} AND ({beyond} OR {rest}))")
        }
        (Some(rest), true) => {
            let tied = first.compare(params, CompareOp::Eq);
            format!("({beyond} OR {column} IS NULL OR ({tied} AND {rest}))")
        }
    })
}
