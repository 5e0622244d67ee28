//! Request heads and bodies: every input yields a query or an error of the protocol.

use http::{HeaderMap, HeaderName, HeaderValue, Method, Uri};
use mesh_wire::request::{IfMatch, ReferenceError};
use mesh_wire::{
    Cors, Encoding, ErrorKind, MeshHeaders, QuerySource, RequestHead, RequestId, WireError, base64, request,
    response, sse,
};
use serde_json::Value;

/// Decodes a request head: a line with the target, then lines of `name: value`.
pub fn head(data: &[u8]) {
    let mut lines = data.split(|byte| *byte == b'\n');
    let target = lines.next().unwrap_or_default();
    let headers = headers(lines);
    let id = RequestId::from_headers(&headers, [7; 16]);
    assert!(
        (1..=128).contains(&id.as_str().len()) && id.as_str().bytes().all(|byte| byte.is_ascii_graphic())
    );
    let head = RequestHead { method: &Method::GET, headers: &headers, request_id: &id };
    match MeshHeaders::scan(&headers).reject_repeated().and_then(|found| found.raw_query()?.decode()) {
        Ok(QuerySource::Text { text, .. }) => {
            assert_eq!(base64::decode(base64::encode(&text).as_bytes()).as_deref(), Ok(text.as_str()));
        }
        Ok(QuerySource::Id(id)) => assert!(!id.is_empty()),
        Err(error) => check_refusal(&head, &error, &[400]),
    }
    if let Ok(uri) = Uri::try_from(target) {
        let outcomes = [
            request::check_url_query(uri.query()),
            request::check_head_size(&Method::GET, &uri, MeshHeaders::scan(&headers).size, 1024),
        ];
        outcomes
            .iter()
            .filter_map(|it| it.as_ref().err())
            .for_each(|error| check_refusal(&head, error, &[400, 414, 431]));
    }
    let body = bytes::Bytes::from_static(b"{\"id\":1}");
    let reply = response::read(&head, body, None);
    assert!(matches!(reply.status().as_u16(), 200 | 304));
    if let Some(encoding) = Encoding::negotiate(&headers) {
        assert!(!encoding.as_str().is_empty());
    }
    let _ = sse::last_event_id(&headers);
    if let Err(error) = IfMatch::parse(&headers) {
        check_refusal(&head, &error, &[400]);
    }
    if let Ok(cors) = Cors::new(["https://app.example"]) {
        let mut fields = HeaderMap::new();
        cors.apply(&Method::OPTIONS, &headers, &mut fields);
        let allowed = fields.get("access-control-allow-origin");
        assert!(allowed.is_none_or(|origin| origin == "https://app.example"), "{allowed:?}");
    }
}

/// Decodes a body of `POST {base}` or of `POST {base}/batch`.
pub fn posted(data: &[u8]) {
    let headers =
        HeaderMap::from_iter([(http::header::CONTENT_TYPE, HeaderValue::from_static("application/json"))]);
    let id = RequestId::from_headers(&headers, [7; 16]);
    let head = RequestHead { method: &Method::POST, headers: &headers, request_id: &id };
    match request::decode_body(&headers, data) {
        // Another parser must find the same members.
        Ok(posted) => {
            // It supports neither huge numbers nor deep nesting, which are allowed in unknown members.
            let Ok(body) = serde_json::from_slice::<Value>(data) else { return };
            assert_eq!(body.get("query").and_then(Value::as_str), Some(posted.text.as_str()));
            let format = body.get("format").map_or("json", |it| it.as_str().unwrap_or_default());
            assert_eq!(format, posted.format.as_str());
            assert_eq!(body.get("id").is_some(), posted.id.is_some());
        }
        Err(error) => check_refusal(&head, &error, &[400, 415]),
    }
    let steps = request::decode_batch(&headers, data).unwrap_or_default();
    steps.iter().filter_map(|step| step.body.as_deref()).for_each(check_replaced);
}

/// Checks that a body is JSON after its references are replaced, too.
fn check_replaced(body: &str) {
    let Ok(before) = serde_json::from_str::<Value>(body) else { return };
    let replaced = request::replace_references(body, |_| Ok::<_, ReferenceError>("[null]".to_owned()));
    let Ok(replaced) = replaced else { return };
    let after = serde_json::from_str::<Value>(&replaced).expect("JSON");
    assert_eq!(before.as_object().map(|it| it.len()), after.as_object().map(|it| it.len()));
}

fn headers<'d>(lines: impl Iterator<Item = &'d [u8]>) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for line in lines.take(100) {
        let Some(colon) = line.iter().position(|byte| *byte == b':') else { continue };
        let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
        if let (Ok(name), Ok(value)) = (HeaderName::from_bytes(name), HeaderValue::from_bytes(value)) {
            headers.append(name, value);
        }
    }
    headers
}

/// Checks that the reply to an error is JSON with a known kind, one of the statuses and the id of the request.
fn check_refusal(head: &RequestHead<'_>, error: &WireError, statuses: &[u16]) {
    let reply = response::error(head, error);
    assert!(statuses.contains(&reply.status().as_u16()), "{error:?}");
    let body: Value = serde_json::from_slice(reply.body()).expect("JSON");
    let kind = body.get("error").and_then(Value::as_str).and_then(|name| name.parse::<ErrorKind>().ok());
    assert_eq!(kind, Some(ErrorKind::Transport), "{body}");
    assert!(body.get("message").and_then(Value::as_str).is_some_and(|message| !message.is_empty()));
    assert_eq!(body.get("requestId").and_then(Value::as_str), Some(head.request_id.as_str()));
}
