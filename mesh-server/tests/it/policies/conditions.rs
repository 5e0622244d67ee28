//! Conditions of schema documents on values of the session and on related records: equal on all databases, for reads and
//! for writes.

use mesh_postgres::Settings;
use mesh_ql::Literal;
use mesh_server::mesh_plan::policy::ClaimValue;
use mesh_tests::Cluster;
use serde_json::{Value as Json, json};

use super::*;

/// The tables, in SQL that both databases accept.
const TABLES: &str = "
CREATE TABLE users (id BIGINT PRIMARY KEY, name TEXT);
CREATE TABLE projects (id BIGINT PRIMARY KEY, name TEXT, owner_id BIGINT);
CREATE TABLE members (id BIGINT PRIMARY KEY, project_id BIGINT, user_id BIGINT, level BIGINT);
CREATE TABLE posts (id BIGINT PRIMARY KEY, title TEXT, project_id BIGINT, team_id BIGINT, tenant TEXT);
INSERT INTO users VALUES (7, 'Ada'), (8, 'Bo'), (9, 'Cy');
INSERT INTO projects VALUES (1, 'one', 7), (2, 'two', 8), (3, 'three', NULL);
INSERT INTO members VALUES (1, 1, 7, 9), (2, 1, 8, 1), (3, 2, 8, 9), (4, 3, 9, 1);
INSERT INTO posts VALUES (1, 'a', 1, 10, 'red'), (2, 'b', 1, 20, 'red'), (3, 'c', 2, 10, 'blue'),
    (4, 'd', 2, NULL, NULL), (5, 'e', NULL, 30, '7'), (6, 'f', 3, NULL, NULL);
";

fn tables() -> Tables {
    let projects = [(1, "one", Some(7)), (2, "two", Some(8)), (3, "three", None)];
    let members = [(1, 1, 7, 9), (2, 1, 8, 1), (3, 2, 8, 9), (4, 3, 9, 1)];
    let posts = [
        (1, "a", Some(1), Some(10), Some("red")),
        (2, "b", Some(1), Some(20), Some("red")),
        (3, "c", Some(2), Some(10), Some("blue")),
        (4, "d", Some(2), None, None),
        (5, "e", None, Some(30), Some("7")),
        (6, "f", Some(3), None, None),
    ];
    let users = [(7, "Ada"), (8, "Bo"), (9, "Cy")];
    Tables::new()
        .with("users", ["id", "name"], users.map(|(id, name)| vec![Value::from(id), name.into()]))
        .with(
            "projects",
            ["id", "name", "owner_id"],
            projects.map(|(id, name, owner)| vec![Value::from(id), name.into(), owner.into()]),
        )
        .with(
            "members",
            ["id", "project_id", "user_id", "level"],
            members.map(|(id, project, user, level)| {
                vec![Value::from(id), project.into(), user.into(), level.into()]
            }),
        )
        .with(
            "posts",
            ["id", "title", "project_id", "team_id", "tenant"],
            posts.map(|(id, title, project, team, tenant)| {
                vec![Value::from(id), title.into(), project.into(), team.into(), tenant.into()]
            }),
        )
}

/// Returns a document with one role for each condition on posts: `r0`, `r1` and so on. None of them sees members and users,
/// `mixed` sees one project only, and `member` those that the user is a member of.
fn document(conditions: &[Json]) -> String {
    let role = |(index, condition): (usize, &Json)| {
        (format!("r{index}"), json!({"post": {"$where": condition, "writable": true}, "project": true}))
    };
    let mut roles: serde_json::Map<String, Json> = conditions.iter().enumerate().map(role).collect();
    roles.insert("admin".to_owned(), json!(true));
    let own = json!({"field": "project.ownerId", "op": "eq", "value": {"session": "userId"}});
    let two = json!({"field": "name", "op": "eq", "value": "two"});
    roles.insert("mixed".to_owned(), json!({"post": {"$where": own}, "project": {"$where": two}}));
    let member = json!({"relation": "members", "op": "some",
        "where": {"field": "userId", "op": "eq", "value": {"session": "userId"}}});
    roles.insert("member".to_owned(), json!({"post": true, "project": {"$where": member}}));
    json!({
        "entities": {
            "user": {"fields": ["id", "name"], "types": {"id": "integer", "name": "string"}},
            "project": {"fields": ["id", "name", "ownerId"], "columns": {"ownerId": "owner_id"},
                "types": {"id": "integer", "name": "string", "ownerId": "integer"}},
            "member": {"fields": ["id", "projectId", "userId", "level"],
                "columns": {"projectId": "project_id", "userId": "user_id"},
                "types": {"id": "integer", "projectId": "integer", "userId": "integer", "level": "integer"}},
            "post": {"fields": ["id", "title", "projectId", "teamId", "tenant"],
                "columns": {"projectId": "project_id", "teamId": "team_id"}, "writable": true,
                "types": {"id": "integer", "title": "string", "projectId": "integer", "teamId": "integer",
                    "tenant": "string"}}
        },
        "joins": {
            "post.project": {"entity": "project", "type": "one", "on": "projects.id = posts.project_id"},
            "project.posts": {"entity": "post", "type": "many", "on": "posts.project_id = projects.id"},
            "project.members": {"entity": "member", "type": "many", "on": "members.project_id = projects.id"},
            "project.people": {"entity": "user", "type": "many",
                "through": {"table": "members", "from": "project_id", "to": "user_id"}},
            "member.project": {"entity": "project", "type": "one", "on": "projects.id = members.project_id"}
        },
        "policies": roles
    })
    .to_string()
}

