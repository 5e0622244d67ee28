//! The settings of a command, from flags, environment and file.

use std::path::Path;

use crate::cli::output::remark;
use crate::config::{Config, FILE_VARIABLE, Flags, SettingsFile};

/// The settings from flags, environment and file.
pub(crate) fn settings(flags: Flags, file: Option<&Path>) -> Result<Config, Vec<String>> {
    settings_and_print(flags, file).map(|(config, _)| config)
}

/// The same, and as a file that says where each comes from.
pub(crate) fn settings_and_print(flags: Flags, file: Option<&Path>) -> Result<(Config, String), Vec<String>> {
    let named = std::env::var_os(FILE_VARIABLE).map(std::path::PathBuf::from);
    let file = match file.map(Path::to_owned).or(named) {
        None => None,
        Some(path) => {
            let name = path.display().to_string();
            let text = std::fs::read_to_string(&path)
                .map_err(|error| vec![format!("cannot read the configuration {name}: {error}")])?;
            Some(SettingsFile { name, text })
        }
    };
    let environment = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    let loaded = Config::load(flags, environment, file.as_ref());
    for warning in &loaded.warnings {
        remark(format_args!("warning: {warning}"));
    }
    let printed = loaded.effective.to_toml();
    let config =
        loaded.config.map_err(|faults| faults.iter().map(ToString::to_string).collect::<Vec<_>>())?;
    Ok((config, printed))
}
