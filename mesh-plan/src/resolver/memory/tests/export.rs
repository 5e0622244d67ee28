//! Exports of tables in memory.

use std::sync::{Arc, Mutex};

use super::*;
use crate::BoxFuture;
use crate::resolver::Export;
use crate::resolver::ExportSink;
use crate::shape::ExportFormat;

/// Keeps all pieces.
#[derive(Clone, Default)]
struct Pieces(Arc<Mutex<Vec<Vec<u8>>>>);

impl ExportSink for Pieces {
    fn send(&mut self, piece: Vec<u8>) -> BoxFuture<'_, Result<(), ResolveError>> {
        self.0.lock().unwrap().push(piece);
        Box::pin(std::future::ready(Ok(())))
    }
}

fn export(mesh: &Mesh, format: ExportFormat, query: &Json) -> Result<String, Error> {
    let plan = mesh.plan(&Request::collection(Format::Json, &query.to_string()).exported())?;
    plan.check_export(format)?;
    let pieces = Pieces::default();
    let records = block_on(mesh.export(&plan, &Context::default(), Export::new(format, pieces.clone())))?;
    let text = String::from_utf8(pieces.0.lock().unwrap().concat()).unwrap();
    let lines = text.lines().count() - usize::from(format == ExportFormat::Csv);
    assert_eq!(usize::try_from(records).unwrap(), lines);
    Ok(text)
}

#[test]
fn an_export_has_all_records_in_order() {
    let names = ["id", "name", "manager_id"];
    let users = (1..=5_000).map(|id| vec![Value::from(id), "x".repeat(40).into(), Value::Null]);
    let mesh =
        Mesh::builder(schema()).default_resolver(Tables::new().with("users", names, users)).build().unwrap();
    let query = json!({"user": {"$select": {"id": true, "name": true},
        "$orderBy": [{"field": "id", "direction": "desc"}]}});
    let text = export(&mesh, ExportFormat::Ndjson, &query).unwrap();
    let ids = text.lines().map(|line| serde_json::from_str::<Json>(line).unwrap()["id"].as_i64().unwrap());
    assert!(ids.eq((1..=5_000).rev()));
}

#[test]
fn csv_has_quoted_text_empty_null_and_the_fields_of_to_one_relations() {
    let query = json!({"post": {"$select": {"id": true, "title": true, "status": true, "rating": true, "price": true,
        "published": true, "extra": true, "author": {"$select": {"name": true, "manager": {"$select": {"id": true,
        "name": true}}}}}}});
    let text = export(&mesh(), ExportFormat::Csv, &query).unwrap();
    assert!(text.lines().all(|line| !line.ends_with('\r')) && text.matches("\r\n").count() == 6);
    expect![[r#"
        "id","title","status","rating","price","published","extra","author.name","author.manager.id","author.manager.name"
        1,"One","draft",1.5,"1.50",true,"x","Ada",,
        2,"Two","live",2.5,"9",false,7,"Ada",,
        3,"Three","live",,"2.25",true,"7","Ben",1,"Ada"
        4,"four_","live",4,"10.00",false,,,,
        5,"Five%",,0.1,,,"Bw==",,,
    "#]]
    .assert_eq(&text.replace("\r\n", "\n"));
}

#[test]
fn values_of_the_type_json_are_their_json_text_in_csv() {
    let schema = Schema::builder()
        .entity("note", |it| it.field("id", FieldType::Integer).field("data", FieldType::Json).table("notes"))
        .build()
        .unwrap();
    let texts = [
        "[]",
        "\"[]\"",
        "5",
        "\"5\"",
        "true",
        "\"true\"",
        "null",
        "\"null\"",
        "\"a\\n\"",
        "{\"a\":\"b\"}",
        "\"\"",
    ];
    let notes = (1..).zip(texts).map(|(id, text)| vec![Value::from(id), text.into()]);
    let notes = notes.chain([vec![Value::from(99_i64), Value::Null]]);
    let tables = Tables::new().with("notes", ["id", "data"], notes);
    let mesh = Mesh::builder(schema).default_resolver(tables).build().unwrap();
    let query = json!({"note": {"$select": {"data": true}}});
    let csv = export(&mesh, ExportFormat::Csv, &query).unwrap();
    let cells: Vec<_> = csv.split("\r\n").skip(1).collect();
    let read = |cell: &str| match cell.strip_prefix('"').and_then(|cell| cell.strip_suffix('"')) {
        Some(quoted) => quoted.replace("\"\"", "\""),
        None => cell.to_owned(),
    };
    let (last, rest) = cells.split_last().unwrap();
    let (null, values) = rest.split_last().unwrap();
    assert_eq!((*last, *null), ("", ""), "only NULL is empty");
    assert_eq!(values.iter().map(|cell| read(cell)).collect::<Vec<_>>(), texts);
}

#[test]
fn text_of_csv_is_kept_exactly() {
    let texts = ["", "a \"quoted\" word", "two\nlines, a comma", "back\\slash", "tab\t", "ü", "\u{1}"];
    let users = texts.iter().enumerate().map(|(id, text)| vec![Value::from(id as i64), (*text).into()]);
    let mesh = Mesh::builder(schema())
        .default_resolver(Tables::new().with("users", ["id", "name"], users))
        .build()
        .unwrap();
    let query = json!({"user": {"$select": {"name": true}}});
    let expected: String =
        texts.iter().map(|text| format!("\"{}\"\r\n", text.replace('"', "\"\""))).collect();
    let plan = mesh.plan(&Request::collection(Format::Json, &query.to_string()).exported()).unwrap();
    let pieces = Pieces::default();
    let exporting = Export::new(ExportFormat::Csv, pieces.clone());
    block_on(mesh.export(&plan, &Context::default(), exporting)).unwrap();
    let text = String::from_utf8(pieces.0.lock().unwrap().concat()).unwrap();
    assert_eq!(text, format!("\"name\"\r\n{expected}"));
}

#[test]
fn groups_are_exported_too() {
    let query = json!({"post": {"$select": {"status": true}, "$groupBy": ["status"],
        "$aggregate": {"n": {"fn": "count"}}, "$orderBy": [{"field": "status", "direction": "asc"}]}});
    let text = export(&mesh(), ExportFormat::Csv, &query).unwrap();
    expect![[r#"
        "status","n"
        "draft",1
        "live",3
        ,1
    "#]]
    .assert_eq(&text.replace("\r\n", "\n"));
}

#[test]
fn an_export_of_too_many_records_fails() {
    let limits = Limits { export_rows: 3, ..Limits::default() };
    let mesh = Mesh::builder(schema()).default_resolver(tables()).limits(limits).build().unwrap();
    let query = |entity: &str| json!({entity: {"$select": {"id": true}}});
    assert!(export(&mesh, ExportFormat::Ndjson, &query("tag")).is_ok());
    let failed = export(&mesh, ExportFormat::Ndjson, &query("user"));
    assert!(matches!(failed, Err(Error::Resolve(ResolveError::ExportTooLong { records: 3 }))), "{failed:?}");
}
