//! Event streams: any data stays in one frame, and decoding does not depend on how the stream is split.

use mesh_wire::sse::{self, Decoder, Event};

/// Uses the input as the data of an update, and as a stream.
pub fn events(data: &[u8]) {
    let id = sse::id(data);
    let frame = sse::update(&id, data);
    // Each invalid byte becomes three.
    let limit = 3 * data.len() + 100;
    let read = decode(&frame, limit, 7);
    let text = String::from_utf8_lossy(data);
    let lines = text.replace("\r\n", "\n").replace('\r', "\n");
    let wanted = Event { event: "update".to_owned(), data: lines, id };
    assert_eq!(read.as_deref(), Some(&[wanted][..]));

    let hostile = String::from_utf8_lossy(data);
    let frame = sse::update(&hostile, b"{}");
    let read = decode(&frame, 3 * frame.len(), 3).expect("within the bound");
    assert_eq!(read.len(), 1, "an id ended its frame");
    assert_eq!((read[0].event.as_str(), read[0].data.as_str()), ("update", "{}"));

    let whole = decode(data, 4096, usize::MAX);
    for size in [1, 2, 3, 16] {
        assert_eq!(decode(data, 4096, size), whole, "in pieces of {size}");
    }
}

fn decode(bytes: &[u8], limit: usize, size: usize) -> Option<Vec<Event>> {
    let mut decoder = Decoder::new(limit);
    let mut events = Vec::new();
    for piece in bytes.chunks(size) {
        events.extend(decoder.feed(piece).ok()?);
    }
    Some(events)
}
