//! Archives of a program.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Makes `NAME.tar.gz` with a program and further files at its top.
pub(super) fn make(folder: &Path, name: &str, program: &Path, files: &[PathBuf]) -> Result<PathBuf, String> {
    let staging = folder.join(format!("{name}.staging"));
    let staged = stage(&staging, program, files).and_then(|()| tar(folder, &staging, name));
    let _ = fs::remove_dir_all(&staging);
    staged
}

fn stage(staging: &Path, program: &Path, files: &[PathBuf]) -> Result<(), String> {
    fs::create_dir_all(staging).map_err(|error| format!("cannot create {}: {error}", staging.display()))?;
    for file in files.iter().map(PathBuf::as_path).chain([program]) {
        let to = staging.join(file.file_name().unwrap_or_default());
        fs::copy(file, to).map_err(|error| format!("cannot copy {}: {error}", file.display()))?;
    }
    Ok(())
}

fn tar(folder: &Path, staging: &Path, name: &str) -> Result<PathBuf, String> {
    let archive = folder.join(format!("{name}.tar.gz"));
    let mut tar = Command::new("tar");
    tar.args(["--create", "--gzip", "--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--file"]);
    tar.arg(&archive).arg("--directory").arg(staging).arg(".").env("LC_ALL", "C");
    super::run_tool(tar)?;
    Ok(archive)
}

/// Returns the documents that an archive of the server has.
pub(super) fn documents(root: &Path) -> Vec<PathBuf> {
    ["LICENSE", "README.md", "CHANGELOG.md"].map(|name| root.join(name)).into()
}
