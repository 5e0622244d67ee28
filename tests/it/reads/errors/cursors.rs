//! Cursors that were altered or belong to another read.

use mesh_tests::{Database, Server};
use serde_json::json;

use super::{leaf, read};
use crate::support::refusals::{Case, check};

#[test]
fn a_cursor_of_another_read_is_refused() {
    let server = Server::with_database(&Database::blog());
    let page = |entity: &str, field: &str, rest: &str, after: &str| {
        format!(
            r#"{{"{entity}":{{"$select":{{"{field}":true}},{rest}"$page":{{"first":1,"after":{}}}}}}}"#,
            json!(after)
        )
    };
    let order = r#""$orderBy":[{"field":"likes","direction":"desc"}],"#;
    let first = server
        .get("/post", &page("post", "id", order, "").replace(r#""after":"""#, r#""after":null"#))
        .json();
    let cursor = first["pageInfo"]["endCursor"].as_str().expect("a cursor").to_owned();
    let is_opaque =
        cursor.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~'));
    assert!(is_opaque, "URL-safe without padding: {cursor}");
    assert_eq!(server.get("/post", &page("post", "title", order, &cursor)).status, 200, "$select may change");
    let second = page("post", "id", order, &cursor).replace(r#""first":1"#, r#""first":7"#);
    assert_eq!(server.get("/post", &second).status, 200, "first may change");

    let mut cases = vec![
        read("/post", &page("post", "id", "", &cursor)),
        read("/post", &page("post", "id", &order.replace("desc", "asc"), &cursor)),
        read("/post", &page("post", "id", &order.replace("likes", "score"), &cursor)),
        read(
            "/post",
            &page("post", "id", &order.replace("\"desc\"", "\"desc\",\"nulls\":\"first\""), &cursor),
        ),
        read("/post", &page("post", "id", &format!(r#"{order}"$where":{},"#, leaf()), &cursor)),
        read("/post", &page("post", "likes", &format!(r#"{order}"$distinct":["likes"],"#), &cursor)),
        read("/post", &page("post", "likes", &format!(r#"{order}"$groupBy":["likes"],"#), &cursor)),
        read("/user", &page("user", "id", "", &cursor)),
        read("/post", &page("post", "id", order, "abc")),
        read("/post", &page("post", "id", order, "")),
        read("/post", &page("post", "id", order, "!\u{e9}\u{1f600}")),
        read("/post", &page("post", "id", order, &cursor[..cursor.len() - 1])),
        read("/post", &page("post", "id", order, &format!("{cursor}A"))),
        read("/post", &page("post", "id", order, &format!("{cursor}="))),
    ];
    // A change of any character is refused.
    for index in 0..cursor.len() {
        let letter = if &cursor[index..=index] == "A" { "B" } else { "A" };
        let altered = format!("{}{letter}{}", &cursor[..index], &cursor[index + 1..]);
        cases.push(read("/post", &page("post", "id", order, &altered)));
    }
    let cases: Vec<Case> = cases.into_iter().map(|case| case.code("CURSOR_MISMATCH")).collect();
    check(&server, &cases);
}
