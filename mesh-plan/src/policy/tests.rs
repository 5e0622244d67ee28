//! Policies hold wherever a query can name something.

mod claims;
mod document;
mod related;
mod writes;

use std::sync::Arc;

use mesh_ql::Format;
use mesh_schema::{FieldType, JoinDocument, Schema, ThroughDocument};

use super::*;
use crate::memory::Tables;
use crate::{Context, Error, Mesh, Plan, Request};

fn schema() -> Schema {
    Schema::builder()
        .entity("user", |user| {
            user.field("id", FieldType::Integer)
                .field("name", FieldType::String)
                .field("email", FieldType::String)
                .field("bossId", FieldType::Integer)
                .computed("card", ["name", "email"], "{name} <{email}>")
        })
        .entity("post", |post| {
            post.field("id", FieldType::Integer)
                .field("title", FieldType::String)
                .field("published", FieldType::Boolean)
                .field("ownerId", FieldType::Integer)
                .writable()
        })
        .entity("audit", |audit| audit.field("id", FieldType::Integer).field("postId", FieldType::Integer))
        .relation("post.owner", JoinDocument::one("user", "users.id = posts.ownerId"))
        .relation("post.audits", JoinDocument::many("audit", "audits.postId = posts.id"))
        .relation("user.posts", JoinDocument::many("post", "posts.ownerId = users.id"))
        .relation("user.boss", JoinDocument::one("user", "users.id = users.bossId"))
        .relation(
            "user.liked",
            JoinDocument::through("post", ThroughDocument::new("likes", "userId", "postId")),
        )
        .build()
        .unwrap()
}

fn tables() -> Tables {
    let post = |id: i64, title: &str, published: bool, owner: i64| {
        vec![id.into(), title.into(), published.into(), owner.into()]
    };
    Tables::new()
        .with(
            "users",
            ["id", "name", "email", "bossId"],
            [
                vec![1.into(), "Ada".into(), "ada@x".into(), 2.into()],
                vec![2.into(), "Bo".into(), "bo@x".into(), 1.into()],
            ],
        )
        .with(
            "posts",
            ["id", "title", "published", "ownerId"],
            [
                post(1, "one", true, 1),
                post(2, "two", false, 1),
                post(3, "three", true, 2),
                post(4, "four", false, 2),
            ],
        )
        .with("audits", ["id", "postId"], [vec![1.into(), 1.into()]])
        .with("likes", ["userId", "postId"], [vec![1.into(), 2.into()], vec![1.into(), 4.into()]])
}

/// Readers see published posts without their owner, authors their own posts, admins everything.
fn policy(role: &str, entity: &Entity) -> Access {
    match (role, entity.key.as_str()) {
        ("admin", _) => Access::all(),
        ("author", "post") => {
            Access::all().when(Condition::equal("ownerId", SessionValue::UserId)).writing(["title"])
        }
        ("author", "user") => {
            Access::all().when(Condition::equal("id", SessionValue::UserId)).dropping(["email"])
        }
        (_, "post") => {
            Access::all().except(["ownerId", "published"]).when(Condition::equal("published", true))
        }
        (_, "user") => Access::all().only(["id", "name"]).except(["boss"]).read_only(),
        _ => Access::none(),
    }
}

fn mesh() -> Mesh {
    Mesh::builder(schema()).default_resolver(tables()).policy(policy).build().unwrap()
}

fn who(role: &str, user: i64) -> Principal {
    Principal::new(user.to_string(), "s").with_role(role)
}

fn plan(mesh: &Mesh, who: Option<&Principal>, query: &str, id: Option<&str>) -> Result<Plan, Error> {
    let request = match id {
        Some(id) => Request::point(Format::Json, query, id),
        None => Request::collection(Format::Json, query),
    };
    mesh.plan(&request.with_principal(who))
}

