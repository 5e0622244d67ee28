//! Opaque cursors, bound to their read by a MAC. `SPEC §5.4`
//!
//! A cursor is base64url of 16 bytes of MAC and the sort values of one row. The key of the MAC is that of the read's
//! scope (entity, order, filter, grouping), so a cursor of another read, or an altered one, does not open.

use std::fmt;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::hmac;

use crate::{Value, ValueRef};

/// Bytes of the MAC that a cursor carries.
const TAG: usize = 16;

/// The key that cursors are sealed with: the same on every server of a deployment.
#[derive(Clone)]
pub struct CursorKey(Arc<hmac::Key>);

impl CursorKey {
    /// A key from a deployment's secret.
    pub fn new(secret: &[u8]) -> Self {
        Self(Arc::new(hmac::Key::new(hmac::HMAC_SHA256, secret)))
    }

    /// What cursors of the read of that scope are sealed with.
    pub(crate) fn seal(&self, scope: &[u8; 32]) -> CursorMac {
        CursorMac(hmac::Key::new(hmac::HMAC_SHA256, hmac::sign(&self.0, scope).as_ref()))
    }
}

/// Seals cursors of one read, and opens those.
#[derive(Debug)]
pub(crate) struct CursorMac(hmac::Key);

impl CursorMac {
    /// Appends the cursor of a row to `out`.
    pub(crate) fn write(&self, out: &mut Vec<u8>, row: &mut CursorValues) {
        let bytes = &mut row.0;
        if let Some((tag, values)) = bytes.split_at_mut_checked(TAG) {
            let made = hmac::sign(&self.0, values);
            tag.iter_mut().zip(made.as_ref()).for_each(|(to, from)| *to = *from);
        }
        let start = out.len();
        out.resize(start + base64::encoded_len(bytes.len(), false).unwrap_or_default(), b'A');
        if let Some(space) = out.get_mut(start..) {
            let written = URL_SAFE_NO_PAD.encode_slice(bytes, space);
            debug_assert_eq!(written.ok(), Some(out.len() - start));
        }
    }

    /// The cursor of a row.
    #[cfg(test)]
    pub(crate) fn text<'a>(&self, values: impl IntoIterator<Item = ValueRef<'a>>) -> String {
        let mut out = Vec::new();
        self.write(&mut out, &mut CursorValues::of(values));
        String::from_utf8(out).unwrap()
    }

    /// The sort values of a cursor, if it is one of this read with that many of them.
    pub(crate) fn open(&self, cursor: UnverifiedCursor, count: usize) -> Option<Vec<Value>> {
        let (tag, encoded) = cursor.bytes.split_at_checked(TAG)?;
        let expected = hmac::sign(&self.0, encoded);
        // A cursor opens nothing that a filter could not ask for, so this need not take constant time.
        let is_one = expected.as_ref().get(..TAG)? == tag && cursor.values.len() == count;
        is_one.then_some(cursor.values)
    }
}

/// The sort values of a row, and before them room for the MAC.
#[derive(Clone)]
pub(crate) struct CursorValues(Vec<u8>);

impl CursorValues {
    /// Those of a row.
    pub(crate) fn of<'a>(values: impl IntoIterator<Item = ValueRef<'a>>) -> Self {
        let mut row = Self(Vec::with_capacity(64));
        row.0.resize(TAG, 0);
        row.extend(values);
        row
    }

    /// Those of another row instead.
    pub(crate) fn become_of<'a>(&mut self, values: impl IntoIterator<Item = ValueRef<'a>>) {
        self.0.truncate(TAG);
        self.extend(values);
    }

    fn extend<'a>(&mut self, values: impl IntoIterator<Item = ValueRef<'a>>) {
        values.into_iter().for_each(|value| encode(&mut self.0, value));
    }
}

/// Text in the form of a cursor, not yet verified.
pub(crate) struct UnverifiedCursor {
    bytes: Vec<u8>,
    values: Vec<Value>,
}

impl UnverifiedCursor {
    /// Reads a cursor's text without asking what it is a cursor of.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
        let (_, encoded) = bytes.split_at_checked(TAG)?;
        let values = decode(encoded)?;
        Some(Self { bytes, values })
    }

    /// What it holds, which may be anything until it is opened.
    pub(crate) fn values(&self) -> &[Value] {
        &self.values
    }
}

