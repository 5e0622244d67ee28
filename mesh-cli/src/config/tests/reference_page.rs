//! The tables of `docs/reference.md`, with names, defaults and statuses that are taken from the code.

use std::collections::HashMap;

use expect_test::expect_file;
use mesh_plan::{Mesh, Request};
use mesh_ql::FilterOp;
use mesh_schema::{FieldType, Schema};
use mesh_wire::{Code, ErrorKind, WireError};

use crate::config::Config;
use crate::config::print::{EffectiveSettings, PrintedValue};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/reference.md");

/// The text of a cell that is still to be written.
const UNWRITTEN: &str = "(describe this)";

/// The cells of a row. `None` is a cell that is written by hand.
type Row = Vec<Option<String>>;

/// Returns a number of bytes with its unit, and other values unchanged. Large multiples of a kibibyte are always numbers of
/// bytes, never counts.
fn with_unit(value: &str) -> String {
    const LEAST: u64 = 16 << 10;
    match value.parse::<u64>() {
        Ok(bytes) if bytes >= LEAST && bytes % (1 << 20) == 0 => format!("{}MiB", bytes >> 20),
        Ok(bytes) if bytes >= LEAST && bytes % (1 << 10) == 0 => format!("{}KiB", bytes >> 10),
        _ => value.to_owned(),
    }
}

fn defaults() -> EffectiveSettings {
    Config::load(Vec::new(), [], None).effective
}

/// Returns the rows of each table, with the head that identifies the table in the page.
fn tables() -> [(&'static str, Vec<Row>); 5] {
    let working_folder = format!("{}/", std::env::current_dir().unwrap().display());
    let setting = |prefix: &str, path: &str| {
        let setting = &defaults().0[path];
        let default = match &setting.value {
            // Paths are absolute, but defaults are relative to the working directory.
            PrintedValue::Toml(value) => {
                format!("`{}`", with_unit(&value.to_string().replace(&working_folder, "")))
            }
            PrintedValue::Unset | PrintedValue::Secret => String::new(),
        };
        let name = path.strip_prefix(prefix).unwrap();
        vec![Some(format!("`{name}`")), Some(default), Some(setting.description.trim().to_owned())]
    };
    let (limits, settings): (Vec<&str>, Vec<&str>) =
        defaults().0.into_keys().partition(|path| path.starts_with("limits."));
    let kinds = ErrorKind::ALL.into_iter().map(|kind| {
        let status = match kind {
            ErrorKind::Integrity => "401, 403".to_owned(),
            kind => kind.status().as_u16().to_string(),
        };
        vec![Some(format!("`{}`", kind.as_str())), Some(status), None, None]
    });
    let codes = Code::ALL.into_iter().map(|code| {
        let error = match code {
            Code::CursorMismatch | Code::ResultTooLarge | Code::SortTooLarge | Code::SumOverflow => {
                WireError::validation("")
            }
            Code::Timeout => WireError::timeout(),
            Code::QueryIdUnknown => WireError::query_id_unknown(),
            Code::OutcomeUnknown => WireError::outcome_unknown(),
            Code::ReplyFailed => WireError::reply_failed(),
            code => WireError::integrity(code, ""),
        };
        let error = format!("{} `{}`", error.status.as_u16(), error.kind.as_str());
        vec![Some(format!("`{}`", code.as_str())), Some(error), None, None]
    });
    let types = FieldType::ALL.into_iter().map(|ty| {
        let operators = FilterOp::ALL.into_iter().map(|op| if takes(ty, op) { "yes" } else { "" }.to_owned());
        [format!("`{}`", ty.as_str())].into_iter().chain(operators).map(Some).collect()
    });
    [
        ("| setting | default | meaning |", settings.iter().map(|path| setting("", path)).collect()),
        (
            "| setting | default | limits |",
            limits.iter().map(|path| [setting("limits.", path), vec![None, None]].concat()).collect(),
        ),
        ("| `error` |", kinds.collect()),
        ("| `code` |", codes.collect()),
        ("| type |", types.collect()),
    ]
}

/// Returns a value of a type, as a filter writes it.
fn sample(ty: FieldType) -> &'static str {
    match ty {
        FieldType::String => r#""a""#,
        FieldType::Integer
        | FieldType::Unsigned
        | FieldType::Bigint
        | FieldType::Number
        | FieldType::Decimal => "1",
        FieldType::Boolean => "true",
        FieldType::Datetime => r#""2024-01-02T03:04:05Z""#,
        FieldType::Date => r#""2024-01-02""#,
        FieldType::Json => "{}",
        FieldType::Binary => r#""AA==""#,
        FieldType::Uuid => r#""00000000-0000-0000-0000-000000000000""#,
    }
}

