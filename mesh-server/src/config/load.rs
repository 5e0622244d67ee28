//! Loading of the configuration from flags, environment and file.

use crate::config::Config;
use crate::config::print::EffectiveSettings;
use crate::config::reader::Reader;
use crate::config::sources::{ConfigFault, Flags, Sources};

/// The variable with the path of the configuration file, for commands without `--config`.
pub(crate) const FILE_VARIABLE: &str = "MESH_CONFIG";

/// The variable with the password for `--login`. It is not a setting.
pub(crate) const PASSWORD_VARIABLE: &str = "MESH_PASSWORD";

/// The text of a configuration file.
#[derive(Clone, Debug)]
pub(crate) struct SettingsFile {
    /// Name of the file in messages.
    pub(crate) name: String,
    /// The whole text.
    pub(crate) text: String,
}

/// The result of loading.
#[derive(Debug)]
pub(crate) struct Loaded {
    /// The settings, or everything that is wrong with them.
    pub(crate) config: Result<Config, Vec<ConfigFault>>,
    /// Variables that were ignored.
    pub(crate) warnings: Vec<ConfigFault>,
    /// The settings for `--print-config`.
    pub(crate) effective: EffectiveSettings,
}

impl Config {
    /// Reads the settings. A flag overrides a variable, a variable the file, and the file the default.
    pub(crate) fn load(
        flags: Flags,
        environment: impl IntoIterator<Item = (String, String)>,
        file: Option<&SettingsFile>,
    ) -> Loaded {
        let mut faults = Vec::new();
        let file = file.map(|file| (file.name.as_str(), file.text.as_str()));
        let sources = Sources::collect(flags, environment, file, &mut faults);
        let mut reader = Reader::new(&sources, faults);
        let config = Self::read(&mut reader);
        for (paths, message) in config.conflicts() {
            reader.conflict(paths, &message);
        }
        let warnings = reader.unknown_variables(&[FILE_VARIABLE, PASSWORD_VARIABLE]);
        let (faults, effective) = reader.finish();
        Loaded { config: if faults.is_empty() { Ok(config) } else { Err(faults) }, warnings, effective }
    }
}
