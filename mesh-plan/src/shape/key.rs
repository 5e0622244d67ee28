//! Keys of JSON objects, stored as the bytes between two values.

use std::fmt;

use super::json;

/// The number of bytes that are copied for a short key. Copying a constant number of bytes takes a few instructions
/// instead of a call.
const SHORT: usize = 24;

/// A key of an object.
#[derive(Clone)]
pub struct OutputKey {
    name: Box<str>,
    /// `{` or `,`, the name in quotes, and a colon.
    text: Box<[u8]>,
    /// The text if it is short, padded with zeros.
    short: [u8; SHORT],
}

impl OutputKey {
    /// Creates the first or a later key of an object.
    pub(crate) fn new(name: &str, is_first: bool) -> Self {
        let mut text = vec![if is_first { b'{' } else { b',' }];
        json::write_str(&mut text, name);
        text.push(b':');
        let mut short = [0; SHORT];
        short.iter_mut().zip(&text).for_each(|(to, from)| *to = *from);
        Self { name: name.into(), text: text.into(), short }
    }

    /// Returns the name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Writes the separator, the name and the colon.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        match SHORT.checked_sub(self.text.len()) {
            Some(padding) => {
                out.extend_from_slice(&self.short);
                out.truncate(out.len() - padding);
            }
            None => out.extend_from_slice(&self.text),
        }
    }
}

impl fmt::Debug for OutputKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.name.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_all_lengths_are_written_in_full() {
        for length in [0, 1, SHORT - 5, SHORT - 4, SHORT - 3, 100] {
            let name = "k".repeat(length);
            let mut out = b"1".to_vec();
            OutputKey::new(&name, false).write(&mut out);
            assert_eq!(String::from_utf8(out).unwrap(), format!("1,\"{name}\":"));
        }
        let mut out = Vec::new();
        let key = OutputKey::new("a\"ö", true);
        key.write(&mut out);
        assert_eq!((std::str::from_utf8(&out).unwrap(), key.name()), ("{\"a\\\"ö\":", "a\"ö"));
    }
}
