//! Statements contain no values of a run: neither those of cursors nor those of sessions.

use futures_util::FutureExt as _;
use mesh_plan::memory::Tables;
use mesh_plan::policy::{Access, Condition, SessionValue};
use mesh_plan::{
    Context, Fields, Mesh, Mutation, Plan, Principal, RecordId, Request, Value, WriteError, WriteRequest,
    WriteTarget, Written,
};
use mesh_ql::{FilterOp, Format, Literal, Quantifier};
use mesh_schema::{Entity, FieldType, JoinDocument, Schema};

use crate::postgres::{Postgres, ReadStatement};
use crate::sqlite::{Param, Sqlite, Statements};
use crate::write_steps;

fn schema() -> Schema {
    Schema::builder()
        .entity("user", |user| user.field("id", FieldType::Integer).field("name", FieldType::String))
        .entity("post", |post| {
            post.field("id", FieldType::Integer)
                .field("title", FieldType::String)
                .field("rating", FieldType::Number)
                .field("ownerId", FieldType::Integer)
                .writable()
        })
        .relation("post.owner", JoinDocument::one("user", "users.id = posts.ownerId"))
        .relation("user.posts", JoinDocument::many("post", "posts.ownerId = users.id"))
        .build()
        .unwrap()
}

fn mesh(access: impl Fn(&str) -> Access + Send + Sync + 'static) -> Mesh {
    async fn never(_: Mutation, _: Context) -> Result<Written, WriteError> {
        Err(WriteError::new("nothing is written here"))
    }
    let policy = move |_: &str, entity: &Entity| access(&entity.key);
    Mesh::builder(schema())
        .default_resolver(Tables::new())
        .default_mutator(never)
        .policy(policy)
        .build()
        .unwrap()
}

fn plan(mesh: &Mesh, who: &Principal, query: &str) -> Plan {
    mesh.plan(&Request::collection(Format::Json, query).with_principal(Some(who))).unwrap()
}

#[test]
fn statements_do_not_depend_on_the_values_of_the_cursor() {
    let rows = [(7, 1.5), (8, 2.5), (9, 3.5)].map(|(id, rating): (i64, f64)| vec![id.into(), rating.into()]);
    let tables = Tables::new().with("posts", ["id", "rating"], rows);
    let mesh = Mesh::builder(schema()).default_resolver(tables).build().unwrap();
    let page = |after: &str| {
        let text = format!(
            r#"{{"post":{{"$select":{{"id":true}},"$orderBy":[{{"field":"rating","direction":"asc"}}],"$page":{{"first":1,"after":{after}}}}}}}"#
        );
        mesh.plan(&Request::collection(Format::Json, &text)).unwrap()
    };
    let after = |plan: &Plan| {
        let body = mesh.read(plan, &Context::default()).now_or_never().unwrap().unwrap().bytes;
        let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
        page(&body["pageInfo"]["endCursor"].to_string())
    };
    let one = after(&page("null"));
    let other = after(&one);
    let statements = Statements::from_plan(&one);
    assert_eq!(statements, Statements::from_plan(&other));
    assert!(!statements.iter().next().unwrap().to_string().contains("1.5"));

    let bound = |plan: &Plan| {
        let statement = ReadStatement::from_plan(plan, &Postgres::default()).statement;
        let texts = statement.params.iter().map(|param| param.for_read(plan).map(|text| text.into_owned()));
        let texts = texts.collect::<Vec<_>>();
        (statement.sql, texts)
    };
    let ((sql, ones), (same, others)) = (bound(&one), bound(&other));
    assert_eq!(sql, same);
    assert!(ones.contains(&Some("1.5".to_owned())) && ones.contains(&Some("7".to_owned())), "{ones:?}");
    assert!(others.contains(&Some("2.5".to_owned())) && others.contains(&Some("8".to_owned())), "{others:?}");
}

#[test]
fn sql_has_the_condition_and_no_value_of_a_session() {
    let own = |entity: &str| {
        let column = if entity == "user" { "id" } else { "ownerId" };
        Access::all().when(Condition::equal(column, SessionValue::UserId))
    };
    let query = r#"{"user":{"$select":{"name":true,"posts":{"$select":{"id":true}}}}}"#;
    let plan = plan(&mesh(own), &Principal::new("7", "s").with_role("author"), query);
    let statements = Statements::from_plan(&plan);
    let statements: Vec<_> = statements.iter().collect();
    assert!(statements[0].sql.contains(r#"WHERE "t0"."id" = ?"#), "{}", statements[0].sql);
    assert!(statements[0].params.iter().any(|param| matches!(param, Param::Session(0, _))));
    let posts = statements[1];
    assert!(posts.sql.contains(r#""t1"."ownerId" = ?"#), "{}", posts.sql);
    assert!(matches!(posts.params[..], [Param::Parent(1), Param::Session(0, _)]));
    assert_eq!(plan.session_value(0), &Value::Integer(7));
    assert_eq!(plan.session_value(1), &Value::Null);
}

#[test]
fn statements_have_one_parameter_for_a_list() {
    let listed = |entity: &str| match entity {
        "post" => {
            Access::all().when(Condition::field("ownerId", FilterOp::In, SessionValue::claim("owners")))
        }
        _ => Access::all(),
    };
    let author = Principal::new("7", "s").with_role("author").with_claim("owners", vec![Literal::Integer(7)]);
    let plan = plan(&mesh(listed), &author, r#"{"post":{"$select":{"id":true}}}"#);
    let statements = Statements::from_plan(&plan);
    let statement = statements.iter().next().unwrap();
    let list = r#""t0"."ownerId" IN (SELECT mesh_element("value") FROM json_each(?) AS "l")"#;
    assert!(statement.sql.contains(list), "{}", statement.sql);
    assert!(matches!(statement.params[0], Param::SessionList(0, _)));
    assert_eq!(*statement.params[0].value_for_read(&plan), Value::from("[7]"));
}

#[test]
fn statements_that_change_records_contain_the_condition() {
    let named = |entity: &str| match entity {
        "post" => {
            let is_user = Condition::equal("id", SessionValue::UserId);
            Access::all().when(Condition::related("owner", Quantifier::Some, is_user))
        }
        _ => Access::none(),
    };
    let fields = Fields::parse(br#"{"title": "x"}"#).unwrap();
    let target = WriteTarget::Update { entity: "post", id: RecordId::Text("1") };
    let member = Principal::new("7", "s").with_role("member");
    let request = WriteRequest::new(target).with_fields(&fields).with_principal(Some(&member));
    let mutation = mesh(named).plan_write(&request).unwrap();
    assert_eq!(mutation.subject().guarded().unwrap().related.len(), 1);
    let steps = write_steps(&mutation, &Sqlite::PLAIN);
    let texts: Vec<_> = steps.iter().map(|step| step.statement.sql.as_str()).collect();
    let condition = r#"EXISTS(SELECT 1 FROM "users" AS "mesh_guard_0" WHERE "mesh_guard_0"."id" = ? AND "mesh_guard_0"."id" = (+"#;
    assert_eq!(texts.len(), 2, "{texts:?}");
    assert!(texts[0].contains(&format!(r#"{condition}"posts"."ownerId""#)), "{}", texts[0]);
    assert!(texts[1].contains(&format!(r#"{condition}"p"."ownerId""#)), "{}", texts[1]);
}
