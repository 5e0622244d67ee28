//! Frames of HTTP/2 for clients that do not behave.

/// The first bytes of a connection.
pub(super) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const END_STREAM_AND_HEADERS: u8 = 5;

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).expect("a short payload").to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// Returns settings with the number of bytes that the server may send for each stream.
pub(super) fn settings(window: u32) -> Vec<u8> {
    frame(SETTINGS, 0, 0, &[&[0, 4], &window.to_be_bytes()[..]].concat())
}

/// Returns the head of a GET request. Names are in lower case.
pub(super) fn request(stream: u32, path: &str, fields: &[(String, Vec<u8>)]) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in
        [(":method", "GET"), (":scheme", "http"), (":authority", "127.0.0.1"), (":path", path)]
    {
        field(&mut block, name, value.as_bytes());
    }
    for (name, value) in fields {
        field(&mut block, &name.to_ascii_lowercase(), value);
    }
    frame(HEADERS, END_STREAM_AND_HEADERS, stream, &block)
}

/// Returns the cancellation of a request.
pub(super) fn reset(stream: u32) -> Vec<u8> {
    frame(RST_STREAM, 0, stream, &8_u32.to_be_bytes())
}

/// Appends a field without indexing.
fn field(block: &mut Vec<u8>, name: &str, value: &[u8]) {
    block.push(0);
    for text in [name.as_bytes(), value] {
        let mut length = text.len();
        if length < 127 {
            block.push(length as u8);
        } else {
            block.push(127);
            length -= 127;
            while length >= 128 {
                block.push((length % 128) as u8 | 128);
                length /= 128;
            }
            block.push(length as u8);
        }
        block.extend(text);
    }
}
