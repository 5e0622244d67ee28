//! Policies hold for writes.

use super::*;
use crate::plan::{ColumnSource, Comparand, CompareOp, Predicate};
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
fn the_condition_guards_the_record() {
    let guard = |mutation: Mutation| mutation.subject().guard().cloned();
    let title = r#"{"title": "x"}"#;
    let owned_by = |user: i64| Predicate::Compare {
        source: ColumnSource::Column("ownerId".to_owned()),
        op: CompareOp::Eq,
        value: Value::Integer(user).into(),
    };
    assert_eq!(guard(write(Some(&who("author", 7)), UPDATE, title).unwrap()), Some(owned_by(7)));
    assert_eq!(guard(write(Some(&who("admin", 7)), UPDATE, title).unwrap()), None);
    let create = WriteTarget::Create { entity: "post" };
    assert_eq!(guard(write(Some(&who("author", 8)), create, title).unwrap()), Some(owned_by(8)));
    let delete = WriteTarget::Delete { entity: "post", id: RecordId::Text("1") };
    let refused = write(Some(&who("author", 8)), delete, "{}").unwrap_err();
    assert_eq!(refused, "Records of entity 'post' cannot be deleted", "a list of fields permits no deletion");
    assert!(guard(write(None, delete, "{}").unwrap()).is_some());
    // No record belongs to a user whose id the column cannot hold.
    let stranger = Principal::new("x", "s").with_role("author");
    let guarded = guard(write(Some(&stranger), UPDATE, title).unwrap()).unwrap();
    assert!(matches!(guarded, Predicate::Compare { value: Comparand::Value(Value::Null), .. }));
}

#[test]
fn the_other_end_of_a_relation_is_guarded_too() {
    let schema = schema();
    let all_writable = |_: &str, entity: &Entity| match entity.key.as_str() {
        "user" => Access::all().when(Condition::equal("id", SessionValue::UserId)),
        _ => Access::all(),
    };
    let mesh = Mesh::builder(schema)
        .default_resolver(tables())
        .default_mutator(never)
        .policy(all_writable)
        .build()
        .unwrap();
    let fields = Fields::parse(br#"{"entityId": 2}"#).unwrap();
    let target = WriteTarget::Connect { entity: "post", id: RecordId::Text("1"), relation: "owner" };
    let who = who("x", 7);
    let request = WriteRequest::new(target).with_fields(&fields).with_principal(Some(&who));
    let mutation = mesh.plan_write(&request).unwrap();
    let other = mutation.action().other().unwrap();
    assert!(matches!(
        other.subject.guard(),
        Some(Predicate::Compare { value: Comparand::Value(Value::Integer(7)), .. })
    ));
}

#[test]
fn hidden_and_read_only_fields_cannot_be_written() {
    let refused = |who: Option<&Principal>, target, body| write(who, target, body).expect_err("refused");
    let author = who("author", 1);
    assert!(write(Some(&author), UPDATE, r#"{"title": "x"}"#).is_ok());
    assert!(refused(Some(&author), UPDATE, r#"{"published": true}"#).contains("not writable"));
    assert!(refused(Some(&author), UPDATE, r#"{"ownerId": 2}"#).contains("not writable"));
    // Hidden fields are unknown in writes, too.
    let hidden = refused(None, UPDATE, r#"{"ownerId": 2}"#);
    assert!(hidden.starts_with("Field 'ownerId' not found on entity 'post'"), "{hidden}");
    let audit = WriteTarget::Create { entity: "audit" };
    assert_eq!(refused(None, audit, "{}"), "Entity 'audit' not found");
    let audits = WriteTarget::Attach { entity: "post", id: RecordId::Text("1"), relation: "audits" };
    let relation = refused(Some(&author), audits, "{}");
    assert!(relation.starts_with("Relation 'audits' not found on entity 'post'"), "{relation}");
    assert!(!relation.contains("mean"), "{relation}");
    let user = WriteTarget::Delete { entity: "user", id: RecordId::Text("1") };
    assert_eq!(refused(None, user, "{}"), "Entity 'user' is not writable");
}

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
