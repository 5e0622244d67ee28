//! Tests of write requests against the routes of a server.

use std::collections::BTreeMap;

use http::Response;
use http::header::CONTENT_TYPE;
use mesh_ql::build::query;

use super::*;
use crate::client::Session;
use crate::{BasePath, Profiles, Route, base64, headers};

fn client() -> Client {
    Client::new(Endpoint::parse("http://localhost/mesh").unwrap())
}

/// Returns the route of the request on a server with write routes, and the body.
fn route_and_body(operation: &Operation) -> (String, String) {
    let request = operation.request().unwrap();
    let profiles = Profiles { mutations: true, ..Profiles::default() };
    let route =
        Route::parse(&BasePath::default(), &profiles, request.method(), request.uri().path()).unwrap();
    let has_json = request.headers().contains_key(CONTENT_TYPE);
    assert_eq!(has_json, !request.body().is_empty(), "exactly the requests with a body have a content type");
    (format!("{route:?}"), String::from_utf8(request.body().to_vec()).unwrap())
}

#[test]
fn writes_of_many_records_and_of_keys_of_several_parts_have_their_routes() {
    let (client, kale) = (client(), json!({ "name": "kale" }));
    for (operation, route, body) in [
        (client.create_all("plant", &[&kale]), "Create { entity: \"plant\" }", r#"[{"name":"kale"}]"#),
        (client.batch(&[&kale]), "Batch", r#"{"steps":[{"name":"kale"}]}"#),
        (
            client.update("bed", "a/b", &kale),
            "Update { entity: \"bed\", id: \"a%2Fb\" }",
            r#"{"name":"kale"}"#,
        ),
        (client.upsert("bed", "2", &kale), "Update { entity: \"bed\", id: \"2\" }", r#"{"name":"kale"}"#),
        (client.delete("detail", "1,2"), "Delete { entity: \"detail\", id: \"1,2\" }", ""),
        (
            client.connect("shipment", "3", "detail", ["1", "a,b"]),
            "Connect { entity: \"shipment\", id: \"3\", relation: \"detail\" }",
            r#"{"entityId":["1","a,b"]}"#,
        ),
        (
            client.remove("order", "1", "details", ["1", "a,b"]),
            "Remove { entity: \"order\", id: \"1\", relation: \"details\", child: \"1,a%2Cb\" }",
            "",
        ),
    ] {
        assert_eq!(route_and_body(&operation), (route.to_owned(), body.to_owned()));
    }
}

#[test]
fn only_an_upsert_prefers_to_merge() {
    let merges =
        |operation: Operation| crate::request::merges_duplicates(operation.request().unwrap().headers());
    assert!(merges(client().upsert("bed", "2", &json!({}))));
    assert!(!merges(client().update("bed", "2", &json!({}))));
}

#[test]
fn a_selected_query_is_sent_with_the_write() {
    let name = query("plant").field("name").build();
    let operation = client().create("plant", &json!({})).select(&name);
    let request = operation.request().unwrap();
    assert_eq!(request.headers()[headers::QUERY], base64::encode(&mesh_ql::print_json(&name)).as_str());
    assert_eq!(request.uri().path(), "/mesh/plant");

    let mut operation =
        client().with_persisted_queries().create("plant", &json!({ "name": "kale" })).select(&name);
    let first = operation.request().unwrap();
    assert!(first.headers().contains_key(headers::QUERY_ID), "{first:?}");
    let reply = |status: u16, body: &str| {
        let reply = Response::builder().status(status).header(CONTENT_TYPE, "application/json");
        reply.body(Bytes::copy_from_slice(body.as_bytes())).unwrap()
    };
    let unknown = r#"{"error":"TransportError","message":"no","requestId":"r","code":"QUERY_ID_UNKNOWN"}"#;
    assert_eq!(operation.receive(reply(400, unknown)), Ok(None));
    assert_eq!(operation.request().unwrap().uri().path(), "/mesh/queries");
    assert_eq!(operation.receive(reply(200, r#"{"id":"q_1"}"#)), Ok(None));
    let again = operation.request().unwrap();
    assert_eq!((again.uri().path(), again.body()), ("/mesh/plant", first.body()));
    assert_eq!(operation.receive(reply(201, r#"{"name":"kale"}"#)), Ok(Some(r#"{"name":"kale"}"#.into())));
}

#[test]
fn a_condition_is_sent_with_the_write() {
    let tag = crate::ETag::new(b"{}");
    for operation in [client().update("bed", "2", &json!({})), client().delete("bed", "2")] {
        let request = operation.if_match(tag.clone()).request().unwrap();
        assert_eq!(request.headers()["if-match"], tag.value());
    }
}

#[test]
fn an_empty_answer_is_accepted_for_writes_only() {
    let empty = || Response::builder().status(204).body(Bytes::new()).unwrap();
    assert_eq!(client().delete("bed", "2").receive(empty()), Ok(Some(Bytes::new())));
    let read = query("bed").field("id").build();
    assert!(client().point(&read, "2").receive(empty()).is_err());
}

#[test]
fn writes_are_signed_with_their_bodies() {
    let session =
        Session::from_login_reply(br#"{"signingToken":"key","token":"tok","expiresAt":17}"#).unwrap();
    let client = client().with_session(session);
    let signature = |operation: Operation| operation.request().unwrap().headers()[headers::SIGNATURE].clone();
    let first = signature(client.update("bed", "2", &json!({ "area": 1 })));
    assert_ne!(first, signature(client.update("bed", "2", &json!({ "area": 2 }))));
    assert_eq!(
        signature(client.delete("bed", "2")),
        signature(client.delete("bed", "3")),
        "the message is empty"
    );
}

#[test]
fn invalid_fields_and_empty_ids_are_refused() {
    let keys = BTreeMap::from([(vec![1], "value")]);
    let error = client().create("bed", &keys).request().unwrap_err();
    assert_eq!(
        error.to_string(),
        "the fields of the write cannot be serialized as JSON: key must be a string"
    );
    assert_eq!(client().delete("bed", "").request().unwrap_err(), ClientError::EmptySegment);
}
