//! Claims in conditions.

use super::*;

fn mesh_with_operator(op: FilterOp) -> Mesh {
    let policy = move |_: &str, entity: &Entity| match entity.key.as_str() {
        "post" => Access::all().when(Condition::field("ownerId", op, SessionValue::claim("owners"))),
        _ => Access::all(),
    };
    Mesh::builder(schema()).default_resolver(tables()).policy(policy).build().unwrap()
}

fn author_with_owners(owners: impl Into<ClaimValue>) -> Principal {
    who("author", 1).with_claim("owners", owners)
}

#[test]
fn runs_with_other_claims_share_the_plan_and_have_other_keys() {
    let mesh = mesh_with_operator(FilterOp::In);
    let lists: [ClaimValue; 5] = [
        1.into(),
        vec![Literal::Integer(1), Literal::Integer(2)].into(),
        vec![Literal::Integer(2)].into(),
        vec![].into(),
        vec![Literal::Integer(1), Literal::Text("x".to_owned())].into(),
    ];
    let plans: Vec<Plan> = lists
        .into_iter()
        .map(|list| plan(&mesh, Some(&author_with_owners(list)), POSTS, None).unwrap())
        .collect();
    assert_eq!(mesh.plans_cached(), 1);
    for (index, one) in plans.iter().enumerate() {
        assert!(Arc::ptr_eq(&one.query, &plans[0].query));
        assert!(plans.iter().skip(index + 1).all(|other| other.key() != one.key()), "{index}");
    }
}

#[test]
fn a_list_takes_claims_only() {
    let policy = |role: &str, _: &Entity| match role {
        "author" => Access::all().when(Condition::field("id", FilterOp::Nin, SessionValue::UserId)),
        _ => Access::all(),
    };
    let mesh = Mesh::builder(schema()).default_resolver(tables()).policy(policy).build().unwrap();
    let error = plan(&mesh, Some(&who("author", 1)), POSTS, None).unwrap_err().to_string();
    assert!(error.contains("'id' takes a list or a claim with this operator"), "{error}");
}

#[test]
fn more_values_than_a_query_may_list_match_nothing() {
    let many = |count: i64| author_with_owners((0..count).map(Literal::Integer).collect::<Vec<_>>());
    let found = |op, count| read(&mesh_with_operator(op), Some(&many(count)), POSTS, None);
    assert_eq!(found(FilterOp::In, 200), r#"[{"id":1},{"id":2},{"id":3},{"id":4}]"#);
    assert_eq!((found(FilterOp::In, 201), found(FilterOp::Nin, 201)), ("[]".to_owned(), "[]".to_owned()));
}
