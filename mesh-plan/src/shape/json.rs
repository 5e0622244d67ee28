//! How is text written as JSON?

/// Writes text that should be UTF-8; what is not becomes U+FFFD.
pub(super) fn write_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    if is_plain(bytes) {
        return write_plain(out, bytes);
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => write_escaped(out, text),
        Err(_) => write_escaped(out, &String::from_utf8_lossy(bytes)),
    }
}

/// Writes text in quotes, escaping what JSON requires and no more.
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
    out.reserve(text.len() + 2);
    out.push(b'"');
    let mut rest = text.as_bytes();
    loop {
        let (plain, special) = rest.split_at(plain(rest).min(rest.len()));
        out.extend_from_slice(plain);
        let Some((byte, after)) = special.split_first() else { break };
        escape(out, *byte);
        rest = after;
    }
    out.push(b'"');
}

/// One in each byte of a word, and the highest bit of each.
const ONES: u64 = u64::MAX / 255;
const HIGHS: u64 = ONES << 7;

/// Whether the text is written as it is: ASCII, nothing of which is escaped. Most texts are, so it is found out for all of one
/// at once, without an end at the first byte that is not.
fn is_plain(text: &[u8]) -> bool {
    let (words, rest) = text.as_chunks();
    let special = words.iter().fold(0, |any, word| any | special_in(u64::from_ne_bytes(*word)));
    // The last word begins where it has to, over some of the one before it.
    let last = match text.last_chunk() {
        Some(last) => special_in(u64::from_ne_bytes(*last)),
        None => rest.iter().fold(0, |any, byte| any | u64::from(is_special(*byte) | !byte.is_ascii())),
    };
    special | last == 0
}

/// Not zero where a byte of the word is special or not ASCII: a subtraction borrows from the highest bit of a byte that is too
/// small, and of none else if no byte is.
fn special_in(word: u64) -> u64 {
    let below = |word: u64, bound: u64| word.wrapping_sub(ONES * bound) & !word;
    let is = |byte: u8| below(word ^ (ONES * u64::from(byte)), 1);
    (word | below(word, 0x20) | is(b'"') | is(b'\\')) & HIGHS
}

fn is_special(byte: u8) -> bool {
    // Without an early end, so that many are looked at together.
    (byte < 0x20) | (byte == b'"') | (byte == b'\\')
}

/// Bytes that are looked at together; the compiler turns a loop over them into a few instructions.
const BLOCK: usize = 32;

/// How many bytes stand before the first that must be escaped.
fn plain(text: &[u8]) -> usize {
    let mut place = 0;
    for block in text.as_chunks::<BLOCK>().0 {
        if block.iter().fold(false, |any, byte| any | is_special(*byte)) {
            break;
        }
        place += BLOCK;
    }
    let tail = text.get(place..).unwrap_or_default();
    place + tail.iter().position(|byte| is_special(*byte)).unwrap_or(tail.len())
}

#[cold]
fn escape(out: &mut Vec<u8>, byte: u8) {
    match byte {
        b'"' => out.extend_from_slice(br#"\""#),
        b'\\' => out.extend_from_slice(br"\\"),
        b'\n' => out.extend_from_slice(br"\n"),
        b'\r' => out.extend_from_slice(br"\r"),
        b'\t' => out.extend_from_slice(br"\t"),
        0x08 => out.extend_from_slice(br"\b"),
        0x0c => out.extend_from_slice(br"\f"),
        other => out.extend_from_slice(format!("\\u{other:04x}").as_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_byte_is_found_at_any_place() {
        for length in [1, 7, 8, 9, 16, 30, 31, 32, 33, 39, 40, 64, 71, 100] {
            let text = vec![b'x'; length];
            assert!(is_plain(&text), "{length}");
            for (place, byte) in (0..length).flat_map(|place| (0..=255).map(move |byte| (place, byte))) {
                let mut text = text.clone();
                text[place] = byte;
                let expected = (0x20..0x80).contains(&byte) && byte != b'"' && byte != b'\\';
                assert_eq!(is_plain(&text), expected, "{byte:#x} at {place} of {length}");
                let mut out = Vec::new();
                write_bytes(&mut out, &text);
                let read: String = serde_json::from_slice(&out).unwrap();
                assert_eq!(read, String::from_utf8_lossy(&text));
            }
        }
        assert!(is_plain(b""));
    }
}
