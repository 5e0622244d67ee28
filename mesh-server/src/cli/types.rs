//! `mesh-server types`: what programs in TypeScript are to know of a schema.

use mesh_docs::typescript;

use super::args::TypesArgs;
use super::source::Source;
use super::{Failure, faults_at_start, remark, role, settings, write};

pub(crate) fn run(args: &TypesArgs) -> Result<(), Failure> {
    let TypesArgs { described, lang: _ } = args;
    let config = settings(described.settings(), described.config.as_deref())
        .map_err(|faults| faults_at_start(&faults))?;
    let source = Source::awaited(&config).map_err(|faults| faults_at_start(&faults))?;
    let types = typescript::types(&*role::part(source.schema, described.role.as_deref())?);
    let Some(output) = &described.output else { return write(None, &types) };
    let client = output.with_file_name(typescript::CLIENT_FILE);
    if client == *output {
        let message = format!("{} is where the client goes; choose another name", output.display());
        return Err(Failure::start(message));
    }
    write(Some(output), &types)?;
    write(Some(&client), typescript::CLIENT)?;
    remark(format_args!("wrote {} and {}", output.display(), client.display()));
    Ok(())
}
