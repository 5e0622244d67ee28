//! Is there room for it? Free disk, asked of `df`, before a large file is begun.

use std::path::Path;
use std::process::Command;

/// Refuses what needs more bytes than are free in the folder. Where `df` says nothing, nothing is refused.
pub(crate) fn has_room(folder: &Path, needed: u64, what: &str) -> Result<(), String> {
    let output = Command::new("df").arg("-Pk").arg(folder).output();
    let said = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    match free(&said) {
        Some(free) if free < needed => Err(format!(
            "{what} needs {:.1} GB of disk while it is made, and {} has {:.1} GB; make room there, set \
             CARGO_TARGET_DIR to a folder of a larger disk, or ask for less",
            gigabytes(needed),
            folder.display(),
            gigabytes(free)
        )),
        _ => Ok(()),
    }
}

/// Free bytes, from the fourth column of the last line: the name of a device may have spaces, so it is counted from
/// the column in percent.
fn free(said: &str) -> Option<u64> {
    let words: Vec<&str> = said.lines().last()?.split_whitespace().collect();
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
    fn free_bytes_are_found_in_what_df_says() {
        let said = "Filesystem 1024-blocks Used Available Capacity Mounted on\na disk 100 60 40 60% /mnt\n";
        assert_eq!(free(said), Some(40 * 1_024));
        assert_eq!([free(""), free("nothing"), free("5%")], [None; 3]);
    }

    #[test]
    fn what_does_not_fit_is_refused_with_both_figures() {
        let here = std::env::temp_dir();
        assert_eq!(has_room(&here, 0, "nothing"), Ok(()));
        let why = has_room(&here, u64::MAX, "a sample").unwrap_err();
        assert!(why.starts_with("a sample needs 18446744073.7 GB of disk"), "{why}");
    }
}
