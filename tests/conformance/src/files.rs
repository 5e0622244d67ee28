//! The files of the kit, which the program contains: the cases, the fixture, the profile and the guide.

use std::path::Path;

use crate::case::paragraphs::SPECIFICATION;

/// The files with their paths from the folder of the kit, sorted.
pub const FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/files.rs"));

/// Returns the text of a file.
///
/// # Errors
/// Returns a message if there is no such file.
pub fn text(name: &str) -> Result<&'static str, String> {
    let found = FILES.iter().find(|(known, _)| *known == name);
    found.map(|(_, text)| *text).ok_or_else(|| format!("the kit has no file '{name}'"))
}

/// Writes all files below a folder, which is created if it does not exist.
///
/// # Errors
/// Returns the first file that cannot be written.
pub fn export(folder: &Path) -> Result<(), String> {
    for (name, text) in FILES.iter().chain(&[("SPEC.md", SPECIFICATION)]) {
        let file = folder.join(name);
        let made = file.parent().map_or(Ok(()), std::fs::create_dir_all);
        made.and_then(|()| std::fs::write(&file, text))
            .map_err(|error| format!("cannot write {}: {error}", file.display()))?;
    }
    Ok(())
}
