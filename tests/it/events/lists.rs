//! Streams of lists.

use mesh_tests::{Database, Request, Server, encode};
use serde_json::{Value, json};

use super::stream::Stream;
use super::{SECOND, request, write};

/// Opens a stream of a list.
pub(crate) fn open_list(server: &Server, entity: &str, query: &str) -> Stream {
    let request = request(&format!("/{entity}"), query).header("Accept", "text/event-stream");
    Stream::try_open(server.address, &request).unwrap_or_else(|reply| panic!("{reply:?}"))
}

/// Asserts that the next event of a stream has a page with these items.
#[track_caller]
pub(crate) fn assert_items(stream: &mut Stream, items: &Value) {
    let page: Value = serde_json::from_str(&stream.data()).unwrap();
    assert_eq!(page["items"], *items);
}

#[test]
fn a_stream_of_a_list_sends_the_body_of_the_read_and_then_its_changes() {
    let database = Database::blog();
    let server = Server::with_database(&database);
    let query = r#"{"post":{"$select":{"id":true,"author":{"$select":{"name":true}}},
        "$where":{"field":"author.name","op":"eq","value":"Ada"},"$orderBy":[{"field":"id","direction":"desc"}],
        "$page":{"first":2,"total":true}}}"#;
    let mut stream = open_list(&server, "post", query);
    assert_eq!(stream.header("content-type"), Some("text/event-stream"));
    assert!(stream.header("vary").unwrap().contains("Accept"));
    assert!(stream.header("etag").is_none());
    let read = server.send(&request("/post", query));
    assert_eq!(stream.data(), read.text());
    write(&database, "UPDATE posts SET author_id = 1 WHERE id IN (2, 3)");
    assert_items(
        &mut stream,
        &json!([{"id": 3, "author": {"name": "Ada"}}, {"id": 2, "author": {"name": "Ada"}}]),
    );
    write(&database, "UPDATE users SET name = 'Eve' WHERE id = 1");
    assert_items(&mut stream, &json!([]));
    write(&database, "UPDATE users SET name = 'Ada' WHERE id = 1");
    stream.data();
    // The deletion of a record on another page changes only the total.
    write(&database, "DELETE FROM comments; DELETE FROM post_tags; DELETE FROM posts WHERE id = 1");
    let page: Value = serde_json::from_str(&stream.data()).unwrap();
    assert_eq!((&page["pageInfo"]["totalCount"], &page["items"][1]["id"]), (&json!(2), &json!(2)));
    write(&database, "UPDATE posts SET likes = 99");
    stream.assert_silent(SECOND);
}

#[test]
fn a_stream_of_a_list_takes_parameters_groups_and_registered_queries() {
    let database = Database::blog();
    let server = Server::with_database(&database);
    let groups = r#"{"post":{"$select":{"authorId":true},"$groupBy":["authorId"],"$aggregate":{"n":{"fn":"count"}},
        "$where":{"field":"id","op":"in","value":{"$param":"ids"}}}}"#;
    let registered = server.send(&Request::post("/mesh/queries", &json!({ "query": groups }).to_string()));
    let id = registered.json()["id"].as_str().unwrap().to_owned();
    let open = |ids: &[i64], query: Request| {
        let query = query.header("X-Mesh-Params", encode(&json!({ "ids": ids }).to_string()));
        let query = query.header("Accept", "text/event-stream");
        Stream::try_open(server.address, &query).unwrap_or_else(|reply| panic!("{reply:?}"))
    };
    let mut one = open(&[1], request("/post", groups));
    let mut two = open(&[1, 2], Request::new("GET", "/mesh/post").header("X-Mesh-Query-Id", &id));
    assert_items(&mut one, &json!([{"authorId": 1, "n": 1}]));
    assert_items(&mut two, &json!([{"authorId": 1, "n": 1}, {"authorId": 2, "n": 1}]));
    write(&database, "UPDATE posts SET author_id = 1 WHERE id = 2");
    assert_items(&mut two, &json!([{"authorId": 1, "n": 2}]));
    one.assert_silent(SECOND);
}