/// Returns whether fields of a type can be filtered by an operator, according to the planner.
fn takes(ty: FieldType, op: FilterOp) -> bool {
    let schema =
        Schema::builder().entity("thing", |thing| thing.field("id", FieldType::Integer).field("value", ty));
    let mesh = Mesh::builder(schema.build().unwrap()).build().unwrap();
    let value = match op {
        FilterOp::IsNull | FilterOp::IsNotNull => String::new(),
        op if op.is_of_arrays() && ty == FieldType::Json => {
            format!(r#","value":{}"#, if op.takes_list() { "[1]" } else { "1" })
        }
        op if op.takes_list() => format!(r#","value":[{}]"#, sample(ty)),
        _ => format!(r#","value":{}"#, sample(ty)),
    };
    let filter = format!(r#"{{"field":"value","op":"{}"{value}}}"#, op.as_str());
    let query = format!(r#"{{"thing":{{"$select":{{"id":true}},"$where":{filter}}}}}"#);
    mesh.plan(&Request::collection(mesh_ql::Format::Json, &query)).is_ok()
}

/// Returns the page with current rows. Cells that are written by hand are kept.
fn updated(page: &str) -> String {
    let tables = tables();
    let update = |block: &str| {
        let Some((_, rows)) = tables.iter().find(|(head, _)| block.starts_with(head)) else {
            return block.to_owned();
        };
        let (head, old): (Vec<_>, Vec<_>) = block.lines().enumerate().partition(|(line, _)| *line < 2);
        let old: HashMap<String, Vec<&str>> = old.into_iter().map(|(_, line)| row_cells(line)).collect();
        let mut lines: Vec<String> = head.into_iter().map(|(_, line)| line.to_owned()).collect();
        for row in rows {
            let name = row[0].clone().unwrap();
            let written = |column: usize| old.get(&name)?.get(column).map(ToString::to_string);
            let cells = row.iter().enumerate().map(|(column, cell)| {
                cell.clone().or_else(|| written(column)).unwrap_or_else(|| UNWRITTEN.to_owned())
            });
            lines.push(format!("| {} |", cells.collect::<Vec<_>>().join(" | ")));
        }
        lines.join("\n")
    };
    page.trim_end().split("\n\n").map(update).collect::<Vec<_>>().join("\n\n") + "\n"
}

/// Returns the first cell of a row, and all its cells.
fn row_cells(line: &str) -> (String, Vec<&str>) {
    let inner = line.strip_prefix("| ").and_then(|line| line.strip_suffix(" |")).unwrap();
    let cells: Vec<&str> = inner.split(" | ").collect();
    (cells[0].to_owned(), cells)
}

#[test]
fn page_is_current() {
    let page = updated(&std::fs::read_to_string(PAGE).unwrap());
    expect_file![PAGE].assert_eq(&page);
    assert!(!page.contains(UNWRITTEN), "describe the new rows in docs/reference.md");
}

#[test]
fn readme_names_settings_that_exist() {
    let readme = include_str!("../../../../README.md");
    let table = readme.split("| settings | what they decide |").nth(1).unwrap().split("\n\n").next().unwrap();
    let rows = table.lines().filter_map(|row| row.strip_prefix("| `")?.split(" | ").next());
    let named: Vec<&str> =
        rows.flat_map(|cell| cell.split(", ")).map(|name| name.trim_matches('`')).collect();
    let known = defaults().0;
    let unknown: Vec<&str> = named.iter().copied().filter(|name| !known.contains_key(name)).collect();
    assert!(!named.is_empty() && unknown.is_empty(), "{unknown:?}");
}
