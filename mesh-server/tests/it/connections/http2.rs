//! Violations of HTTP/2 by a client. Each case uses a new connection, and the server works after each. Section numbers
//! are those of RFC 9113.

use std::time::Duration;

use http::Version;
use mesh_server::Server;
use mesh_tests::PATIENCE;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::frames::{
    ACK, CONTINUATION, DATA, END_HEADERS, END_STREAM, Frame, HEADERS, PADDED, PING, PREFACE, PRIORITY,
    PUSH_PROMISE, RST_STREAM, Raw, Refusal, SETTINGS, WINDOW_UPDATE, block, pseudo,
};
use super::served::{ANSWER, Served, app, ask, running, within};

const PROTOCOL: u32 = 1;
const FLOW_CONTROL: u32 = 3;
const STREAM_CLOSED: u32 = 5;
const FRAME_SIZE: u32 = 6;
const REFUSED: u32 = 7;
const COMPRESSION: u32 = 9;
const CALM: u32 = 11;

/// The required reaction.
enum Expect {
    /// The connection ends with one of these error codes.
    End(&'static [u32]),
    /// The stream or the connection ends with one of these error codes.
    Reject(&'static [u32]),
    /// The request is answered.
    Answer,
}

use Expect::{Answer, End, Reject};

fn request() -> Frame {
    Frame::request(1, "quick")
}

fn with(field: (&str, &str)) -> Frame {
    Frame::head(1, &[&pseudo("/mesh/quick/1")[..], &[field]].concat())
}

fn setting(id: u16, value: u32) -> Frame {
    let payload = [&id.to_be_bytes()[..], &value.to_be_bytes()].concat();
    Frame::new(SETTINGS, 0, 0, &payload)
}

fn update(stream: u32, by: u32) -> Frame {
    Frame::new(WINDOW_UPDATE, 0, stream, &by.to_be_bytes())
}

/// Returns the name, the frames and the required reaction of each case. A case without a request is followed by one.
fn cases() -> Vec<(&'static str, Vec<Frame>, Expect)> {
    let open = Frame { flags: END_HEADERS, ..request() };
    let unfinished = Frame { flags: END_STREAM, ..request() };
    let fields = pseudo("/mesh/quick/1");
    let mut late = fields.to_vec();
    late.insert(1, ("x-early", "1"));
    let of_response = [&fields[..], &[(":status", "200")]].concat();
    vec![
        ("§4.1 an unknown kind of frame", vec![Frame::new(0xaa, 0xff, 0, b"?"), request()], Answer),
        ("§4.2 a frame too large", vec![Frame::new(DATA, 0, 1, &vec![0; 16_385])], End(&[FRAME_SIZE])),
        ("§4.3 a block that is no header", vec![Frame::new(HEADERS, 5, 1, &[0xff; 20])], End(&[COMPRESSION])),
        (
            "§5.1 data for a stream that is not open",
            vec![Frame::new(DATA, 0, 1, b"x")],
            End(&[PROTOCOL, STREAM_CLOSED]),
        ),
        (
            "§5.1 a reset of a stream that is not open",
            vec![Frame::new(RST_STREAM, 0, 1, &[0; 4])],
            End(&[PROTOCOL]),
        ),
        ("§5.1 a head after the last one", vec![request(), request()], Reject(&[STREAM_CLOSED, PROTOCOL])),
        (
            "§5.1 data after the last frame",
            vec![request(), Frame::new(DATA, 0, 1, b"x")],
            Reject(&[STREAM_CLOSED, PROTOCOL]),
        ),
        ("§5.1.1 an even stream", vec![Frame::request(2, "quick")], End(&[PROTOCOL])),
        (
            "§5.1.1 a stream before the last",
            vec![Frame::request(5, "stuck"), Frame::request(3, "quick")],
            End(&[PROTOCOL, STREAM_CLOSED]),
        ),
        (
            "§5.3.1 a stream that depends on itself",
            vec![Frame::new(PRIORITY, 0, 1, &[0, 0, 0, 1, 0]), request()],
            Reject(&[PROTOCOL]),
        ),
        ("§6.1 data on no stream", vec![Frame::new(DATA, 0, 0, b"x")], End(&[PROTOCOL])),
        (
            "§6.1 more padding than data",
            vec![open.clone(), Frame::new(DATA, PADDED, 1, &[9, 0])],
            End(&[PROTOCOL]),
        ),
        ("§6.2 a head on no stream", vec![Frame { stream: 0, ..request() }], End(&[PROTOCOL])),
        (
            "§6.2 another frame within a head",
            vec![unfinished.clone(), Frame::new(PING, 0, 0, &[0; 8])],
            End(&[PROTOCOL]),
        ),
        ("§6.5 settings on a stream", vec![Frame::new(SETTINGS, 0, 1, &[])], End(&[PROTOCOL])),
        ("§6.5 settings of a wrong size", vec![Frame::new(SETTINGS, 0, 0, &[0; 5])], End(&[FRAME_SIZE])),
        (
            "§6.5 settings confirmed with settings",
            vec![Frame::new(SETTINGS, ACK, 0, &[0; 6])],
            End(&[FRAME_SIZE]),
        ),
        ("§6.5.2 an unknown setting", vec![setting(0x99, 7), request()], Answer),
        ("§6.5.2 push of neither kind", vec![setting(2, 2)], End(&[PROTOCOL])),
        ("§6.5.2 a window too large", vec![setting(4, 1 << 31)], End(&[FLOW_CONTROL])),
        ("§6.5.2 frames too small", vec![setting(5, 1)], End(&[PROTOCOL])),
        ("§6.6 a push by a client", vec![Frame::new(PUSH_PROMISE, 4, 1, &[0, 0, 0, 2])], End(&[PROTOCOL])),
        ("§6.7 a ping of a wrong size", vec![Frame::new(PING, 0, 0, &[0; 7])], End(&[FRAME_SIZE])),
        ("§6.7 a ping on a stream", vec![Frame::new(PING, 0, 1, &[0; 8])], End(&[PROTOCOL])),
        ("§6.9 a window grown by nothing", vec![update(0, 0)], End(&[PROTOCOL])),
        (
            "§6.9 a stream's window grown by nothing",
            vec![Frame::request(1, "stuck"), update(1, 0)],
            Reject(&[PROTOCOL]),
        ),
        ("§6.9.1 a window past its bound", vec![update(0, (1 << 31) - 1)], End(&[FLOW_CONTROL])),
        (
            "§6.9.1 a stream's window past its bound",
            vec![Frame::request(1, "stuck"), update(1, (1 << 31) - 1)],
            Reject(&[FLOW_CONTROL]),
        ),
        ("§6.10 a continuation of nothing", vec![Frame::new(CONTINUATION, 4, 1, &[])], End(&[PROTOCOL])),
        ("§6.10 a head in two frames", split(&request()), Answer),
        ("§8.1.1 more data than was said", announced(), Reject(&[PROTOCOL])),
        ("§8.2.1 a name in capitals", vec![with(("X-Capital", "1"))], Reject(&[PROTOCOL])),
        ("§8.2.2 a header about the connection", vec![with(("connection", "close"))], Reject(&[PROTOCOL])),
        ("§8.2.2 transfer-encoding", vec![with(("transfer-encoding", "chunked"))], Reject(&[PROTOCOL])),
        ("§8.2.2 te other than trailers", vec![with(("te", "gzip"))], Reject(&[PROTOCOL])),
        ("§8.3 a pseudo-header after others", vec![Frame::head(1, &late)], Reject(&[PROTOCOL])),
        ("§8.3 a pseudo-header of replies", vec![Frame::head(1, &of_response)], Reject(&[PROTOCOL])),
        ("§8.3 a pseudo-header that is none", vec![with((":mesh", "1"))], Reject(&[PROTOCOL])),
        ("§8.3.1 no path", vec![Frame::head(1, &fields[..3])], Reject(&[PROTOCOL])),
        ("§8.3.1 no method", vec![Frame::head(1, &fields[1..])], Reject(&[PROTOCOL])),
        (
            "§8.3.1 two paths",
            vec![Frame::head(1, &[&fields[..], &fields[3..]].concat())],
            Reject(&[PROTOCOL]),
        ),
    ]
}

/// Returns a head that is split into two frames.
fn split(frame: &Frame) -> Vec<Frame> {
    let (first, second) = frame.payload.split_at(frame.payload.len() / 2);
    vec![
        Frame::new(HEADERS, END_STREAM, frame.stream, first),
        Frame::new(CONTINUATION, END_HEADERS, frame.stream, second),
    ]
}

/// Returns a body that is longer than announced.
fn announced() -> Vec<Frame> {
    let mut post = Frame::post(1);
    post.payload.extend(block(&[("content-length", "3")]));
    vec![post, Frame::new(DATA, END_STREAM, 1, b"{\"query\": 1}")]
}

#[tokio::test]
async fn violations_are_rejected_and_do_not_affect_other_connections() {
    let served = Served::start(Server::new(app())).await;
    let mut faults = Vec::new();
    for (name, frames, expect) in cases() {
        let mut raw = Raw::open(&served).await;
        let asks = frames.iter().any(|frame| frame.kind == HEADERS);
        for frame in &frames {
            raw.send(frame).await;
        }
        if !asks {
            raw.send(&request()).await;
        }
        let answer = raw.answer(1).await;
        let fine = match (&expect, answer) {
            (Answer, Ok(())) => true,
            // Many violations have a specific code. PROTOCOL_ERROR is allowed in place of it.
            (End(codes), Err(Refusal::Goodbye(code))) => code == PROTOCOL || codes.contains(&code),
            (Reject(codes), Err(Refusal::Goodbye(code) | Refusal::Reset(code))) => codes.contains(&code),
            // The request may be answered before the server reads the violation that follows it.
            (Reject(_), Ok(())) => frames.len() > 1,
            _ => false,
        };
        if !fine {
            faults.push(format!("{name}: {answer:?}"));
        }
        let after = within(PATIENCE, ask(served.connect().await, Version::HTTP_2, "quick")).await;
        assert_eq!(after, (200, ANSWER.to_owned()), "after {name}");
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[tokio::test]
async fn an_invalid_preface_is_refused() {
    let served = Served::start(Server::new(app())).await;
    let mut wrong = PREFACE.to_vec();
    wrong[20] = b'?';
    for bytes in [&wrong[..], b"PRI * HTTP/2.0\r\n\r\n", b"PRI / HTTP/2.0\r\n\r\nSM\r\n\r\n"] {
        let mut stream = served.connect().await;
        stream.write_all(bytes).await.unwrap();
        stream.shutdown().await.unwrap();
        let mut reply = Vec::new();
        let _ = within(PATIENCE, stream.read_to_end(&mut reply)).await;
        assert!(
            reply.is_empty() || reply.starts_with(b"HTTP/1.1 400"),
            "{}",
            String::from_utf8_lossy(&reply)
        );
    }
    assert_eq!(ask(served.connect().await, Version::HTTP_2, "quick").await.0, 200);
}

#[tokio::test]
async fn streams_above_the_limit_are_refused() {
    let served = Served::start(Server::new(app())).await;
    let mut raw = Raw::open(&served).await;
    for index in 0..100 {
        raw.send(&Frame::request(2 * index + 1, "stuck")).await;
    }
    raw.send(&Frame::request(201, "quick")).await;
    assert_eq!(raw.answer(201).await, Err(Refusal::Reset(REFUSED)));
    // A reset stream no longer counts.
    raw.send(&Frame::new(RST_STREAM, 0, 1, &8_u32.to_be_bytes())).await;
    raw.send(&Frame::request(203, "quick")).await;
    assert_eq!(raw.answer(203).await, Ok(()));
}

/// Attack without a session: violations of HTTP/2, and rapid resets.
#[tokio::test]
async fn a_client_that_opens_and_resets_many_streams_is_closed() {
    let served = Served::start(Server::new(app())).await;
    let mut raw = Raw::open(&served).await;
    let mut flood = Vec::new();
    for index in 0..2_000 {
        flood.extend(Frame::request(2 * index + 1, "stuck").bytes());
        flood.extend(Frame::new(RST_STREAM, 0, 2 * index + 1, &8_u32.to_be_bytes()).bytes());
    }
    raw.write(&flood).await;
    assert_eq!(raw.goodbye().await, Some(CALM));
    // Its active reads are cancelled.
    within(PATIENCE, async {
        while running() > 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
    assert_eq!(ask(served.connect().await, Version::HTTP_2, "quick").await.0, 200);
}

#[tokio::test]
async fn an_endless_head_is_refused() {
    let served = Served::start(Server::new(app())).await;
    let more = block(&[("x-more", &"y".repeat(16_000))]);
    for (payload, count) in [(&more[..], 1_000), (&[], 50_000)] {
        let mut raw = Raw::open(&served).await;
        raw.send(&Frame { flags: END_STREAM, ..request() }).await;
        raw.write(&Frame::new(CONTINUATION, 0, 1, payload).bytes().repeat(count)).await;
        let answer = raw.answer(1).await;
        assert!(matches!(answer, Err(Refusal::Goodbye(CALM | PROTOCOL | COMPRESSION))), "{answer:?}");
        assert_eq!(ask(served.connect().await, Version::HTTP_2, "quick").await.0, 200);
    }
}

#[tokio::test]
async fn many_pings_and_settings_are_answered_or_close_the_connection() {
    let served = Served::start(Server::new(app())).await;
    for frame in [Frame::new(PING, 0, 0, &[1; 8]), setting(3, 50)] {
        let mut raw = Raw::open(&served).await;
        let many = frame.bytes().repeat(500);
        for _ in 0..20 {
            raw.write(&many).await;
        }
        // All of them are answered in turn, or the connection is closed.
        raw.send(&request()).await;
        let answer = raw.answer(1).await;
        assert!(matches!(answer, Ok(()) | Err(Refusal::Goodbye(CALM))), "{answer:?}");
        assert_eq!(ask(served.connect().await, Version::HTTP_2, "quick").await.0, 200);
    }
}
