//! `mesh-server explain`: prints the plan of a query, its SQL and the database's query plan.

mod explanation;
mod foreign_keys;
mod index_advice;

use std::io;

use clap::Args;
use mesh_backend::error::with_causes;
use mesh_plan::plan::Join;
use mesh_plan::{Error, Mesh, Node, Plan, RecordId, Request, ResolveError};
use mesh_schema::TableName;
use mesh_sql::sqlite::Statements;
use mesh_wire::client as wire;

use crate::cli::args::role::check_role;
use crate::cli::args::{QueryTextArgs, RoleArgs, SourceArgs};
use crate::cli::failure::Failure;
use crate::cli::output::print;
use crate::cli::server::database::{Database, block_on};
use crate::cli::terminal::{Colors, excerpt};
use explanation::{Explanation, Statement};
use foreign_keys::Lookup;
use index_advice::{Rows, SMALL_TABLE_ROWS, index_advice};

/// Arguments of `explain`.
#[derive(Debug, Args)]
pub(crate) struct ExplainArgs {
    #[command(flatten)]
    source: SourceArgs,
    #[command(flatten)]
    role: RoleArgs,
    #[command(flatten)]
    pub(crate) text: QueryTextArgs,
    /// Explain the point read of this id, as it stands in a path (2,a%2Cb), instead of the collection read
    #[arg(long, allow_negative_numbers = true)]
    id: Option<String>,
    /// Print JSON: the conditions with their origin and values, the statements, and the warnings
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &ExplainArgs) -> Result<(), Failure> {
    let (config, source) = args.source.open()?;
    let (format, text) = args.text.resolve(io::stdin())?;
    if let Some(role) = args.role.role() {
        check_role(role, &source.schema)?;
    }
    let mesh = Mesh::builder(source.schema).limits(config.plan_limits()).build()?;
    let id = args.id.as_deref().map(|id| wire::RecordId::from_segment(id).to_segment());
    let request = match &id {
        Some(id) => Request::point(format, &text, RecordId::Segment(id)),
        None => Request::collection(format, &text),
    };
    let (params, principal) = (args.text.params()?, args.role.principal()?);
    let request = request.with_params(Some(&params)).with_principal(principal.as_ref());
    let plan = match args.role.role() {
        Some(_) => mesh.plan(&request),
        None => mesh.plan_unrestricted(&request),
    };
    let plan = plan.map_err(|error| refused(&error, &text))?;
    let compares_user =
        plan.conditions().iter().any(|it| it.session.iter().any(|(name, _)| name == "userId"));
    if compares_user && principal.is_some() && !args.role.has_user() {
        return Err(Failure::usage_error(
            "the policy compares with userId, which every session has; pass --user ID",
        ));
    }
    let database = source.database.as_ref();
    let statements = statements(&plan, database)?;
    let warnings = database.map_or(Ok(Vec::new()), |database| warnings(&plan, database))?;
    let explanation = Explanation { plan: &plan, role: args.role.role(), statements, warnings };
    print(if args.json { explanation.to_json() } else { explanation.to_text() })
}

/// Returns the statements of the plan, with the query plans of the database.
fn statements(plan: &Plan, database: Option<&Database>) -> Result<Vec<Statement>, Failure> {
    let steps = match database {
        Some(database) => wait(database.query_plan(plan))?,
        None => Vec::new(),
    };
    if database.is_some_and(|database| !database.reads_by_level()) {
        let title = || plan.node().path.clone();
        let whole = |(sql, steps)| Statement { title: title(), sql, steps, advice: None };
        return Ok(steps.into_iter().map(whole).collect());
    }
    let rows = |table: &TableName| match database {
        Some(database) => Ok(match wait(database.row_count(table, SMALL_TABLE_ROWS + 1))? {
            None => Rows::View,
            Some(count) if count <= SMALL_TABLE_ROWS => Rows::Few,
            Some(_) => Rows::Many,
        }),
        None => Ok(Rows::Many),
    };
    let mut statements = Vec::new();
    let tree = Statements::from_plan(plan);
    add_statements(&mut statements, &tree, (plan.node(), None), &mut steps.into_iter(), &rows)?;
    Ok(statements)
}

/// Returns warnings that concern the whole plan.
fn warnings(plan: &Plan, database: &Database) -> Result<Vec<String>, Failure> {
    let mut warnings = Vec::new();
    // The statements of levels have advice of their own.
    let is_advised = |lookup: &Lookup<'_>| lookup.is_nested && database.reads_by_level();
    for lookup in foreign_keys::lookups(plan.node()).into_iter().filter(|lookup| !is_advised(lookup)) {
        if wait(database.has_index(lookup.table, &lookup.columns))? == Some(false) {
            warnings.push(lookup.to_string());
        }
    }
    let refused = wait(async {
        match database.check_sorts(plan).await {
            Err(error @ ResolveError::SortTooLarge { .. }) => Ok(Some(error)),
            checked => checked.map(|()| None),
        }
    })?;
    warnings.extend(refused.map(|error| format!("the server refuses this query. {error}")));
    Ok(warnings)
}

/// Waits for an answer of the database.
fn wait<T>(answer: impl Future<Output = Result<T, ResolveError>>) -> Result<T, Failure> {
    block_on(async { answer.await.map_err(|error| Failure::check_failed(with_causes(&error))) })
}

/// Describes why the query has no plan, with an excerpt of the query.
fn refused(error: &Error, text: &str) -> Failure {
    let excerpt = |position| excerpt(text, position, Colors::for_stream(&io::stderr()));
    match error {
        Error::Plan(fault) => {
            let path = Some(&fault.path).filter(|path| !path.is_empty()).map(|path| format!("in {path}"));
            let position = fault.position.map(|position| position.to_string());
            let location: Vec<String> = path.into_iter().chain(position).collect();
            let excerpt = fault.position.map(excerpt).unwrap_or_default();
            Failure::check_failed(format_args!("{fault} ({})", location.join(", "))).with_excerpt(&excerpt)
        }
        Error::Syntax(fault) => Failure::check_failed(fault).with_excerpt(&excerpt(fault.position)),
        _ => Failure::check_failed(error),
    }
}

/// Adds the statements of a tree with advice about indexes. The tree is as deep as the query, whose depth is limited.
fn add_statements(
    statements: &mut Vec<Statement>,
    tree: &Statements,
    (node, join): (&Node, Option<&Join>),
    steps: &mut impl Iterator<Item = (String, Vec<String>)>,
    rows: &impl Fn(&TableName) -> Result<Rows, Failure>,
) -> Result<(), Failure> {
    if let Some(statement) = tree.rows.statement() {
        let steps = steps.next().map(|(_, steps)| steps).unwrap_or_default();
        let advice = index_advice(node, join, &steps, rows)?;
        let (title, sql) = (node.path.clone(), statement.to_string());
        statements.push(Statement { title, sql, steps, advice });
    }
    if let Some(total) = &tree.total {
        let steps = steps.next().map(|(_, steps)| steps).unwrap_or_default();
        let (title, sql) = (format!("{}, the total", node.path), total.to_string());
        statements.push(Statement { title, sql, steps, advice: None });
    }
    for (tree, join) in tree.joins.iter().zip(&node.joins) {
        add_statements(statements, tree, (&join.node, Some(join)), steps, rows)?;
    }
    Ok(())
}
