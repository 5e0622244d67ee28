//! Opaque cursors, bound to their read by a MAC. `SPEC §5.4`
//!
//! A cursor is base64url of 16 bytes of MAC and the sort values of one row. The key of the MAC is derived from the read's
//! scope (entity, order, filter, grouping), so a cursor of another read, or an altered one, is refused. The MAC is
//! SipHash-2-4 with 128 bits, which takes a fifth of the time of HMAC-SHA256 for the few bytes of a row.

use std::fmt;
use std::hash::Hasher as _;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use mesh_schema::FieldType;
use ring::hmac;
use siphasher::sip128::{Hasher128 as _, SipHasher24};

use crate::value::canonical::whole;
use crate::{Value, ValueRef};

/// The number of bytes of the MAC in a cursor.
const TAG: usize = 16;

/// The key from which the keys of reads are derived. All servers of a deployment share it.
pub(crate) struct CursorKey(hmac::Key);

impl CursorKey {
    /// Creates the key from a deployment's secret.
    pub(crate) fn new(secret: &[u8]) -> Self {
        Self(hmac::Key::new(hmac::HMAC_SHA256, secret))
    }

    /// Derives the key of a read.
    pub(crate) fn seal(&self, scope: &[u8]) -> CursorMac {
        let derived = hmac::sign(&self.0, scope);
        // The first half of the digest is the key.
        let key = derived.as_ref().first_chunk().copied().unwrap_or_default();
        CursorMac(SipHasher24::new_with_key(&key))
    }
}

impl Default for CursorKey {
    /// Returns the key that all servers without a secret share. It distinguishes cursors of different reads. A forged cursor
    /// selects nothing that `$where` cannot select.
    fn default() -> Self {
        Self::new(b"mesh cursors without a secret")
    }
}

impl fmt::Debug for CursorKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CursorKey(..)")
    }
}

/// Seals and opens the cursors of one read.
#[derive(Clone)]
pub(crate) struct CursorMac(SipHasher24);

impl CursorMac {
    /// Appends the cursor of a row to `out`.
    pub(crate) fn write(&self, out: &mut Vec<u8>, row: &mut CursorValues) {
        let bytes = &mut row.0;
        if let Some((tag, values)) = bytes.split_first_chunk_mut::<TAG>() {
            *tag = self.tag(values);
        }
        let start = out.len();
        out.resize(start + base64::encoded_len(bytes.len(), false).unwrap_or_default(), b'A');
        if let Some(space) = out.get_mut(start..) {
            let written = URL_SAFE_NO_PAD.encode_slice(bytes, space);
            debug_assert_eq!(written.ok(), Some(out.len() - start));
        }
    }

    /// Returns the cursor of a row.
    pub(crate) fn text<'a>(&self, values: impl IntoIterator<Item = ValueRef<'a>>) -> String {
        let (mut out, mut row) = (Vec::new(), CursorValues::default());
        values.into_iter().for_each(|value| row.push(None, value));
        self.write(&mut out, &mut row);
        String::from_utf8(out).unwrap_or_default()
    }

    /// Returns the values of a cursor if it belongs to this read and has `count` values.
    pub(crate) fn open(&self, cursor: UnverifiedCursor, count: usize) -> Option<Vec<Value>> {
        let (tag, encoded) = cursor.bytes.split_first_chunk::<TAG>()?;
        // A forged cursor would select nothing that a filter cannot, so the comparison need not take constant time.
        let is_valid = self.tag(encoded) == *tag && cursor.values.len() == count;
        is_valid.then_some(cursor.values)
    }

    fn tag(&self, values: &[u8]) -> [u8; TAG] {
        let mut hasher = self.0;
        hasher.write(values);
        hasher.finish128().as_bytes()
    }
}

impl fmt::Debug for CursorMac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CursorMac(..)")
    }
}

/// The encoded sort values of a row, preceded by space for the MAC.
#[derive(Clone)]
pub(crate) struct CursorValues(Vec<u8>);

impl CursorValues {
    /// Removes the values, so that another row can be encoded.
    pub(crate) fn clear(&mut self) {
        self.0.truncate(TAG);
    }

    /// Encodes the next value of the row, of a field of type `ty`. Storages differ in whether a decimal without fraction, such
    /// as a sum, is an integer or a real, so it is encoded as an integer.
    pub(crate) fn push(&mut self, ty: Option<FieldType>, value: ValueRef<'_>) {
        match (ty, value) {
            (Some(FieldType::Decimal), ValueRef::Real(value)) => encode(&mut self.0, whole(value).as_ref()),
            _ => encode(&mut self.0, value),
        }
    }
}

impl Default for CursorValues {
    /// Returns a row without values.
    fn default() -> Self {
        let mut row = Vec::with_capacity(64);
        row.resize(TAG, 0);
        Self(row)
    }
}

/// Text in the form of a cursor, not yet verified.
pub(crate) struct UnverifiedCursor {
    bytes: Vec<u8>,
    values: Vec<Value>,
}

impl UnverifiedCursor {
    /// Decodes a cursor of any read.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
        let (_, encoded) = bytes.split_at_checked(TAG)?;
        let values = decode(encoded)?;
        Some(Self { bytes, values })
    }

    /// Returns the values, which a client may have forged.
    pub(crate) fn values(&self) -> &[Value] {
        &self.values
    }
}

/// Appends a sort value to `out`, in a form that [`decode`] reads. Some storages store booleans as integers, so booleans are
/// encoded as integers, and a row has the same cursor in every storage.
#[inline]
pub(crate) fn encode(out: &mut Vec<u8>, value: ValueRef<'_>) {
    match value {
        ValueRef::Null => out.push(0),
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
        bytes = rest;
        if *tag == 0 {
            values.push(Value::Null);
            continue;
        }
        let (head, rest) = bytes.split_first_chunk::<8>()?;
        let number = u64::from_be_bytes(*head);
        let length = if matches!(tag, 5 | 6) { usize::try_from(number).ok()? } else { 0 };
        let (content, rest) = rest.split_at_checked(length)?;
        values.push(match tag {
            3 => Value::Integer(number.cast_signed()),
            4 => Value::Real(f64::from_bits(number)),
            5 => Value::from_text(content.to_vec()),
            6 => Value::Bytes(content.to_vec()),
            _ => return None,
        });
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
        key.seal(&[scope; 32]).open(UnverifiedCursor::parse(text)?, count)
    }

    #[test]
    fn values_are_decoded_as_they_were_encoded() {
        let values = [
            Value::Null,
            i64::MIN.into(),
            f64::MIN_POSITIVE.into(),
            "né\0".into(),
            Value::InvalidText(vec![b'a', 0xe9]),
            vec![0u8, 255].into(),
        ];
        let text = sealed(&values);
        assert_eq!(open(&CursorKey::default(), 7, &text, 6).as_deref(), Some(&values[..]));
        assert!(text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_'));
    }

    #[test]
    fn a_decimal_has_the_same_cursor_in_every_storage() {
        let values = |ty, value: Value| {
            let mut row = CursorValues::default();
            row.push(ty, value.as_ref());
            row.0
        };
        let decimal = Some(FieldType::Decimal);
        for (real, other) in [(5.0, 5), (-0.0, 0), (-3e15, -3_000_000_000_000_000_i64)] {
            assert_eq!(values(decimal, real.into()), values(decimal, other.into()), "{real}");
        }
        assert_ne!(values(decimal, 5.5.into()), values(decimal, 5.into()));
        assert_ne!(
            values(Some(FieldType::Number), 5.0.into()),
            values(None, 5.into()),
            "a number is a real everywhere"
        );
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
