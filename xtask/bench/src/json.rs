//! Minimal JSON output for the rows of the sample.

/// Appends a number.
pub fn integer(out: &mut Vec<u8>, value: i64) {
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

/// Appends a string with quotes and escapes.
pub fn text(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    let mut rest = text.as_bytes();
    while let Some(place) = rest.iter().position(|byte| *byte < 0x20 || *byte == b'"' || *byte == b'\\') {
        let (plain, special) = rest.split_at(place);
        out.extend_from_slice(plain);
        match special[0] {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            other => out.extend_from_slice(format!("\\u{other:04x}").as_bytes()),
        }
        rest = &special[1..];
    }
    out.extend_from_slice(rest);
    out.push(b'"');
}
