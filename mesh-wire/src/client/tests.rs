//! Tests that servers decode the requests of clients, and that clients decode the replies of servers.

use proptest::prelude::*;

use super::*;
use crate::request::{PostedId, decode_body};
use crate::route::percent;
use crate::{BasePath, MeshHeaders, PostBody, Profiles, RequestHead, RequestId, Route, WireError, response};

fn endpoint() -> Endpoint {
    Endpoint::parse("http://localhost:4000/mesh/").unwrap()
}

fn source(format: Format, text: &str) -> QuerySource {
    QuerySource::Text { format, text: text.to_owned() }
}

/// Decodes a read as a server does. Returns the entity, the id and the query.
fn decoded(request: &Request<Bytes>) -> (Option<String>, Option<String>, QuerySource) {
    let route =
        Route::parse(&BasePath::default(), &Profiles::default(), request.method(), request.uri().path());
    let (entity, id) = match route.unwrap() {
        Route::Collection { entity } => (entity.into_owned(), None),
        Route::Point { entity, id } => (entity.into_owned(), Some(percent::decode(id).unwrap().into_owned())),
        Route::Post => {
            let PostBody { format, text, id, .. } = decode_body(request.headers(), request.body()).unwrap();
            let id = id.map(|id| match id {
                PostedId::Text(text) => text,
                PostedId::Parts(parts) => parts.join(" | "),
            });
            return (None, id, QuerySource::Text { format, text });
        }
        _ => panic!("clients read"),
    };
    let query = MeshHeaders::scan(request.headers()).raw_query().unwrap();
    (Some(entity), id, query.decode().unwrap())
}

fn text(text: &str) -> Option<String> {
    Some(text.to_owned())
}

