//! `mesh-server serve`: serves a database over HTTP until a signal stops it.

use mesh_docs::Sql;

use crate::cli::args::ServeArgs;
use crate::cli::failure::Failure;
use crate::cli::output::print;
use crate::cli::server::data_source::DataSource;
use crate::cli::server::logging;
use crate::cli::server::run::serve;
use crate::cli::settings::load;
use crate::config::{Config, DocsAuth};

pub(crate) fn run(args: &ServeArgs) -> Result<(), Failure> {
    let (config, effective) = load(args.settings(), args.config.as_deref()).map_err(Failure::faults)?;
    if args.print_config {
        return print(effective.to_toml().trim_end());
    }
    if config.database.is_none() {
        return Err(Failure::start(
            "no database to serve: name one, as in `mesh-server serve --database sqlite:blog.db`, or try `mesh-server demo`",
        ));
    }
    if !args.allow_open_docs {
        refuse_open_docs(&config)?;
    }
    let _logging = logging::start(&config)?;
    let source = DataSource::open(&config).map_err(Failure::faults)?;
    serve(&config, source, |_| Ok(()))
}

/// Refuses a playground that is open to everyone, or that shows SQL, at an address other than loopback.
fn refuse_open_docs(config: &Config) -> Result<(), Failure> {
    let docs = &config.docs;
    if !docs.enabled || config.listen.ip().is_loopback() {
        return Ok(());
    }
    let fault = match (docs.auth, docs.sql) {
        (DocsAuth::Open, _) => "the playground is open to everyone (docs.auth = \"false\")",
        (DocsAuth::Admin, Sql::Dev) => "the playground shows SQL (docs.sql = \"dev\")",
        (DocsAuth::Admin, Sql::Hidden) => return Ok(()),
    };
    Err(Failure::start(format!(
        "{fault}, and {} is not a loopback address: set docs.auth = \"admin\" and docs.sql = \"false\", or pass \
         --allow-open-docs to accept this",
        config.listen
    )))
}
