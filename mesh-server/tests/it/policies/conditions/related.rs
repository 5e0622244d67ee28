//! Conditions on related records.

use super::*;

#[tokio::test]
async fn conditions_on_related_records_hold_on_all_databases() {
    let me = |field: &str| json!({"field": field, "op": "eq", "value": {"session": "userId"}});
    let related = |relation: &str, op: &str, condition: Json| json!({"relation": relation, "op": op, "where": condition});
    let is_member = || related("members", "some", me("userId"));
    let level = compare("level", "in", "levels");
    let conditions = [
        related("project", "some", is_member()),
        me("project.ownerId"),
        json!({"not": me("project.ownerId")}),
        related("project", "none", is_member()),
        related(
            "project",
            "some",
            related("members", "every", json!({"field": "level", "op": "gte", "value": 5})),
        ),
        json!({"or": [
            me("project.ownerId"),
            related("project", "some", related("members", "some", json!({"and": [me("userId"), level]}))),
        ]}),
        json!({"field": "project.ownerId", "op": "isNull"}),
        json!({"relation": "project", "op": "some"}),
        related("project", "some", related("members", "some", me("project.ownerId"))),
        related("project", "some", related("people", "some", me("id"))),
        json!({"and": [me("project.ownerId"), {"not": related("project", "some", is_member())}]}),
    ];
    let sites = Sites::new(&conditions).await;
    for (role, user, expected) in [
        (0, "7", &[1, 2][..]),
        (0, "8", &[1, 2, 3, 4]),
        (0, "9", &[6]),
        (0, "x", &[]),
        (1, "7", &[1, 2]),
        (1, "8", &[3, 4]),
        (2, "7", &[3, 4]),
        (2, "x", &[]),
        (3, "7", &[3, 4, 5, 6]),
        (3, "9", &[1, 2, 3, 4, 5]),
        (4, "7", &[3, 4]),
        (5, "7", &[1, 2]),
        (5, "8", &[3, 4]),
        (5, "9", &[]),
        (6, "7", &[5, 6]),
        (7, "7", &[1, 2, 3, 4, 6]),
        (8, "7", &[1, 2]),
        (9, "7", &[1, 2]),
        (9, "8", &[1, 2, 3, 4]),
        (9, "5", &[]),
        (10, "7", &[]),
        (10, "8", &[]),
    ] {
        let who =
            Principal::new(user, "s").with_role(format!("r{role}")).with_claim("levels", claim(&json!([9])));
        sites.check(&who, expected, &format!("{user}: {}", conditions[role])).await;
    }
    let bo = Principal::new("8", "s").with_role("r5").with_claim("levels", 1);
    sites.check(&bo, &[1, 2, 3, 4], "another claim").await;
}

