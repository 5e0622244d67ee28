//! Code blocks of the documentation that tests do not run. A comment above each block gives the reason.

use std::fs;
use std::path::Path;

/// Starts the comment that gives the reason.
const MARK: &str = "<!-- not run: ";

/// Returns a line for each block that is not run.
pub(crate) fn skipped(root: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let (path, name) = (entry.path(), entry.file_name());
            let name = name.to_string_lossy();
            if path.is_dir() && !name.starts_with('.') && name != "node_modules" && name != "target" {
                folders.push(path);
            } else if name.ends_with(".md") {
                let text = fs::read_to_string(&path).unwrap_or_default();
                let page = path.strip_prefix(root).unwrap_or(&path).display().to_string();
                found.extend(of_page(&page, &text));
            }
        }
    }
    found.sort();
    found
}

fn of_page<'a>(page: &'a str, text: &'a str) -> impl Iterator<Item = String> + 'a {
    text.lines().enumerate().filter_map(move |(at, line)| {
        let why = line.trim_start().strip_prefix(MARK)?.trim_end_matches("-->").trim_end();
        Some(format!("{page}, line {}: {why}", at + 1))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_listed_with_its_line() {
        let page = "a\n  <!-- not run: needs a cloud -->\n```sh\n```\n";
        assert_eq!(of_page("a.md", page).collect::<Vec<_>>(), ["a.md, line 2: needs a cloud"]);
        assert!(skipped(&crate::root()).iter().any(|line| line.starts_with("README.md")));
    }
}
