//! Functions of the application, for computed fields and for policies, have the same inputs and effects over each database.

use std::error::Error;

use mesh_ql::Format;
use mesh_server::mesh_plan::mutation::Outcome;
use mesh_server::mesh_plan::plan::ComputedInputs;
use mesh_server::mesh_plan::policy::{Access, Condition, SessionValue};
use mesh_server::mesh_plan::{
    Context, Fields, Mesh, MeshBuilder, Principal, RecordId, Request, WriteRequest, WriteTarget,
};
use mesh_server::mesh_schema::{self, Catalog, Entity, Writable};
use mesh_tests::{Cluster, MariaDb, TempDir};

/// Statements for all databases, except the types `PRICE` and `MOMENT`.
const TABLES: &str = "
CREATE TABLE users (id INTEGER PRIMARY KEY, name VARCHAR(50) NOT NULL);
CREATE TABLE notes (
    id INTEGER PRIMARY KEY, title VARCHAR(50) NOT NULL, likes BIGINT, weight DOUBLE PRECISION, price PRICE,
    hidden BOOLEAN NOT NULL, made MOMENT, author_id INTEGER NOT NULL, FOREIGN KEY (author_id) REFERENCES users (id)
);
INSERT INTO users VALUES (1, 'Ada'), (2, 'Bo');
INSERT INTO notes VALUES
    (1, 'Dawn', 9007199254740993, 1.5, '12.50', FALSE, '2024-05-01 10:00:00', 1),
    (2, 'Bread', NULL, NULL, NULL, TRUE, NULL, 1),
    (3, 'Map é \"quoted\"', 0, 0.25, '3', FALSE, '2024-05-02 10:00:00.25', 2);
";

/// The fields of a note that the computed field reads.
const INPUTS: [&str; 7] = ["id", "title", "likes", "weight", "price", "hidden", "made"];

fn tables(price: &str, moment: &str) -> String {
    TABLES.replace("PRICE", price).replace("MOMENT", moment)
}

/// Everyone sees the notes that are not hidden, and their own.
fn policy(_role: &str, entity: &Entity) -> Access {
    match entity.key.as_str() {
        "note" => {
            let own = Condition::equal("authorId", SessionValue::UserId);
            Access::all().when(Condition::Any(vec![Condition::equal("hidden", false), own]))
        }
        _ => Access::all(),
    }
}

fn mesh(catalog: &Catalog, build: impl FnOnce(MeshBuilder) -> MeshBuilder) -> Mesh {
    let mut document = mesh_schema::infer(catalog).document;
    document.entities.get_mut("note").unwrap().writable = Writable::all();
    let schema = document.load(Some(catalog)).unwrap();
    let seen = |note: &ComputedInputs<'_>| {
        INPUTS.map(|field| format!("{:?}", note.value(field).to_value())).join(" ")
    };
    let builder = Mesh::builder(schema)
        .computed("note.seen", INPUTS, seen)
        .computed("user.shout", ["name"], |user| user.text("name").to_uppercase())
        .policy(policy);
    build(builder).build().unwrap()
}

