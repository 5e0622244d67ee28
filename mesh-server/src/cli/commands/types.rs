//! `mesh-server types`: what programs in TypeScript are to know of a schema.

use mesh_docs::typescript;

use crate::cli::args::TypesArgs;
use crate::cli::failure::Failure;
use crate::cli::failure::faults_at_start;
use crate::cli::output::remark;
use crate::cli::output::write;
use crate::cli::role_schema;
use crate::cli::server::data_source::Source;
use crate::cli::settings::settings;

pub(crate) fn run(args: &TypesArgs) -> Result<(), Failure> {
    let TypesArgs { described, lang: _ } = args;
    let config = settings(described.settings(), described.config.as_deref())
        .map_err(|faults| faults_at_start(&faults))?;
    let source = Source::awaited(&config).map_err(|faults| faults_at_start(&faults))?;
    let types = typescript::types(&*role_schema::part(source.schema, described.role.as_deref())?);
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
