//! Tests of shared plans and of cursors.

use mesh_ql::{Format, ParamValues};
use mesh_schema::{FieldType, Schema};

use crate::error::PlanErrorKind;
use crate::plan::ReadTarget;
use crate::{Error, Mesh, Plan, Request, Value};

fn mesh() -> Mesh {
    let schema = Schema::builder()
        .entity("post", |post| {
            post.field("id", FieldType::Integer)
                .field("title", FieldType::String)
                .field("rating", FieldType::Number)
                .field("after", FieldType::String)
        })
        .entity("tag", |tag| tag.field("id", FieldType::Integer).field("title", FieldType::String))
        .build()
        .unwrap();
    Mesh::builder(schema).build().unwrap()
}

/// A collection read with `{}` in place of its cursor.
const BY_RATING: &str = r#"{"post":{"$select":{"id":true},"$orderBy":[{"field":"rating","direction":"asc"}],"$page":{"first":2,"after":{}}}}"#;

fn plan(mesh: &Mesh, text: &str) -> Result<Plan, Error> {
    mesh.plan(&Request::collection(Format::Json, text))
}

/// Returns a cursor of a collection read with these values.
fn cursor(mesh: &Mesh, list: &str, values: &[Value]) -> String {
    let first = plan(mesh, &list.replace("{}", "null")).unwrap();
    first.query.seal.text(values.iter().map(Value::as_ref))
}

fn later(mesh: &Mesh, list: &str, values: &[Value]) -> Plan {
    let cursor = cursor(mesh, list, values);
    plan(mesh, &list.replace("{}", &format!("\"{cursor}\""))).unwrap()
}

#[track_caller]
fn refused(mesh: &Mesh, list: &str, cursor: &str) {
    match plan(mesh, &list.replace("{}", &format!("\"{cursor}\""))) {
        Err(Error::Plan(error)) => assert_eq!(error.kind, PlanErrorKind::CursorMismatch),
        other => panic!("{other:?}"),
    }
}

#[test]
fn pages_share_a_plan_if_their_cursors_have_null_in_the_same_positions() {
    let mesh = mesh();
    let values = [[1.5.into(), 7.into()], [(-2.0).into(), 8.into()]];
    let pages = values.each_ref().map(|values| later(&mesh, BY_RATING, values));
    assert_eq!(pages[0].id(), pages[1].id());
    assert_eq!(
        pages.each_ref().map(|page| page.cursor().unwrap()),
        values.each_ref().map(|values| &values[..])
    );
    assert_ne!(pages[0].key(), pages[1].key());
    assert_eq!(pages[0].key(), later(&mesh, BY_RATING, &values[0]).key());
    assert!(pages[0].to_string().contains("after (1.5, 7)"), "{}", pages[0]);

    let null = later(&mesh, BY_RATING, &[Value::Null, 7.into()]);
    assert_ne!(null.id(), pages[0].id());
    assert_eq!(null.id(), later(&mesh, BY_RATING, &[Value::Null, 9.into()]).id());
    let first = plan(&mesh, &BY_RATING.replace("{}", "null")).unwrap();
    assert_eq!((first.cursor(), mesh.plans_cached()), (None, 3));
}