/// One document over tables in memory, SQLite and, if it is installed, PostgreSQL.
struct Sites {
    memory: Mesh,
    databases: Vec<Mesh>,
    _folder: Folder,
    _cluster: Option<Cluster>,
}

impl Sites {
    async fn new(conditions: &[Json]) -> Self {
        let document = document(conditions);
        let schema = || Schema::read(&document, None).unwrap();
        let folder = Folder::new();
        let path = folder.0.join("data.db");
        rusqlite::Connection::open(&path).unwrap().execute_batch(TABLES).unwrap();
        let sqlite = Database::open(&path).unwrap();
        let writer = sqlite.writer().unwrap();
        let sqlite = Mesh::builder(schema()).default_resolver(sqlite).default_mutator(writer);
        let mut databases = vec![sqlite.build().unwrap()];
        let cluster = Cluster::start();
        if let Some(cluster) = &cluster {
            cluster.execute(TABLES);
            let opened =
                mesh_postgres::Database::connect(&cluster.url(), &Settings::default()).await.unwrap();
            let catalog = opened.contents(&[]).await.unwrap().catalog;
            let schema = Schema::read(&document, Some(&catalog)).unwrap();
            let writer = opened.writer();
            databases.push(
                Mesh::builder(schema).default_resolver(opened).default_mutator(writer).build().unwrap(),
            );
        }
        let memory = Mesh::builder(schema()).default_resolver(tables()).build().unwrap();
        Self { memory, databases, _folder: folder, _cluster: cluster }
    }

