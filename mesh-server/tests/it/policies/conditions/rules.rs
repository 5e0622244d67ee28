//! Checks of written records, and values of fields that roles cannot choose.

use super::*;

/// Returns sites with one role, `r`, that has this rule for posts and sees all projects.
async fn sites(rule: Json) -> Sites {
    Sites::of(&json!({"admin": true, "r": {"post": rule, "project": true}})).await
}

async fn post(mesh: &Mesh, id: &str) -> String {
    let admin = Principal::new("1", "s").with_role("admin");
    let query = r#"{"post":{"$select":{"projectId":true,"teamId":true,"tenant":true}}}"#;
    read(mesh, Some(&admin), query, Some(id)).await
}

const CREATE: WriteTarget<'_> = WriteTarget::Create { entity: "post" };

fn is_refused(result: &Result<String, Error>) -> bool {
    matches!(result, Err(Error::Write(WriteError::Refused(_))))
}

#[tokio::test]
async fn a_written_record_fulfills_the_check_instead_of_the_condition() {
    let rule = json!({
        "$where": {"field": "tenant", "op": "eq", "value": "red"},
        "$check": {"field": "teamId", "op": "lt", "value": {"session": "claim.limit"}},
        "writable": true
    });
    let sites = sites(rule).await;
    let who = Principal::new("7", "s").with_role("r").with_claim("limit", 100);
    for mesh in &sites.databases {
        let write = async |target, body: &str| {
            write(mesh, &who, target, &Fields::parse(body.as_bytes()).unwrap()).await
        };
        assert_eq!(ids(mesh, &who).await, [1, 2]);
        assert!(is_refused(&write(update("1"), r#"{"teamId": 500}"#).await));
        assert!(is_refused(&write(update("1"), r#"{"teamId": null}"#).await));
        assert!(is_refused(&write(CREATE, r#"{"id": 20, "tenant": "red", "teamId": 100}"#).await));
        assert!(is_refused(&write(CREATE, r#"{"id": 20, "tenant": "red"}"#).await));
        // The condition decides which records are found.
        assert!(matches!(
            write(update("3"), r#"{"teamId": 5}"#).await,
            Err(Error::Write(WriteError::NotFound { .. }))
        ));
        // The reply shows what the role sees.
        assert_eq!(write(CREATE, r#"{"id": 20, "tenant": "blue", "teamId": 5}"#).await.unwrap(), "null");
        assert_eq!(write(update("1"), r#"{"tenant": "blue"}"#).await.unwrap(), "null");
        assert_eq!(post(mesh, "20").await, r#"{"projectId":null,"teamId":5,"tenant":"blue"}"#);
        assert_eq!(ids(mesh, &who).await, [2]);
        let child = |id| WriteTarget::Attach { entity: "project", id, relation: "posts" };
        assert!(is_refused(&write(child("1".into()), r#"{"id": 21, "teamId": 100}"#).await));
        assert!(write(child("1".into()), r#"{"id": 21, "teamId": 99}"#).await.is_ok());
        let connect = WriteTarget::Connect { entity: "post", id: "2".into(), relation: "project" };
        assert!(write(connect, r#"{"entityId": 2}"#).await.is_ok());
        let nothing = Principal::new("7", "s").with_role("r");
        let connected =
            super::write(mesh, &nothing, connect, &Fields::parse(br#"{"entityId": 1}"#).unwrap()).await;
        assert!(is_refused(&connected), "the session lacks the value");
        assert!(write(WriteTarget::Delete { entity: "post", id: "2".into() }, "{}").await.is_ok());
    }
}

#[tokio::test]
async fn presets_fill_fields_that_the_role_cannot_write() {
    let rule = json!({
        "except": ["projectId"],
        "$set": {"teamId": {"session": "claim.team"}},
        "$setOnCreate": {"tenant": "new"},
        "writable": true
    });
    let sites = sites(rule).await;
    let who = Principal::new("7", "s").with_role("r").with_claim("team", "77");
    for mesh in &sites.databases {
        let write_as = async |who: &Principal, target, body: &str| {
            write(mesh, who, target, &Fields::parse(body.as_bytes()).unwrap()).await
        };
        let write = async |target, body: &str| write_as(&who, target, body).await;
        write(CREATE, r#"{"id": 30, "title": "x"}"#).await.unwrap();
        assert_eq!(post(mesh, "30").await, r#"{"projectId":null,"teamId":77,"tenant":"new"}"#);
        write(update("1"), r#"{"tenant": "old"}"#).await.unwrap();
        assert_eq!(post(mesh, "1").await, r#"{"projectId":1,"teamId":77,"tenant":"old"}"#);
        write(update("2"), "{}").await.unwrap();
        assert_eq!(post(mesh, "2").await, r#"{"projectId":1,"teamId":20,"tenant":"red"}"#);
        let child = WriteTarget::Attach { entity: "project", id: "2".into(), relation: "posts" };
        let refused = write(child, r#"{"id": 31}"#).await.unwrap_err().to_string();
        assert!(refused.contains("posts"), "the link is in a hidden field: {refused}");
        for (target, body, message) in [
            (CREATE, r#"{"id": 32, "teamId": 77}"#, "Field 'teamId' on entity 'post' is not writable"),
            (CREATE, r#"{"id": 32, "tenant": "x"}"#, "Field 'tenant' on entity 'post' is not writable"),
            (update("1"), r#"{"teamId": 1}"#, "Field 'teamId' on entity 'post' is not writable"),
            (update("1"), r#"{"projectId": 2}"#, "Field 'projectId' not found on entity 'post'"),
        ] {
            let refused = write(target, body).await.unwrap_err().to_string();
            assert!(refused.starts_with(message), "{body}: {refused}");
        }
        for team in [json!([77]), json!("x"), json!(1.5)] {
            let who = Principal::new("7", "s").with_role("r").with_claim("team", claim(&team));
            assert!(is_refused(&write_as(&who, CREATE, r#"{"id": 33}"#).await), "{team}");
        }
        let who = Principal::new("7", "s").with_role("r");
        assert!(is_refused(&write_as(&who, update("1"), r#"{"title": "x"}"#).await));
    }
    for mesh in sites.databases.iter().chain([&sites.memory]) {
        for query in [
            r#"{"post":{"$select":{"projectId":true}}}"#,
            r#"{"post":{"$select":{"id":true},"$where":{"field":"projectId","op":"eq","value":1}}}"#,
            r#"{"post":{"$select":{"id":true},"$orderBy":[{"field":"projectId","direction":"asc"}]}}"#,
            r#"{"post":{"$select":{},"$aggregate":{"n":{"fn":"max","field":"projectId"}}}}"#,
        ] {
            let refused = mesh.plan(&Request::collection(Format::Json, query).with_principal(Some(&who)));
            let refused = refused.unwrap_err().to_string();
            assert!(refused.starts_with("Field 'projectId' not found on entity 'post'"), "{refused}");
        }
        assert!(
            read(mesh, Some(&who), r#"{"post":{"$select":{"project":{"$select":{"id":true}}}}}"#, Some("3"))
                .await
                .contains("2")
        );
    }
}

#[tokio::test]
async fn a_role_that_inherits_writes_what_one_of_the_roles_writes() {
    let red = json!({"field": "tenant", "op": "eq", "value": "red"});
    let own = json!({"field": "project.ownerId", "op": "eq", "value": {"session": "userId"}});
    let writable = json!({"create": ["id", "title", "projectId", "tenant"], "update": ["title", "tenant"], "delete": true});
    let sites = Sites::of(&json!({
        "viewer": {"post": {"$where": red}, "project": true},
        "author": {"post": {"$where": own, "writable": writable}, "project": true},
        "both": {"$inherits": ["viewer", "author"]},
        "chief": {"$inherits": ["both"], "post": {"$where": {"field": "teamId", "op": "eq", "value": 30}}},
        "admin": true,
        "deputy": {"$inherits": ["viewer", "admin"]}
    }))
    .await;
    let of = |role: &str| Principal::new("8", "s").with_role(role);
    for mesh in sites.databases.iter().chain([&sites.memory]) {
        for (role, expected) in [
            ("viewer", &[1, 2][..]),
            ("author", &[3, 4]),
            ("both", &[1, 2, 3, 4]),
            ("chief", &[1, 2, 3, 4, 5]),
            ("deputy", ALL),
        ] {
            assert_eq!(ids(mesh, &of(role)).await, expected, "{role}");
        }
    }
    for mesh in &sites.databases {
        let who = of("chief");
        let write = async |target, body: &str| {
            write(mesh, &who, target, &Fields::parse(body.as_bytes()).unwrap()).await
        };
        let is_missing =
            |result: Result<String, Error>| matches!(result, Err(Error::Write(WriteError::NotFound { .. })));
        let delete = |id: &'static str| WriteTarget::Delete { entity: "post", id: id.into() };
        // Only the rule of authors grants writes, so only its records can be written.
        for id in ["1", "2", "5", "6"] {
            assert!(is_missing(write(update(id), r#"{"title": "x"}"#).await), "{id}");
            assert!(is_missing(write(delete(id), "{}").await), "{id}");
        }
        assert!(write(update("3"), r#"{"title": "x", "tenant": "red"}"#).await.is_ok());
        assert!(is_refused(&write(CREATE, r#"{"id": 40, "tenant": "red"}"#).await));
        assert!(is_refused(&write(CREATE, r#"{"id": 40, "projectId": 1}"#).await));
        assert!(write(CREATE, r#"{"id": 40, "projectId": 2}"#).await.is_ok());
        assert!(write(update("3"), r#"{"projectId": 1}"#).await.is_err());
        assert!(write(delete("4"), "{}").await.is_ok());
        assert_eq!(ids(mesh, &who).await, [1, 2, 3, 5, 40]);
        assert_eq!(mesh.plans_cached(), 6, "one for each role that has read, and the replies");
    }
}

#[tokio::test]
async fn presets_of_rules_that_write_different_records_are_refused() {
    let document = document(&json!({
        "one": {"post": {"$set": {"teamId": 1}, "writable": ["title"]}},
        "two": {"post": {"$setOnCreate": {"teamId": 2}, "writable": ["title"]}},
        "reader": {"post": {"$set": {"teamId": 3}}},
        "fine": {"$inherits": ["one", "reader"]},
        "both": {"$inherits": ["one", "two"]}
    }));
    let schema = Schema::read(&document, None).unwrap();
    let error = Mesh::builder(schema).default_resolver(tables()).build().unwrap_err().to_string();
    let expected = "policies.both.post: 'one' and 'two' have different values of '$set' or '$setOnCreate'; give both rules the same values";
    assert!(error.contains(expected) && !error.contains("fine"), "{error}");
}