fn finish(mesh: &Mesh, plan: Plan) -> String {
    let context = Context::default();
    let mut read = std::pin::pin!(mesh.read(&plan, &context));
    let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
    let std::task::Poll::Ready(body) = read.as_mut().poll(&mut cx) else { panic!("the read is pending") };
    String::from_utf8(body.unwrap().bytes.to_vec()).unwrap()
}

/// Returns the items of a collection, or the object.
#[track_caller]
fn read(mesh: &Mesh, who: Option<&Principal>, query: &str, id: Option<&str>) -> String {
    let text = finish(mesh, plan(mesh, who, query, id).unwrap());
    match text.split_once(r#","pageInfo""#) {
        Some((items, _)) => items.trim_start_matches(r#"{"items":"#).to_owned(),
        None => text,
    }
}

#[track_caller]
fn refused(who: Option<&Principal>, query: &str) -> String {
    plan(&mesh(), who, query, None).expect_err("refused").to_string()
}

const POSTS: &str = r#"{"post":{"$select":{"id":true}}}"#;

#[test]
fn hidden_fields_are_unknown_wherever_they_are_named() {
    let places = [
        r#"{"post":{"$select":{"ownerId":true}}}"#,
        r#"{"user":{"$select":{"posts":{"$select":{"ownerId":true}}}}}"#,
        r#"{"post":{"$select":{"id":true},"$where":{"field":"ownerId","op":"eq","value":1}}}"#,
        r#"{"post":{"$select":{"id":true},"$where":{"not":{"or":[{"field":"ownerId","op":"isNull"}]}}}}"#,
        r#"{"post":{"$select":{"id":true},"$orderBy":[{"field":"ownerId"}]}}"#,
        r#"{"user":{"$select":{"posts":{"$select":{"id":true},"$where":{"field":"ownerId","op":"eq","value":1}}}}}"#,
        r#"{"user":{"$select":{"posts":{"$select":{"id":true},"$orderBy":[{"field":"ownerId"}]}}}}"#,
        r#"{"post":{"$select":{"ownerId":true},"$groupBy":["ownerId"],"$aggregate":{"n":{"fn":"count"}}}}"#,
        r#"{"post":{"$select":{"title":true},"$groupBy":["title","ownerId"],"$aggregate":{"n":{"fn":"count"}}}}"#,
        r#"{"post":{"$select":{},"$aggregate":{"n":{"fn":"max","field":"ownerId"}}}}"#,
        r#"{"post":{"$select":{"ownerId":true},"$distinct":["ownerId"]}}"#,
        r#"{"post":{"$select":{"title":true},"$groupBy":["title"],"$having":{"field":"ownerId","op":"eq","value":1}}}"#,
        r#"{"post":{"$select":{"title":true},"$groupBy":["title"],"$orderBy":[{"field":"ownerId"}]}}"#,
    ];
    for query in places {
        let query = query.replace(r#"{"field":"ownerId"}"#, r#"{"field":"ownerId","direction":"asc"}"#);
        let query = query.as_str();
        let message = refused(None, query);
        assert!(message.starts_with("Field 'ownerId' not found on entity 'post'"), "{query}: {message}");
        assert!(!message.contains("mean 'ownerId'"), "{message}");
        let renamed = message.replace("'ownerId'", "'ownerXy'");
        assert_eq!(
            renamed,
            refused(None, &query.replace("ownerId", "ownerXy")),
            "like a name that does not exist"
        );
        // The name is visible for admins. One of the queries is wrong for another reason.
        let admin = plan(&mesh(), Some(&who("admin", 1)), query, None);
        assert!(admin.is_ok() || query.contains(r#""$groupBy":["title"]"#), "{query}");
    }
}

#[test]
fn hints_name_only_visible_members() {
    let near = r#"{"post":{"$select":{"ownerID":true}}}"#;
    assert_eq!(
        refused(Some(&who("admin", 1)), near),
        "Field 'ownerID' not found on entity 'post'; did you mean 'ownerId'?"
    );
    // `owner` is visible and similar.
    assert_eq!(refused(None, near), "Field 'ownerID' not found on entity 'post'; did you mean 'owner'?");
    assert_eq!(refused(None, r#"{"audits":{"$select":{"id":true}}}"#), "Entity 'audits' not found");
    assert_eq!(
        refused(None, r#"{"post":{"$select":{"audit":true}}}"#),
        "Field 'audit' not found on entity 'post'"
    );
}

#[test]
fn a_computed_field_is_hidden_with_any_of_its_inputs() {
    let query = r#"{"user":{"$select":{"card":true}}}"#;
    assert_eq!(refused(None, query), "Field 'card' not found on entity 'user'");
    let hide = |_: &str, _: &Entity| Access::all().except(["email"]);
    let mesh = Mesh::builder(schema()).default_resolver(tables()).policy(hide).build().unwrap();
    assert_eq!(
        plan(&mesh, None, query, None).unwrap_err().to_string(),
        "Field 'card' not found on entity 'user'"
    );
    let list = |_: &str, _: &Entity| Access::all().only(["card"]);
    let mesh = Mesh::builder(schema()).default_resolver(tables()).policy(list).build().unwrap();
    assert_eq!(read(&mesh, None, query, None), r#"[{"card":"Ada <ada@x>"},{"card":"Bo <bo@x>"}]"#);
}

#[test]
fn dropped_fields_are_left_out_of_selections_and_refused_elsewhere() {
    let author = who("author", 1);
    let query = r#"{"user":{"$select":{"email":true,"id":true,"card":true}}}"#;
    assert_eq!(read(&mesh(), Some(&author), query, None), r#"[{"id":1}]"#);
    assert_eq!(read(&mesh(), Some(&author), r#"{"user":{"$select":{"email":true}}}"#, None), "[{}]");
    for query in [
        r#"{"user":{"$select":{"id":true},"$where":{"field":"email","op":"like","value":"a%"}}}"#,
        r#"{"user":{"$select":{"id":true},"$orderBy":[{"field":"email","direction":"asc"}]}}"#,
        r#"{"user":{"$select":{},"$aggregate":{"n":{"fn":"max","field":"email"}}}}"#,
        r#"{"user":{"$select":{"email":true},"$distinct":["email"]}}"#,
    ] {
        assert_eq!(refused(Some(&author), query), "Field 'email' not found on entity 'user'", "{query}");
    }
}

#[test]
fn plans_are_shared_only_within_a_class() {
    let mesh = mesh();
    let (ada, bo) = (who("author", 1), who("author", 2));
    let first = plan(&mesh, Some(&ada), POSTS, None).unwrap();
    let second = plan(&mesh, Some(&bo), POSTS, None).unwrap();
    assert!(Arc::ptr_eq(&first.query, &second.query), "one plan for all authors");
    assert_eq!(mesh.plans_cached(), 1);
    let reader = plan(&mesh, None, POSTS, None).unwrap();
    assert!(!Arc::ptr_eq(&first.query, &reader.query));
    assert_eq!(mesh.plans_cached(), 2);
    assert!(finish(&mesh, second).starts_with(r#"{"items":[{"id":3},{"id":4}]"#));
    // The query is refused although its text is cached.
    let titles = r#"{"post":{"$select":{"ownerId":true}}}"#;
    assert!(plan(&mesh, Some(&ada), titles, None).is_ok());
    assert!(plan(&mesh, None, titles, None).is_err());
}

#[test]
fn classes_of_several_policies_are_unambiguous() {
    let two = |_: &str, _: &Entity| Access::all();
    let mesh = Mesh::builder(schema()).default_resolver(tables()).policy(two).policy(policy).build().unwrap();
    for role in ["", "5:admin", "adminc", "admin5:admin", "*"] {
        let who = who(role, 1);
        assert_eq!(read(&mesh, Some(&who), POSTS, None), r#"[{"id":1},{"id":3}]"#, "{role}");
    }
}

#[test]
fn a_value_that_the_session_lacks_equals_nothing() {
    let owner = |_: &str, entity: &Entity| match entity.key.as_str() {
        "post" => {
            Access::all().when(Condition::Not(Box::new(Condition::equal("title", SessionValue::Tenant))))
        }
        _ => Access::all(),
    };
    let mesh = Mesh::builder(schema()).default_resolver(tables()).policy(owner).build().unwrap();
    assert_eq!(read(&mesh, None, POSTS, None), "[]");
    assert_eq!(read(&mesh, Some(&who("x", 1)), POSTS, None), "[]");
    let tenant = who("x", 1).with_tenant("one");
    assert_eq!(read(&mesh, Some(&tenant), POSTS, None), r#"[{"id":2},{"id":3},{"id":4}]"#);
    // No record belongs to a user whose id the column cannot hold.
    assert_eq!(
        read(&self::mesh(), Some(&Principal::new("x' OR 1=1", "s").with_role("author")), POSTS, None),
        "[]"
    );
}

#[test]
fn a_condition_that_does_not_fit_is_an_error() {
    for condition in [
        Condition::equal("nothing", true),
        Condition::equal("title", 1),
        Condition::field("id", FilterOp::Nin, 1),
        Condition::field("id", FilterOp::In, SessionValue::UserId),
        Condition::field("id", FilterOp::IsNull, 1),
    ] {
        let wrong = move |role: &str, _: &Entity| match role {
            "author" => Access::all().when(condition.clone()),
            _ => Access::all(),
        };
        let mesh = Mesh::builder(schema()).default_resolver(tables()).policy(wrong).build().unwrap();
        let Err(Error::Plan(error)) = plan(&mesh, Some(&who("author", 1)), POSTS, None) else {
            panic!("a plan")
        };
        assert!(matches!(error.kind, crate::error::PlanErrorKind::Policy { .. }), "{error}");
    }
}

#[test]
fn several_policies_allow_what_each_of_them_allows() {
    let odd = |_: &str, _: &Entity| {
        Access::all().when(Condition::field("id", FilterOp::In, Operand::Many(vec![Literal::Integer(1)])))
    };
    let mesh = Mesh::builder(schema()).default_resolver(tables()).policy(policy).policy(odd).build().unwrap();
    assert_eq!(read(&mesh, Some(&who("author", 1)), POSTS, None), r#"[{"id":1}]"#);
    assert_eq!(read(&mesh, Some(&who("author", 2)), POSTS, None), "[]");
}

#[test]
fn cursors_of_another_class_are_refused() {
    let mesh = mesh();
    let page = |after: &str| {
        format!(r#"{{"post":{{"$select":{{"id":true}},"$page":{{"first":1,"after":{after}}}}}}}"#)
    };
    let first = finish(&mesh, plan(&mesh, Some(&who("admin", 1)), &page("null"), None).unwrap());
    let cursor = first.rsplit(r#""endCursor":"#).next().unwrap().trim_end_matches('}');
    assert!(plan(&mesh, Some(&who("admin", 1)), &page(cursor), None).is_ok());
    assert!(plan(&mesh, Some(&who("author", 1)), &page(cursor), None).is_err());
}

#[test]
fn unrestricted_plans_ignore_policies() {
    let mesh = mesh();
    let query = r#"{"audit":{"$select":{"id":true}}}"#;
    let whole = mesh.plan_unrestricted(&Request::collection(Format::Json, query)).unwrap();
    assert!(finish(&mesh, whole).starts_with(r#"{"items":[{"id":1}]"#));
    assert!(plan(&mesh, None, query, None).is_err(), "other classes cannot use it");
    let schema = mesh.schema_for(None);
    assert!(schema.find("audit").is_none() && mesh.schema().find("audit").is_some());
}
