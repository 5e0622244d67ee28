//! Conditions of schema documents on values of the session and on related records: equal on all databases, for reads and
//! for writes.

mod kinds;
mod related;
mod rules;

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

/// Returns one role for each condition on posts: `r0`, `r1` and so on. None of them sees members and users. `mixed`
/// sees only one project; `member` sees the projects of which the user is a member.
fn roles_of(conditions: &[Json]) -> Json {
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
    Json::Object(roles)
}

fn document(roles: &Json) -> String {
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
        Self::of(&roles_of(conditions)).await
    }

    async fn of(roles: &Json) -> Self {
        let document = document(roles);
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
    fields: &Fields<'_>,
) -> Result<String, Error> {
    let request = WriteRequest::new(target).with_fields(fields).with_principal(Some(who));
    let mutation = mesh.plan_write(&request)?;
    let reply = mesh.write(mutation, &Context::default()).await.into_result()?;
    Ok(reply.body.unwrap().map(|body| String::from_utf8(body.bytes.to_vec()).unwrap()).unwrap_or_default())
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

/// Attack with a session of few rights: a plan of another session of the same role.
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
