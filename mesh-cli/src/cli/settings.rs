//! The settings of a command, from flags, environment and file.

use std::path::{Path, PathBuf};

use mesh_server::regular_file;

use crate::cli::failure::{Failure, WithContext as _};
use crate::cli::output::print_stderr;
use crate::config::{Config, EffectiveSettings, FILE_VARIABLE, Flags, LoadedConfig, SettingsFile};

/// Reads the settings.
pub(crate) fn load_config(flags: Flags, file: Option<&Path>) -> Result<Config, Failure> {
    Ok(load(flags, file)?.0)
}

/// Reads the settings, and returns them also in the form for `--print-config`.
pub(crate) fn load(flags: Flags, file: Option<&Path>) -> Result<(Config, EffectiveSettings), Failure> {
    let loaded = load_with_faults(flags, file)?;
    let faults = |faults: Vec<_>| Failure::from_faults(faults.iter().map(ToString::to_string).collect());
    Ok((loaded.config.map_err(faults)?, loaded.effective))
}

/// Reads the settings even if some have faults. Fails if the file cannot be read.
pub(crate) fn load_with_faults(flags: Flags, file: Option<&Path>) -> Result<LoadedConfig, Failure> {
    let from_environment =
        || std::env::var_os(FILE_VARIABLE).filter(|path| !path.is_empty()).map(PathBuf::from);
    let file = file.map(Path::to_owned).or_else(from_environment);
    let file = file.as_deref().map(read).transpose()?;
    let environment = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    let loaded = Config::load(flags, environment, file.as_ref());
    for warning in &loaded.warnings {
        print_stderr(format_args!("warning: {warning}"));
    }
    Ok(loaded)
}

fn read(path: &Path) -> Result<SettingsFile, Failure> {
    let text = regular_file::read_to_string(path);
    let text = text.context(format_args!("cannot read the configuration {}", path.display()))?;
    Ok(SettingsFile { path: path.to_owned(), text })
}
