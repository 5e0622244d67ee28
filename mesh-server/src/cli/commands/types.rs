//! `mesh-server types`: writes TypeScript types of a schema.

use mesh_docs::typescript;

use crate::cli::args::TypesArgs;
use crate::cli::failure::Failure;
use crate::cli::output::remark;
use crate::cli::output::write;
use crate::cli::role_schema;
use crate::cli::server::data_source::DataSource;
use crate::cli::settings::settings;

pub(crate) fn run(args: &TypesArgs) -> Result<(), Failure> {
    let described = &args.output;
    let config = settings(described.settings(), described.config.as_deref())?;
    let source = DataSource::open_with_progress(&config).map_err(Failure::faults)?;
    let types = typescript::types(&*role_schema::visible_to(source.schema, described.role.as_deref())?);
    let Some(output) = &described.output else { return write(None, &types) };
    let client = output.with_file_name(typescript::CLIENT_FILE);
    if client == *output {
        let message = format!("{} is the name of the client; choose another name", output.display());
        return Err(Failure::start(message));
    }
    write(Some(output), &types)?;
    write(Some(&client), typescript::CLIENT)?;
    remark(format_args!("wrote {} and {}", output.display(), client.display()));
    Ok(())
}
