//! Tests of subscriptions: fragmented input and resumption.

use mesh_ql::build::query;

use super::*;
use crate::WireError;
use crate::client::Endpoint;

fn subscription() -> Subscription {
    let client = Client::new(Endpoint::parse("http://localhost/mesh").unwrap());
    client.watch(&query("post").field("title").build(), "a/b")
}

#[test]
fn a_subscription_resumes_after_the_last_event() {
    let mut subscription = subscription();
    let with_params = subscription.clone().with_params(ParamValues::new().with("n", 1)).request().unwrap();
    assert_eq!(with_params.headers()["x-mesh-params"], "eyJuIjoxfQ==");
    let request = subscription.request().unwrap();
    assert!(!request.headers().contains_key("x-mesh-params"));
    assert_eq!(request.uri().path(), "/mesh/post/a%2Fb/events");
    assert_eq!(request.headers()["accept"], "text/event-stream");
    assert!(
        request.headers().contains_key("x-mesh-query") && !request.headers().contains_key("last-event-id")
    );

    let stream = [sse::retry(700), sse::update("one", br#"{"title":1}"#), sse::heartbeat()].concat();
    let mut events = Vec::new();
    for byte in &stream {
        events.extend(subscription.feed(&[*byte]).unwrap());
    }
    assert_eq!(events, [StreamEvent::Update(r#"{"title":1}"#.to_owned())]);
    assert!(subscription.feed(b"event: update\ndata: {\"half").unwrap().is_empty());
    assert_eq!(subscription.disconnected(), 700);
    assert_eq!(subscription.request().unwrap().headers()["last-event-id"], "one");
    let again = subscription.feed(&sse::update("two", b"null")).unwrap();
    assert_eq!(again, [StreamEvent::Update("null".to_owned())], "the incomplete event is dropped");
    assert_eq!(subscription.disconnected(), 2_000, "the default");
}

#[test]
fn a_subscription_to_a_list_is_a_read_that_accepts_a_stream() {
    let client = Client::new(Endpoint::parse("http://localhost/mesh").unwrap());
    let query = query("post").field("title").build();
    let mut subscription = client.watch_collection(&query).with_params(ParamValues::new().with("n", 1));
    subscription.feed(&sse::update("one", br#"{"items":[]}"#)).unwrap();
    let request = subscription.request().unwrap();
    assert_eq!(request.uri().path(), "/mesh/post");
    let headers = ["accept", "last-event-id", "x-mesh-params"].map(|name| &request.headers()[name]);
    assert_eq!(headers, ["text/event-stream", "one", "eyJuIjoxfQ=="]);
    let read = client.collection(&query).request().unwrap();
    assert_eq!(request.headers()["x-mesh-query"], read.headers()["x-mesh-query"]);
}

#[test]
fn failures_are_returned_and_unknown_events_ignored() {
    let mut subscription = subscription();
    let body = r#"{"error":"IntegrityError","message":"over","requestId":"r","code":"TOKEN_EXPIRED"}"#;
    let events =
        subscription.feed(format!("event: error\ndata: {body}\n\nevent: more\ndata: 1\n\n").as_bytes());
    let [StreamEvent::Failed(error)] = &*events.unwrap() else { panic!("one failure") };
    assert_eq!(error.code.as_deref(), Some("TOKEN_EXPIRED"));
    assert!(subscription.feed(&vec![b'x'; EVENT_BYTES + 1]).is_err());
}

#[test]
fn only_a_successful_event_stream_is_a_stream() {
    let reply = |status: u16, content_type: &str| {
        Response::builder().status(status).header("content-type", content_type).body(()).unwrap()
    };
    assert!(Subscription::is_stream(&reply(200, "text/event-stream; charset=utf-8")));
    assert!(!Subscription::is_stream(&reply(200, "application/json")));
    let refused = WireError::not_found().status.as_u16();
    assert!(!Subscription::is_stream(&reply(refused, "text/event-stream")));
}
