//! Every invalid query is refused with a message that names what is wrong.

use mesh_tests::{Database, Request, Server};
use serde_json::{Value, json};

use crate::table::{Case, check, report, shape_faults};

const TRANSPORT: &str = "TransportError";
const VALIDATION: &str = "ValidationError";

/// An invalid query at `{base}/:entity`. The entity is the first segment of the path.
fn read(path: &str, query: &str) -> Case {
    Case::new(format!("{path} {query:.120}"), Request::get(&format!("/mesh{path}"), query), 400, VALIDATION)
}

/// An invalid query in the body of a POST, where only the limits on queries apply.
fn post(name: &str, query: &str) -> Case {
    let body = json!({ "query": query }).to_string();
    Case::new(name, Request::post("/mesh", &body), 400, VALIDATION)
}

fn ql(path: &str, query: &str) -> Case {
    let request = Request::get(&format!("/mesh{path}"), query).header("X-Mesh-Format", "ql");
    Case::new(format!("ql {query:?}"), request, 400, VALIDATION)
}

/// A collection of posts with a control.
fn posts_with(control: &str) -> String {
    format!(r#"{{"post":{{"$select":{{"id":true}},{control}}}}}"#)
}

fn filtered(filter: &str) -> Case {
    read("/post", &posts_with(&format!(r#""$where":{filter}"#)))
}

#[test]
fn an_unknown_name_is_refused_with_its_path_and_a_suggestion() {
    let server = Server::with_database(&Database::blog());
    check(
        &server,
        &[
            // SPEC §2.1: an unknown entity is not an unknown path.
            read("/nosuch", r#"{"nosuch":{"$select":{"id":true}}}"#).says("nosuch"),
            read("/nosuch/1", r#"{"nosuch":{"$select":{"id":true}}}"#).says("nosuch"),
            read("/pots", r#"{"pots":{"$select":{"id":true}}}"#).says("pots").says("'post'"),
            // SPEC §3.4.
            read("/user", r#"{"user":{"$select":{"secret":true}}}"#)
                .says("Field 'secret' not found on entity 'user'")
                .path("user"),
            read("/user", r#"{"user":{"$select":{"nmae":true}}}"#).says("'nmae'").says("'name'"),
            read(
                "/post",
                r#"{"post":{"$select":{"comments":{"$select":{"user":{"$select":{"nam":true}}}}}}}"#,
            )
            .path("post.comments.user")
            .says("Field 'nam' not found on entity 'user'")
            .says("'name'"),
            read("/post", r#"{"post":{"$select":{"coments":{"$select":{"id":true}}}}}"#)
                .path("post")
                .says("coments")
                .says("'comments'"),
            read("/post", &posts_with(r#""$where":{"field":"titel","op":"eq","value":"x"}"#))
                .says("titel")
                .says("'title'"),
            read("/post", &posts_with(r#""$orderBy":[{"field":"titel","direction":"asc"}]"#))
                .says("titel")
                .says("'title'"),
            read("/post", &posts_with(r#""$distinct":["titel"]"#)).says("titel"),
            ql("/user", "{ user secret }").says("Field 'secret' not found on entity 'user'").path("user"),
            ql("/post", "{ post coments { id } }").says("coments").says("'comments'"),
            // SPEC §2.8.
            read("/user", r#"{"post":{"$select":{"id":true}}}"#).says("post").says("user"),
            read("/user/1", r#"{"post":{"$select":{"id":true}}}"#).says("post").says("user"),
            // SPEC §6: no point reads without an id field.
            read("/postTag/1", r#"{"postTag":{"$select":{"postId":true}}}"#).says("postTag"),
        ],
    );
}

#[test]
fn a_query_of_another_shape_is_refused() {
    let server = Server::with_database(&Database::blog());
    let cases = [
        "[]",
        "\"post\"",
        "null",
        "{}",
        r#"{"post":null}"#,
        r#"{"post":true}"#,
        r#"{"post":[]}"#,
        r#"{"post":{}}"#,
        r#"{"post":{"title":true}}"#,
        r#"{"post":{"$select":{}}}"#,
        r#"{"post":{"$select":[]}}"#,
        r#"{"post":{"$select":null}}"#,
        r#"{"post":{"$select":{"title":false}}}"#,
        r#"{"post":{"$select":{"title":null}}}"#,
        r#"{"post":{"$select":{"title":1}}}"#,
        r#"{"post":{"$select":{"title":"true"}}}"#,
        r#"{"post":{"$select":{"title":{"$select":{"id":true}}}}}"#,
        r#"{"post":{"$select":{"author":true}}}"#,
        r#"{"post":{"$select":{"comments":true}}}"#,
        r#"{"post":{"$select":{"author":{}}}}"#,
        r#"{"post":{"$select":{"author":{"$select":{}}}}}"#,
        r#"{"post":{"$select":{"id":true},"limit":3}}"#,
        r#"{"post":{"$select":{"id":true},"$limit":3}}"#,
        r#"{"post":{"$select":{"id":true}},"user":{"$select":{"id":true}}}"#,
        r#"{"post":{"$select":{"id":true}},"$page":{"first":1}}"#,
        r#"{"post":{"$select":{"id":true}},"contentHash":"00"}"#,
        // Repeated keys (SPEC §3.2).
        r#"{"post":{"$select":{"id":true,"id":true}}}"#,
        r#"{"post":{"$select":{"id":true}},"post":{"$select":{"id":true}}}"#,
        r#"{"post":{"$select":{"id":true},"$select":{"id":true}}}"#,
        r#"{"post":{"$select":{"id":true},"$page":{"first":1,"first":2}}}"#,
        r#"{"post":{"$select":{"id":true},"$where":{"field":"id","op":"eq","op":"ne","value":1}}}"#,
        r#"{"post":{"$select":{"id":true},"$aggregate":{"n":{"fn":"count"},"n":{"fn":"count"}}}}"#,
    ];
    let mut cases: Vec<Case> = cases.iter().map(|query| read("/post", query)).collect();
    cases.push(read("/post", r#"{"post":{"$selct":{"id":true}}}"#).says("$selct").says("$select"));
    cases.push(read("/post", r#"{"post":{"$select":{"id":true},"$were":{}}}"#).says("$were").says("$where"));
    check(&server, &cases);
}

#[test]
fn a_syntax_error_names_its_line_and_column() {
    let server = Server::with_database(&Database::blog());
    check(
        &server,
        &[
            read("/post", "{").somewhere(),
            read("/post", r#"{"post":{"$select":{"id":true}}} x"#).at(1, 34),
            read("/post", "{\n  \"post\": oops}").at(2, 11),
            read("/post", "{\"post\":\n{\"$select\": {\"id\": true,}}}").somewhere(),
            read("/post", "{'post': 1}").at(1, 2),
            read("/post", &"[".repeat(10_000)),
            read("/post", &r#"{"a":"#.repeat(4_000)),
            ql("/post", "{ post id ; }").at(1, 11),
            ql("/post", "{\n post {\n  id $ } }").at(3, 6),
            ql("/post", "{ post id } x").at(1, 13),
            ql("/post", "{ post id").at(1, 10),
            ql("/post", "post id").at(1, 1),
            ql("/post", "{ post { } }").somewhere(),
            ql("/post", "{ post }").somewhere(),
            ql("/post", "{ }").somewhere(),
            ql("/post", "{ post author { } }").somewhere(),
            ql("/post", "{ post 1d }").at(1, 8),
            ql("/post", "{ post idé }").at(1, 10),
            ql("/post", "{ post\u{a0}id }").at(1, 7),
            ql("/post", "{ post # why\n id }").at(1, 8),
            ql("/post", "{ post author { id } author { id } }").says("author"),
            ql("/post", &"{ ".repeat(10_000)),
            ql("/post", r#"{"post":{"$select":{"id":true}}}"#).at(1, 2),
        ],
    );
}

#[test]
fn a_control_in_the_wrong_place_is_refused() {
    let server = Server::with_database(&Database::blog());
    let controls = [
        r#""$where":{"field":"id","op":"eq","value":1}"#,
        r#""$orderBy":[{"field":"id","direction":"asc"}]"#,
        r#""$page":{"first":1}"#,
        r#""$distinct":["id"]"#,
        r#""$groupBy":["id"]"#,
        r#""$aggregate":{"n":{"fn":"count"}}"#,
        r#""$having":{"field":"id","op":"eq","value":1}"#,
    ];
    let mut cases = Vec::new();
    for control in controls {
        let name = control.split('"').nth(1).unwrap();
        // SPEC §3.6: the root of a point read, and a to-one relation.
        cases.push(read("/post/1", &posts_with(control)).says(name));
        let to_one =
            format!(r#"{{"post":{{"$select":{{"author":{{"$select":{{"id":true}},{control}}}}}}}}}"#);
        cases.push(read("/post", &to_one).says(name).path("post.author"));
    }
    // Controls that to-many relations do not support.
    for control in &controls[3..] {
        let name = control.split('"').nth(1).unwrap();
        let to_many =
            format!(r#"{{"post":{{"$select":{{"comments":{{"$select":{{"id":true}},{control}}}}}}}}}"#);
        cases.push(read("/post", &to_many).says(name).path("post.comments"));
    }
    let id = json!({"query": posts_with(controls[0]), "id": 1}).to_string();
    cases.push(Case::new("POST with id and $where", Request::post("/mesh", &id), 400, VALIDATION));
    check(&server, &cases);
}

#[test]
fn a_malformed_control_is_refused() {
    let server = Server::with_database(&Database::blog());
    let controls = [
        // SPEC §3.8: null as a control.
        r#""$where":null"#,
        r#""$orderBy":null"#,
        r#""$page":null"#,
        r#""$distinct":null"#,
        r#""$groupBy":null"#,
        r#""$aggregate":null"#,
        r#""$having":null"#,
        r#""$distinct":[]"#,
        r#""$groupBy":[]"#,
        r#""$aggregate":{}"#,
        r#""$where":{}"#,
        r#""$where":[]"#,
        r#""$where":{"and":[]}"#,
        r#""$where":{"or":[]}"#,
        r#""$where":{"and":{"field":"id","op":"eq","value":1}}"#,
        r#""$where":{"not":[]}"#,
        r#""$where":{"field":"id","op":"eq"}"#,
        r#""$where":{"field":"id","value":1}"#,
        r#""$where":{"op":"eq","value":1}"#,
        r#""$where":{"field":"id","op":"eq","value":1,"extra":1}"#,
        r#""$where":{"and":[{"field":"id","op":"eq","value":1}],"or":[{"field":"id","op":"eq","value":1}]}"#,
        r#""$where":{"field":"author","op":"eq","value":1}"#,
        r#""$orderBy":{"field":"id","direction":"asc"}"#,
        r#""$orderBy":["id"]"#,
        r#""$orderBy":[{"field":"id"}]"#,
        r#""$orderBy":[{"direction":"asc"}]"#,
        r#""$orderBy":[{"field":"id","direction":"up"}]"#,
        r#""$orderBy":[{"field":"id","direction":"ASC"}]"#,
        r#""$orderBy":[{"field":"id","direction":"asc","nulls":"middle"}]"#,
        r#""$orderBy":[{"aggregate":"n","direction":"asc"}]"#,
        r#""$orderBy":[{"field":"id","direction":"asc"},{"field":"id","direction":"desc"}]"#,
        r#""$page":[]"#,
        r#""$page":{"first":0}"#,
        r#""$page":{"first":-1}"#,
        r#""$page":{"first":1.5}"#,
        r#""$page":{"first":"5"}"#,
        r#""$page":{"first":null}"#,
        r#""$page":{"after":5}"#,
        r#""$page":{"last":5}"#,
        r#""$distinct":["id","id"]"#,
        r#""$distinct":"id""#,
        r#""$groupBy":["id","id"]"#,
        r#""$groupBy":"id""#,
        r#""$distinct":["id"],"$groupBy":["id"]"#,
        r#""$distinct":["id"],"$aggregate":{"n":{"fn":"count"}}"#,
        r#""$having":{"field":"id","op":"eq","value":1}"#,
        r#""$groupBy":["id"],"$having":{"field":"likes","op":"eq","value":1}"#,
        r#""$groupBy":["id"],"$having":{"aggregate":"n","op":"eq","value":1}"#,
        r#""$groupBy":["authorId"]"#,
        r#""$groupBy":["author"]"#,
        r#""$distinct":["title"]"#,
        r#""$aggregate":{"n":{"fn":"count"}}"#,
        r#""$groupBy":["id"],"$aggregate":{"id":{"fn":"count"}}"#,
        r#""$groupBy":["id"],"$aggregate":{"1n":{"fn":"count"}}"#,
        r#""$groupBy":["id"],"$aggregate":{"a b":{"fn":"count"}}"#,
        r#""$groupBy":["id"],"$aggregate":{"":{"fn":"count"}}"#,
        r#""$groupBy":["id"],"$aggregate":{"n":{"fn":"median","field":"likes"}}"#,
        r#""$groupBy":["id"],"$aggregate":{"n":{"fn":"sum"}}"#,
        r#""$groupBy":["id"],"$aggregate":{"n":{"fn":"sum","field":"*"}}"#,
        r#""$groupBy":["id"],"$aggregate":{"n":{"fn":"sum","field":"title"}}"#,
        r#""$groupBy":["id"],"$aggregate":{"n":{"fn":"avg","field":"title"}}"#,
        r#""$groupBy":["id"],"$aggregate":{"n":{"fn":"min","field":"published"}}"#,
        r#""$groupBy":["id"],"$aggregate":{"n":{"fn":"max","field":"published"}}"#,
        r#""$groupBy":["id"],"$aggregate":{"n":{"fn":"count","field":"nosuch"}}"#,
        r#""$groupBy":["id"],"$aggregate":{"n":{"fn":"count","extra":1}}"#,
        r#""$groupBy":["id"],"$orderBy":[{"field":"likes","direction":"asc"}]"#,
        r#""$groupBy":["id"],"$orderBy":[{"aggregate":"n","direction":"asc"}]"#,
    ];
    let mut cases: Vec<Case> = controls.iter().map(|control| read("/post", &posts_with(control))).collect();
    let alias = format!(r#""$groupBy":["id"],"$aggregate":{{"{}":{{"fn":"count"}}}}"#, "a".repeat(65));
    cases.push(read("/post", &posts_with(&alias)));
    cases.push(
        read("/post", r#"{"post":{"$select":{"comments":{"$select":{"id":true},"$page":{"after":"abc"}}}}}"#)
            .path("post.comments")
            .says("after"),
    );
    check(&server, &cases);
}

#[test]
fn operators_and_values_of_the_wrong_type_are_refused() {
    let server = Server::with_database(&Database::blog());
    let mut cases = vec![
        filtered(r#"{"field":"title","op":"lik","value":"a"}"#).says("lik").says("'like'"),
        filtered(r#"{"field":"title","op":"EQ","value":"a"}"#).says("EQ").says("'eq'"),
        filtered(r#"{"field":"title","op":"=","value":"a"}"#),
        filtered(r#"{"field":"title","op":5,"value":"a"}"#),
        // Values that no field can have.
        filtered(r#"{"field":"likes","op":"eq","value":[1]}"#).says("eq").path("post"),
        filtered(r#"{"field":"title","op":"eq","value":["a"]}"#).says("eq").path("post"),
        filtered(r#"{"field":"title","op":"eq","value":{}}"#).says("value").path("post"),
    ];
    for op in ["eq", "ne", "gt", "gte", "lt", "lte", "in", "nin", "like", "ilike"] {
        cases.push(filtered(&format!(r#"{{"field":"title","op":"{op}","value":null}}"#)).says("isNull"));
    }
    for op in ["in", "nin"] {
        cases.push(filtered(&format!(r#"{{"field":"title","op":"{op}","value":[null]}}"#)).says("isNull"));
        cases.push(filtered(&format!(r#"{{"field":"title","op":"{op}","value":"a"}}"#)).says(op));
    }
    for op in ["isNull", "isNotNull"] {
        cases.push(filtered(&format!(r#"{{"field":"title","op":"{op}","value":true}}"#)).says("value"));
        cases.push(filtered(&format!(r#"{{"field":"title","op":"{op}","value":null}}"#)));
    }
    let values = [
        ("likes", "eq", "1.5"),
        ("likes", "eq", "\"five\""),
        ("likes", "in", "[1,1.5]"),
        ("likes", "eq", "true"),
        ("likes", "eq", "99999999999999999999"),
        ("score", "gt", "\"high\""),
        ("published", "eq", "\"yes\""),
        ("published", "eq", "2"),
        ("title", "eq", "5"),
        ("title", "like", "5"),
        ("createdAt", "gt", "\"yesterday\""),
        ("createdAt", "gt", "\"2024-02-30T00:00:00\""),
        ("createdAt", "gt", "5"),
        ("attributes", "eq", "\"x\""),
        ("attributes", "like", "\"x\""),
        ("picture", "eq", "\"AP8Q\""),
        ("picture", "in", "[]"),
    ];
    for (field, op, value) in values {
        cases.push(filtered(&format!(r#"{{"field":"{field}","op":"{op}","value":{value}}}"#)).says(field));
    }
    check(&server, &cases);
}

#[test]
fn values_of_the_type_of_the_field_are_accepted() {
    let server = Server::with_database(&Database::blog());
    let cases = [
        ("likes", r#""op":"eq","value":5"#, json!([1])),
        ("likes", r#""op":"eq","value":5.0"#, json!([1])),
        ("likes", r#""op":"ne","value":5"#, json!([2, 4])),
        ("likes", r#""op":"nin","value":[5]"#, json!([2, 4])),
        ("likes", r#""op":"in","value":[]"#, json!([])),
        ("likes", r#""op":"nin","value":[]"#, json!([1, 2, 3, 4])),
        ("likes", r#""op":"isNull""#, json!([3])),
        ("likes", r#""op":"isNotNull""#, json!([1, 2, 4])),
        ("score", r#""op":"lt","value":2"#, json!([1, 4])),
        ("published", r#""op":"eq","value":true"#, json!([1, 3])),
        ("published", r#""op":"eq","value":false"#, json!([2])),
        ("title", r#""op":"like","value":"a%""#, json!([])),
        ("title", r#""op":"ilike","value":"a%""#, json!([3])),
        ("title", r#""op":"like","value":"A_map""#, json!([3])),
        ("title", r#""op":"like","value":"A\\_map""#, json!([])),
        ("createdAt", r#""op":"gte","value":"2024-01-02T03:04:05""#, json!([1, 3])),
        ("createdAt", r#""op":"eq","value":"2024-01-02T03:04:05""#, json!([1])),
        ("attributes", r#""op":"isNotNull""#, json!([1])),
        ("picture", r#""op":"isNull""#, json!([2, 3, 4])),
    ];
    let mut faults = Vec::new();
    for (field, filter, expected) in &cases {
        let reply = server.get("/post", &posts_with(&format!(r#""$where":{{"field":"{field}",{filter}}}"#)));
        let body: Value = serde_json::from_slice(&reply.body).unwrap_or_default();
        let ids: Option<Vec<Value>> =
            body["items"].as_array().map(|items| items.iter().map(|item| item["id"].clone()).collect());
        if ids.map(Value::from).as_ref() != Some(expected) {
            faults.push(format!("{field} {filter}: {expected} expected, got {}", reply.text()));
        }
    }
    report(&faults);
}

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

fn leaf() -> &'static str {
    r#"{"field":"id","op":"eq","value":1}"#
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

#[test]
fn errors_of_resolvers_do_not_reveal_the_storage() {
    let blog = Database::blog();
    let server = Server::with_database(&blog);
    assert_eq!(server.get("/comment", r#"{"comment":{"$select":{"id":true}}}"#).status, 200);
    blog.connect().execute_batch("PRAGMA foreign_keys = OFF; DROP TABLE comments;").unwrap();
    for (path, query) in [
        ("/comment", r#"{"comment":{"$select":{"text":true}}}"#),
        ("/comment/1", r#"{"comment":{"$select":{"text":true}}}"#),
        ("/post", r#"{"post":{"$select":{"comments":{"$select":{"text":true}}}}}"#),
    ] {
        let reply = server.get(path, query);
        let text = reply.text();
        assert_eq!((reply.status, &reply.json()["error"]), (500, &json!("ResolverError")), "{path}: {text}");
        assert_eq!(shape_faults(&reply), Vec::<String>::new(), "{text}");
        let lower = text.to_lowercase();
        for word in ["select", "no such table", "comments", "data.db", "sqlite", "rusqlite"] {
            assert!(!lower.contains(word), "{path} shows {word:?}: {text}");
        }
    }
    assert_eq!(server.get("/post/1", r#"{"post":{"$select":{"id":true}}}"#).text(), r#"{"id":1}"#);
}

#[test]
fn transport_errors_precede_query_errors() {
    let server = Server::with_database(&Database::blog());
    check(
        &server,
        &[
            Case::new("unknown entity, no query", Request::new("GET", "/mesh/nosuch"), 400, TRANSPORT),
            Case::new(
                "unknown entity, bad format",
                Request::get("/mesh/nosuch", "{ nosuch id }").header("X-Mesh-Format", "xml"),
                400,
                TRANSPORT,
            ),
        ],
    );
}
