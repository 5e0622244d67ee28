//! Replies of execute: the data, and metadata about the plan and the statements.

use std::time::Duration;

use bytes::Bytes;
use mesh_plan::{Error, JsonBody, Node, Output, Plan, TracedStatement, Value};
use mesh_schema::Cardinality;
use serde::Serialize;
use serde::ser::Serializer;

/// Returns the reply to a read.
pub(super) fn ran(
    duration: Duration,
    plan: &Plan,
    body: &JsonBody,
    statements: Option<&[TracedStatement]>,
) -> Bytes {
    let sql = statements.map(|traced| traced.iter().map(statement).collect());
    let plan = Some(shown(plan.node()));
    let meta = Meta { duration_ms: milliseconds(duration), rows: body.rows, plan, sql, fault: None };
    assemble(&body.bytes, &meta)
}

/// Returns the reply to a check: the plan or the fault.
pub(super) fn checked(duration: Duration, plan: Option<&Plan>, fault: Option<&Error>) -> Bytes {
    let plan = plan.map(|plan| shown(plan.node()));
    let fault = fault.map(Fault::of);
    let meta = Meta { duration_ms: milliseconds(duration), rows: 0, plan, sql: None, fault };
    assemble(b"null", &meta)
}

/// Joins data and metadata without parsing the data.
#[expect(clippy::expect_used, reason = "strings and numbers always have a JSON text")]
fn assemble(data: &[u8], meta: &Meta<'_>) -> Bytes {
    let meta = serde_json::to_vec(meta).expect("plain data");
    Bytes::from([&br#"{"data":"#[..], data, br#","meta":"#, &meta, b"}"].concat())
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Meta<'p> {
    duration_ms: f64,
    rows: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    plan: Option<ShownPlan<'p>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sql: Option<Vec<Statement<'p>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fault: Option<Fault<'p>>,
}

/// The fault of a checked query, with the members of an error body.
#[derive(Serialize)]
struct Fault<'p> {
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<&'p str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    column: Option<u32>,
}

impl<'p> Fault<'p> {
    fn of(error: &'p Error) -> Self {
        match error {
            Error::Syntax(error) => Self {
                message: error.message.clone(),
                path: error.path.as_deref(),
                line: Some(error.position.line),
                column: Some(error.position.column),
            },
            Error::Plan(error) => {
                let path = Some(error.path.as_str()).filter(|path| !path.is_empty());
                let (line, column) = error.position.map(|at| (at.line, at.column)).unzip();
                Self { message: error.to_string(), path, line, column }
            }
            other => Self { message: other.to_string(), path: None, line: None, column: None },
        }
    }
}

#[derive(Serialize)]
struct ShownPlan<'p> {
    entity: &'p str,
    fields: Vec<&'p str>,
    joins: Vec<ShownJoin<'p>>,
}

#[derive(Serialize)]
struct ShownJoin<'p> {
    path: &'p str,
    entity: &'p str,
    #[serde(rename = "type")]
    ty: &'static str,
    fields: Vec<&'p str>,
}

/// A statement. `path`, `runs` and `queryPlan` extend the protocol.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Statement<'p> {
    sql: &'p str,
    params: Vec<Param<'p>>,
    duration_ms: f64,
    rows: u64,
    runs: u64,
    #[serde(skip_serializing_if = "str::is_empty")]
    path: &'p str,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    query_plan: &'p [String],
}

struct Param<'p>(&'p Value);

impl Serialize for Param<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Null => serializer.serialize_unit(),
            Value::Boolean(value) => serializer.serialize_bool(*value),
            Value::Integer(value) => serializer.serialize_i64(*value),
            Value::Real(value) => serializer.serialize_f64(*value),
            Value::Text(value) => serializer.serialize_str(value),
            Value::Bytes(value) => serializer.collect_str(&format_args!("{} bytes", value.len())),
        }
    }
}

fn statement(traced: &TracedStatement) -> Statement<'_> {
    Statement {
        sql: &traced.sql,
        params: traced.params.iter().map(Param).collect(),
        duration_ms: milliseconds(traced.duration),
        rows: traced.rows,
        runs: traced.runs,
        path: &traced.path,
        query_plan: &traced.query_plan,
    }
}

/// Returns milliseconds, rounded to microseconds.
fn milliseconds(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 1e6).round() / 1e3
}

fn shown(root: &Node) -> ShownPlan<'_> {
    let mut joins = Vec::new();
    collect(root, &mut joins);
    ShownPlan { entity: &root.entity, fields: fields(root), joins }
}

/// Collects the joins of a plan. Recursion is bounded by the depth of queries.
fn collect<'p>(node: &'p Node, joins: &mut Vec<ShownJoin<'p>>) {
    for join in &node.joins {
        let ty = Cardinality::name(join.cardinality);
        joins.push(ShownJoin {
            path: &join.node.path,
            entity: &join.node.entity,
            ty,
            fields: fields(&join.node),
        });
        collect(&join.node, joins);
    }
}

/// Returns the selected fields of a node, without relations, in selection order.
fn fields(node: &Node) -> Vec<&str> {
    let names = node.output.iter().filter_map(|output| match output {
        Output::Field { key, .. } | Output::Computed { key, .. } => Some(key.name()),
        Output::Join { .. } => None,
    });
    names.collect()
}