/// The reads: a list, records, computed fields of relations in both directions, and controls on inputs of computed fields.
const READS: [(&str, Option<&str>); 7] = [
    (r#"{"note": {"$select": {"seen": true}}}"#, None),
    (r#"{"note": {"$select": {"seen": true, "price": true}}}"#, Some("1")),
    (r#"{"note": {"$select": {"seen": true}}}"#, Some("2")),
    (
        r#"{"note": {"$select": {"author": {"$select": {"shout": true}}}, "$orderBy": [{"field": "title", "direction": "asc"}]}}"#,
        None,
    ),
    (
        r#"{"user": {"$select": {"shout": true, "notes": {"$select": {"seen": true}, "$page": {"first": 1}}}}}"#,
        None,
    ),
    (
        r#"{"note": {"$select": {"seen": true}, "$where": {"field": "likes", "op": "gte", "value": 0}, "$page": {"first": 1}}}"#,
        None,
    ),
    (r#"{"note": {"$select": {"title": true}, "$orderBy": [{"field": "seen", "direction": "asc"}]}}"#, None),
];

/// Returns the results of all reads and writes, as two users.
async fn results(mesh: &Mesh) -> Vec<String> {
    let mut results = Vec::new();
    for user in ["1", "2"] {
        let principal = Principal::new(user, "s");
        for (query, id) in READS {
            let request = match id {
                Some(id) => Request::point(Format::Json, query, id),
                None => Request::collection(Format::Json, query),
            };
            let read = async || -> Result<String, Box<dyn Error>> {
                let plan = mesh.plan(&request.with_principal(Some(&principal)))?;
                let body = mesh.read(&plan, &Context::default()).await?;
                Ok(String::from_utf8(body.bytes.to_vec())?)
            };
            results.push(read().await.unwrap_or_else(|error| error.to_string()));
        }
        let fields = Fields::parse(br#"{"likes": 7}"#).unwrap();
        for id in ["1", "2", "3"] {
            let target = WriteTarget::Update { entity: "note", id: RecordId::Text(id) };
            let reply = (
                Format::Json,
                r#"{"note": {"$select": {"seen": true, "author": {"$select": {"shout": true}}}}}"#,
            );
            let request = WriteRequest::new(target)
                .with_fields(&fields)
                .with_reply(reply)
                .with_principal(Some(&principal));
            let mutation = mesh.plan_write(&request).unwrap();
            results.push(match mesh.write(mutation, &Context::default()).await {
                Outcome::Committed(written) => {
                    String::from_utf8(written.body.unwrap().unwrap().bytes.to_vec()).unwrap()
                }
                Outcome::NotCommitted(error) => error.to_string(),
                Outcome::Unknown(error) => panic!("unknown outcome: {error}"),
            });
        }
    }
    results
}

async fn over_sqlite() -> Vec<String> {
    let folder = TempDir::new();
    let file = folder.path().join("notes.db");
    rusqlite::Connection::open(&file).unwrap().execute_batch(&tables("DECIMAL(10, 2)", "DATETIME")).unwrap();
    let database = mesh_sqlite::Database::open(&file).unwrap();
    let catalog = database.contents(&[]).unwrap().catalog;
    let writer = database.writer().unwrap();
    results(&mesh(&catalog, |mesh| mesh.default_resolver(database).default_mutator(writer))).await
}

#[tokio::test]
async fn closures_have_the_same_inputs_and_effects_over_sqlite() {
    let all = over_sqlite().await;
    let has = |text: &str| all.iter().any(|result| result.contains(text));
    assert!(has(
        r#"Integer(9007199254740993) Real(1.5) Real(12.5) Boolean(false) Text(\"2024-05-01T10:00:00\")"#
    ));
    assert!(has(r#""author":{"shout":"ADA"}"#) && has("There is no 'note' with the id '2'"), "{all:#?}");
}

#[tokio::test]
async fn closures_have_the_same_inputs_and_effects_over_postgresql() {
    let Some(cluster) = Cluster::start() else { return };
    cluster.execute(&tables("NUMERIC(10, 2)", "TIMESTAMP"));
    let settings = mesh_postgres::Settings::default();
    let database = mesh_postgres::Database::connect(&cluster.url(), &settings).await.unwrap();
    let catalog = database.contents(&[]).await.unwrap().catalog;
    let writer = database.writer();
    let all = results(&mesh(&catalog, |mesh| mesh.default_resolver(database).default_mutator(writer))).await;
    assert_eq!(all.join("\n"), over_sqlite().await.join("\n"));
}

#[tokio::test]
async fn closures_have_the_same_inputs_and_effects_over_mariadb() {
    let Some(server) = MariaDb::start() else { return };
    server.execute(&format!("USE mesh; {}", tables("DECIMAL(10, 2)", "DATETIME(3)")));
    let settings = mesh_mysql::Settings::default();
    let database = mesh_mysql::Database::connect(&server.url(), &settings).await.unwrap();
    let catalog = database.contents(&[]).await.unwrap().catalog;
    let writer = database.writer();
    let all = results(&mesh(&catalog, |mesh| mesh.default_resolver(database).default_mutator(writer))).await;
    assert_eq!(all.join("\n"), over_sqlite().await.join("\n"));
}
