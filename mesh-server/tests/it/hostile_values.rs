//! Hostile values in every part of a query that takes text: none reaches the text of a statement.

use std::path::PathBuf;
use std::sync::Arc;

use mesh_plan::backend::Pattern;
use mesh_plan::memory::Tables;
use mesh_plan::{Context, Limits, Mesh, Plan, Request, Value};
use mesh_ql::Format;
use mesh_schema::{FieldType, JoinDocument, Schema};
use mesh_sql::sqlite::Statements;
use mesh_sqlite::Database;
use rusqlite::Connection;
use serde_json::{Value as Json, json};

/// The operators whose values contain text.
const OPERATORS: [&str; 10] = ["eq", "ne", "gt", "gte", "lt", "lte", "in", "nin", "like", "ilike"];

/// Returns values with a meaning in SQL, shells, patterns or C.
fn hostile() -> Vec<String> {
    let mut texts: Vec<String> = [
        "'",
        "\"",
        "`",
        "';--",
        "'\";--",
        "' OR '1'='1",
        "\" OR 1=1 --",
        "'); DROP TABLE \"my notes\"; --",
        "x' UNION SELECT sql FROM sqlite_schema --",
        "?",
        "?1",
        ":name",
        "@name",
        "$1",
        "/* */",
        "\\",
        "\\'",
        "%",
        "_",
        "\\%",
        "%\\",
        "a\0b",
        "\0",
        "\r\n",
        "😀",
        "👩‍👩‍👧",
        "\u{202e}abc",
        "ẞß",
        "",
        "NULL",
        "0x41",
    ]
    .map(str::to_owned)
    .to_vec();
    texts.push("'\";--😀\0".repeat(64 * 1024 / 10));
    texts.push("'".repeat(64 * 1024));
    texts.push("%_".repeat(100));
    texts
}

/// Names that end an identifier unless they are quoted correctly.
const TABLE: &str = "my notes";
const NAME: &str = "na\"me; DROP TABLE x --";
const PARENT: &str = "parent' \"id";

fn schema() -> Schema {
    let column = |name: &str| format!("\"{}\".\"{}\"", TABLE, name.replace('"', "\"\""));
    let (key, parent) = (column("select"), column(PARENT));
    Schema::builder()
        .entity("note", |note| {
            let note = note.table(TABLE).field("id", FieldType::String).column("id", "select");
            note.field("name", FieldType::String).column("name", NAME)
        })
        .relation("note.parent", JoinDocument::one("note", format!("{key} = {parent}")))
        .relation("note.kids", JoinDocument::many("note", format!("{parent} = {key}")))
        .build()
        .unwrap_or_else(|faults| panic!("{}", faults[0]))
}

/// The hostile texts as data, in memory and in a file, and the folder of that file.
struct World {
    memory: Mesh,
    sqlite: Mesh,
    runtime: tokio::runtime::Runtime,
    path: PathBuf,
    folder: PathBuf,
}

