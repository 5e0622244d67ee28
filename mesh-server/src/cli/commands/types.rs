//! `mesh-server types`: writes TypeScript types of a schema.

use clap::Args;
use mesh_docs::typescript;

use crate::cli::args::SchemaOutputArgs;
use crate::cli::failure::Failure;
use crate::cli::output::{remark, write};

/// Arguments of `types`.
#[derive(Debug, Args)]
pub(crate) struct TypesArgs {
    #[command(flatten)]
    output: SchemaOutputArgs,
    /// Language to write
    #[arg(long, value_name = "LANGUAGE", default_value = "typescript", value_parser = ["typescript"])]
    lang: String,
}

pub(crate) fn run(args: &TypesArgs) -> Result<(), Failure> {
    let (_, schema) = args.output.open()?;
    let types = typescript::types(&schema);
    let Some(output) = &args.output.output else { return write(None, &types) };
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
