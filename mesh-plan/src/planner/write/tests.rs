//! Invalid writes are refused with helpful messages, and values are checked against their fields.

use expect_test::{Expect, expect};
use mesh_schema::{FieldType, JoinDocument, Schema, ThroughDocument, Writable};

use super::{WriteRequest, WriteTarget};
use crate::{Context, Fields, Mesh, Mutation, RecordId, WriteError, Written};

fn blog() -> Mesh {
    async fn no_mutator(_: Mutation, _: Context) -> Result<Written, WriteError> {
        Err(WriteError::new("nothing is stored here"))
    }
    let schema = Schema::builder()
        .entity("user", |user| {
            user.field("id", FieldType::Integer)
                .field("name", FieldType::String)
                .field("age", FieldType::Integer)
                .field("rating", FieldType::Number)
                .field("balance", FieldType::Decimal)
                .field("visits", FieldType::Bigint)
                .field("active", FieldType::Boolean)
                .field("born", FieldType::Date)
                .field("seen", FieldType::Datetime)
                .field("settings", FieldType::Json)
                .field("photo", FieldType::Binary)
                .field("key", FieldType::Uuid)
                .untyped("anything")
                .computed("shout", ["name"], "{name}!")
                .writable()
        })
        .entity("profile", |it| {
            it.field("id", FieldType::Integer)
                .field("bio", FieldType::String)
                .field("userId", FieldType::Integer)
                .column("userId", "user_id")
                .writable()
        })
        .entity("post", |post| {
            post.field("id", FieldType::Integer)
                .field("title", FieldType::String)
                .field("status", FieldType::String)
                .field("authorId", FieldType::Integer)
                .column("authorId", "author_id")
                .writes(Writable { delete: true, ..Writable::fields(["title", "authorId"]) })
        })
        .entity("tag", |tag| tag.field("id", FieldType::String).field("label", FieldType::String))
        .entity("log", |log| log.field("line", FieldType::String).no_id().writable())
        .relation("post.author", JoinDocument::one("user", "users.id = posts.author_id"))
        .relation("user.posts", JoinDocument::many("post", "posts.author_id = users.id"))
        .relation("user.profile", JoinDocument::one("profile", "profiles.user_id = users.id"))
        .relation(
            "post.tags",
            JoinDocument::through("tag", ThroughDocument::new("post_tags", "post_id", "tag_id")),
        )
        .build()
        .unwrap();
    Mesh::builder(schema).default_mutator(no_mutator).build().unwrap()
}

#[track_caller]
fn refused(target: WriteTarget<'_>, body: &str, expected: Expect) {
    let fields = Fields::parse(body.as_bytes()).unwrap();
    let error = blog().plan_write(&WriteRequest::new(target).with_fields(&fields)).unwrap_err();
    expected.assert_eq(&error.to_string());
}

const USER: WriteTarget<'_> = WriteTarget::Update { entity: "user", id: RecordId::Text("1") };
const POST: WriteTarget<'_> = WriteTarget::Update { entity: "post", id: RecordId::Text("1") };