    /// Checks which posts a principal sees, and that it can write these and no other.
    async fn check(&self, who: &Principal, expected: &[i64], case: &str) {
        for mesh in self.databases.iter().chain([&self.memory]) {
            assert_eq!(ids(mesh, who).await, expected, "{case}");
            let count = r#"{"post":{"$select":{},"$aggregate":{"n":{"fn":"count"}}}}"#;
            let count = read(mesh, Some(who), count, None).await;
            assert!(count.contains(&format!(r#""n":{}"#, expected.len())), "{case}: {count}");
        }
        for mesh in &self.databases {
            for id in 1..=6 {
                let (text, title) = (id.to_string(), Fields::parse(br#"{"title":"x"}"#).unwrap());
                let written = write(mesh, who, update(&text), &title).await;
                match expected.contains(&id) {
                    true => drop(written.unwrap_or_else(|error| panic!("{case}: {error}"))),
                    false => assert!(
                        matches!(written, Err(Error::Write(WriteError::NotFound { .. }))),
                        "{case} {id}: {written:?}"
                    ),
                }
            }
        }
    }
}

async fn ids(mesh: &Mesh, who: &Principal) -> Vec<i64> {
    let query = r#"{"post":{"$select":{"id":true}}}"#;
    let body: Json = serde_json::from_str(&read(mesh, Some(who), query, None).await).unwrap();
    let items = body["items"].as_array().unwrap();
    items.iter().map(|item| item["id"].as_i64().unwrap()).collect()
}

async fn write(
    mesh: &Mesh,
    who: &Principal,
    target: WriteTarget<'_>,
    fields: &Fields,
) -> Result<String, Error> {
    let request = WriteRequest::new(target).with_fields(fields).with_principal(Some(who));
    let mutation = mesh.plan_write(&request)?;
    let reply = mesh.write(mutation, &Context::default()).await?;
    Ok(reply.body.map(|body| String::from_utf8(body.bytes.to_vec()).unwrap()).unwrap_or_default())
}

fn compare(field: &str, op: &str, claim: &str) -> Json {
    json!({"field": field, "op": op, "value": {"session": format!("claim.{claim}")}})
}

fn claim(value: &Json) -> ClaimValue {
    let one = |value: &Json| match value {
        Json::Bool(value) => Literal::Boolean(*value),
        Json::String(text) => Literal::Text(text.clone()),
        number => number.as_i64().map_or_else(|| Literal::Number(number.as_f64().unwrap()), Literal::Integer),
    };
    match value {
        Json::Array(values) => ClaimValue::Many(values.iter().map(one).collect()),
        value => ClaimValue::One(one(value)),
    }
}

const ALL: &[i64] = &[1, 2, 3, 4, 5, 6];

#[tokio::test]
async fn conditions_on_claims_hold_on_all_databases() {
    let is_in = compare("teamId", "in", "c");
    let is_not_in = compare("teamId", "nin", "c");
    let conditions = [
        is_in.clone(),
        is_not_in,
        json!({"not": is_in}),
        compare("teamId", "eq", "c"),
        json!({"not": compare("teamId", "eq", "c")}),
        compare("teamId", "gte", "c"),
        compare("tenant", "eq", "c"),
        compare("tenant", "ne", "c"),
        compare("tenant", "in", "c"),
        json!({"or": [compare("teamId", "in", "c"), compare("tenant", "in", "d")]}),
    ];
    let sites = Sites::new(&conditions).await;
    let many: Vec<i64> = (0..201).collect();
    for (role, value, expected) in [
        (0, json!([10, 30]), &[1, 3, 5][..]),
        (0, json!(10), &[1, 3]),
        (0, json!([10]), &[1, 3]),
        (0, json!([10, 10, 11, 12, 30]), &[1, 3, 5]),
        (0, json!([]), &[]),
        (0, json!(["10", 20.0]), &[1, 2, 3]),
        (0, json!(["010", "x", true, 10.5]), &[]),
        (0, json!([10, "x"]), &[1, 3]),
        (0, json!(many), &[]),
        (1, json!([]), ALL),
        (1, json!([10]), &[2, 5]),
        (1, json!([10, "x"]), &[]),
        (1, json!("x"), &[]),
        (1, json!(many), &[]),
        (2, json!([10]), &[2, 5]),
        (2, json!([]), ALL),
        (2, json!([10, "x"]), &[]),
        (3, json!(10), &[1, 3]),
        (3, json!("10"), &[1, 3]),
        (3, json!([10]), &[]),
        (4, json!(10), &[2, 5]),
        (4, json!([10]), &[]),
        (4, json!("x"), &[]),
        (5, json!(20), &[2, 5]),
        (6, json!("red"), &[1, 2]),
        (6, json!(7), &[]),
        (7, json!("red"), &[3, 5]),
        (7, json!(7), &[]),
        (7, json!("7"), &[1, 2, 3]),
        (8, json!(["red", "7"]), &[1, 2, 5]),
        (8, json!(["re\"d", "a\\b", "{}", "NULL", "red\0", "red'"]), &[]),
        (8, json!([7, true]), &[]),
        (9, json!([10]), &[1, 3]),
    ] {
        let who = Principal::new("7", "s").with_role(format!("r{role}")).with_claim("c", claim(&value));
        sites.check(&who, expected, &format!("{} {value}", conditions[role])).await;
    }
    for (role, condition) in conditions.iter().enumerate() {
        let who = Principal::new("7", "s").with_role(format!("r{role}")).with_claim("other", 10);
        sites.check(&who, &[], &format!("{condition} without the claim")).await;
    }
}

#[tokio::test]
async fn sessions_of_a_role_share_a_plan_whatever_their_claims_are() {
    let sites = Sites::new(&[compare("teamId", "in", "c")]).await;
    for mesh in &sites.databases {
        for (value, expected) in [(json!([10, 30]), &[1, 3, 5][..]), (json!(20), &[2]), (json!([]), &[])] {
            let who = Principal::new("7", "s").with_role("r0").with_claim("c", claim(&value));
            assert_eq!(ids(mesh, &who).await, expected);
        }
        assert_eq!(mesh.plans_cached(), 1);
    }
}

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
