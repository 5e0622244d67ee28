//! A Homebrew formula, for Linux and the architectures that were built.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::target::Target;
use super::{SERVER, archive_name, digest, write};

/// Writes the formula for the archives in a folder, which will be available at `url`.
pub(super) fn make(
    folder: &Path,
    url: &str,
    homepage: Option<&str>,
    version: &str,
    targets: &[&Target],
) -> Result<PathBuf, String> {
    let mut sources = String::new();
    for target in targets {
        let name = format!("{}.tar.gz", archive_name(SERVER, &target.triple));
        let sha256 = digest(&folder.join(&name))?;
        let guard = if target.architecture() == "aarch64" { "on_arm" } else { "on_intel" };
        // Writing to a string does not fail.
        let _ = write!(
            sources,
            "    {guard} do\n      url \"{url}/{name}\"\n      sha256 \"{sha256}\"\n    end\n"
        );
    }
    let homepage = homepage.map_or_else(String::new, |homepage| format!("\n  homepage \"{homepage}\""));
    let text = format!(
        r##"class MeshServer < Formula
  desc "Serves a database as a read API that returns exactly the requested JSON"{homepage}
  version "{version}"
  license "MIT"
  depends_on :linux

  on_linux do
{sources}  end

  def install
    bin.install "{SERVER}"
    generate_completions_from_executable(bin/"{SERVER}", "completions")
  end

  test do
    assert_match "{SERVER} {version}", shell_output("#{{bin}}/{SERVER} --version")
  end
end
"##
    );
    write(&folder.join(format!("{SERVER}.rb")), text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_formula_has_the_archive_of_each_architecture() {
        let folder = mesh_tests::TempDir::new();
        let targets =
            ["x86_64-unknown-linux-musl", "aarch64-unknown-linux-gnu"].map(|it| Target::parse(it).unwrap());
        for target in &targets {
            folder.write(&format!("{SERVER}-{}.tar.gz", target.triple), "abc");
        }
        let targets: Vec<_> = targets.iter().collect();
        let formula =
            make(folder.path(), "https://example.org/v1", Some("https://example.org"), "1.2.3", &targets)
                .unwrap();
        let text = std::fs::read_to_string(formula).unwrap();
        for part in [
            "\n  homepage \"https://example.org\"\n  version \"1.2.3\"\n",
            "on_intel do\n      url \"https://example.org/v1/mesh-server-x86_64-unknown-linux-musl.tar.gz\"",
            "on_arm do\n      url \"https://example.org/v1/mesh-server-aarch64-unknown-linux-gnu.tar.gz\"",
            "sha256 \"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\"",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let begins = text.matches(" do\n").count() + text.matches("def ").count() + 1;
        assert_eq!(begins, text.lines().filter(|line| line.trim() == "end").count(), "every block ends");
    }
}