impl World {
    fn new(name: &str) -> Self {
        let texts = hostile();
        let rows: Vec<Vec<Value>> = (0..texts.len())
            .map(|at| {
                let name = texts[(at + 7) % texts.len()].clone();
                vec![texts[at].clone().into(), name.into(), texts[at / 2].clone().into()]
            })
            .collect();
        let folder = std::env::temp_dir().join(format!("mesh-attack-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("data.db");
        let connection = Connection::open(&path).unwrap();
        let columns = ["select", NAME, PARENT];
        let quoted = columns.map(|name| format!("\"{}\" TEXT", name.replace('"', "\"\""))).join(", ");
        connection.execute_batch(&format!("CREATE TABLE \"{TABLE}\" ({quoted}); BEGIN")).unwrap();
        for row in &rows {
            let cells = row.iter().map(|cell| match cell {
                Value::Text(text) => text.as_str(),
                other => panic!("{other:?} is no text"),
            });
            connection
                .execute(
                    &format!("INSERT INTO \"{TABLE}\" VALUES (?, ?, ?)"),
                    rusqlite::params_from_iter(cells),
                )
                .unwrap();
        }
        connection.execute_batch("COMMIT").unwrap();
        drop(connection);

        // The longest texts exceed the default limit.
        let mut limits = Limits::default();
        limits.query.query_bytes = 1 << 20;
        let schema = Arc::new(schema());
        let secret = b"the secret of both servers";
        let builder = || Mesh::builder(Arc::clone(&schema)).cursor_secret(secret).limits(limits);
        let tables = Tables::new().with(TABLE, columns, rows);
        Self {
            memory: builder().default_resolver(tables).build().unwrap(),
            sqlite: builder().default_resolver(Database::open(&path).unwrap()).build().unwrap(),
            runtime: tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap(),
            path,
            folder,
        }
    }

    fn plan(&self, request: &Request<'_>) -> Plan {
        self.sqlite.plan(request).unwrap_or_else(|error| panic!("{error}: {request:?}"))
    }

    /// Returns the body, which both resolvers must agree on.
    #[track_caller]
    fn bytes(&self, request: &Request<'_>) -> Vec<u8> {
        let [memory, sqlite] = [&self.memory, &self.sqlite].map(|mesh| {
            let plan = mesh.plan(request).unwrap_or_else(|error| panic!("{error}: {request:?}"));
            let body = self.runtime.block_on(mesh.read(&plan, &Context::default()));
            body.unwrap_or_else(|error| panic!("{error}: {request:?}")).bytes
        });
        assert!(memory == sqlite, "{request:?}\nmemory {memory:?}\nSQLite {sqlite:?}");
        sqlite.to_vec()
    }

    /// Reads and parses the body.
    #[track_caller]
    fn read(&self, request: &Request<'_>) -> Json {
        serde_json::from_slice(&self.bytes(request)).unwrap()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        // A folder that is left behind is harmless.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn sql(plan: &Plan) -> Vec<String> {
    Statements::from_plan(plan).iter().map(|statement| statement.sql.clone()).collect()
}

/// Returns queries with a text in a condition of the root, of a relation, and of groups.
fn conditions(op: &str, text: &str) -> [String; 3] {
    let value = if matches!(op, "in" | "nin") { json!([text, "tame"]) } else { json!(text) };
    let field = json!({"field": "name", "op": op, "value": value});
    let aggregate = json!({"aggregate": "most", "op": op, "value": value});
    let select = json!({"id": true, "parent": {"$select": {"name": true}}});
    let kids = json!({"$select": {"name": true}, "$where": field});
    [
        json!({"note": {"$select": select, "$where": field, "$page": {"first": 10}}}),
        json!({"note": {"$select": {"kids": kids}, "$where": {"not": field}, "$page": {"first": 5}}}),
        json!({"note": {
            "$select": {"id": true},
            "$groupBy": ["id"],
            "$aggregate": {"most": {"fn": "max", "field": "name"}},
            "$having": {"and": [aggregate, {"field": "id", "op": "ne", "value": text}]},
            "$page": {"first": 10},
        }}),
    ]
    .map(|query| query.to_string())
}

/// A pattern has two statements: one for a prefix that an index can find, one for others.
///
/// Attack with a session of few rights: injection through names, values, ids, cursors, paths and headers.
#[test]
fn the_statement_of_a_condition_does_not_depend_on_its_value() {
    let world = World::new("conditions");
    for op in OPERATORS {
        let tame = ["tame", "%tame"].map(|tame| {
            conditions(op, tame).map(|query| sql(&world.plan(&Request::collection(Format::Json, &query))))
        });
        assert_eq!(tame[0] == tame[1], op != "like", "{op}");
        let is_pattern = op.ends_with("like");
        for text in hostile().into_iter().filter(|text| !is_pattern || Pattern::new(text, false).is_ok()) {
            for (place, query) in conditions(op, &text).iter().enumerate() {
                let request = Request::collection(Format::Json, query);
                let known = tame.each_ref().map(|tame| &tame[place]);
                let found = sql(&world.plan(&request));
                assert!(known.contains(&&found), "{op} {text:?}: {found:?} is none of {known:?}");
                // Long values are slow, and all comparisons bind in the same way.
                if text.len() < 1_000 || matches!(op, "eq" | "in" | "like" | "ilike") {
                    world.bytes(&request);
                }
            }
        }
    }
}

#[test]
fn an_id_is_bound_as_a_value() {
    let world = World::new("ids");
    let query = r#"{"note":{"$select":{"id":true,"kids":{"$select":{"id":true}}}}}"#;
    let tame = sql(&world.plan(&Request::point(Format::Json, query, "tame")));
    for text in hostile() {
        let request = Request::point(Format::Json, query, &text);
        assert_eq!(sql(&world.plan(&request)), tame, "{text:?}");
        assert_eq!(world.read(&request)["id"], json!(text));
    }
    assert_eq!(world.read(&Request::point(Format::Json, query, "tame' OR 1=1 --")), Json::Null);
}

#[test]
fn names_are_quoted_and_nothing_is_written() {
    let world = World::new("names");
    let before = std::fs::read(&world.path).unwrap();
    for query in conditions("eq", "'); DROP TABLE \"my notes\"; --") {
        let request = Request::collection(Format::Json, &query);
        world.read(&request);
        for text in sql(&world.plan(&request)) {
            assert!(text.contains("\"my notes\""), "{text}");
            // Without quoted identifiers, nothing of the names remains.
            let bare: String = text.split('"').step_by(2).collect();
            assert!(!bare.contains("DROP") && !bare.contains('\'') && !bare.contains(';'), "{text}");
        }
    }
    assert!(before == std::fs::read(&world.path).unwrap());
}
