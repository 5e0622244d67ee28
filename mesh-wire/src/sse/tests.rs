//! Tests of framing and decoding of events.

use http::Method;
use proptest::prelude::*;

use super::*;
use crate::{RequestId, WireError};

fn decode(stream: &[u8]) -> Vec<Event> {
    Decoder::new(1 << 20).feed(stream).unwrap()
}

#[test]
fn frames_look_as_specified() {
    assert_eq!(update("ab12", br#"{"id":1}"#), "event: update\nid: ab12\ndata: {\"id\":1}\n\n");
    assert_eq!(retry(2_000), "retry: 2000\n\n");
    assert_eq!(heartbeat(), ":\n\n");
    let id = RequestId::from_headers(&HeaderMap::new(), [0; 16]);
    let frame = error(&WireError::timeout().body(&id));
    let text = String::from_utf8(frame.to_vec()).unwrap();
    assert!(text.starts_with("event: error\ndata: {\"error\":\"ResolverError\""), "{text}");
    assert!(text.ends_with("\"code\":\"TIMEOUT\"}\n\n"), "{text}");
    assert!(!text.contains("\nid:"), "{text}");
}

#[test]
fn data_cannot_end_its_frame() {
    for data in
        ["{}\n\nevent: error\ndata: x\n\n", "a\r\rid: 7\r\r", "a\r\nretry: 1\r\n\r\n", "\n", "", "a\n", "\0"]
    {
        let events = decode(&update("1", data.as_bytes()));
        assert_eq!(events.len(), 1, "{data:?}");
        let lines = data.replace("\r\n", "\n").replace('\r', "\n");
        assert_eq!(events[0], Event { event: "update".into(), data: lines, id: "1".into() });
    }
    assert_eq!(decode(&update("1\n\ndata: x", b"y"))[0].id, "1data: x");
}

#[test]
fn ids_are_digests_of_the_data() {
    assert_eq!(id(b"null"), id(b"null"));
    assert_eq!(id(b"null").len(), 32);
    assert_ne!(id(b"{}"), id(b"null"));
}

#[test]
fn the_head_forbids_caching_and_transformation() {
    let request_id = RequestId::from_headers(&HeaderMap::new(), [0; 16]);
    let headers = HeaderMap::new();
    let reply = head(&RequestHead { method: &Method::GET, headers: &headers, request_id: &request_id });
    assert_eq!(reply.headers()[CONTENT_TYPE], "text/event-stream");
    assert_eq!(reply.headers()[CACHE_CONTROL], "no-cache, no-transform");
    assert_eq!(reply.headers()["x-request-id"], request_id.as_str());
}

#[test]
fn streams_are_decoded_by_the_rules_of_the_html_standard() {
    let stream = "\u{feff}:comment\nretry: 10\nretry: 1x\n\nid: 1\ndata:a\ndata:  b\nother\ndata\n\nevent: e\n\nid\nevent: f\r\ndata: c\r\rdata: lost";
    let mut decoder = Decoder::new(100);
    let events = decoder.feed(stream.as_bytes()).unwrap();
    let event =
        |event: &str, data: &str, id: &str| Event { event: event.into(), data: data.into(), id: id.into() };
    assert_eq!(events, [event("message", "a\n b\n", "1"), event("f", "c", "")]);
    assert_eq!((decoder.retry_millis(), decoder.last_id()), (Some(10), ""));
}

#[test]
fn an_event_over_the_limit_is_refused() {
    for line in ["data: xxxxxxxxxx\n", "xxxxxxxxxx"] {
        let mut decoder = Decoder::new(64);
        let result: Result<Vec<_>, _> = (0..100).map(|_| decoder.feed(line.as_bytes())).collect();
        assert_eq!(result, Err(EventTooLarge { limit: 64 }), "{line:?}");
    }
    let mut decoder = Decoder::new(64);
    for _ in 0..100 {
        assert_eq!(decoder.feed(b"data: xxxxxxxxxx\n\n").unwrap().len(), 1);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn encoded_events_are_decoded_from_chunks_of_any_size(data in prop::collection::vec("[ -~\n\r\0é]{0,20}", 1..5), chunk_size in 1usize..7) {
        let mut stream = retry(5).to_vec();
        for (index, data) in data.iter().enumerate() {
            stream.extend_from_slice(&heartbeat());
            stream.extend_from_slice(&update(&index.to_string(), data.as_bytes()));
        }
        let mut decoder = Decoder::new(1 << 20);
        let mut events = Vec::new();
        for chunk in stream.chunks(chunk_size) {
            events.extend(decoder.feed(chunk).unwrap());
        }
        let decoded: Vec<_> = events.iter().map(|event| event.data.clone()).collect();
        let expected: Vec<_> = data.iter().map(|data| data.replace("\r\n", "\n").replace('\r', "\n")).collect();
        prop_assert_eq!(decoded, expected);
        prop_assert_eq!(decoder.last_id(), (data.len() - 1).to_string());
    }
}
