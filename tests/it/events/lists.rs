//! Streams of lists.

use mesh_tests::{Database, Request, Server, encode};
use serde_json::{Value, json};

use super::stream::Stream;
use super::{request, write};

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
    // The next event of the other stream is of its own change.
    write(&database, "UPDATE posts SET author_id = 2 WHERE id = 1");
    assert_items(&mut one, &json!([{"authorId": 2, "n": 1}]));
}
