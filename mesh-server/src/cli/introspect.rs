//! `mesh-server introspect`: the schema document that a database suggests.

use super::args::IntrospectArgs;
use super::database::Database;
use super::terminal::Waiting;
use super::{Failure, remark, source, write};
use crate::config::Config;

pub(crate) fn run(args: &IntrospectArgs) -> Result<(), Failure> {
    let mut notes = Vec::new();
    let mut config = Config::default();
    config.postgres.schemas.clone_from(&args.schema);
    let waiting = Waiting::on(source::OPENING);
    let opened = Database::open(&args.database, &config, &[], &mut notes);
    let (_, catalog) = opened.map_err(Failure::start)?;
    drop(waiting);
    let (document, _) = source::inferred(&catalog, &mut notes);
    for note in &notes {
        remark(format_args!("note: {note}"));
    }
    write(args.output.as_deref(), &(document.to_json() + "\n"))
}
