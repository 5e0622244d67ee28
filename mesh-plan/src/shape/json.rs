//! How is text written as JSON?

/// An object key with its quotes and colon.
pub(crate) fn json_key(name: &str) -> Box<str> {
    let mut out = Vec::with_capacity(name.len() + 3);
    write_str(&mut out, name);
    out.push(b':');
    String::from_utf8_lossy(&out).into()
}

/// Writes text that should be UTF-8; what is not becomes U+FFFD.
pub(super) fn write_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    match std::str::from_utf8(bytes) {
        Ok(text) => write_str(out, text),
        Err(_) => write_str(out, &String::from_utf8_lossy(bytes)),
    }
}

/// Bytes that are looked at together; the compiler turns a loop over them into a few instructions.
const BLOCK: usize = 32;

/// Writes text in quotes, escaping what JSON requires and no more.
pub(super) fn write_str(out: &mut Vec<u8>, text: &str) {
    let text = text.as_bytes();
    out.reserve(text.len() + 2);
    out.push(b'"');
    let mut rest = text;
    loop {
        let plain = plain(rest);
        let (before, special) = rest.split_at(plain.min(rest.len()));
        out.extend_from_slice(before);
        let Some((byte, after)) = special.split_first() else { break };
        escape(out, *byte);
        rest = after;
    }
    out.push(b'"');
}

/// How many bytes stand before the first that must be escaped.
fn plain(text: &[u8]) -> usize {
    let special = |byte: u8| byte < 0x20 || byte == b'"' || byte == b'\\';
    let mut blocks = text.chunks_exact(BLOCK);
    let mut place = 0;
    for block in &mut blocks {
        // Without an early end, so that the block is looked at as a whole.
        if block.iter().fold(false, |any, byte| any | special(*byte)) {
            break;
        }
        place += BLOCK;
    }
    let tail = text.get(place..).unwrap_or_default();
    place + tail.iter().position(|byte| special(*byte)).unwrap_or(tail.len())
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
