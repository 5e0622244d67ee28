//! `mesh-server serve`: serves a database over HTTP until a signal stops it.

use clap::Args;
use mesh_docs::Sql;

use crate::cli::args::{LogArgs, SourceArgs, collect_flags};
use crate::cli::failure::Failure;
use crate::cli::output::print;
use crate::cli::server::data_source::DataSource;
use crate::cli::server::logging;
use crate::cli::server::run::serve;
use crate::cli::settings::load;
use crate::config::{Config, DocsAuth, Flags};

/// Arguments of `serve`.
#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    #[command(flatten)]
    pub(crate) source: SourceArgs,
    /// Address and port to listen on; port 0 picks a free one [default: 127.0.0.1:4000]
    #[arg(long, value_name = "ADDR")]
    listen: Option<String>,
    /// Path that all routes are under; '' is the root [default: /mesh]
    #[arg(long, value_name = "PATH")]
    base: Option<String>,
    /// Threads that serve connections; 0 is one per core [default: 0]
    #[arg(long, value_name = "N")]
    threads: Option<String>,
    /// Print the settings in effect, with their origins and without secrets, and exit
    #[arg(long)]
    print_config: bool,
    /// Offer the playground at /docs
    #[arg(long)]
    docs: bool,
    /// Accept a playground without login, or with SQL, at an address that is not loopback
    #[arg(long)]
    allow_open_docs: bool,
    /// Offer write routes, for the writable fields of the schema document
    #[arg(long)]
    mutations: bool,
    #[command(flatten)]
    log: LogArgs,
}

impl ServeArgs {
    /// Returns the flags that are settings.
    pub(crate) fn flags(&self) -> Flags {
        let on = |switch: bool| switch.then(|| "true".to_owned());
        let flags = collect_flags([
            ("listen", &self.listen),
            ("base", &self.base),
            ("threads", &self.threads),
            ("docs.enabled", &on(self.docs)),
            ("mutations.enabled", &on(self.mutations)),
        ]);
        [self.source.flags(), flags, self.log.flags()].concat()
    }
}

pub(crate) fn run(args: &ServeArgs) -> Result<(), Failure> {
    let file = args.source.config.as_deref();
    let (config, effective) = load(args.flags(), file)?;
    if args.print_config {
        return print(effective.to_toml().trim_end());
    }
    if config.database.is_none() {
        return Err(Failure::usage_error(
            "no database to serve: name one, as in `mesh-server serve --database sqlite:blog.db`, or try `mesh-server demo`",
        ));
    }
    if !args.allow_open_docs {
        refuse_open_docs(&config)?;
    }
    let _logging = logging::start(&config)?;
    let source = DataSource::open(&config)?;
    serve(&config, source, |_| Ok(()))
}

/// Refuses a playground that is open to everyone, or that shows SQL, at an address other than loopback.
pub(crate) fn refuse_open_docs(config: &Config) -> Result<(), Failure> {
    let docs = &config.docs;
    if !docs.enabled || config.listen.ip().is_loopback() {
        return Ok(());
    }
    let fault = match (docs.auth, docs.sql) {
        (DocsAuth::Open, _) => "the playground is open to everyone (docs.auth = \"false\")",
        (DocsAuth::Admin, Sql::Dev) => "the playground shows SQL (docs.sql = \"dev\")",
        (DocsAuth::Admin, Sql::Hidden) => return Ok(()),
    };
    Err(Failure::usage_error(format!(
        "{fault}, and {} is not a loopback address: set docs.auth = \"admin\" and docs.sql = \"false\", or pass \
         --allow-open-docs to accept this",
        config.listen
    )))
}
