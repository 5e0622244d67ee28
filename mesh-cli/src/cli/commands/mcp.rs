//! `mesh-server mcp`: tools for an agent on standard input and output.

use std::time::Instant;

use clap::Args;

use crate::cli::args::role::check_role;
use crate::cli::args::{LogArgs, RoleArgs, SourceArgs};
use crate::cli::failure::Failure;
use crate::cli::server::app_factory::AppFactory;
use crate::cli::server::data_source::DataSource;
use crate::cli::server::{audit, logging};
use crate::cli::settings::load_config;
use crate::config::{Config, McpTools, Store};

/// Arguments of `mcp`.
#[derive(Debug, Args)]
pub(crate) struct McpArgs {
    #[command(flatten)]
    source: SourceArgs,
    #[command(flatten)]
    role: RoleArgs,
    /// Offer a tool that writes, for the writable fields of the schema document
    #[arg(long)]
    writes: bool,
    #[command(flatten)]
    log: LogArgs,
}

pub(crate) fn run(args: &McpArgs) -> Result<(), Failure> {
    let flags = [args.source.flags(), args.log.flags()].concat();
    let mut config = load_config(flags, args.source.config.as_deref())?;
    let _logging = logging::start(&config)?;
    serve_one_client(&mut config, args.writes);
    let source = DataSource::open(&config)?;
    match args.role.role() {
        Some(role) => check_role(role, &source.schema)?,
        None if source.schema.policies().is_some() => {
            return Err(Failure::usage_error(
                "the schema has policies: pass --role NAME, with --user, --tenant and --claim if they need them, or \
                 --role '*' for a client without a role",
            ));
        }
        None => {}
    }
    let principal = args.role.principal()?;
    for note in &source.notes {
        tracing::info!("{note}");
    }
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().on_thread_park(mesh_sqlite::before_park).build()?;
    let served = runtime.block_on(async {
        let mut factory = AppFactory::open(&config, source.database).await?;
        factory.options.local_principal = principal;
        let app = factory.app(source.schema)?;
        let served = app.serve_mcp(tokio::io::stdin(), tokio::io::stdout()).await;
        if let Some(audit) = &factory.options.audit {
            audit::flush(audit, Instant::now(), config.shutdown_timeout);
        }
        served.map_err(Failure::usage_error)
    });
    mesh_sqlite::before_park();
    // A read of standard input that is under way cannot be cancelled.
    runtime.shutdown_background();
    served
}

/// Turns off the parts that only a server on a network needs: the client is the user who started this process.
fn serve_one_client(config: &mut Config, writes: bool) {
    config.mcp.enabled = if writes { McpTools::Writes } else { McpTools::Reads };
    config.mutations.enabled = writes;
    config.integrity.enabled = false;
    (config.bearer.jwks, config.bearer.secret, config.bearer.secret_file) = (None, None, None);
    config.bearer.anonymous.clear();
    config.api_keys.table.clear();
    config.allowed_hosts.clear();
    config.cors.origins.clear();
    config.events.enabled = false;
    config.docs.enabled = false;
    config.export.enabled = false;
    config.uploads.enabled = false;
    config.state.store = Store::Memory;
}
