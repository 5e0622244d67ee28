//! Policies hold for writes.

use super::*;
use crate::{Fields, Mutation, RecordId, Value, WriteError, WriteRequest, WriteTarget, Written};

async fn never(_: Mutation, _: Context) -> Result<Written, WriteError> {
    Err(WriteError::new("nothing is written here"))
}

fn write(who: Option<&Principal>, target: WriteTarget<'_>, body: &str) -> Result<Mutation, String> {
    let mesh = Mesh::builder(schema())
        .default_resolver(tables())
        .default_mutator(never)
        .policy(policy)
        .build()
        .unwrap();
    let fields = Fields::parse(body.as_bytes()).unwrap();
    let request = WriteRequest::new(target).with_fields(&fields).with_principal(who);
    mesh.plan_write(&request).map_err(|error| error.to_string())
}

const UPDATE: WriteTarget<'_> = WriteTarget::Update { entity: "post", id: RecordId::Text("1") };

#[test]
fn uploads_are_restricted_like_writes() {
    let upload = mesh_schema::Upload::default;
    let schema = Schema::builder()
        .entity("user", |user| {
            user.field("id", FieldType::Integer)
                .field("avatar", FieldType::String)
                .field("banner", FieldType::String)
                .upload("avatar", upload())
                .upload("banner", upload())
        })
        .build()
        .unwrap();
    let policy = |_: &str, _: &Entity| Access::all().writing(["avatar"]);
    let mesh = Mesh::builder(schema).default_mutator(never).policy(policy).build().unwrap();
    let set = |field: &str| {
        let target = WriteTarget::Update { entity: "user", id: RecordId::Text("1") };
        let set = [(field, Value::Text("key".to_owned()))];
        mesh.plan_write(&WriteRequest::new(target).with_server_values(&set))
            .map(|_| ())
            .map_err(|error| error.to_string())
    };
    assert_eq!(set("avatar"), Ok(()));
    assert_eq!(set("banner"), Err("Field 'banner' on entity 'user' is not writable".to_owned()));
}

#[test]
fn the_reply_is_restricted_by_policies() {
    let reply = |who: Option<&Principal>| {
        let mutation = write(who, UPDATE, r#"{"title": "x"}"#).unwrap();
        let plan = mutation.reply(&1.into()).unwrap();
        plan.node().fields().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(reply(Some(&who("admin", 1))), ["id", "title", "published", "ownerId"]);
    assert_eq!(reply(None), ["id", "title"]);
}
