//! Replies of execute: the data, and metadata about the plan and the statements.

use std::time::Duration;

use bytes::Bytes;
use mesh_plan::backend::TracedStatement;
use mesh_plan::plan::Output;
use mesh_plan::{Error, JsonBody, Node, Plan, Value};
use mesh_schema::Cardinality;
use serde_json::{Value as Json, json};

use crate::json::{set, set_some};

/// Returns the reply to a read.
pub(super) fn read_reply(
    duration: Duration,
    plan: &Plan,
    body: &JsonBody,
    statements: Option<&[TracedStatement]>,
) -> Bytes {
    assemble(&body.bytes, &explanation(duration, plan, body.rows, statements))
}

/// Describes how a query was run: `{durationMs, rows, plan, sql?}`, where `sql` contains these statements. `SPEC §13.2`
pub fn explanation(
    duration: Duration,
    plan: &Plan,
    rows: usize,
    statements: Option<&[TracedStatement]>,
) -> Json {
    let mut meta = meta(duration, rows, Some(plan));
    set_some(&mut meta, "sql", statements.map(|traced| traced.iter().map(statement).collect::<Vec<_>>()));
    meta
}

/// Returns the reply to a check: the plan or the fault.
pub(super) fn check_reply(duration: Duration, plan: Option<&Plan>, error: Option<&Error>) -> Bytes {
    let mut meta = meta(duration, 0, plan);
    set_some(&mut meta, "fault", error.map(fault));
    assemble(b"null", &meta)
}

/// Joins data and metadata without parsing the data.
fn assemble(data: &[u8], meta: &Json) -> Bytes {
    let meta = meta.to_string();
    Bytes::from([&br#"{"data":"#[..], data, br#","meta":"#, meta.as_bytes(), b"}"].concat())
}

fn meta(duration: Duration, rows: usize, plan: Option<&Plan>) -> Json {
    let mut meta = json!({"durationMs": milliseconds(duration), "rows": rows});
    set_some(&mut meta, "plan", plan.map(|plan| plan_json(plan.node())));
    meta
}

/// Returns the fault of a checked query, with the members of an error body.
fn fault(error: &Error) -> Json {
    let (message, path, position) = match error {
        Error::Syntax(error) => (error.message.clone(), error.path.as_deref(), Some(error.position)),
        Error::Plan(error) => (error.to_string(), Some(error.path.as_str()), error.position),
        other => (other.to_string(), None, None),
    };
    let mut fault = json!({"message": message});
    set_some(&mut fault, "path", path.filter(|path| !path.is_empty()));
    if let Some(position) = position {
        set(&mut fault, "line", position.line);
        set(&mut fault, "column", position.column);
    }
    fault
}

/// Returns the description of a statement. `path`, `runs` and `queryPlan` extend the protocol.
fn statement(traced: &TracedStatement) -> Json {
    let mut statement = json!({
        "sql": traced.sql,
        "params": traced.params.iter().map(parameter).collect::<Vec<_>>(),
        "durationMs": milliseconds(traced.duration),
        "rows": traced.rows,
        "runs": traced.runs,
    });
    if !traced.path.is_empty() {
        set(&mut statement, "path", traced.path.as_str());
    }
    if !traced.query_plan.is_empty() {
        set(&mut statement, "queryPlan", traced.query_plan.as_slice());
    }
    statement
}

fn parameter(value: &Value) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Boolean(value) => json!(value),
        Value::Integer(value) => json!(value),
        Value::Real(value) => json!(value),
        Value::Text(value) => json!(value.as_str()),
        Value::InvalidText(value) => json!(String::from_utf8_lossy(value)),
        Value::Bytes(value) => json!(format!("{} bytes", value.len())),
    }
}

/// Returns milliseconds, rounded to microseconds.
fn milliseconds(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 1e6).round() / 1e3
}

fn plan_json(root: &Node) -> Json {
    let mut joins = Vec::new();
    collect(root, &mut joins);
    json!({"entity": root.entity, "fields": fields(root), "joins": joins})
}

/// Collects the joins of a plan. Recursion is bounded by the depth of queries.
fn collect(parent: &Node, joins: &mut Vec<Json>) {
    for join in &parent.joins {
        let node = &join.node;
        let cardinality = if join.nesting.is_one() { Cardinality::One } else { Cardinality::Many };
        let cardinality = Cardinality::as_str(cardinality);
        joins.push(
            json!({"path": node.path, "entity": node.entity, "type": cardinality, "fields": fields(node)}),
        );
        collect(node, joins);
    }
}

/// Returns the selected fields of a node, without relations, in selection order.
fn fields(node: &Node) -> Vec<&str> {
    let names = node.output.iter().filter_map(|output| match output {
        Output::Field { key, .. } | Output::Part { key, .. } | Output::Computed { key, .. } => {
            Some(key.name())
        }
        Output::Join { .. } => None,
    });
    names.collect()
}
