//! Claims in the types of PostgreSQL's columns.

use super::*;

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
            let rule = json!({"kind": {"$where": compare(field, op, "c"), "writable": true}});
            roles.insert(format!("{field} {op}"), rule);
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
            let list = read(&mesh, Some(&who), r#"{"kind":{"$select":{"id":true}}}"#, None).await;
            let body: Json = serde_json::from_str(&list).unwrap();
            let flag = Fields::parse(b"{}").unwrap();
            for id in 1..=3 {
                let target = WriteTarget::Update { entity: "kind", id: RecordId::Text(&id.to_string()) };
                let is_listed = body["items"].as_array().unwrap().contains(&json!({"id": id}));
                let written = write(&mesh, &who, target, &flag).await;
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
