//! Keys of JSON objects, stored as the bytes between two values.

use std::fmt;

use super::json;

/// A key of an object.
#[derive(Clone)]
pub struct OutputKey {
    name: Box<str>,
    /// `{` or `,`, the name in quotes, and a colon.
    text: Box<[u8]>,
}

impl OutputKey {
    /// Creates the first or a later key of an object.
    pub(crate) fn new(name: &str, is_first: bool) -> Self {
        let mut text = vec![if is_first { b'{' } else { b',' }];
        json::write_str(&mut text, name);
        text.push(b':');
        Self { name: name.into(), text: text.into() }
    }

    /// Returns the name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Writes the separator, the name and the colon.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.text);
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
        for length in [0, 1, 20, 100] {
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
