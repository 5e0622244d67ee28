//! Reads return exactly the requested shape, compared byte by byte.

mod errors;
mod export;
mod json_names;
mod keys;
mod paging;
mod params;
mod stored;

use mesh_tests::{Database, Request, Server};
use serde_json::{Value, json};

/// Returns the text of the items of a collection; the rest of the body must be `pageInfo`.
fn items(server: &Server, path: &str, query: &str) -> String {
    let reply = server.get(path, query);
    let text = reply.text();
    assert_eq!(reply.status, 200, "{query}: {text}");
    let keys: Vec<String> = reply.json().as_object().unwrap().keys().cloned().collect();
    assert_eq!(keys, ["items", "pageInfo"]);
    let info = reply.json()["pageInfo"].clone();
    let keys: Vec<&String> = info.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["hasNextPage", "startCursor", "endCursor"]);
    let is_empty = reply.json()["items"] == json!([]);
    assert_eq!((info["startCursor"].is_null(), info["endCursor"].is_null()), (is_empty, is_empty), "{text}");
    let end = text.rfind(r#","pageInfo":"#).unwrap();
    text["{\"items\":".len()..end].to_owned()
}

fn assert_items(server: &Server, path: &str, query: &str, expected: &str) {
    assert_eq!(items(server, path, query), expected, "{query}");
}

