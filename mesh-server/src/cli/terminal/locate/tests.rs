//! Are the faults of queries found where they stand? With the errors that the planner makes.

use mesh_plan::{Error, Mesh, Request};
use mesh_schema::{FieldType, JoinDocument, Schema};

use super::*;

fn mesh() -> Mesh {
    let schema = Schema::builder()
        .entity("post", |it| {
            it.field("id", FieldType::Integer)
                .field("title", FieldType::String)
                .field("data", FieldType::Json)
                .computed("label", ["title"], "{title}")
        })
        .entity("user", |it| it.field("id", FieldType::Integer).field("name", FieldType::String))
        .relation("post.author", JoinDocument::one("user", "users.id = posts.author_id"))
        .relation("user.posts", JoinDocument::many("post", "posts.author_id = users.id"))
        .build()
        .unwrap();
    Mesh::builder(schema).build().unwrap()
}

/// In the query the part that has to be found stands between « and ».
#[track_caller]
fn check(format: Format, marked: &str) {
    let (start, end) = (marked.find('«').unwrap(), marked.find('»').unwrap() - '«'.len_utf8());
    let text = marked.replace(['«', '»'], "");
    let error = mesh().plan(&Request::collection(format, &text)).unwrap_err();
    let message = match &error {
        Error::Syntax(error) => error.message.clone(),
        other => other.to_string(),
    };
    let fault = match &error {
        Error::Syntax(error) => {
            Fault { message: &message, path: error.path.as_deref(), at: error.line.zip(error.column) }
        }
        Error::Plan(error) => Fault { message: &message, path: Some(&error.path), at: None },
        other => panic!("{other}"),
    };
    assert_eq!(locate(format, &text, fault), Some(start..end), "{text}: {message} {fault:?}");
}

#[test]
fn names_in_the_brace_format() {
    for marked in [
        "{ post «titel» }",
        "{ «pots» title }",
        "{ post { title author { name «titel» } } }",
        "{ user name posts { author { posts { «nam» } } } }",
        "{ user name «posts» }",
        "{ post title «name» { id } }",
        "{ post title «?» }",
    ] {
        check(Format::Ql, marked);
    }
}

#[test]
fn names_and_controls_in_json() {
    for marked in [
        r#"{"post": {"$select": {"title": true, "«titel»": true}}}"#,
        r#"{"«pots»": {"$select": {"title": true}}}"#,
        r#"{"user": {"$select": {"posts": {"$select": {"author": {"$select": {"«nam»": true}}}}}}}"#,
        r#"{"post": {"$select": {"title": true}, "$where": {"field": "«titel»", "op": "eq", "value": "x"}}}"#,
        r#"{"post": {"$select": {"title": true}, "$where": {"field": "«title»", "op": "eq", "value": 1}}}"#,
        r#"{"post": {"$select": {"data": true}, "$where": {"field": "«data»", "op": "eq", "value": 1}}}"#,
        r#"{"post": {"$select": {"data": true}, "$orderBy": [{"field": "«data»", "direction": "asc"}]}}"#,
        r#"{"post": {"$select": {"label": true}, "$orderBy": [{"field": "«label»", "direction": "asc"}]}}"#,
        r#"{"post": {"$select": {"author": {"$select": {"name": true}, "«$page»": {}}}}}"#,
        r#"{"user": {"$select": {"posts": {"$select": {"title": true}, "«$groupBy»": ["title"]}}}}"#,
        r#"{"post": {"$select": {"title": true}, «"$limit"»: 3}}"#,
        "{\"post\":\n {\"$select\": {\"é\": «tru»}}}",
    ] {
        check(Format::Json, marked);
    }
}

#[test]
fn what_is_not_there_is_not_found() {
    let fault = Fault { message: "Something failed", path: None, at: None };
    assert_eq!(locate(Format::Json, "{\"post\": 1}", fault), None);
    let long = " ".repeat(SEARCHED_BYTES + 1);
    assert_eq!(locate(Format::Ql, &long, Fault { at: Some((1, 1)), ..fault }), None);
    assert_eq!(locate(Format::Ql, "{ post", Fault { at: Some((9, 9)), ..fault }), Some(6..6));
}

#[test]
fn any_text_is_read_to_its_end() {
    for text in
        ["", "\"", "\"\\", "{{{{\"a", "]}]}\"x\":", "{ é { ü } } }", "\u{0}\"\u{1f600}", "{a{b{c}d}e}f"]
    {
        for format in [Format::Json, Format::Ql] {
            for word in words(format, text) {
                assert_eq!(text.get(word.at.clone()), Some(word.name), "{text}");
            }
        }
    }
}
