//! `mesh-server explain`: prints the plan of a query, its SQL and the database's query plan.

mod index_advice;

use std::fmt::Write as _;
use std::io;

use mesh_plan::sql::sqlite::Statements;
use mesh_plan::{Error, Join, Mesh, Request};

use crate::cli::args::ExplainArgs;
use crate::cli::failure::{Failure, chain};
use crate::cli::output::print;
use crate::cli::server::data_source::DataSource;
use crate::cli::server::database::Database;
use crate::cli::settings::settings;
use crate::cli::terminal::{Colors, Look, excerpt};
use index_advice::IndexAdvice;

pub(crate) fn run(args: &ExplainArgs) -> Result<(), Failure> {
    let config = settings(args.settings(), args.config.as_deref())?;
    let source = DataSource::open_with_progress(&config).map_err(Failure::faults)?;
    let (format, text) = args.text.resolve(io::stdin()).map_err(Failure::start)?;
    let mesh = Mesh::builder(source.schema).limits(config.plan_limits()).build();
    let mesh = mesh.map_err(Failure::start)?;
    let request = match &args.id {
        Some(id) => Request::point(format.into(), &text, id),
        None => Request::collection(format.into(), &text),
    };
    let plan = mesh.plan_unrestricted(&request).map_err(|error| refused(&error, &text))?;
    let mut steps = Vec::new();
    if let Some(database) = &source.database {
        steps = database.query_plan(&plan).map_err(|error| Failure::found(chain(&error)))?;
    }
    let mut out = format!("{plan}\n");
    let mut steps = steps.into_iter();
    if let Some(Database::Postgres(_)) = &source.database {
        for (statement, steps) in steps {
            // Writing to a String cannot fail.
            let _ = writeln!(out, "-- {}\n{statement}", plan.node().path);
            for step in &steps {
                let _ = writeln!(out, "  -> {step}");
            }
        }
        return print(colored(out.trim_end()));
    }
    statements(&mut out, &Statements::from_plan(&plan), (plan.node(), None), &mut steps);
    print(colored(out.trim_end()))
}

/// Describes why the query has no plan, with an excerpt of the query.
fn refused(error: &Error, text: &str) -> Failure {
    let excerpt = |position| excerpt(text, position, Colors::of_errors());
    match error {
        Error::Plan(fault) => {
            let path = if fault.path.is_empty() { String::new() } else { format!(" (at {})", fault.path) };
            let excerpt = fault.position.map(excerpt).unwrap_or_default();
            Failure::found(format_args!("{fault}{path}{excerpt}"))
        }
        Error::Syntax(fault) => Failure::found(format_args!("{fault}{}", excerpt(fault.position))),
        _ => Failure::found(error),
    }
}

/// Colors the lines: names of nodes, query plans and warnings.
fn colored(out: &str) -> String {
    let colors = Colors::of_output();
    let line = |line: &str| match line.trim_start() {
        _ if line.starts_with("-- ") => colors.paint(Look::Name, line),
        inner if inner.starts_with("-- ") || inner.starts_with("-> ") => colors.paint(Look::Dim, line),
        inner if inner.starts_with("warning:") => colors.paint(Look::Wrong, line),
        _ => line.to_owned(),
    };
    out.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// Writes the statements of a tree. It is as deep as the query, whose depth is limited.
fn statements(
    out: &mut String,
    tree: &Statements,
    (node, join): (&mesh_plan::Node, Option<&Join>),
    steps: &mut impl Iterator<Item = (String, Vec<String>)>,
) {
    // Writing to a String cannot fail.
    let _ = writeln!(out, "-- {}\n{}", node.path, tree.statement);
    let query_plan = steps.next().map(|(_, steps)| steps).unwrap_or_default();
    for step in &query_plan {
        let _ = writeln!(out, "  -> {step}");
    }
    if let Some(advice) = IndexAdvice::new(node, join, &query_plan) {
        let _ = writeln!(out, "  {advice}");
    }
    out.push('\n');
    for (tree, join) in tree.joins.iter().zip(&node.joins) {
        statements(out, tree, (&join.node, Some(join)), steps);
    }
}
