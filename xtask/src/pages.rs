//! Code blocks of the documentation that tests do not run. A comment above each block gives the reason.

use std::fs;
use std::path::Path;

use crate::files;

/// Starts the comment that gives the reason.
const MARK: &str = "<!-- not run: ";

/// Returns a line for each block that is not run.
pub(crate) fn skipped(root: &Path) -> Vec<String> {
    let pages = files::list(root).into_iter().filter(|path| path.extension().is_some_and(|it| it == "md"));
    let blocks = pages.flat_map(|path| {
        let page = path.strip_prefix(root).unwrap_or(&path).display().to_string();
        skipped_blocks(&page, &fs::read_to_string(&path).unwrap_or_default())
    });
    blocks.collect()
}

fn skipped_blocks(page: &str, text: &str) -> Vec<String> {
    let reason = |(index, line): (usize, &str)| {
        let reason = line.trim_start().strip_prefix(MARK)?.trim_end_matches("-->").trim_end();
        Some(format!("{page}, line {}: {reason}", index + 1))
    };
    text.lines().enumerate().filter_map(reason).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_listed_with_its_line() {
        let page = "a\n  <!-- not run: needs a cloud -->\n```sh\n```\n";
        assert_eq!(skipped_blocks("a.md", page), ["a.md, line 2: needs a cloud"]);
        assert!(skipped(&crate::root()).iter().any(|line| line.starts_with("README.md")));
    }
}
