//! Writing of JSON strings.

/// The largest number of bytes that a byte of text takes in a JSON string: a control character takes `\u0000`.
pub(super) const LONGEST_ESCAPE: usize = 6;

/// Returns the length of text as a JSON string, or less if it is not UTF-8.
pub(super) fn length(text: &[u8]) -> usize {
    let escaped = |byte: &u8| match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 0x08 | 0x0c => 2,
        0..0x20 => LONGEST_ESCAPE,
        _ => 1,
    };
    2 + text.iter().map(escaped).sum::<usize>()
}

/// Writes text as a JSON string. Invalid UTF-8 becomes U+FFFD.
pub(super) fn write_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    if is_plain(bytes) {
        return write_plain(out, bytes);
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => write_escaped(out, text),
        Err(_) => write_escaped(out, &String::from_utf8_lossy(bytes)),
    }
}

/// Writes a JSON string with only the escapes that JSON requires.
pub(super) fn write_str(out: &mut Vec<u8>, text: &str) {
    if is_plain(text.as_bytes()) { write_plain(out, text.as_bytes()) } else { write_escaped(out, text) }
}

fn write_plain(out: &mut Vec<u8>, text: &[u8]) {
    out.reserve(text.len() + 2);
    out.push(b'"');
    out.extend_from_slice(text);
    out.push(b'"');
}

fn write_escaped(out: &mut Vec<u8>, text: &str) {
    // Writing to a vector cannot fail.
    let _ = serde_json::to_writer(out, text);
}

/// A word with the value 1 in each byte, and a word with the highest bit of each byte set.
const ONES: u64 = u64::MAX / 255;
const HIGHS: u64 = ONES << 7;

/// Returns whether the text is ASCII without escapes. Most texts are, so all bytes are tested without an early exit, which
/// the compiler vectorizes.
fn is_plain(text: &[u8]) -> bool {
    let (words, rest) = text.as_chunks();
    let special = words.iter().fold(0, |any, word| any | special_in(u64::from_ne_bytes(*word)));
    // The last word overlaps the one before it.
    let last = match text.last_chunk() {
        Some(last) => special_in(u64::from_ne_bytes(*last)),
        None => rest.iter().fold(0, |any, byte| any | special_in(ONES * u64::from(*byte))),
    };
    special | last == 0
}

/// Returns a non-zero value if a byte of the word is special or not ASCII. The subtraction sets the highest bit of a byte
/// that is too small. It affects other bytes only if there is such a byte.
fn special_in(word: u64) -> u64 {
    let below = |word: u64, bound: u64| word.wrapping_sub(ONES * bound) & !word;
    let is = |byte: u8| below(word ^ (ONES * u64::from(byte)), 1);
    (word | below(word, 0x20) | is(b'"') | is(b'\\')) & HIGHS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_those_of_the_written_text() {
        for byte in 0..0x80 {
            let text = [b'x', byte, b'y'];
            let mut out = Vec::new();
            write_bytes(&mut out, &text);
            assert_eq!(length(&text), out.len(), "{byte:#x}");
        }
        assert_eq!(length("é".as_bytes()), 4);
    }

    #[test]
    fn special_bytes_are_found_at_every_index() {
        for length in [1, 7, 8, 9, 16, 30, 31, 32, 33, 39, 40, 64, 71, 100] {
            let text = vec![b'x'; length];
            assert!(is_plain(&text), "{length}");
            for (index, byte) in (0..length).flat_map(|index| (0..=255).map(move |byte| (index, byte))) {
                let mut text = text.clone();
                text[index] = byte;
                let expected = (0x20..0x80).contains(&byte) && byte != b'"' && byte != b'\\';
                assert_eq!(is_plain(&text), expected, "{byte:#x} at {index} of {length}");
                let mut out = Vec::new();
                write_bytes(&mut out, &text);
                let read: String = serde_json::from_slice(&out).unwrap();
                assert_eq!(read, String::from_utf8_lossy(&text));
            }
        }
        assert!(is_plain(b""));
    }
}
