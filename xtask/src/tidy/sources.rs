//! Rules for single files: the first line, the length, the language, and which libraries a file may use.

use std::fs;
use std::path::Path;

use crate::files;

const LINES_MAX: usize = 450;

/// Libraries and the path prefixes of files that may use them. Tests outside `src` may use any library.
const ALLOWED_PATHS: [(&str, &[&str]); 5] = [
    (
        "sea_query",
        &["mesh-sql/src", "mesh-backend/src", "mesh-sqlite/src", "mesh-postgres/src", "mesh-mysql/src"],
    ),
    ("mysql_async", &["mesh-mysql/src"]),
    ("rusqlite", &["mesh-sqlite/src", "mesh-cli/src/cli/commands/demo"]),
    ("tokio_postgres", &["mesh-postgres/src"]),
    ("nom", &["mesh-ql/src/parse/token", "mesh-schema/src/document/join_condition.rs"]),
];

/// Returns the faults of all text files of the repository.
pub(super) fn faults(root: &Path) -> Result<Vec<String>, String> {
    let mut faults = Vec::new();
    for path in files::list(root) {
        let relative = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().replace('\\', "/");
        if [".rs", ".md", ".toml"].iter().any(|end| relative.ends_with(end)) {
            let text = fs::read_to_string(&path).map_err(|error| format!("{relative}: {error}"))?;
            faults.extend(check_file(&relative, &text).iter().map(|fault| format!("{relative}: {fault}")));
        }
    }
    Ok(faults)
}

fn check_file(path: &str, text: &str) -> Vec<String> {
    let mut faults = Vec::new();
    // Concatenated, so that this file does not contain the path.
    let private = ["/", "home", "/"].concat();
    if text.contains(&private) {
        faults.push(format!("contains a path of one machine (`{private}`)"));
    }
    faults.extend(super::language::faults(path, text));
    if !path.ends_with(".rs") {
        return faults;
    }
    if !text.starts_with("//!") {
        faults.push("does not begin with `//!` and a description of the file".to_owned());
    }
    let lines = text.lines().count();
    if lines > LINES_MAX {
        faults.push(format!("has {lines} lines; the maximum is {LINES_MAX}"));
    }
    faults.extend(super::macs::faults(path, text));
    if path.starts_with("mesh-") && path.contains("/src/") {
        for (library, homes) in ALLOWED_PATHS {
            let at_home = homes.iter().any(|home| path.starts_with(home));
            if !at_home && text.lines().any(|line| names(line, library)) {
                faults.push(format!("uses {library}, which only {} may use", homes.join(", ")));
            }
        }
    }
    faults
}

/// Whether a line of code contains a path that begins with the library. Comments do not count.
fn names(line: &str, library: &str) -> bool {
    let code = line.trim_start();
    if code.starts_with("//") {
        return false;
    }
    code.match_indices(library).any(|(at, _)| {
        let before = code.get(..at).unwrap_or_default();
        let after = code.get(at + library.len()..).unwrap_or_default();
        let begins = !before.ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let imported = before.ends_with("use ") && (after.starts_with(';') || after.starts_with(" as "));
        begins && (after.starts_with("::") || imported)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_refused_outside_their_directories() {
        let text = "//! A file.\nuse rusqlite::Connection;\n";
        assert!(check_file("mesh-sqlite/src/pool.rs", text).is_empty());
        assert!(check_file("mesh-server/tests/it/differential.rs", text).is_empty());
        let faults = check_file("mesh-server/src/app.rs", text);
        assert!(faults.len() == 1 && faults[0].starts_with("uses rusqlite"), "{faults:?}");
    }

    #[test]
    fn only_paths_count_as_uses_of_a_library() {
        for line in ["use nom::IResult;", "    ::nom::bytes::tag(x)", "use nom;", "f(nom::error::Error)"] {
            assert!(names(line, "nom"), "{line}");
        }
        for line in ["// nom::bytes", "let nominal = 1;", "economy::nom_de_plume()", "use binom::nom2::x;"] {
            assert!(!names(line, "nom"), "{line}");
        }
    }

    #[test]
    fn files_begin_with_a_description_and_stay_short() {
        assert_eq!(check_file("a/src/b.rs", "use std::fmt;\n").len(), 1);
        assert_eq!(check_file("a/src/b.rs", &format!("//! Long.\n{}", "\n".repeat(450))).len(), 1);
        assert_eq!(check_file("a/src/b.rs", &format!("//! Long.\n{}", "\n".repeat(449))).len(), 0);
        let private = format!("see /{}/me", "home");
        assert_eq!(check_file("docs/a.md", &private).len(), 1);
    }
}
