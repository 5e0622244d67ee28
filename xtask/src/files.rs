//! The files of the repository.

use std::fs;
use std::path::{Path, PathBuf};

/// Returns all files in a folder and its subfolders, sorted, without hidden files, build outputs and npm packages.
pub(crate) fn list(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let (path, name) = (entry.path(), entry.file_name());
            if name.to_string_lossy().starts_with('.') || name == "node_modules" || name == "target" {
                continue;
            }
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    files.sort();
    files
}

/// Returns the text of all files in a folder and its subfolders with one of the extensions.
pub(crate) fn read_text(folder: &Path, extensions: &[&str]) -> String {
    let has_extension = |path: &PathBuf| {
        path.extension().is_some_and(|extension| extensions.iter().any(|known| extension == *known))
    };
    let files = list(folder).into_iter().filter(has_extension);
    files.filter_map(|path| fs::read_to_string(path).ok()).collect()
}
