//! Limits on queries and results.

use mesh_tests::{Database, Request, Server};
use serde_json::json;

use super::{leaf, post, posts_with, read};
use crate::support::refusals::{Case, check, report};

/// A table with more columns than a query may select fields.
fn wide() -> Database {
    let columns: Vec<String> = (1..=1000).map(|column| format!("c{column} INTEGER")).collect();
    Database::new(&format!(
        "CREATE TABLE wide (id INTEGER PRIMARY KEY, up_id INTEGER REFERENCES wide (id), {});
         INSERT INTO wide (id) VALUES (1);",
        columns.join(", ")
    ))
}

fn columns(count: usize) -> String {
    let columns: Vec<String> = (1..=count).map(|column| format!(r#""c{column}":true"#)).collect();
    columns.join(",")
}

#[test]
fn queries_are_answered_up_to_each_limit_and_refused_above() {
    let server = Server::with_database(&wide());
    let wide_with =
        |select: &str, control: &str| format!(r#"{{"wide":{{"$select":{{{select}}}{control}}}}}"#);
    let nested = |depth: usize| {
        let open = r#""up":{"$select":{"#.repeat(depth);
        wide_with(&format!(r#"{open}"id":true{}"#, "}}".repeat(depth)), "")
    };
    let deep =
        |depth: usize| format!("{}{}{}", r#"{"not":"#.repeat(depth - 1), leaf(), "}".repeat(depth - 1));
    let many = |nodes: usize| format!(r#"{{"or":[{}]}}"#, vec![leaf(); nodes - 1].join(","));
    let list = |length: usize| {
        let values: Vec<String> = (0..length).map(|value| value.to_string()).collect();
        format!(r#"{{"field":"id","op":"in","value":[{}]}}"#, values.join(","))
    };
    let keys = |count: usize| {
        let keys: Vec<String> = (1..=count).map(|key| format!(r#""c{key}""#)).collect();
        wide_with(r#""c1":true"#, &format!(r#","$groupBy":[{}]"#, keys.join(",")))
    };
    let aggregates = |count: usize| {
        let all: Vec<String> = (1..=count).map(|alias| format!(r#""a{alias}":{{"fn":"count"}}"#)).collect();
        wide_with("", &format!(r#","$aggregate":{{{}}}"#, all.join(",")))
    };
    let having = |filter: String| {
        let filter = filter.replace(r#""field":"id""#, r#""field":"c1""#);
        wide_with(r#""c1":true"#, &format!(r#","$groupBy":["c1"],"$having":{filter}"#))
    };
    let filtered = |filter: String| wide_with(r#""id":true"#, &format!(r#","$where":{filter}"#));
    let padded = |bytes: usize| {
        let query = wide_with(r#""id":true"#, "");
        format!("{}{query}", " ".repeat(bytes - query.len()))
    };
    let first = |first: u32| wide_with(r#""id":true"#, &format!(r#","$page":{{"first":{first}}}"#));
    let bounds = [
        ("query text", padded(65_536), padded(65_537), "65536|65,536|64 KiB"),
        ("depth of relations", nested(10), nested(11), "10"),
        (
            "fields",
            wide_with(&columns(1000), ""),
            wide_with(&format!(r#""id":true,{}"#, columns(1000)), ""),
            "1000|1,000",
        ),
        ("first", first(200), first(201), "200"),
        ("filter depth", filtered(deep(8)), filtered(deep(9)), "8"),
        ("filter nodes", filtered(many(64)), filtered(many(65)), "64"),
        ("in list", filtered(list(200)), filtered(list(201)), "200"),
        ("group keys", keys(8), keys(9), "8"),
        ("aggregates", aggregates(16), aggregates(17), "16"),
        ("depth of $having", having(deep(8)), having(deep(9)), "8"),
        ("nodes of $having", having(many(64)), having(many(65)), "64"),
        ("list of $having", having(list(200)), having(list(201)), "200"),
    ];
    let mut faults = Vec::new();
    for (name, within, _, _) in &bounds {
        let reply = server.send(&Request::post("/mesh", &json!({"query": within}).to_string()));
        if reply.status != 200 {
            faults.push(format!("{name}: 200 expected at the bound, got {} {}", reply.status, reply.text()));
        }
    }
    report(&faults);
    let cases: Vec<Case> =
        bounds.iter().map(|(name, _, beyond, bound)| post(name, beyond).says(bound)).collect();
    check(&server, &cases);
}

#[test]
fn a_configured_limit_replaces_the_default() {
    let blog = Database::blog();
    let config = blog.dir.write(
        "mesh.toml",
        "[limits]\npage_max = 3\npage_default = 2\ndepth = 1\nfields = 3\nquery_bytes = 200\n",
    );
    let server = Server::start(&["--config", &config, "--database", &blog.url()]);
    check(
        &server,
        &[
            read("/post", &posts_with(r#""$page":{"first":4}"#)).says("3"),
            read("/post", r#"{"post":{"$select":{"author":{"$select":{"posts":{"$select":{"id":true}}}}}}}"#)
                .says("1"),
            read("/post", r#"{"post":{"$select":{"id":true,"title":true,"likes":true,"score":true}}}"#)
                .says("3"),
            read("/post", &format!("{}{}", " ".repeat(200), posts_with(r#""$page":{}"#))).says("200"),
        ],
    );
    let page = server.get("/post", r#"{"post":{"$select":{"id":true}}}"#).json();
    assert_eq!(page["items"], json!([{"id": 1}, {"id": 2}]));
    assert_eq!(page["pageInfo"]["hasNextPage"], json!(true));
}

#[test]
fn a_result_of_too_many_objects_is_refused_rather_than_truncated() {
    let blog = Database::blog();
    let config = blog.dir.write("mesh.toml", "[limits]\nrows = 5\n");
    let server = Server::start(&["--config", &config, "--database", &blog.url()]);
    let tree = r#"{"user":{"$select":{"id":true,"posts":{"$select":{"id":true}}}}}"#;
    check(&server, &[read("/user", tree).code("RESULT_TOO_LARGE").says("$page")]);
    assert_eq!(server.get("/user", r#"{"user":{"$select":{"id":true}}}"#).status, 200);
    let page = r#"{"user":{"$select":{"id":true,"posts":{"$select":{"id":true}}},"$page":{"first":1}}}"#;
    assert_eq!(server.get("/user", page).json()["items"], json!([{"id": 1, "posts": [{"id": 1}]}]));
}

#[test]
fn a_sum_past_64_bits_is_refused() {
    let database = Database::new(
        "CREATE TABLE coin (id INTEGER PRIMARY KEY, worth INTEGER);
         INSERT INTO coin VALUES (1, 9223372036854775807), (2, 1);",
    );
    let server = Server::with_database(&database);
    let sum = |filter: &str| {
        format!(
            r#"{{"coin":{{"$select":{{}},"$aggregate":{{"s":{{"fn":"sum","field":"worth"}}}}{filter}}}}}"#
        )
    };
    check(&server, &[read("/coin", &sum("")).code("SUM_OVERFLOW")]);
    let first = server.get("/coin", &sum(r#","$where":{"field":"id","op":"eq","value":1}"#));
    assert!(first.text().contains(r#"{"s":9223372036854775807}"#), "{}", first.text());
}
