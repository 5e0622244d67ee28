//! Writing of JSON strings.

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

/// Returns whether the text is ASCII without escapes. Most texts are, so all bytes are tested without an early exit, which
/// the compiler vectorizes.
fn is_plain(text: &[u8]) -> bool {
    let is_special = |byte: u8| !matches!(byte, 0x20..0x80) | (byte == b'"') | (byte == b'\\');
    !text.iter().fold(false, |found, byte| found | is_special(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

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
