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
    /// Also write hooks for React, as mesh-react.ts
    #[arg(long, requires = "output")]
    react: bool,
}

pub(crate) fn run(args: &TypesArgs) -> Result<(), Failure> {
    let (_, schema) = args.output.open()?;
    let types = typescript::types(&schema);
    let Some(output) = &args.output.output else { return write(None, &types) };
    let react = (typescript::REACT_FILE, typescript::REACT);
    let mut modules = vec![(typescript::CLIENT_FILE, typescript::CLIENT)];
    modules.extend(args.react.then_some(react));
    let modules: Vec<_> = modules.iter().map(|(name, text)| (output.with_file_name(name), text)).collect();
    if modules.iter().any(|(path, _)| path == output) {
        let message =
            format!("{} is the name of another file of the client; choose another name", output.display());
        return Err(Failure::start(message));
    }
    write(Some(output), &types)?;
    let mut written = output.display().to_string();
    for (path, text) in &modules {
        write(Some(path), text)?;
        written = format!("{written}, {}", path.display());
    }
    remark(format_args!("wrote {written}"));
    Ok(())
}