#[test]
fn errors_about_names_say_what_is_allowed() {
    refused(
        POST,
        r#"{"titel": 1}"#,
        expect!["Field 'titel' not found on entity 'post'; did you mean 'title'?"],
    );
    refused(POST, r#"{"status": "x"}"#, expect!["Field 'status' on entity 'post' is not writable"]);
    refused(
        POST,
        r#"{"author": 1}"#,
        expect!["'author' on entity 'post' is a relation; write it at the path of the relation"],
    );
    refused(
        USER,
        r#"{"shout": "x"}"#,
        expect!["'shout' is a computed field; write the fields that it is computed from"],
    );
    refused(WriteTarget::Create { entity: "tag" }, "{}", expect!["Entity 'tag' is not writable"]);
    refused(
        WriteTarget::Delete { entity: "tag", id: RecordId::Text("a") },
        "{}",
        expect!["Entity 'tag' is not writable"],
    );
    refused(
        WriteTarget::Create { entity: "tags" },
        "{}",
        expect!["Entity 'tags' not found; did you mean 'tag'?"],
    );
    refused(
        WriteTarget::Create { entity: "log" },
        "{}",
        expect!["Entity 'log' has no id field, so its records cannot be written"],
    );
}

#[test]
fn errors_about_relations_say_what_is_allowed() {
    let attach = |relation| WriteTarget::Attach { entity: "post", id: RecordId::Text("1"), relation };
    let connect = |relation| WriteTarget::Connect { entity: "post", id: RecordId::Text("1"), relation };
    refused(attach("tag"), "{}", expect!["Relation 'tag' not found on entity 'post'; did you mean 'tags'?"]);
    refused(
        attach("title"),
        "{}",
        expect!["'title' on entity 'post' is not a relation; write it as a field of its record"],
    );
    refused(
        attach("author"),
        "{}",
        expect!["'author' leads to one record; connect it by PUT, disconnect it by DELETE"],
    );
    refused(
        attach("tags"),
        "{}",
        expect![[
            r#"A write of the relation 'tags' takes {"entityId": …} with a string, a number or an array of the id's parts, not nothing"#
        ]],
    );
    refused(
        attach("tags"),
        r#"{"entityId": [1]}"#,
        expect![[
            r#"A write of the relation 'tags' takes {"entityId": …} with a string, a number or an array of the id's parts, not a list"#
        ]],
    );
    refused(
        attach("tags"),
        r#"{"entityId": "a", "label": "x"}"#,
        expect![[
            r#"A write of the relation 'tags' takes {"entityId": …} with a string, a number or an array of the id's parts, not the member 'label'"#
        ]],
    );
    refused(
        connect("tags"),
        r#"{"entityId": "a"}"#,
        expect![
            "'tags' leads to many records; link one by POST, unlink it by DELETE with its id in the path"
        ],
    );
    let posts = WriteTarget::Attach { entity: "user", id: RecordId::Text("1"), relation: "posts" };
    refused(
        posts,
        r#"{"title": "x", "authorId": 2}"#,
        expect!["'authorId' is set by the relation 'posts' of the path; leave it out"],
    );
}

#[test]
fn ids_that_cannot_exist_are_not_found() {
    refused(
        WriteTarget::Delete { entity: "post", id: RecordId::Text("x") },
        "{}",
        expect!["There is no 'post' with the id 'x'"],
    );
    let connect = WriteTarget::Connect { entity: "post", id: RecordId::Text("1"), relation: "author" };
    refused(connect, r#"{"entityId": "x"}"#, expect!["There is no 'user' with the id 'x'"]);
    refused(connect, r#"{"entityId": 1.5}"#, expect!["There is no 'user' with the id '1.5'"]);
}

#[test]
fn values_that_do_not_fit_are_refused() {
    refused(USER, r#"{"name": 1}"#, expect!["'name' takes text, not 1"]);
    refused(USER, r#"{"name": {"a": 1}}"#, expect!["'name' takes text, not an object"]);
    refused(USER, r#"{"age": 1.5}"#, expect!["'age' takes a 64-bit integer, not 1.5"]);
    refused(USER, r#"{"age": "1"}"#, expect![[r#"'age' takes a 64-bit integer, not the text "1""#]]);
    refused(
        USER,
        r#"{"visits": "many"}"#,
        expect![[r#"'visits' takes a 64-bit integer, as a number or as text, not the text "many""#]],
    );
    refused(
        USER,
        r#"{"balance": "1,5"}"#,
        expect![[r#"'balance' takes a decimal number, as a number or as text, not the text "1,5""#]],
    );
    refused(USER, r#"{"active": 1}"#, expect!["'active' takes true or false, not 1"]);
    refused(
        USER,
        r#"{"born": "2023-02-30"}"#,
        expect![[r#"'born' takes a day such as "2024-05-01", not the text "2023-02-30""#]],
    );
    refused(
        USER,
        r#"{"seen": "soon"}"#,
        expect![[r#"'seen' takes a time such as "2024-05-01T12:30:00Z", not the text "soon""#]],
    );
    refused(USER, r#"{"photo": "?"}"#, expect![[r#"'photo' takes base64 text, not the text "?""#]]);
    refused(
        USER,
        r#"{"key": "x"}"#,
        expect![[r#"'key' takes a UUID such as "f81d4fae-7dec-11d0-a765-00a0c91e6bf6", not the text "x""#]],
    );
    refused(USER, r#"{"anything": []}"#, expect!["'anything' takes a scalar, not a list"]);
}

#[test]
fn json_is_bounded_in_depth() {
    let deep = format!(r#"{{"settings": {}1{}}}"#, "[".repeat(100_000), "]".repeat(100_000));
    refused(USER, &deep, expect!["'settings' takes JSON that is nested less than 128 deep, not more"]);
    let deep = deep.replace("settings", "name");
    refused(USER, &deep, expect!["'name' takes text, not a list"]);
}

#[test]
fn values_are_converted_to_the_type_of_the_field() {
    let body = br#"{"name": "Ada", "age": 2.0, "rating": 1, "balance": "1.10", "visits": "9007199254740993",
        "active": true, "born": "2024-02-29", "seen": null, "settings": {"a": [1,  12345678901234567890]},
        "photo": "AP8", "key": "f81d4fae-7dec-11d0-a765-00a0c91e6bf6", "anything": 7}"#;
    let fields = Fields::parse(body).unwrap();
    let request = WriteRequest::new(USER).with_fields(&fields).with_server_values(&[]);
    let mutation = blog().plan_write(&request).unwrap();
    let shown: Vec<_> =
        mutation.action().values().iter().map(|it| format!("{} = {:?}", it.field, it.value)).collect();
    expect![[r#"
        name = Text("Ada")
        age = Integer(2)
        rating = Real(1.0)
        balance = Text("1.10")
        visits = Integer(9007199254740993)
        active = Boolean(true)
        born = Text("2024-02-29")
        seen = Null
        settings = Text("{\"a\": [1,  12345678901234567890]}")
        photo = Bytes([0, 255])
        key = Text("f81d4fae-7dec-11d0-a765-00a0c91e6bf6")
        anything = Integer(7)"#]]
    .assert_eq(&shown.join("\n"));
}

#[test]
fn the_server_may_set_what_clients_may_not() {
    let set = [("label", "kept".into())];
    let target = WriteTarget::Update { entity: "tag", id: RecordId::Text("a") };
    let mutation = blog().plan_write(&WriteRequest::new(target).with_server_values(&set)).unwrap();
    assert_eq!(mutation.action().values().len(), 1);
    let fields = Fields::parse(br#"{"label": "mine"}"#).unwrap();
    assert!(
        blog().plan_write(&WriteRequest::new(target).with_fields(&fields).with_server_values(&set)).is_err()
    );
    let fields = Fields::parse(br#"{"name": "mine", "age": 1}"#).unwrap();
    let set = [("name", "kept".into())];
    let request = WriteRequest::new(USER).with_fields(&fields).with_server_values(&set);
    let mutation = blog().plan_write(&request).unwrap();
    let shown = mutation.action().values().iter().map(|it| format!("{} = {:?}", it.field, it.value));
    assert_eq!(shown.collect::<Vec<_>>(), ["age = Integer(1)", "name = Text(\"kept\")"]);
}

#[test]
fn the_reply_has_the_requested_shape() {
    let fields = Fields::parse(br#"{"title": "x"}"#).unwrap();
    let plan = |shape| {
        let request = WriteRequest::new(POST).with_fields(&fields).with_reply((mesh_ql::Format::Ql, shape));
        blog().plan_write(&request).map(|it| it.reply(&1.into()).unwrap().node().fields().count())
    };
    assert_eq!(plan("{ post title }").unwrap(), 1);
    assert_eq!(
        plan("{ user name }").unwrap_err().to_string(),
        "The query reads entity 'user', but the URL names 'post'"
    );
    let whole = blog().plan_write(&WriteRequest::new(POST).with_fields(&fields)).unwrap();
    assert_eq!(whole.reply(&1.into()).unwrap().node().fields().count(), 4);
}

#[test]
fn replies_of_the_same_shape_share_the_id_of_their_plan() {
    let (mesh, fields) = (blog(), Fields::parse(br#"{"title": "x"}"#).unwrap());
    for shape in [None, Some((mesh_ql::Format::Ql, "{ post title }"))] {
        let [first, second] = [1_i64, 2].map(|id| {
            let request = WriteRequest::new(POST).with_fields(&fields);
            let request = shape.map_or(request, |shape| request.with_reply(shape));
            mesh.plan_write(&request).unwrap().reply(&id.into()).unwrap()
        });
        assert_eq!(first.id(), second.id(), "{shape:?}");
        assert_ne!(first.key(), second.key(), "{shape:?}");
    }
}
