//! `mesh-server introspect`: writes the schema document that is inferred from a database.

use crate::cli::args::IntrospectArgs;
use crate::cli::failure::Failure;
use crate::cli::output::remark;
use crate::cli::output::write;
use crate::cli::server::data_source;
use crate::cli::server::database::Database;
use crate::cli::terminal::Spinner;
use crate::config::Config;

pub(crate) fn run(args: &IntrospectArgs) -> Result<(), Failure> {
    let mut notes = Vec::new();
    let mut config = Config::default();
    config.schemas.clone_from(&args.schema);
    let spinner = Spinner::start(data_source::OPENING);
    let opened = Database::open(&args.database, &config, &[], &mut notes);
    let (_, catalog) = opened.map_err(Failure::start)?;
    drop(spinner);
    let (document, _) = data_source::inferred(&catalog, &mut notes);
    for note in &notes {
        remark(format_args!("note: {note}"));
    }
    write(args.output.as_deref(), &(document.to_json() + "\n"))
}
