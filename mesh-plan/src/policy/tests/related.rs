//! Conditions on related records.

use mesh_ql::Quantifier;

use super::*;
use crate::Change;
use crate::error::PlanErrorKind;
use crate::plan::ConditionOrigin;

/// Authors see posts with audits, which are hidden from them, and others their own posts.
fn liked(role: &str, entity: &Entity) -> Access {
    let condition = match role {
        "author" => Condition::related("audits", Quantifier::Some, None),
        _ => Condition::related("owner", Quantifier::Some, Condition::equal("id", SessionValue::UserId)),
    };
    match entity.key.as_str() {
        "post" => Access::all().when(condition),
        _ => Access::none(),
    }
}

fn mesh() -> Mesh {
    Mesh::builder(schema()).default_resolver(tables()).policy(liked).build().unwrap()
}

#[test]
fn records_of_hidden_entities_decide() {
    assert_eq!(read(&mesh(), Some(&who("author", 1)), POSTS, None), r#"[{"id":1}]"#);
    assert_eq!(read(&mesh(), Some(&who("member", 2)), POSTS, None), r#"[{"id":3},{"id":4}]"#);
    let hidden = r#"{"post":{"$select":{"audits":{"$select":{"id":true}}}}}"#;
    let error = plan(&mesh(), Some(&who("author", 1)), hidden, None).unwrap_err().to_string();
    assert_eq!(error, "Field 'audits' not found on entity 'post'");
}

#[test]
fn changes_of_the_records_that_decide_touch_the_plan() {
    let mesh = mesh();
    let point = plan(&mesh, Some(&who("author", 1)), POSTS, Some("1")).unwrap();
    let is_touched = |change: Change| point.is_touched_by(&change, mesh.schema());
    assert!(is_touched(Change::record("audit", "7")));
    assert!(!is_touched(Change::record("user", "7")));
    assert!(!is_touched(Change::record("post", "2")));
    let point = plan(&mesh, Some(&who("member", 1)), POSTS, Some("1")).unwrap();
    assert!(point.is_touched_by(&Change::entity("user"), mesh.schema()));
}

#[test]
fn the_related_records_belong_to_the_condition_of_the_policy() {
    let plan = plan(&mesh(), Some(&who("member", 2)), POSTS, None).unwrap();
    let conditions = plan.conditions();
    let [condition] = conditions.as_slice() else { panic!("{conditions:?}") };
    assert_eq!(condition.origin, ConditionOrigin::Policy);
    assert_eq!(condition.text, "owner some (id = session.userId)");
    assert_eq!(condition.session.len(), 1);
}

#[test]
fn an_unknown_relation_is_an_error_of_the_application() {
    for condition in [
        Condition::related("nothing", Quantifier::None, None),
        Condition::related("title", Quantifier::None, None),
        Condition::related("audits", Quantifier::None, Condition::equal("nothing", 1)),
        Condition::equal("audits.id", 1),
        Condition::equal("owner.nothing", 1),
    ] {
        let wrong = move |role: &str, entity: &Entity| match (role, entity.key.as_str()) {
            ("author", "post") => Access::all().when(condition.clone()),
            _ => Access::all(),
        };
        let mesh = Mesh::builder(schema()).default_resolver(tables()).policy(wrong).build().unwrap();
        let Err(Error::Plan(error)) = plan(&mesh, Some(&who("author", 1)), POSTS, None) else {
            panic!("a plan")
        };
        assert!(matches!(error.kind, PlanErrorKind::Policy { .. }), "{error}");
    }
}
