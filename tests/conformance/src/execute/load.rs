//! Steps that make the target load a schema document.

use std::process::{Command, Stdio};

use serde_json::Value;

use crate::case::Load;
use crate::encoding;
use crate::expression::plain;
use crate::failure::Failure;
use crate::profile::Profile;

/// Runs the command of the profile that loads a schema document, and compares its outcome.
pub(super) fn load(step: &Load, profile: &Profile) -> Result<(), Failure> {
    let command = profile.choice("load")?;
    let file = std::env::temp_dir().join(format!("mesh-schema-{}.json", encoding::random(16)));
    let setup = |error: std::io::Error| Failure::Setup(format!("choices.load: {error}"));
    std::fs::write(&file, step.schema.to_string()).map_err(setup)?;
    let path = file.display().to_string();
    let mut words = command.as_array().into_iter().flatten().map(|word| plain(word).replace("{file}", &path));
    let program = words.next().ok_or_else(|| Failure::Setup("choices.load is empty".to_owned()))?;
    let output = Command::new(program).args(words).stdin(Stdio::null()).output();
    let _ = std::fs::remove_file(&file);
    let output = output.map_err(setup)?;
    let said =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let said = Value::from(said);
    let is_loaded = output.status.success();
    match &step.refused[..] {
        [] if is_loaded => Ok(()),
        [] => Err(Failure::Mismatch(format!("the document is refused: {}", crate::matcher::brief(&said)))),
        _ if is_loaded => Err(Failure::Mismatch("the document is accepted".to_owned())),
        words => {
            let missing = words.iter().find(|word| !plain(&said).contains(word.as_str()));
            missing.map_or(Ok(()), |word| {
                let said = crate::matcher::brief(&said);
                Err(Failure::Mismatch(format!("the refusal does not name '{word}': {said}")))
            })
        }
    }
}
