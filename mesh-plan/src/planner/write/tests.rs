//! Invalid writes are refused with helpful messages, and values are checked against their fields.

use expect_test::{Expect, expect};
use mesh_schema::{FieldType, JoinDocument, Schema, ThroughDocument, Writable};

use super::super::tests::check_messages;
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

/// Checks the messages that refuse writes with these methods, paths and bodies.
#[track_caller]
fn refused(table: Expect) {
    check_messages(&table, |write| {
        let (method, rest) = write.split_once(' ').unwrap();
        let (path, body) = rest.split_once(' ').unwrap();
        refusal(target(method, &path.split('/').collect::<Vec<_>>()), body)
    });
}

fn target<'p>(method: &str, path: &[&'p str]) -> WriteTarget<'p> {
    match (method, path) {
        ("POST", &[entity]) => WriteTarget::Create { entity },
        ("PUT", &[entity, id]) => WriteTarget::Update { entity, id: RecordId::Text(id) },
        ("DELETE", &[entity, id]) => WriteTarget::Delete { entity, id: RecordId::Text(id) },
        ("POST", &[entity, id, relation]) => WriteTarget::Attach { entity, id: RecordId::Text(id), relation },
        ("PUT", &[entity, id, relation]) => WriteTarget::Connect { entity, id: RecordId::Text(id), relation },
        _ => panic!("{method} {path:?}"),
    }
}

fn refusal(target: WriteTarget<'_>, body: &str) -> String {
    let fields = Fields::parse(body.as_bytes()).unwrap();
    blog().plan_write(&WriteRequest::new(target).with_fields(&fields)).unwrap_err().to_string()
}

const USER: WriteTarget<'_> = WriteTarget::Update { entity: "user", id: RecordId::Text("1") };
const POST: WriteTarget<'_> = WriteTarget::Update { entity: "post", id: RecordId::Text("1") };

#[test]
fn errors_about_names_say_what_is_allowed() {
    refused(expect![[r#"
        PUT post/1 {"titel": 1}
            Field 'titel' not found on entity 'post'; did you mean 'title'?
        PUT post/1 {"status": "x"}
            Field 'status' on entity 'post' is not writable
        PUT post/1 {"author": 1}
            'author' on entity 'post' is a relation; write it at the path of the relation
        PUT user/1 {"shout": "x"}
            'shout' is a computed field; write the fields that it is computed from
        POST tag {}
            Entity 'tag' is not writable
        DELETE tag/a {}
            Entity 'tag' is not writable
        POST tags {}
            Entity 'tags' not found; did you mean 'tag'?
        POST log {}
            Entity 'log' has no id field, so its records cannot be written
    "#]]);
}

#[test]
fn errors_about_relations_say_what_is_allowed() {
    refused(expect![[r#"
        POST post/1/tag {}
            Relation 'tag' not found on entity 'post'; did you mean 'tags'?
        POST post/1/title {}
            'title' on entity 'post' is not a relation; write it as a field of its record
        POST post/1/author {}
            'author' leads to one record; connect it by PUT, disconnect it by DELETE
        POST post/1/tags {}
            A write of the relation 'tags' takes {"entityId": …} with a string, a number or an array of the id's parts, not nothing
        POST post/1/tags {"entityId": [1]}
            A write of the relation 'tags' takes {"entityId": …} with a string, a number or an array of the id's parts, not a list
        POST post/1/tags {"entityId": "a", "label": "x"}
            A write of the relation 'tags' takes {"entityId": …} with a string, a number or an array of the id's parts, not the member 'label'
        PUT post/1/tags {"entityId": "a"}
            'tags' leads to many records; link one by POST, unlink it by DELETE with its id in the path
        POST user/1/posts {"title": "x", "authorId": 2}
            'authorId' is set by the relation 'posts' of the path; leave it out
    "#]]);
}

#[test]
fn ids_that_cannot_exist_are_not_found() {
    refused(expect![[r#"
        DELETE post/x {}
            There is no 'post' with the id 'x'
        PUT post/1/author {"entityId": "x"}
            There is no 'user' with the id 'x'
        PUT post/1/author {"entityId": 1.5}
            There is no 'user' with the id '1.5'
    "#]]);
}

#[test]
fn values_that_do_not_fit_are_refused() {
    refused(expect![[r#"
        PUT user/1 {"name": 1}
            'name' takes text, not 1
        PUT user/1 {"name": {"a": 1}}
            'name' takes text, not an object
        PUT user/1 {"age": 1.5}
            'age' takes a 64-bit integer, not 1.5
        PUT user/1 {"age": "1"}
            'age' takes a 64-bit integer, not the text "1"
        PUT user/1 {"visits": "many"}
            'visits' takes a 64-bit integer, as a number or as text, not the text "many"
        PUT user/1 {"balance": "1,5"}
            'balance' takes a decimal number, as a number or as text, not the text "1,5"
        PUT user/1 {"active": 1}
            'active' takes true or false, not 1
        PUT user/1 {"born": "2023-02-30"}
            'born' takes a day such as "2024-05-01", not the text "2023-02-30"
        PUT user/1 {"seen": "soon"}
            'seen' takes a time such as "2024-05-01T12:30:00Z", not the text "soon"
        PUT user/1 {"photo": "?"}
            'photo' takes base64 text, not the text "?"
        PUT user/1 {"key": "x"}
            'key' takes a UUID such as "f81d4fae-7dec-11d0-a765-00a0c91e6bf6", not the text "x"
        PUT user/1 {"anything": []}
            'anything' takes a scalar, not a list
    "#]]);
}

#[test]
fn json_is_bounded_in_depth() {
    let deep = format!(r#"{{"settings": {}1{}}}"#, "[".repeat(100_000), "]".repeat(100_000));
    expect!["'settings' takes JSON that is nested less than 128 deep, not more"]
        .assert_eq(&refusal(USER, &deep));
    let deep = deep.replace("settings", "name");
    expect!["'name' takes text, not a list"].assert_eq(&refusal(USER, &deep));
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
