//! Check of free disk space, with `df`, before a large file is written.

use std::path::Path;
use std::process::Command;

/// Fails if the directory has fewer free bytes than needed. Succeeds if `df` is not available.
pub(crate) fn check_space(folder: &Path, needed: u64, what: &str) -> Result<(), String> {
    let output = Command::new("df").arg("-Pk").arg(folder).output();
    let output =
        output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    match free(&output) {
        Some(free) if free < needed => Err(format!(
            "{what} needs {:.1} GB of disk space, and {} has {:.1} GB; free some space, set \
             CARGO_TARGET_DIR to a directory on a larger disk, or choose a smaller size",
            gigabytes(needed),
            folder.display(),
            gigabytes(free)
        )),
        _ => Ok(()),
    }
}

/// Returns the free bytes from the output of `df`. Names of devices may contain blanks, so the column is located
/// relative to the percentage.
fn free(output: &str) -> Option<u64> {
    let words: Vec<&str> = output.lines().last()?.split_whitespace().collect();
    let percent = words.iter().position(|word| word.ends_with('%'))?;
    let kibibytes: u64 = words.get(percent.checked_sub(1)?)?.parse().ok()?;
    Some(kibibytes * 1_024)
}

fn gigabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn free_bytes_are_parsed_from_df() {
        let output = "Filesystem 1024-blocks Used Available Capacity Mounted on\na disk 100 60 40 60% /mnt\n";
        assert_eq!(free(output), Some(40 * 1_024));
        assert_eq!([free(""), free("nothing"), free("5%")], [None; 3]);
    }

    #[test]
    fn too_little_space_is_refused_with_both_figures() {
        let here = std::env::temp_dir();
        assert_eq!(check_space(&here, 0, "nothing"), Ok(()));
        let why = check_space(&here, u64::MAX, "a sample").unwrap_err();
        assert!(why.starts_with("a sample needs 18446744073.7 GB of disk"), "{why}");
    }
}
