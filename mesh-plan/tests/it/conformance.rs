//! Runs the conformance cases without a transport, over rows in memory.

use std::fs;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::task::{self, Poll, Waker};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use mesh_plan::memory::Tables;
use mesh_plan::{Context, Error, Mesh, Request, Value as Cell};
use mesh_ql::Format;
use mesh_schema::{Catalog, Column, FieldType, Schema, Table};
use serde_json::Value;

/// The matchers of the conformance kit.
#[path = "../../../tests/conformance/src/matcher.rs"]
#[expect(unreachable_pub, reason = "the items are public in the kit")]
mod matcher;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/conformance")
}

fn json(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn field_type(name: &str) -> FieldType {
    match name {
        "integer" => FieldType::Integer,
        "bigint" => FieldType::Bigint,
        "number" => FieldType::Number,
        "boolean" => FieldType::Boolean,
        "datetime" => FieldType::Datetime,
        "date" => FieldType::Date,
        "json" => FieldType::Json,
        "binary" => FieldType::Binary,
        "uuid" => FieldType::Uuid,
        "decimal" => FieldType::Decimal,
        _ => FieldType::String,
    }
}

fn cell(kind: &str, value: &Value) -> Cell {
    match (kind, value) {
        (_, Value::Null) => Cell::Null,
        ("json", value) => Cell::Text(value.get("@json").unwrap_or(value).to_string()),
        ("binary", Value::String(base64)) => Cell::Bytes(STANDARD.decode(base64).unwrap_or_default()),
        ("bigint", Value::String(digits)) => Cell::Integer(digits.parse().unwrap()),
        ("decimal", Value::String(digits)) => Cell::Real(digits.parse().unwrap()),
        (_, Value::String(text)) => Cell::Text(text.clone()),
        (_, Value::Bool(flag)) => Cell::Boolean(*flag),
        ("number", value) => Cell::Real(value.as_f64().unwrap()),
        (_, value) => Cell::Integer(value.as_i64().unwrap()),
    }
}

/// Loads the fixture into memory.
fn mesh() -> Mesh {
    let data = json(&folder().join("fixture/data.json"));
    let (mut catalog, mut tables) = (Catalog::default(), Tables::new());
    for table in list(&data["tables"]) {
        let columns = list(&table["columns"]);
        let names = |key: &str| -> Vec<String> {
            columns
                .iter()
                .filter(|column| column[key] == true)
                .map(|column| text(&column["name"]).to_owned())
                .collect()
        };
        let composite: Vec<String> =
            list(&table["primaryKey"]).iter().map(|name| text(name).to_owned()).collect();
        let described = columns.iter().map(|column| Column {
            name: text(&column["name"]).to_owned(),
            ty: Some(field_type(text(&column["type"]))),
            nullable: column["required"] != true && column["key"] != true,
            ..Column::default()
        });
        let key = names("key");
        let primary_key = if key.is_empty() { composite } else { key };
        let row_id = primary_key.is_empty().then(|| "rowid".to_owned());
        let name = text(&table["table"]).to_owned();
        catalog.tables.push(Table {
            name: name.clone(),
            columns: described.collect(),
            primary_key,
            row_id,
            ..Table::default()
        });
        let rows = list(&table["rows"]).iter().map(|row| {
            columns.iter().zip(list(row)).map(|(column, value)| cell(text(&column["type"]), value)).collect()
        });
        let rows: Vec<Vec<Cell>> = rows.collect();
        tables = tables.with(&name, columns.iter().map(|column| text(&column["name"])), rows);
    }
    let document = fs::read_to_string(folder().join("fixture/schema.json")).unwrap();
    let schema = Schema::read(&document, Some(&catalog)).unwrap_or_else(|faults| panic!("{faults:?}"));
    Mesh::builder(schema).default_resolver(tables).build().unwrap()
}

/// A step that reads by GET with a query that is written in the case.
struct Step {
    id: String,
    path: Vec<String>,
    format: Format,
    text: String,
    expect: Value,
}

fn steps() -> Vec<Step> {
    let mut steps = Vec::new();
    for group in ["L1", "L2", "computed", "relational"] {
        let mut files: Vec<PathBuf> = fs::read_dir(folder().join("cases").join(group))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        files.sort();
        for file in files {
            // Other cases need a profile of whole servers, or the absence of one.
            let applies = |case: &&Value| case.get("with").is_none() && case.get("without").is_none();
            for case in list(&json(&file)["cases"]).iter().filter(applies) {
                let of_case = list(&case["steps"]).iter().filter_map(|step| step_of(text(&case["id"]), step));
                steps.extend(of_case);
            }
        }
    }
    steps
}

fn step_of(id: &str, step: &Value) -> Option<Step> {
    let (send, expect) = (&step["send"], &step["expect"]);
    let extras = ["method", "headers", "queryId", "body"];
    let query = send.get("query").filter(|_| extras.iter().all(|name| send.get(name).is_none()))?;
    let text_of_query = query.as_str().map_or_else(|| query.to_string(), str::to_owned);
    let path = text(&send["path"]);
    let whole = format!("{path}{text_of_query}{expect}");
    // Cases with computed values or transport details run against whole servers only.
    let is_plain = !whole.contains("${") && !text_of_query.contains("{\"@") && !path.contains(['?', '%']);
    let is_of_core = expect["status"] == 200 || expect["error"]["error"] == "ValidationError";
    let format = send.get("format").map_or("json", text).parse().ok()?;
    let path: Vec<String> = path.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect();
    (is_plain && is_of_core && matches!(path.len(), 1 | 2)).then(|| Step {
        id: id.to_owned(),
        path,
        format,
        text: text_of_query,
        expect: expect.clone(),
    })
}

/// Returns the JSON of a response, or the message of the error with its path.
fn answer(mesh: &Mesh, step: &Step) -> Result<Value, (String, Value)> {
    let request = match step.path.get(1) {
        Some(id) => Request::point(step.format, &step.text, id),
        None => Request::collection(step.format, &step.text),
    };
    let plan = mesh.plan(&request.with_entity(&step.path[0])).map_err(|error| {
        let path = match &error {
            Error::Plan(error) => Value::from(error.path.clone()),
            _ => Value::Null,
        };
        (error.to_string(), path)
    })?;
    let context = Context::default();
    let mut read = pin!(mesh.read(&plan, &context));
    let Poll::Ready(body) = read.as_mut().poll(&mut task::Context::from_waker(Waker::noop())) else {
        panic!("{}: the read is pending", step.id)
    };
    let body = body.map_err(|error| (error.to_string(), Value::Null))?;
    Ok(serde_json::from_slice(&body.bytes).unwrap())
}

fn faults(step: &Step, answer: &Result<Value, (String, Value)>) -> Vec<String> {
    let expect = &step.expect;
    match answer {
        Ok(body) if expect["status"] == 200 => {
            let mut faults = Vec::new();
            if let Some(expected) = expect.get("body") {
                faults.extend(matcher::differences(expected, Some(body)));
            }
            if let Some(expected) = expect.get("items") {
                faults.extend(matcher::differences(expected, body.get("items")));
            }
            faults
        }
        Ok(body) => vec![format!("an error expected, got {}", matcher::brief(body))],
        Err((message, _)) if expect["status"] == 200 => vec![format!("it was refused: {message}")],
        Err((message, path)) => {
            let mut faults = Vec::new();
            for words in list(&expect["error"]["says"]).iter().map(text) {
                let lower = message.to_lowercase();
                if !words.split('|').any(|word| lower.contains(&word.to_lowercase())) {
                    faults.push(format!("a message with {words:?} expected, got {message:?}"));
                }
            }
            if let Some(expected) = expect["error"].get("path").filter(|_| !path.is_null()) {
                faults.extend(matcher::differences(expected, Some(path)));
            }
            faults
        }
    }
}

#[test]
fn rows_in_memory_pass_the_conformance_cases() {
    let (mesh, steps) = (mesh(), steps());
    assert!(steps.len() > 400, "only {} steps", steps.len());
    let mut wrong = Vec::new();
    for step in &steps {
        for fault in faults(step, &answer(&mesh, step)) {
            wrong.push(format!("{}: {} {}: {fault}", step.id, step.path.join("/"), step.text));
        }
    }
    assert!(wrong.is_empty(), "{} faults\n{}", wrong.len(), wrong.join("\n"));
}