impl Default for CursorKey {
    /// A key that all servers without a secret share. It distinguishes cursors of different reads; a
    /// forged cursor gives nothing that `$where` does not give.
    fn default() -> Self {
        Self::new(b"mesh cursors without a secret")
    }
}

impl fmt::Debug for CursorKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CursorKey(..)")
    }
}

/// Appends a sort value to `out`, in a form that [`decode`] reads.
#[inline]
pub(crate) fn encode(out: &mut Vec<u8>, value: ValueRef<'_>) {
    match value {
        ValueRef::Null => out.push(0),
        // As the storages without truth values have them, so that a row has the same cursor in every storage.
        ValueRef::Boolean(value) => sized(out, 3, i64::from(value).to_be_bytes(), &[]),
        ValueRef::Integer(value) => sized(out, 3, value.to_be_bytes(), &[]),
        ValueRef::Real(value) => sized(out, 4, value.to_bits().to_be_bytes(), &[]),
        ValueRef::Text(value) => sized(out, 5, (value.len() as u64).to_be_bytes(), value),
        ValueRef::Bytes(value) => sized(out, 6, (value.len() as u64).to_be_bytes(), value),
    }
}

#[inline]
fn sized(out: &mut Vec<u8>, tag: u8, head: [u8; 8], bytes: &[u8]) {
    out.reserve(1 + head.len() + bytes.len());
    out.push(tag);
    out.extend_from_slice(&head);
    out.extend_from_slice(bytes);
}

fn decode(mut bytes: &[u8]) -> Option<Vec<Value>> {
    let mut values = Vec::new();
    while let Some((tag, rest)) = bytes.split_first() {
        let (value, rest) = match tag {
            0 => (Value::Null, rest),
            3..=6 => {
                let (head, rest) = rest.split_first_chunk::<8>()?;
                match tag {
                    3 => (Value::Integer(i64::from_be_bytes(*head)), rest),
                    4 => (Value::Real(f64::from_bits(u64::from_be_bytes(*head))), rest),
                    _ => {
                        let length = usize::try_from(u64::from_be_bytes(*head)).ok()?;
                        let (bytes, rest) = rest.split_at_checked(length)?;
                        let value = match tag {
                            5 => Value::Text(String::from_utf8_lossy(bytes).into_owned()),
                            _ => Value::Bytes(bytes.to_vec()),
                        };
                        (value, rest)
                    }
                }
            }
            _ => return None,
        };
        values.push(value);
        bytes = rest;
    }
    Some(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sealed(values: &[Value]) -> String {
        CursorKey::default().seal(&[7; 32]).text(values.iter().map(Value::as_ref))
    }

    fn open(key: &CursorKey, scope: u8, text: &str, count: usize) -> Option<Vec<Value>> {
        key.seal(&[scope; 32]).open(UnverifiedCursor::read(text)?, count)
    }

    #[test]
    fn values_survive() {
        let values =
            [Value::Null, i64::MIN.into(), f64::MIN_POSITIVE.into(), "né\0".into(), vec![0u8, 255].into()];
        let text = sealed(&values);
        assert_eq!(open(&CursorKey::default(), 7, &text, 5).as_deref(), Some(&values[..]));
        assert!(text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_'));
    }

    #[test]
    fn altered_and_foreign_cursors_do_not_open() {
        let key = CursorKey::default();
        let text = sealed(&[1.into(), "a".into()]);
        assert_eq!(open(&key, 8, &text, 2), None, "another scope");
        assert_eq!(open(&CursorKey::new(b"other"), 7, &text, 2), None, "another key");
        assert_eq!(open(&key, 7, &text, 1), None, "another order");
        for index in 0..text.len() {
            let mut altered = text.clone().into_bytes();
            altered[index] = if altered[index] == b'A' { b'B' } else { b'A' };
            let altered = String::from_utf8(altered).unwrap();
            assert_eq!(open(&key, 7, &altered, 2), None, "{altered}");
        }
        for text in ["", "A", "====", "é", &text[1..], &format!("{text}A")] {
            assert_eq!(open(&key, 7, text, 2), None, "{text}");
        }
    }
}