#[test]
fn a_cursor_of_another_read_is_refused() {
    let mesh = mesh();
    let values = [1.5.into(), 7.into()];
    let cursor = cursor(&mesh, BY_RATING, &values);
    let lists = [
        BY_RATING.replace("asc", "desc"),
        BY_RATING.replace("post", "tag").replace("rating", "title"),
        BY_RATING.replace("\"$page\"", r#""$where":{"field":"id","op":"gt","value":1},"$page""#),
    ];
    let altered = [
        cursor.replacen(|_| true, if cursor.starts_with('A') { "B" } else { "A" }, 1),
        format!("{cursor}AAAA"),
        cursor[..cursor.len() - 4].to_owned(),
        "A".to_owned(),
        "A".repeat(40),
        String::new(),
    ];
    let other_secret = Mesh::builder(std::sync::Arc::clone(mesh.schema())).cursor_secret(b"x");
    let other_secret = self::cursor(&other_secret.build().unwrap(), BY_RATING, &values);
    // Before the plan is cached, and after.
    for _ in 0..2 {
        for list in &lists {
            refused(&mesh, list, &cursor);
        }
        for altered in altered.iter().chain([&other_secret]) {
            refused(&mesh, BY_RATING, altered);
        }
        later(&mesh, BY_RATING, &values);
        for list in &lists {
            later(&mesh, list, &["a".into(), 7.into()]);
        }
    }
    // A cursor with the MAC of this read, but with more values than the order has keys.
    refused(&mesh, BY_RATING, &self::cursor(&mesh, BY_RATING, &[1.5.into(), 7.into(), 8.into()]));
}

/// Texts that only seem to contain a cursor, and texts with cursors in unusual notation.
#[test]
fn texts_with_unusual_cursors_have_their_own_plans() {
    let mesh = mesh();
    let lists = [
        r#"{"post":{"$page":{"after":{},"first":1},"$select":{"id":true,"after":true}}}"#,
        "{\"post\":{\"$page\":{\"after\" :\r\n\t{}},\"$select\":{\"id\":true}}}",
        r#"{"post":{"$page":{"\u0061fter":{}},"$select":{"id":true}}}"#,
        r#"{"post":{"$page":{"after":{}},"$select":{"id":true},"$where":{"field":"title","op":"eq","value":"\"after\":\"AAAAAAAAAAAAAAAAAAAAAAAA\""}}}"#,
        r#"{"post":{"$page":{"after":{}},"$select":{"id":true},"$where":{"field":"after","op":"in","value":["after","after"]}}}"#,
    ];
    for list in lists {
        for id in [7, 8, 7] {
            let page = later(&mesh, list, &[id.into()]);
            assert_eq!(page.cursor(), Some(&[Value::from(id)][..]), "{list}");
            // Without a cache.
            assert_eq!(page.to_string(), later(&self::mesh(), list, &[id.into()]).to_string());
        }
        let first = plan(&mesh, &list.replace("{}", "null")).unwrap();
        assert_eq!(first.cursor(), None, "{list}");
    }
    let cursor = cursor(&mesh, lists[0], &[7.into()]);
    for wrong in [
        format!(r#"{{"post":{{"$select":{{"id":true}},"$page":{{"after":"{cursor}"}}}}"#),
        format!(
            r#"{{"post":{{"$select":{{"id":true}},"$page":{{"after":"{cursor}","after":"{cursor}"}}}}}}"#
        ),
        format!(r#"{{"post":{{"$select":{{"id":true}},"$where":{{"after":"{cursor}"}}}}}}"#),
    ] {
        let message = plan(&mesh, &wrong).unwrap_err().to_string();
        assert_eq!(message, plan(&mesh, &wrong).unwrap_err().to_string());
        assert!(matches!(plan(&mesh, &wrong), Err(Error::Syntax(_))), "{message}");
    }
    let point = format!(r#"{{"post":{{"$select":{{"id":true}},"$page":{{"after":"{cursor}"}}}}}}"#);
    later(&mesh, &point.replace(&format!("\"{cursor}\""), "{}"), &[7.into()]);
    assert!(mesh.plan(&Request::point(Format::Json, &point, "7")).is_err());
    assert!(mesh.plan(&Request::collection(Format::Json, &point).with_entity("tag")).is_err());
    assert!(mesh.plan(&Request::collection(Format::Json, &point).with_entity("post")).is_ok());
    assert!(mesh.plan(&Request::collection(Format::Ql, &point)).is_err());
}

#[test]
fn ids_share_a_plan() {
    let mesh = mesh();
    let plan = |id| mesh.plan(&Request::point(Format::Ql, "{ post title }", id)).unwrap();
    let (first, second) = (plan("1"), plan("2"));
    assert_eq!(first.id(), second.id());
    assert_ne!(first.key(), second.key());
    assert_eq!(*second.target(), ReadTarget::Point(2.into()));
    let list = mesh.plan(&Request::collection(Format::Ql, "{ post title }")).unwrap();
    assert_eq!((list.target(), mesh.plans_cached()), (&ReadTarget::Collection, 2));
}

#[test]
fn the_entity_of_the_path_is_checked_whether_or_not_the_plan_is_cached() {
    let mesh = mesh();
    let plan = |entity| mesh.plan(&Request::collection(Format::Ql, "{ post title }").with_entity(entity));
    for _ in 0..2 {
        let Err(Error::Plan(error)) = plan("tag") else { panic!("it was planned") };
        assert!(matches!(error.kind, PlanErrorKind::RootMismatch { .. }) && error.position.is_some());
        let Err(Error::Plan(error)) = plan("nosuch") else { panic!("it was planned") };
        assert!(matches!(error.kind, PlanErrorKind::UnknownEntity { .. }));
        assert!(plan("post").is_ok());
    }
}

/// The titles of a list, as a parameter.
const BY_TITLES: &str =
    r#"{"post":{"$select":{"id":true},"$where":{"field":"title","op":"in","value":{"$param":"titles"}}}}"#;

fn with_titles(mesh: &Mesh, text: &str, titles: &[&str]) -> Result<Plan, Error> {
    let params = ParamValues::new().with("titles", titles.to_vec());
    mesh.plan(&Request::collection(Format::Json, text).with_params(Some(&params)))
}

#[test]
fn values_of_one_form_share_a_plan() {
    let mesh = mesh();
    let plans = [&["a", "b"], &["c", "d"]].map(|titles| with_titles(&mesh, BY_TITLES, titles).unwrap());
    assert_eq!(plans[0].id(), plans[1].id());
    assert_ne!(plans[0].key(), plans[1].key());
    let many: Vec<String> = (0..200).map(|number| number.to_string()).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    for count in 0..=many.len() {
        with_titles(&mesh, BY_TITLES, &many[..count]).unwrap();
    }
    assert!(mesh.plans_cached() <= 10, "one plan for each power of two: {}", mesh.plans_cached());
}

#[test]
fn a_text_with_nul_is_no_plan_of_another_form() {
    let mesh = mesh();
    with_titles(&mesh, BY_TITLES, &["a"]).unwrap();
    let plan = with_titles(&mesh, BY_TITLES, &["a", "b"]).unwrap();
    let forged = format!("{BY_TITLES}\0{}", plan.query.variant());
    let refused = with_titles(&mesh, &forged, &["a", "b"]);
    assert!(matches!(refused, Err(Error::Syntax(_))), "{refused:?}");
}
