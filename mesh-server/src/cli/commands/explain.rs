//! `mesh-server explain`: prints the plan of a query, its SQL and the database's query plan.

mod foreign_keys;
mod index_advice;

use std::fmt::{Display, Write as _};
use std::io;

use clap::Args;
use mesh_plan::sql::sqlite::Statements;
use mesh_plan::{Error, Join, Mesh, Node, Request, ResolveError};
use mesh_schema::TableName;

use crate::cli::args::{QueryTextArgs, SourceArgs};
use crate::cli::failure::{Failure, chain};
use crate::cli::output::print;
use crate::cli::server::database::Database;
use crate::cli::terminal::{Colors, Look, excerpt};
use foreign_keys::Lookup;
use index_advice::{Rows, SMALL, index_advice};

/// Arguments of `explain`.
#[derive(Debug, Args)]
pub(crate) struct ExplainArgs {
    #[command(flatten)]
    source: SourceArgs,
    #[command(flatten)]
    pub(crate) text: QueryTextArgs,
    /// Explain the point read of this id instead of the collection read
    #[arg(long, allow_negative_numbers = true)]
    id: Option<String>,
}

pub(crate) fn run(args: &ExplainArgs) -> Result<(), Failure> {
    let (config, source) = args.source.open()?;
    let (format, text) = args.text.resolve(io::stdin())?;
    let mesh = Mesh::builder(source.schema).limits(config.plan_limits()).build()?;
    let request = match &args.id {
        Some(id) => Request::point(format, &text, id),
        None => Request::collection(format, &text),
    };
    let params = args.text.params()?;
    let plan = mesh
        .plan_unrestricted(&request.with_params(Some(&params)))
        .map_err(|error| refused(&error, &text))?;
    let steps = match &source.database {
        Some(database) => database.query_plan(&plan)?,
        None => Vec::new(),
    };
    let mut out = format!("{plan}\n");
    if let Some(Database::Postgres(_)) = &source.database {
        for (statement, steps) in steps {
            write_statement(&mut out, &plan.node().path, &statement, &steps);
        }
    } else {
        let statements = match &source.database {
            Some(database) => database.statements(&plan)?,
            None => Statements::from_plan(&plan),
        };
        let rows = |table: &TableName| match &source.database {
            Some(database) => Ok(match database.row_count(table, SMALL + 1)? {
                None => Rows::View,
                Some(count) if count <= SMALL => Rows::Few,
                Some(_) => Rows::Many,
            }),
            None => Ok(Rows::Many),
        };
        write_statements(&mut out, &statements, (plan.node(), None), &mut steps.into_iter(), &rows)?;
    }
    if let Some(database) = &source.database {
        // The statements of nested relations have advice of their own in SQLite.
        let is_advised = |lookup: &Lookup<'_>| lookup.is_nested && matches!(database, Database::Sqlite(_));
        for lookup in foreign_keys::lookups(plan.node()).into_iter().filter(|lookup| !is_advised(lookup)) {
            if database.has_index(lookup.table, &lookup.columns)? == Some(false) {
                // Writing to a String cannot fail.
                let _ = writeln!(out, "{lookup}");
            }
        }
        match database.check_sorts(&plan) {
            Ok(()) => {}
            Err(error @ ResolveError::SortTooLarge { .. }) => {
                let _ = writeln!(out, "warning: the server refuses this query. {error}");
            }
            Err(error) => return Err(Failure::found(chain(&error))),
        }
    }
    print(colored(out.trim_end()))
}

/// Describes why the query has no plan, with an excerpt of the query.
fn refused(error: &Error, text: &str) -> Failure {
    let excerpt = |position| excerpt(text, position, Colors::for_stream(&io::stderr()));
    match error {
        Error::Plan(fault) => {
            let path = if fault.path.is_empty() { String::new() } else { format!(" (at {})", fault.path) };
            let excerpt = fault.position.map(excerpt).unwrap_or_default();
            Failure::found(format_args!("{fault}{path}")).with_excerpt(&excerpt)
        }
        Error::Syntax(fault) => Failure::found(fault).with_excerpt(&excerpt(fault.position)),
        _ => Failure::found(error),
    }
}

/// Colors the lines: names of nodes, query plans and warnings.
fn colored(out: &str) -> String {
    let colors = Colors::for_stream(&io::stdout());
    let line = |line: &str| match line.trim_start() {
        _ if line.starts_with("-- ") => colors.paint(Look::Name, line),
        inner if inner.starts_with("-- ") || inner.starts_with("-> ") => colors.paint(Look::Detail, line),
        inner if inner.starts_with("warning:") => colors.paint(Look::Fault, line),
        _ => line.to_owned(),
    };
    out.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// Writes a statement and the steps of its query plan.
fn write_statement(out: &mut String, title: &str, statement: impl Display, steps: &[String]) {
    // Writing to a String cannot fail.
    let _ = writeln!(out, "-- {title}\n{statement}");
    for step in steps {
        let _ = writeln!(out, "  -> {step}");
    }
}

/// Writes the statements of a tree with advice about indexes. The tree is as deep as the query, whose depth is limited.
fn write_statements(
    out: &mut String,
    tree: &Statements,
    (node, join): (&Node, Option<&Join>),
    steps: &mut impl Iterator<Item = (String, Vec<String>)>,
    rows: &impl Fn(&TableName) -> Result<Rows, Failure>,
) -> Result<(), Failure> {
    if let Some(statement) = tree.rows.statement() {
        let query_plan = steps.next().map(|(_, steps)| steps).unwrap_or_default();
        write_statement(out, &node.path, statement, &query_plan);
        if let Some(advice) = index_advice(node, join, &query_plan, rows)? {
            let _ = writeln!(out, "  {advice}");
        }
        out.push('\n');
    }
    if let Some(total) = &tree.total {
        let query_plan = steps.next().map(|(_, steps)| steps).unwrap_or_default();
        write_statement(out, &format!("{}, the total", node.path), total, &query_plan);
        out.push('\n');
    }
    for (tree, join) in tree.joins.iter().zip(&node.joins) {
        write_statements(out, tree, (&join.node, Some(join)), steps, rows)?;
    }
    Ok(())
}
