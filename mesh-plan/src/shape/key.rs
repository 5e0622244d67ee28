//! How is a key of an object written? Ready made, with all that stands between the value before it and its own.

use std::fmt;

use super::json;

/// Bytes of a key that are copied together, whether it has as many or fewer. Copying a number of bytes that is known when
/// the program is built takes a few instructions, and a call otherwise.
const SHORT: usize = 24;

/// A key of an object.
#[derive(Clone)]
pub struct OutputKey {
    name: Box<str>,
    /// `{` or `,`, the name in quotes, and a colon.
    text: Box<[u8]>,
    /// The same where it is short, with zeros after it.
    short: [u8; SHORT],
}

impl OutputKey {
    /// The first key of an object, or a later one.
    pub(crate) fn new(name: &str, is_first: bool) -> Self {
        let mut text = vec![if is_first { b'{' } else { b',' }];
        json::write_str(&mut text, name);
        text.push(b':');
        let mut short = [0; SHORT];
        short.iter_mut().zip(&text).for_each(|(to, from)| *to = *from);
        Self { name: name.into(), text: text.into(), short }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Writes it, with what stands before it and the colon.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        match SHORT.checked_sub(self.text.len()) {
            Some(too_many) => {
                out.extend_from_slice(&self.short);
                out.truncate(out.len() - too_many);
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
    fn keys_of_any_length() {
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
