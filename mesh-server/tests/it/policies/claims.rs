//! Conditions on claims: texts with a meaning in SQL, and the types of PostgreSQL's columns.

use mesh_postgres::Settings;
use mesh_ql::{Format, Literal};
use mesh_server::mesh_plan::policy::ClaimValue;
use mesh_server::mesh_plan::{
    Context, Error, Fields, Mesh, Principal, RecordId, Request, WriteRequest, WriteTarget,
};
use mesh_server::mesh_schema::Schema;
use mesh_sqlite::Database;
use mesh_tests::Cluster;
use serde_json::{Value as Json, json};

async fn read(mesh: &Mesh, who: &Principal, query: &str) -> Json {
    let plan = mesh.plan(&Request::collection(Format::Json, query).with_principal(Some(who))).unwrap();
    serde_json::from_slice(&mesh.read(&plan, &Context::default()).await.unwrap().bytes).unwrap()
}

/// Updates a record without changing it.
async fn touch(mesh: &Mesh, who: &Principal, entity: &str, id: &str) -> Result<(), Error> {
    let target = WriteTarget::Update { entity, id: RecordId::Text(id) };
    let fields = Fields::parse(b"{}").unwrap();
    let mutation =
        mesh.plan_write(&WriteRequest::new(target).with_fields(&fields).with_principal(Some(who)))?;
    mesh.write(mutation, &Context::default()).await.into_result()?;
    Ok(())
}