#[tokio::test]
async fn records_cannot_be_moved_out_of_a_condition_on_related_records() {
    let member = json!({"field": "userId", "op": "eq", "value": {"session": "userId"}});
    let member = json!({"relation": "members", "op": "some", "where": member});
    let sites = Sites::new(&[json!({"relation": "project", "op": "some", "where": member})]).await;
    let who = Principal::new("7", "s").with_role("r0");
    for mesh in &sites.databases {
        for (target, body, is_allowed) in [
            (WriteTarget::Create { entity: "post" }, r#"{"id": 10, "projectId": 1}"#, true),
            (WriteTarget::Create { entity: "post" }, r#"{"id": 11, "projectId": 2}"#, false),
            (WriteTarget::Create { entity: "post" }, r#"{"id": 12}"#, false),
            (update("1"), r#"{"projectId": 2}"#, false),
            (update("1"), r#"{"projectId": null}"#, false),
            (update("10"), r#"{"id": 13}"#, true),
        ] {
            let written = write(mesh, &who, target, &Fields::parse(body.as_bytes()).unwrap()).await;
            match is_allowed {
                true => assert!(written.is_ok(), "{body}: {written:?}"),
                false => {
                    assert!(
                        matches!(written, Err(Error::Write(WriteError::Refused(_)))),
                        "{body}: {written:?}"
                    );
                }
            }
        }
        assert_eq!(ids(mesh, &who).await, [1, 2, 13]);
        let delete = |id| WriteTarget::Delete { entity: "post", id };
        let none = Fields::parse(b"{}").unwrap();
        assert!(write(mesh, &who, delete("3".into()), &none).await.is_err());
        assert!(write(mesh, &who, delete("13".into()), &none).await.is_ok());
        assert_eq!(ids(mesh, &who).await, [1, 2]);
    }
}

#[tokio::test]
async fn a_condition_on_hidden_records_does_not_show_them() {
    let sites = Sites::new(&[json!({"field": "id", "op": "gt", "value": 0})]).await;
    let (ada, anybody) =
        (Principal::new("7", "s").with_role("mixed"), Principal::new("7", "s").with_role("r0"));
    for mesh in sites.databases.iter().chain([&sites.memory]) {
        let list = async |query: &str| read(mesh, Some(&ada), query, None).await;
        // Ada's posts belong to a project that she cannot see.
        let found = list(r#"{"post":{"$select":{"id":true,"project":{"$select":{"name":true}}}}}"#).await;
        assert!(
            found.starts_with(r#"{"items":[{"id":1,"project":null},{"id":2,"project":null}]"#),
            "{found}"
        );
        for condition in [
            r#"{"field":"project.name","op":"eq","value":"one"}"#,
            r#"{"field":"project.name","op":"isNotNull"}"#,
            r#"{"relation":"project","op":"some"}"#,
            r#"{"relation":"project","op":"some","where":{"field":"ownerId","op":"eq","value":7}}"#,
        ] {
            let found =
                list(&format!(r#"{{"post":{{"$select":{{"id":true}},"$where":{condition}}}}}"#)).await;
            assert!(found.starts_with(r#"{"items":[]"#), "{condition}: {found}");
        }
        let by_name = r#"{"post":{"$select":{"id":true},"$orderBy":[{"field":"project.name","direction":"desc"},{"field":"id","direction":"desc"}]}}"#;
        let found = list(by_name).await;
        assert!(found.starts_with(r#"{"items":[{"id":2},{"id":1}]"#), "{found}");
        let projects = r#"{"project":{"$select":{"name":true,"posts":{"$select":{"id":true}},"n":{"$relation":"posts","$select":{},"$aggregate":{"n":{"fn":"count"}}}}}}"#;
        let found = list(projects).await;
        assert!(found.starts_with(r#"{"items":[{"name":"two","posts":[],"n":{"n":0}}]"#), "{found}");
        let query = r#"{"project":{"$select":{"members":{"$select":{"id":true}}}}}"#;
        let refused = mesh.plan(&Request::collection(Format::Json, query).with_principal(Some(&anybody)));
        assert!(refused.unwrap_err().to_string().contains("Field 'members' not found on entity 'project'"));
    }
}

/// Queries that use projects in all positions.
const OF_PROJECTS: [&str; 12] = [
    r#"{"post":{"$select":{"id":true,"project":{"$select":{"name":true,"posts":{"$select":{"id":true}}}}}}}"#,
    r#"{"post":{"$select":{"id":true},"$where":{"field":"project.name","op":"eq","value":"one"}}}"#,
    r#"{"post":{"$select":{"id":true},"$where":{"not":{"field":"project.name","op":"eq","value":"one"}}}}"#,
    r#"{"post":{"$select":{"id":true},"$where":{"field":"project.name","op":"isNull"}}}"#,
    r#"{"post":{"$select":{"id":true},"$where":{"relation":"project","op":"some"}}}"#,
    r#"{"post":{"$select":{"id":true},"$where":{"relation":"project","op":"none","where":{"field":"name","op":"eq","value":"one"}}}}"#,
    r#"{"post":{"$select":{"id":true},"$where":{"relation":"project","op":"every","where":{"field":"ownerId","op":"eq","value":7}}}}"#,
    r#"{"post":{"$select":{"id":true},"$orderBy":[{"field":"project.name","direction":"desc"}],"$page":{"first":4,"total":true}}}"#,
    r#"{"project":{"$select":{"id":true,"n":{"$relation":"posts","$select":{},"$aggregate":{"n":{"fn":"count"}}}},"$page":{"first":1,"total":true}}}"#,
    r#"{"project":{"$select":{"name":true},"$orderBy":[{"relation":"posts","aggregate":{"fn":"count"},"direction":"desc"}]}}"#,
    r#"{"project":{"$select":{},"$aggregate":{"n":{"fn":"count"},"last":{"fn":"max","field":"name"}}}}"#,
    r#"{"project":{"$select":{"ownerId":true},"$distinct":["ownerId"],"$where":{"relation":"posts","op":"some","where":{"field":"project.ownerId","op":"gt","value":0}}}}"#,
];

#[tokio::test]
async fn related_records_that_a_policy_of_relations_hides_are_hidden_in_all_positions() {
    let sites = Sites::new(&[]).await;
    for (user, visible) in [("7", &["one"][..]), ("8", &["one", "two"]), ("9", &["three"]), ("x", &[])] {
        let who = Principal::new(user, "s").with_role("member");
        for query in OF_PROJECTS {
            let expected = read(&sites.memory, Some(&who), query, None).await;
            for name in ["one", "two", "three"].iter().filter(|name| !visible.contains(*name)) {
                assert!(!expected.contains(name), "{user} {query}: {expected}");
            }
            for mesh in &sites.databases {
                assert_eq!(
                    shape(&read(mesh, Some(&who), query, None).await),
                    shape(&expected),
                    "{user} {query}"
                );
            }
        }
        for id in 1..=3 {
            let query = r#"{"project":{"$select":{"name":true}}}"#;
            for mesh in sites.databases.iter().chain([&sites.memory]) {
                let found = read(mesh, Some(&who), query, Some(&id.to_string())).await;
                let name = ["one", "two", "three"][id - 1];
                let expected = if visible.contains(&name) { json!({"name": name}) } else { Json::Null };
                assert_eq!(found, expected.to_string());
            }
        }
    }
    let ada = Principal::new("7", "s").with_role("member");
    let projects = read(&sites.memory, Some(&ada), OF_PROJECTS[0], None).await;
    assert!(
        projects.starts_with(r#"{"items":[{"id":1,"project":{"name":"one","posts":[{"id":1},{"id":2}]}},"#)
    );
    let unnamed = read(&sites.memory, Some(&ada), OF_PROJECTS[3], None).await;
    assert!(unnamed.starts_with(r#"{"items":[{"id":3},{"id":4},{"id":5},{"id":6}]"#), "{unnamed}");
}

/// Returns a body without its cursors, which are sealed with a key of the process.
fn shape(body: &str) -> Json {
    let mut body: Json = serde_json::from_str(body).unwrap();
    if let Some(info) = body.get_mut("pageInfo").and_then(Json::as_object_mut) {
        info.remove("startCursor");
        info.remove("endCursor");
    }
    body
}
