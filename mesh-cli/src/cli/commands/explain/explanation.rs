//! The output of `explain`: text or JSON.

use std::fmt::{self, Write as _};
use std::io;

use data_encoding::BASE64;
use mesh_plan::plan::ConditionOrigin;
use mesh_plan::policy::SessionInput;
use mesh_plan::{Plan, Value};
use serde::Serialize;
use serde_json::{Map, Value as Json, json};

use crate::cli::terminal::{Colors, Style};

/// A plan with its statements and warnings.
pub(super) struct Explanation<'p> {
    pub(super) plan: &'p Plan,
    pub(super) role: Option<&'p str>,
    pub(super) statements: Vec<Statement>,
    /// Warnings that concern the whole plan.
    pub(super) warnings: Vec<String>,
}

/// A statement of a plan.
#[derive(Serialize)]
pub(super) struct Statement {
    /// The path of its node.
    #[serde(rename = "path")]
    pub(super) title: String,
    pub(super) sql: String,
    /// The steps of the database's query plan.
    #[serde(rename = "queryPlan")]
    pub(super) steps: Vec<String>,
    /// A warning about a missing index.
    #[serde(rename = "warning")]
    pub(super) advice: Option<String>,
}

impl<'p> Explanation<'p> {
    /// Returns the session values that the plan compares with, by name.
    fn session(&self) -> Vec<(String, &'p SessionInput)> {
        let mut all: Vec<(String, &SessionInput)> = Vec::new();
        for entry in self.plan.conditions().into_iter().flat_map(|condition| condition.session) {
            if !all.contains(&entry) {
                all.push(entry);
            }
        }
        all
    }

    /// Returns the explanation as text, with colors for a terminal.
    pub(super) fn to_text(&self) -> String {
        let mut out = self.plan.to_string();
        // Writing to a String cannot fail.
        let session: Vec<_> =
            self.session().iter().map(|(name, value)| format!("{name} = {}", DisplayInput(value))).collect();
        if !session.is_empty() {
            let _ = writeln!(out, "  session {}", session.join(", "));
        }
        out.push('\n');
        for Statement { title, sql, steps, advice } in &self.statements {
            let _ = writeln!(out, "-- {title}\n{sql}");
            for step in steps {
                let _ = writeln!(out, "  -> {step}");
            }
            if let Some(advice) = advice {
                let _ = writeln!(out, "  warning: {advice}");
            }
            out.push('\n');
        }
        for warning in &self.warnings {
            let _ = writeln!(out, "warning: {warning}");
        }
        colored(out.trim_end())
    }

    /// Returns the explanation as JSON.
    pub(super) fn to_json(&self) -> String {
        let conditions = self.plan.conditions().into_iter().map(|condition| {
            let session: Map<_, _> =
                condition.session.into_iter().map(|(name, value)| (name, input_to_json(value))).collect();
            json!({
                "path": condition.path,
                "entity": condition.entity,
                "origin": match condition.origin {
                    ConditionOrigin::Policy => "policy",
                    ConditionOrigin::Query => "query",
                },
                "condition": condition.text,
                "session": session,
            })
        });
        let shown = json!({
            "entity": self.plan.node().entity,
            "role": self.role,
            "plan": self.plan.to_string().lines().collect::<Vec<_>>(),
            "conditions": conditions.collect::<Vec<_>>(),
            "statements": self.statements,
            "warnings": self.warnings,
        });
        format!("{shown:#}")
    }
}

fn value_to_json(value: &Value) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Boolean(value) => json!(value),
        Value::Integer(value) => json!(value),
        Value::Real(value) => json!(value),
        Value::Text(value) => json!(value),
        Value::InvalidText(value) => json!(String::from_utf8_lossy(value)),
        Value::Bytes(value) => json!(BASE64.encode(value)),
    }
}

fn input_to_json(input: &SessionInput) -> Json {
    match input {
        SessionInput::One(value) => value_to_json(value),
        SessionInput::Many(values) => values.iter().map(value_to_json).collect(),
    }
}

/// Shows a value of the session.
struct DisplayInput<'v>(&'v SessionInput);

impl fmt::Display for DisplayInput<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            SessionInput::One(Value::Null) => f.write_str("null, for which no comparison is true"),
            input => input_to_json(input).fmt(f),
        }
    }
}

/// Colors the lines: names of nodes, conditions of policies, query plans and warnings.
fn colored(out: &str) -> String {
    let colors = Colors::for_stream(&io::stdout());
    let line = |line: &str| match line.trim_start() {
        _ if line.starts_with("-- ") => colors.paint(Style::Name, line),
        inner if inner.starts_with("-- ") || inner.starts_with("-> ") => colors.paint(Style::Detail, line),
        inner if inner.starts_with("policy ") => colors.paint(Style::Name, line),
        inner if inner.starts_with("warning:") => colors.paint(Style::Fault, line),
        _ => line.to_owned(),
    };
    out.lines().map(line).collect::<Vec<_>>().join("\n")
}