#[test]
fn a_list_read_is_decoded() {
    let query = source(Format::Json, r#"{"user":{"$select":{"id":true}}}"#);
    let request = collection(&endpoint(), "user", &query).unwrap();
    assert_eq!(request.uri(), "http://localhost:4000/mesh/user");
    assert!(!request.headers().contains_key("X-Mesh-Format"), "JSON is the default");
    assert_eq!(decoded(&request), (text("user"), None, query));
}

#[test]
fn a_read_by_query_id_is_decoded() {
    let query = QuerySource::Id("q_1".to_owned());
    let request = point(&endpoint(), "user", "a/b?c#%d", &query).unwrap();
    assert_eq!(request.uri(), "http://localhost:4000/mesh/user/a%2Fb%3Fc%23%25d");
    assert_eq!(decoded(&request), (text("user"), text("a/b?c#%d"), query));
    let invalid = point(&endpoint(), "user", "1", &QuerySource::Id("q\n".to_owned()));
    assert_eq!(invalid.unwrap_err(), ClientError::QueryId);
}

#[test]
fn a_posted_read_is_decoded() {
    let request = post(&endpoint(), Format::Ql, "{ user { id } }", Some("7".into())).unwrap();
    assert_eq!(request.uri(), "http://localhost:4000/mesh");
    assert_eq!(decoded(&request), (None, text("7"), source(Format::Ql, "{ user { id } }")));
    let rooted = Endpoint::parse("https://example.org").unwrap();
    assert_eq!(post(&rooted, Format::Json, "{}", None).unwrap().uri(), "https://example.org/");
}

#[test]
fn bearers_are_sent_without_a_session_only() {
    let authorization = |request: &Request<Bytes>| {
        request
            .headers()
            .get("authorization")
            .map(|value| (value.to_str().unwrap().to_owned(), value.is_sensitive()))
    };
    let query = mesh_ql::parse(Format::Ql, "{ user { id } }", &mesh_ql::Limits::default()).unwrap();
    let client = Client::new(endpoint());
    assert_eq!(authorization(&client.point(&query, "1").request().unwrap()), None);
    let client = client.with_bearer("a.b.c");
    let request = client.point(&query, "1").request().unwrap();
    assert_eq!(authorization(&request), Some(("Bearer a.b.c".to_owned(), true)));
    let request = exchange(client.endpoint(), "a.b.c").unwrap();
    assert_eq!((request.uri().path(), request.body().as_ref()), ("/mesh/auth", &b"{}"[..]));
    assert_eq!(authorization(&request), Some(("Bearer a.b.c".to_owned(), true)));
    let issued = br#"{"signingToken":"key","token":"tok_abc","expiresAt":17}"#;
    let signed = client.clone().with_session(Session::from_login_reply(issued).unwrap());
    let request = signed.point(&query, "1").request().unwrap();
    assert_eq!((authorization(&request), request.headers().contains_key("x-mesh-token")), (None, true));
    for bearer in ["", " ", "a\nb"] {
        let error = client.clone().with_bearer(bearer).point(&query, "1").request().unwrap_err();
        assert_eq!(error, ClientError::Bearer, "{bearer:?}");
    }
    assert!(!format!("{client:?}").contains("a.b.c"));
}

#[test]
fn each_request_has_the_bearer_of_its_time() {
    let count = std::sync::atomic::AtomicUsize::new(0);
    let source = move || format!("t{}", count.fetch_add(1, std::sync::atomic::Ordering::Relaxed));
    let client = Client::new(endpoint()).with_bearer_source(source);
    for expected in ["Bearer t0", "Bearer t1"] {
        let request = client.sign(login(client.endpoint(), &Map::new()).unwrap()).unwrap();
        assert_eq!(request.headers()["authorization"], expected);
    }
}

#[test]
fn empty_and_overlong_segments_are_refused() {
    let query = source(Format::Json, "{}");
    assert_eq!(point(&endpoint(), "user", "", &query).unwrap_err(), ClientError::EmptySegment);
    assert_eq!(collection(&endpoint(), "", &query).unwrap_err(), ClientError::EmptySegment);
    let long = "é".repeat(30_000);
    assert!(matches!(point(&endpoint(), "user", &long, &query).unwrap_err(), ClientError::Url { .. }));
}

#[test]
fn invalid_endpoints_are_refused() {
    for url in [
        "",
        "/mesh",
        "localhost:4000",
        "ftp://host/mesh",
        "http://host/?x",
        "http://host/#x",
        "http://",
        "http:// ",
    ] {
        let error = Endpoint::parse(url).unwrap_err().to_string();
        assert!(error.starts_with(&format!("'{url}' is not a valid endpoint: ")), "{error}");
    }
    assert!(Endpoint::parse("HTTP://localhost").is_ok(), "schemes ignore letter case");
}

fn server_reply(failure: Option<&WireError>) -> Response<Bytes> {
    let request = collection(&endpoint(), "user", &source(Format::Json, "{}")).unwrap();
    let request_id = RequestId::from_headers(request.headers(), [0; 16]);
    let head = RequestHead { method: request.method(), headers: request.headers(), request_id: &request_id };
    match failure {
        Some(failure) => response::error(&head, failure),
        None => response::read(&head, Bytes::from_static(b"null"), None),
    }
}

#[test]
fn replies_of_a_server_are_decoded() {
    assert_eq!(result(server_reply(None)).unwrap(), "null");
    let error = result(server_reply(Some(&WireError::query_id_unknown()))).unwrap_err();
    let ReplyError::Refused { status, body } = &error else { panic!("an error of the server") };
    assert_eq!((status.as_u16(), body.code.as_deref()), (400, Some("QUERY_ID_UNKNOWN")));
    assert_eq!(
        error.to_string(),
        "TransportError: The query id is not registered; register the query, or send its text \
         [QUERY_ID_UNKNOWN]"
    );
}

#[test]
fn replies_of_other_servers_are_refused() {
    let page = |status: u16, content_type, body: &'static str| {
        let reply = Response::builder().status(status).header(CONTENT_TYPE, content_type);
        result(reply.body(Bytes::from_static(body.as_bytes())).unwrap())
    };
    for (status, content_type, body) in [
        (200, "text/html", "<html>"),
        (502, "text/html", "<html>"),
        (502, "application/json", "{}"),
        (502, "application/json", "{\"error\": 7}"),
        (302, "application/json", ""),
    ] {
        let error = page(status, content_type, body).unwrap_err();
        assert_eq!(error, ReplyError::Unexpected { status: StatusCode::from_u16(status).unwrap() });
    }
    let error = page(400, "application/json", r#"{"error":"NewError","message":"m","code":"NEW","more":[]}"#);
    assert_eq!(error.unwrap_err().to_string(), "NewError: m [NEW]");
}

proptest! {
    #[test]
    fn every_read_is_decoded(id in "\\PC{1,40}", query in any::<String>(), ql in any::<bool>()) {
        let format = if ql { Format::Ql } else { Format::Json };
        prop_assume!(!query.is_empty());
        let source = source(format, &query);
        let request = point(&endpoint(), "user", &id, &source).unwrap();
        prop_assert_eq!(decoded(&request), (text("user"), text(&id), source.clone()));
        let request = post(&endpoint(), format, &query, Some((&id).into())).unwrap();
        prop_assert_eq!(decoded(&request), (None, Some(id), source));
    }
}
