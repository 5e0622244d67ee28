//! A pattern that an index serves finds all rows that match it, for any content of the column.

use mesh_plan::backend::Pattern;
use mesh_plan::{Context, Mesh, Plan, Request};
use mesh_ql::Format;
use mesh_schema::{FieldType, Schema};
use rusqlite::Connection;
use rusqlite::types::ValueRef;
use serde_json::{Value as Json, json};

use super::File;
use crate::Database;

/// Columns with the same values and different rules of comparison. The index of the last one is not used.
const COLUMNS: [&str; 5] = ["plain", "number", "untyped", "amount", "nocase"];

const TABLE: &str = "CREATE TABLE t (id INTEGER PRIMARY KEY, plain TEXT, number INTEGER, untyped, amount NUMERIC,
        nocase TEXT COLLATE NOCASE);
    CREATE INDEX t_plain ON t (plain); CREATE INDEX t_number ON t (number); CREATE INDEX t_untyped ON t (untyped);
    CREATE INDEX t_amount ON t (amount); CREATE INDEX t_nocase ON t (nocase);";

/// SQL literals of the values: texts, texts that look like numbers, numbers, bytes, and bytes that are not valid text.
const VALUES: &[&str] = &[
    "'abc'",
    "'ABC'",
    "'ab'",
    "'abd'",
    "'a'",
    "''",
    "NULL",
    "12",
    "'12'",
    "'12abc'",
    "'120'",
    "'13'",
    "125",
    "1.5",
    "'13' || char(1)",
    "'12' || char(0) || 'x'",
    "'1e5'",
    "'1e55'",
    "'-1'",
    "'-12x'",
    "' 1'",
    "' 12'",
    "X'616263'",
    "CAST(X'ff6162' AS TEXT)",
    "CAST(X'6162ff63' AS TEXT)",
    "CAST(X'6162' AS TEXT)",
    "'ab' || char(65533) || 'c'",
    "'ÿx'",
    "'Āx'",
    "'é'",
    "'éa'",
    "'É'",
    "'日本'",
    "'日本語'",
    "'日札'",
    "'日本' || char(1114111)",
    "'😀x'",
    "'😁x'",
    "char(1114111) || 'a'",
    "'a%b'",
    "'a\\b'",
    "'a_'",
    "'ab\\'",
];

const BEGINNINGS: &[&str] = &[
    "",
    "a",
    "ab",
    "abc",
    "A",
    "1",
    "12",
    "13",
    "1e5",
    "-1",
    " 1",
    "é",
    "ÿ",
    "aÿ",
    "日",
    "日本",
    "😀",
    "\u{10ffff}",
    "日本\u{10ffff}",
    "\u{fffd}",
    "\u{fffd}a",
    "ab\u{fffd}",
    r"a\%",
    r"a\\",
    r"a\_",
    r"ab\",
];

fn served(file: &File) -> (Mesh, Database) {
    let database = file.database();
    let catalog = database.contents(&[]).unwrap().catalog;
    let schema = Schema::builder()
        .entity("t", |t| {
            COLUMNS.iter().fold(t.table("t").field("id", FieldType::Integer), |t, column| {
                t.field(column, FieldType::String)
            })
        })
        .build_with(&catalog)
        .unwrap();
    let mesh = Mesh::builder(schema).default_resolver(file.database()).build().unwrap();
    (mesh, database)
}

fn plan(mesh: &Mesh, filter: &Json) -> Plan {
    let text = json!({"t": {"$select": {"id": true}, "$where": filter, "$page": {"first": 200}}}).to_string();
    mesh.plan(&Request::collection(Format::Json, &text)).unwrap()
}

/// Returns the ids of the matching rows, found by a scan.
fn matching(connection: &Connection, column: &str, pattern: &str) -> Vec<i64> {
    let pattern = Pattern::new(pattern, false).unwrap();
    let mut all = connection.prepare(&format!("SELECT id, {column} FROM t ORDER BY id")).unwrap();
    let rows = all.query_map([], |row| {
        let text = match row.get_ref(1)? {
            ValueRef::Text(text) => Some(String::from_utf8_lossy(text).into_owned()),
            _ => None,
        };
        Ok((row.get(0)?, text))
    });
    let rows = rows.unwrap().map(Result::unwrap);
    rows.filter(|(_, text)| text.as_ref().is_some_and(|text| pattern.matches(text)))
        .map(|(id, _)| id)
        .collect()
}

#[tokio::test]
async fn an_index_finds_the_rows_that_a_scan_finds() {
    for encoding in ["UTF-8", "UTF-16le", "UTF-16be"] {
        let rows = VALUES.iter().map(|value| {
            format!(
                "INSERT INTO t ({0}) VALUES ({1});",
                COLUMNS.join(", "),
                [*value; COLUMNS.len()].join(", ")
            )
        });
        let rows: String = rows.collect();
        let file = File::new(&format!("PRAGMA encoding = '{encoding}'; {TABLE} {rows}"));
        let (mesh, _) = served(&file);
        let connection = file.connect();
        let mut found = 0;
        for column in COLUMNS {
            for pattern in
                BEGINNINGS.iter().flat_map(|start| ["", "%", "_", "%c"].map(|end| format!("{start}{end}")))
            {
                let like = json!({"field": column, "op": "like", "value": pattern});
                let expected = matching(&connection, column, &pattern);
                found += expected.len();
                let all: Vec<i64> = matching(&connection, column, "%");
                let rest: Vec<i64> = all.into_iter().filter(|id| !expected.contains(id)).collect();
                let texts = json!({"field": column, "op": "like", "value": "%"});
                let not = json!({"and": [texts, {"not": like}]});
                let either = json!({"or": [like, {"field": "id", "op": "lt", "value": 0}]});
                for (filter, expected) in [(&like, &expected), (&not, &rest), (&either, &expected)] {
                    let body = mesh.read(&plan(&mesh, filter), &Context::default()).await.unwrap();
                    let body: Json = serde_json::from_slice(&body.bytes).unwrap();
                    let mut ids: Vec<i64> = body["items"]
                        .as_array()
                        .unwrap()
                        .iter()
                        .map(|row| row["id"].as_i64().unwrap())
                        .collect();
                    ids.sort_unstable();
                    assert_eq!(ids, *expected, "{encoding} {filter}");
                }
            }
        }
        assert!(found > 500, "{found}");
    }
}

#[test]
fn a_pattern_with_a_literal_prefix_searches_an_index() {
    let file = File::new(TABLE);
    let (mesh, database) = served(&file);
    let steps = |column: &str, op: &str, pattern: &str| {
        let plan = plan(&mesh, &json!({"field": column, "op": op, "value": pattern}));
        super::query_plan(&database, &plan).remove(0).1.remove(0)
    };
    assert_eq!(steps("plain", "like", "ab%"), "SEARCH t0 USING COVERING INDEX t_plain (plain>? AND plain<?)");
    assert_eq!(
        steps("untyped", "like", "ab_c"),
        "SEARCH t0 USING COVERING INDEX t_untyped (untyped>? AND untyped<?)"
    );
    for (column, op, pattern) in
        [("plain", "like", "%ab"), ("plain", "ilike", "ab%"), ("nocase", "like", "ab%")]
    {
        assert_eq!(steps(column, op, pattern), "SCAN t0", "{column} {op} {pattern}");
    }
}