#[test]
fn values_are_formatted_by_column_type() {
    let server = Server::with_database(&Database::blog());
    let query = r#"{"post":{"$select":{"title":true,"published":true,"id":true,"score":true,"likes":true,"picture":true,"createdAt":true}}}"#;
    assert_eq!(
        server.get("/post/1", query).text(),
        r#"{"title":"Rust at dawn","published":true,"id":1,"score":1.5,"likes":5,"picture":"AP8Q","createdAt":"2024-01-02T03:04:05"}"#
    );
    assert_eq!(
        server.get("/post/2", query).text(),
        r#"{"title":"Slow bread","published":false,"id":2,"score":null,"likes":7,"picture":null,"createdAt":null}"#
    );
    let third = server.get("/post/3", query).json();
    assert_eq!((third["score"].as_f64(), &third["createdAt"]), (Some(2.0), &json!("2024-02-03T04:05:06")));
    let json_column = server.get("/post/1", r#"{"post":{"$select":{"attributes":true}}}"#).json();
    assert_eq!(json_column, json!({"attributes": {"a": true, "b": [1, null]}}));
}

#[test]
fn an_empty_collection_has_no_cursors() {
    let server = Server::with_database(&Database::new("CREATE TABLE post (id INTEGER PRIMARY KEY);"));
    assert_eq!(
        server.get("/post", r#"{"post":{"$select":{"id":true}}}"#).text(),
        r#"{"items":[],"pageInfo":{"hasNextPage":false,"startCursor":null,"endCursor":null}}"#
    );
}

#[test]
fn relations_nest_in_the_order_of_the_selection() {
    let server = Server::with_database(&Database::blog());
    let query = r#"{"post":{"$select":{"comments":{"$select":{"user":{"$select":{"name":true}},"text":true}},"title":true,"author":{"$select":{"role":true,"name":true}}}}}"#;
    assert_eq!(
        server.get("/post/1", query).text(),
        concat!(
            r#"{"comments":[{"user":{"name":"Bo"},"text":"first"},{"user":{"name":"Cy"},"text":"second"},"#,
            r#"{"user":null,"text":"third"}],"title":"Rust at dawn","author":{"role":"admin","name":"Ada"}}"#
        )
    );
    let ql = "{ post comments { user { name } text } title author { role name } }";
    for text in [ql.to_owned(), ql.replace("post ", "post { ") + " }", ql.replace(' ', "\r\n\t")] {
        let request = Request::get("/mesh/post/1", &text).header("X-Mesh-Format", "ql");
        assert_eq!(server.send(&request).text(), server.get("/post/1", query).text(), "{text}");
    }
    let twice = Request::get("/mesh/tag/1", "{tag label id label}").header("X-Mesh-Format", "ql");
    assert_eq!(server.send(&twice).text(), r#"{"label":"code","id":1}"#, "a field named twice is taken once");
}

#[test]
fn many_to_many_relations_work_in_both_directions() {
    let server = Server::with_database(&Database::blog());
    assert_items(
        &server,
        "/post",
        r#"{"post":{"$select":{"id":true,"tags":{"$select":{"label":true}}}}}"#,
        r#"[{"id":1,"tags":[{"label":"code"},{"label":"travel"}]},{"id":2,"tags":[{"label":"food"}]},{"id":3,"tags":[{"label":"travel"}]},{"id":4,"tags":[{"label":"code"},{"label":"travel"}]}]"#,
    );
    assert_items(
        &server,
        "/tag",
        r#"{"tag":{"$select":{"posts":{"$select":{"id":true,"tags":{"$select":{"id":true},"$where":{"field":"label","op":"ne","value":"travel"}}},"$orderBy":[{"field":"title","direction":"desc"}],"$page":{"first":2}},"label":true}}}"#,
        r#"[{"posts":[{"id":1,"tags":[{"id":1}]},{"id":4,"tags":[{"id":1}]}],"label":"code"},{"posts":[{"id":2,"tags":[{"id":2}]}],"label":"food"},{"posts":[{"id":1,"tags":[{"id":1}]},{"id":4,"tags":[{"id":1}]}],"label":"travel"}]"#,
    );
}

#[test]
fn self_relations_work_in_both_directions() {
    let server = Server::with_database(&Database::blog());
    assert_items(
        &server,
        "/user",
        r#"{"user":{"$select":{"name":true,"manager":{"$select":{"name":true,"manager":{"$select":{"name":true}}}},"users":{"$select":{"name":true}}}}}"#,
        r#"[{"name":"Ada","manager":null,"users":[{"name":"Bo"},{"name":"Cy"}]},{"name":"Bo","manager":{"name":"Ada","manager":null},"users":[{"name":"Di"}]},{"name":"Cy","manager":{"name":"Ada","manager":null},"users":[]},{"name":"Di","manager":{"name":"Bo","manager":{"name":"Ada"}},"users":[]}]"#,
    );
    let down = r#"{"user":{"$select":{"users":{"$select":{"name":true,"users":{"$select":{"name":true,"manager":{"$select":{"id":true}}}}}}}}}"#;
    assert_eq!(
        server.get("/user/1", down).text(),
        r#"{"users":[{"name":"Bo","users":[{"name":"Di","manager":{"id":2}}]},{"name":"Cy","users":[]}]}"#
    );
}

#[test]
fn nested_controls_apply_to_each_parent() {
    let server = Server::with_database(&Database::blog());
    let query = r#"{"user":{"$select":{"name":true,"posts":{"$select":{"title":true,"comments":{
        "$select":{"text":true,"user":{"$select":{"name":true}}},
        "$where":{"field":"userId","op":"isNotNull"},
        "$orderBy":[{"field":"id","direction":"desc"}],"$page":{"first":1}}},
        "$orderBy":[{"field":"likes","direction":"desc"}],"$page":{"first":1}}},"$page":{"first":3}}}"#;
    assert_items(
        &server,
        "/user",
        query,
        r#"[{"name":"Ada","posts":[{"title":"Rust at dawn","comments":[{"text":"second","user":{"name":"Cy"}}]}]},{"name":"Bo","posts":[{"title":"Slow bread","comments":[{"text":"no","user":{"name":"Di"}}]}]},{"name":"Cy","posts":[{"title":"Bicycle","comments":[]}]}]"#,
    );
    // Ordered by a field that is not selected, NULL first, ties by id in the same direction.
    assert_items(
        &server,
        "/user",
        r#"{"user":{"$select":{"id":true,"posts":{"$select":{"id":true},"$orderBy":[{"field":"likes","direction":"desc","nulls":"first"}],"$page":{"first":1,"after":null}}},"$orderBy":[{"field":"role","direction":"desc"}],"$where":{"not":{"field":"id","op":"eq","value":4}}}}"#,
        r#"[{"id":3,"posts":[{"id":4}]},{"id":2,"posts":[{"id":3}]},{"id":1,"posts":[{"id":1}]}]"#,
    );
    // Without $page all children are returned, with an empty $page fifty.
    let many = Server::with_database(&Database::blog_with_posts(70));
    let count = |page: &str| {
        let query = format!(r#"{{"user":{{"$select":{{"posts":{{"$select":{{"id":true}}{page}}}}}}}}}"#);
        many.get("/user/1", &query).json()["posts"].as_array().unwrap().len()
    };
    assert_eq!((count(""), count(r#","$page":{}"#), count(r#","$page":{"first":60}"#)), (71, 50, 60));
    let root = many.get("/post", r#"{"post":{"$select":{"id":true}}}"#).json();
    assert_eq!(
        (root["items"].as_array().unwrap().len(), &root["pageInfo"]["hasNextPage"]),
        (50, &json!(true))
    );
}

#[test]
fn filters_combine() {
    let server = Server::with_database(&Database::blog());
    let ids = |filter: &str| {
        let query = format!(r#"{{"user":{{"$select":{{"id":true}},"$where":{filter}}}}}"#);
        let items: Value = serde_json::from_str(&items(&server, "/user", &query)).unwrap();
        items.as_array().unwrap().iter().map(|item| item["id"].as_i64().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(ids(r#"{"field":"role","op":"in","value":["editor","admin"]}"#), [1, 2, 3]);
    assert_eq!(ids(r#"{"field":"role","op":"ne","value":"editor"}"#), [1]);
    assert_eq!(ids(r#"{"not":{"field":"role","op":"isNull"}}"#), [1, 2, 3]);
    assert_eq!(
        ids(
            r#"{"or":[{"field":"age","op":"gt","value":40},{"and":[{"field":"role","op":"eq","value":"editor"},{"field":"age","op":"isNull"}]}]}"#
        ),
        [3, 4]
    );
    assert_eq!(
        ids(r#"{"and":[{"field":"id","op":"gte","value":2},{"field":"id","op":"lt","value":4}]}"#),
        [2, 3]
    );
    assert_eq!(ids(r#"{"field":"name","op":"eq","value":"' OR 1=1 --"}"#), [0_i64; 0]);
}

#[test]
fn rows_are_grouped_and_aggregated() {
    let server = Server::with_database(&Database::blog());
    assert_items(
        &server,
        "/user",
        r#"{"user":{"$select":{"role":true},"$distinct":["role"]}}"#,
        r#"[{"role":"admin"},{"role":"editor"},{"role":null}]"#,
    );
    assert_items(
        &server,
        "/post",
        r#"{"post":{"$select":{"likes":true},"$distinct":["likes"],"$orderBy":[{"field":"likes","direction":"desc","nulls":"first"}]}}"#,
        r#"[{"likes":null},{"likes":7},{"likes":5}]"#,
    );
    assert_items(
        &server,
        "/user",
        r#"{"user":{"$select":{"role":true},"$groupBy":["role"],"$aggregate":{"n":{"fn":"count"},"oldest":{"fn":"max","field":"age"},"known":{"fn":"count","field":"age"}}}}"#,
        r#"[{"role":"admin","n":1,"oldest":36,"known":1},{"role":"editor","n":2,"oldest":29,"known":1},{"role":null,"n":1,"oldest":41,"known":1}]"#,
    );
    assert_items(
        &server,
        "/post",
        r#"{"post":{"$select":{},"$aggregate":{"all":{"fn":"count","field":"*"},"likes":{"fn":"sum","field":"likes"},"mean":{"fn":"avg","field":"score"},"kinds":{"fn":"count","field":"likes","distinct":true},"first":{"fn":"min","field":"title"}},"$where":{"field":"id","op":"ne","value":3}}}"#,
        r#"[{"all":3,"likes":19,"mean":0.625,"kinds":2,"first":"Bicycle"}]"#,
    );
    assert_items(
        &server,
        "/post",
        r#"{"post":{"$select":{},"$aggregate":{"n":{"fn":"count"},"s":{"fn":"sum","field":"likes"},"a":{"fn":"avg","field":"likes"}},"$where":{"field":"id","op":"in","value":[]}}}"#,
        r#"[{"n":0,"s":null,"a":null}]"#,
    );
    assert_items(
        &server,
        "/post",
        r#"{"post":{"$select":{"authorId":true},"$groupBy":["authorId"],"$aggregate":{"n":{"fn":"count"}},"$having":{"aggregate":"n","op":"gte","value":2}}}"#,
        r#"[{"authorId":2,"n":2}]"#,
    );
    assert_items(
        &server,
        "/post",
        r#"{"post":{"$select":{},"$groupBy":["authorId"],"$aggregate":{"n":{"fn":"count"}},"$orderBy":[{"aggregate":"n","direction":"desc"},{"field":"authorId","direction":"desc"}],"$having":{"or":[{"field":"authorId","op":"eq","value":3},{"aggregate":"n","op":"eq","value":2}]}}}"#,
        r#"[{"n":2},{"n":1}]"#,
    );
    assert_items(
        &server,
        "/post",
        r#"{"post":{"$select":{},"$aggregate":{"n":{"fn":"count"}},"$having":{"aggregate":"n","op":"gt","value":100}}}"#,
        "[]",
    );
}
