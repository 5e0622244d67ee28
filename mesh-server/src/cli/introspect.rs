//! `mesh-server introspect`: the schema document that a database suggests.

use super::args::IntrospectArgs;
use super::{Failure, print, remark, source};

pub(crate) fn run(args: &IntrospectArgs) -> Result<(), Failure> {
    let mut notes = Vec::new();
    let (_, catalog) = source::open(&args.database, &[], &mut notes).map_err(Failure::start)?;
    let (document, _) = source::inferred(&catalog, &mut notes);
    for note in &notes {
        remark(format_args!("note: {note}"));
    }
    let text = document.to_json();
    match &args.output {
        None => print(text),
        Some(path) => std::fs::write(path, text + "\n")
            .map_err(|error| Failure::start(format!("cannot write {}: {error}", path.display()))),
    }
}
