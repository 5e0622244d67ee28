//! The settings of a command, from flags, environment and file.

use std::path::{Path, PathBuf};

use crate::cli::failure::Failure;
use crate::cli::output::remark;
use crate::config::{Config, EffectiveSettings, FILE_VARIABLE, Flags, SettingsFile};

/// Reads the settings; a fault of any of them ends the command.
pub(crate) fn settings(flags: Flags, file: Option<&Path>) -> Result<Config, Failure> {
    load(flags, file).map(|(config, _)| config).map_err(Failure::faults)
}

/// Reads the settings, and returns all faults if there are any.
pub(crate) fn load(flags: Flags, file: Option<&Path>) -> Result<(Config, EffectiveSettings), Vec<String>> {
    let file = file.map(Path::to_owned).or_else(|| std::env::var_os(FILE_VARIABLE).map(PathBuf::from));
    let file = file.as_deref().map(read).transpose().map_err(|fault| vec![fault])?;
    let environment = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    let loaded = Config::load(flags, environment, file.as_ref());
    for warning in &loaded.warnings {
        remark(format_args!("warning: {warning}"));
    }
    let config =
        loaded.config.map_err(|faults| faults.iter().map(ToString::to_string).collect::<Vec<_>>())?;
    Ok((config, loaded.effective))
}

fn read(path: &Path) -> Result<SettingsFile, String> {
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path)
        .map_err(|error| format!("cannot read the configuration {name}: {error}"))?;
    Ok(SettingsFile { name, text })
}
