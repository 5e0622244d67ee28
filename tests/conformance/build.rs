//! Lists the files of the kit, so that the program contains them.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// The folders and files that the program contains.
const KEPT: [&str; 4] = ["cases", "fixture", "profile.toml", "README.md"];

fn main() -> io::Result<()> {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let mut files = Vec::new();
    for name in KEPT {
        println!("cargo::rerun-if-changed={name}");
        list(&root.join(name), &mut files)?;
    }
    files.sort();
    let mut code = String::from("&[\n");
    for file in &files {
        let name = file.strip_prefix(&root).unwrap_or(file).to_string_lossy().replace('\\', "/");
        // Writing to a String cannot fail.
        let _ = writeln!(code, "    ({name:?}, include_str!({:?})),", file.display().to_string());
    }
    code.push_str("]\n");
    fs::write(PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default()).join("files.rs"), code)
}

fn list(path: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    if path.is_file() {
        files.push(path.to_owned());
        return Ok(());
    }
    for entry in fs::read_dir(path)? {
        list(&entry?.path(), files)?;
    }
    Ok(())
}
