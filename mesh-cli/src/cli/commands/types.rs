//! `mesh-server types`: writes types of a schema, and a client, for TypeScript or Python.

use clap::{Args, ValueEnum};
use mesh_docs::{python, typescript};

use crate::cli::args::SchemaOutputArgs;
use crate::cli::failure::Failure;
use crate::cli::output::{print_stderr, write};

/// Arguments of `types`.
#[derive(Debug, Args)]
pub(crate) struct TypesArgs {
    #[command(flatten)]
    output: SchemaOutputArgs,
    /// Language to write
    #[arg(long, value_name = "LANGUAGE", default_value = "typescript")]
    lang: Language,
    /// Also write hooks for React, as mesh-react.ts
    #[arg(long, requires = "output")]
    react: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Language {
    Typescript,
    Python,
}

pub(crate) fn run(args: &TypesArgs) -> Result<(), Failure> {
    if args.react && args.lang == Language::Python {
        return Err(Failure::usage_error(
            "--react applies only to TypeScript; leave it out with --lang python",
        ));
    }
    let (_, schema) = args.output.open()?;
    let output = args.output.output.as_deref();
    let (types, client) = match args.lang {
        Language::Typescript => (typescript::types(&schema), (typescript::CLIENT_FILE, typescript::CLIENT)),
        Language::Python => {
            let is_package = output.is_some_and(|output| output.with_file_name("__init__.py").exists());
            let import = if is_package { python::Import::Relative } else { python::Import::Absolute };
            (python::types(&schema, import), (python::CLIENT_FILE, python::CLIENT))
        }
    };
    let Some(output) = output else { return write(None, &types) };
    let mut modules = vec![client];
    modules.extend(args.react.then_some((typescript::REACT_FILE, typescript::REACT)));
    let modules: Vec<_> = modules.iter().map(|(name, text)| (output.with_file_name(name), text)).collect();
    if modules.iter().any(|(path, _)| path == output) {
        let message =
            format!("{} is the name of another file of the client; choose another name", output.display());
        return Err(Failure::usage_error(message));
    }
    write(Some(output), &types)?;
    let mut written = output.display().to_string();
    for (path, text) in &modules {
        write(Some(path), text)?;
        written = format!("{written}, {}", path.display());
    }
    print_stderr(format_args!("wrote {written}"));
    Ok(())
}
