//! `mesh-server check`: reports all faults of configuration, schema and database.

mod dry_run;

use mesh_server::Tls;

use crate::cli::args::CheckArgs;
use crate::cli::failure::Failure;
use crate::cli::output::print;
use crate::cli::output::remark;
use crate::cli::server::data_source::DataSource;
use crate::cli::settings::load;

pub(crate) fn run(args: &CheckArgs) -> Result<(), Failure> {
    let (config, _) = load(args.settings(), args.config.as_deref()).map_err(|faults| found(&faults))?;
    let certificate = config.tls.files().map(|(certificate, key)| Tls::open(certificate, key)).transpose();
    let (source, certificate) = (
        DataSource::open_with_progress(&config),
        certificate.map_err(|error| vec![format!("[tls]: {error}")]),
    );
    let source = match (source, certificate) {
        (Ok(source), Ok(_)) => source,
        (Err(faults), Ok(_)) | (Ok(_), Err(faults)) => return Err(found(&faults)),
        (Err(faults), Err(more)) => return Err(found(&[faults, more].concat())),
    };
    let faults = dry_run::faults(&config, &source);
    if !faults.is_empty() {
        return Err(found(&faults));
    }
    for note in &source.notes {
        remark(format_args!("note: {note}"));
    }
    if let Some(how) = &args.install_triggers {
        let database =
            source.database.as_ref().ok_or_else(|| Failure::start("--install-triggers needs a database"))?;
        return match database.triggers(&source.schema, how == "run").map_err(Failure::start)? {
            Some(statements) => print(statements.trim_end()),
            None => print("-- SQLite needs no triggers: the server notices changes of the file"),
        };
    }
    let entities = source.schema.entities().count();
    let relations: usize = source.schema.entities().map(|(_, entity)| entity.relations.len()).sum();
    let entities = counted(entities, "entity", "entities");
    print(format_args!("no faults: {entities}, {}", counted(relations, "relation", "relations")))
}

fn found(faults: &[String]) -> Failure {
    Failure::found(format!("{}\n{}", faults.join("\n"), counted(faults.len(), "fault", "faults")))
}

/// Formats a count with its noun.
fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}