/// Returns a rule whose condition compares a field with the claim `c`.
fn rule(field: &str, op: &str) -> Json {
    json!({"$where": {"field": field, "op": op, "value": {"session": "claim.c"}}, "writable": true})
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

/// Attack with a session of few rights: a plan of another session of the same role.
#[tokio::test]
async fn sessions_of_a_role_share_a_plan_whatever_their_claims_are() {
    let path = std::env::temp_dir().join(format!("mesh-claims-{}.db", std::process::id()));
    let _ = std::fs::remove_file(&path);
    let rows = "CREATE TABLE posts (id INTEGER PRIMARY KEY, team INTEGER, tenant TEXT);
        INSERT INTO posts VALUES (1, 10, 'red'), (2, 20, 'red'), (3, 10, '7'), (4, NULL, NULL)";
    rusqlite::Connection::open(&path).unwrap().execute_batch(rows).unwrap();
    let document = json!({
        "entities": {"post": {"fields": ["id", "team", "tenant"]}},
        "policies": {"team": {"post": rule("team", "in")}, "tenant": {"post": rule("tenant", "in")}}
    });
    let database = Database::open(&path).unwrap();
    let catalog = database.contents(&[]).unwrap().catalog;
    let schema = Schema::read(&document.to_string(), Some(&catalog)).unwrap();
    let mesh = Mesh::builder(schema).default_resolver(database).build().unwrap();
    for (role, value, expected) in [
        ("team", json!([10, 30]), json!([1, 3])),
        ("team", json!(20), json!([2])),
        ("team", json!([]), json!([])),
        ("team", json!(["10", 20.0]), json!([1, 2, 3])),
        ("team", json!(["010", "x", true, 10.5]), json!([])),
        ("tenant", json!(["red", "7"]), json!([1, 2, 3])),
        ("tenant", json!(["re\"d", "a\\b", "{}", "NULL", "red\0", "red'"]), json!([])),
        ("tenant", json!([7, true]), json!([])),
    ] {
        let who = Principal::new("7", "s").with_role(role).with_claim("c", claim(&value));
        let found = read(&mesh, &who, r#"{"post":{"$select":{"id":true}}}"#).await;
        let ids: Vec<_> = found["items"].as_array().unwrap().iter().map(|post| &post["id"]).collect();
        assert_eq!(json!(ids), expected, "{role} {value}");
    }
    assert_eq!(mesh.plans_cached(), 2, "one for each role");
    let _ = std::fs::remove_file(&path);
}

const KINDS: &str = "
CREATE TYPE level AS ENUM ('low', 'high');
CREATE TABLE kinds (
    id integer PRIMARY KEY, small smallint, big bigint, exact numeric, float4 real, float8 double precision,
    flag boolean, short varchar(9), fixed char(3), day date, moment timestamptz, local timestamp, ref uuid, rank level
);
INSERT INTO kinds VALUES
    (1, 7, 9007199254740993, 9.50, 1.5, 2.5, true, 'a\"b', 'ab', '2024-05-01', '2024-05-01T10:00:00Z',
        '2024-05-01T10:00:00', 'f81d4fae-7dec-11d0-a765-00a0c91e6bf6', 'low'),
    (2, 8, 1, 1, 1, 1, false, 'x', 'x', '2024-05-02', '2024-05-02T10:00:00Z', '2024-05-02T10:00:00',
        'a81d4fae-7dec-11d0-a765-00a0c91e6bf6', 'high'),
    (3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
";

#[tokio::test]
async fn lists_of_claims_compare_in_the_types_of_columns() {
    let Some(cluster) = Cluster::start() else { return };
    cluster.execute(KINDS);
    let cases = [
        ("small", json!([7, 99999])),
        ("big", json!(["9007199254740993"])),
        ("exact", json!([9.5])),
        ("float4", json!([1.5])),
        ("float8", json!([2.5])),
        ("flag", json!([true])),
        ("short", json!(["a\"b", "", "{}"])),
        ("fixed", json!(["ab"])),
        ("day", json!(["2024-05-01"])),
        ("moment", json!(["2024-05-01T12:00:00+02:00"])),
        ("local", json!(["2024-05-01T10:00:00Z"])),
        ("ref", json!(["f81d4fae-7dec-11d0-a765-00a0c91e6bf6"])),
        ("rank", json!(["low", "middle"])),
    ];
    let mut roles = serde_json::Map::new();
    for (field, _) in &cases {
        for op in ["in", "nin", "eq"] {
            roles.insert(format!("{field} {op}"), json!({"kind": rule(field, op)}));
        }
    }
    let fields: Vec<&str> = std::iter::once("id").chain(cases.iter().map(|(field, _)| *field)).collect();
    let document = json!({"entities": {"kind": {"fields": fields, "writable": ["flag"]}}, "policies": roles});
    let opened = mesh_postgres::Database::connect(&cluster.url(), &Settings::default()).await.unwrap();
    let catalog = opened.contents(&[]).await.unwrap().catalog;
    let schema = Schema::read(&document.to_string(), Some(&catalog)).unwrap();
    let writer = opened.writer();
    let mesh = Mesh::builder(schema).default_resolver(opened).default_mutator(writer).build().unwrap();
    for (field, value) in cases {
        let found = async |op: &str, value: &Json| {
            let who =
                Principal::new("1", "s").with_role(format!("{field} {op}")).with_claim("c", claim(value));
            let body = read(&mesh, &who, r#"{"kind":{"$select":{"id":true}}}"#).await;
            for id in 1..=3 {
                let is_listed = body["items"].as_array().unwrap().contains(&json!({"id": id}));
                let written = touch(&mesh, &who, "kind", &id.to_string()).await;
                assert_eq!(written.is_ok(), is_listed, "{field} {op} {value} {id}: {written:?}");
            }
            body["items"].to_string()
        };
        assert_eq!(found("in", &value).await, r#"[{"id":1}]"#, "{field}");
        assert_eq!(found("nin", &value).await, r#"[{"id":2}]"#, "{field}");
        assert_eq!(found("in", &json!([])).await, "[]", "{field}");
        assert_eq!(found("nin", &json!([])).await, r#"[{"id":1},{"id":2},{"id":3}]"#, "{field}");
        assert_eq!(found("eq", &value[0]).await, r#"[{"id":1}]"#, "{field}");
        assert_eq!(found("eq", &value).await, "[]", "{field}");
        assert_eq!(found("nin", &json!(["\0"])).await, "[]", "{field}");
    }
}
