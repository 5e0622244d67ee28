//! Tests of the requests that an operation sends.

use mesh_ql::build::query;

use super::*;
use crate::WireError;
use crate::client::Endpoint;

fn client() -> Client {
    Client::new(Endpoint::parse("http://localhost/mesh").unwrap())
}

fn titles() -> Query {
    query("post").field("title").build()
}

fn reply(status: u16, body: &str) -> Response<Bytes> {
    let reply = Response::builder().status(status).header("content-type", "application/json");
    reply.body(Bytes::copy_from_slice(body.as_bytes())).unwrap()
}

fn refusal(error: &WireError) -> Response<Bytes> {
    let code = error.code.map_or("NONE", Code::name);
    let body =
        format!(r#"{{"error":"{}","message":"no","requestId":"r","code":"{code}"}}"#, error.kind.name());
    reply(error.status.as_u16(), &body)
}

/// Plays the replies, and shows the requests and how it ended.
fn check(mut asking: Operation, replies: impl IntoIterator<Item = Response<Bytes>>, expected: &[&str]) {
    let mut shown = Vec::new();
    for reply in replies {
        let request = asking.request().unwrap();
        let id = request.headers().get("x-mesh-query-id").map_or("", |id| id.to_str().unwrap());
        let sent = if request.headers().contains_key("x-mesh-query") { "text" } else { id };
        shown.push(format!("{} {} {sent}", request.method(), request.uri().path()).trim_end().to_owned());
        match asking.receive(reply) {
            Ok(None) => {}
            Ok(Some(body)) => shown.push(format!("=> {}", String::from_utf8_lossy(&body))),
            Err(error) => shown.push(format!("=> {error}")),
        }
    }
    assert_eq!(shown, expected);
}

#[test]
fn a_text_is_one_request() {
    check(client().point(&titles(), "7"), [reply(200, "{}")], &["GET /mesh/post/7 text", "=> {}"]);
    let long = query("post").fields((0..2000).map(|n| format!("field{n}"))).build();
    check(client().collection(&long), [reply(200, "{}")], &["POST /mesh", "=> {}"]);
}

#[test]
fn a_query_is_registered_when_the_server_does_not_know_it() {
    let unknown = || refusal(&WireError::query_id_unknown());
    let registered = || reply(200, r#"{"id":"q_given"}"#);
    let asking = || client().with_persisted_queries().collection(&titles());
    check(asking(), [reply(200, "{}")], &["GET /mesh/post q_d69eda1f5ba6188710c04402b0cf86b8", "=> {}"]);
    check(
        asking(),
        [unknown(), registered(), reply(200, "{}")],
        &[
            "GET /mesh/post q_d69eda1f5ba6188710c04402b0cf86b8",
            "POST /mesh/queries",
            "GET /mesh/post q_given",
            "=> {}",
        ],
    );
    // The server next door has not heard of it.
    check(
        asking(),
        [unknown(), registered(), unknown(), reply(200, "{}")],
        &[
            "GET /mesh/post q_d69eda1f5ba6188710c04402b0cf86b8",
            "POST /mesh/queries",
            "GET /mesh/post q_given",
            "GET /mesh/post text",
            "=> {}",
        ],
    );
}

#[test]
fn a_server_that_registers_nothing_is_sent_the_text() {
    let no_route = WireError::method_not_allowed(&http::Method::POST, crate::AllowedMethods::new(&[]));
    for closed in [WireError::integrity(Code::QueryNotAllowed, "no"), no_route, WireError::not_found()] {
        let unknown = refusal(&WireError::query_id_unknown());
        let asking = client().with_persisted_queries().collection(&titles());
        check(
            asking,
            [unknown, refusal(&closed), reply(200, "{}")],
            &[
                "GET /mesh/post q_d69eda1f5ba6188710c04402b0cf86b8",
                "POST /mesh/queries",
                "GET /mesh/post text",
                "=> {}",
            ],
        );
    }
}

#[test]
fn what_is_refused_ends_it() {
    let asking = || client().with_persisted_queries().collection(&titles());
    check(
        asking(),
        [refusal(&WireError::not_found())],
        &["GET /mesh/post q_d69eda1f5ba6188710c04402b0cf86b8", "=> NotFound: no [NONE]"],
    );
    let unknown = refusal(&WireError::query_id_unknown());
    check(
        asking(),
        [unknown, reply(200, "[]")],
        &[
            "GET /mesh/post q_d69eda1f5ba6188710c04402b0cf86b8",
            "POST /mesh/queries",
            "=> the answer (status 200) is not of a Mesh server; is the URL right?",
        ],
    );
}

#[test]
fn pages_within_a_list_are_not_registered() {
    let next = query("post").field("title").after("cursor").build();
    check(
        client().with_persisted_queries().collection(&next),
        [reply(200, "{}")],
        &["GET /mesh/post text", "=> {}"],
    );
}
