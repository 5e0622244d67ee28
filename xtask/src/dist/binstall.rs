//! The metadata in the server's manifest, with which `cargo binstall` finds the archives.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{SERVER, write};

/// The metadata of the server's manifest, for one version.
pub(super) struct Binstall<'m> {
    version: &'m str,
    metadata: &'m Value,
}

impl<'m> Binstall<'m> {
    /// Reads the metadata of a package.
    pub(super) fn new(package: &'m Value, version: &'m str) -> Result<Self, String> {
        let metadata = package.get("metadata").and_then(|metadata| metadata.get("binstall"));
        let metadata =
            metadata.ok_or_else(|| format!("the manifest of {SERVER} has no metadata of binstall"))?;
        Ok(Self { version, metadata })
    }

    fn text(&self, key: &str) -> Result<&str, String> {
        let text = self.metadata.get(key).and_then(Value::as_str);
        text.ok_or_else(|| format!("the metadata of binstall of {SERVER} has no '{key}'"))
    }

    /// Returns the address of the folder of a release, in a repository.
    pub(super) fn folder(&self, repository: &str) -> Result<String, String> {
        let address = self.text("pkg-url")?;
        let (folder, _) = address.rsplit_once('/').ok_or_else(|| format!("'{address}' is no address"))?;
        Ok(folder.replace("{ repo }", repository).replace("{ version }", self.version))
    }

    /// Returns the name of the archive for a target.
    fn archive(&self) -> Result<&str, String> {
        let address = self.text("pkg-url")?;
        Ok(address.rsplit_once('/').map_or(address, |(_, name)| name))
    }

    /// Writes a manifest with the address of the archives, for an installation without a package registry.
    pub(super) fn make(&self, folder: &Path, url: &str) -> Result<PathBuf, String> {
        let text = format!(
            r#"# cargo binstall --manifest-path {SERVER}.binstall.toml {SERVER}
[package]
name = "{SERVER}"
version = "{}"
edition = "2024"

[[bin]]
name = "{SERVER}"
path = "src/main.rs"

[package.metadata.binstall]
pkg-url = "{url}/{}"
pkg-fmt = "{}"
bin-dir = "{}"
disabled-strategies = ["quick-install", "compile"]
"#,
            self.version,
            self.archive()?,
            self.text("pkg-fmt")?,
            self.text("bin-dir")?
        );
        write(&folder.join(format!("{SERVER}.binstall.toml")), text.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::super::{archive_name, server};
    use super::*;
    use crate::tidy::dependencies::metadata;

    const REPOSITORY: &str = "https://example.org/mesh";

    #[test]
    fn the_metadata_names_the_archives_that_are_made() {
        let metadata = metadata(&crate::root()).unwrap();
        let binstall = Binstall::new(server(&metadata).unwrap(), "1.2.3").unwrap();
        assert_eq!(binstall.folder(REPOSITORY).unwrap(), format!("{REPOSITORY}/releases/download/v1.2.3"));
        let triple = "x86_64-unknown-linux-musl";
        let archive = binstall.archive().unwrap().replace("{ target }", triple);
        assert_eq!(archive, format!("{}.tar.gz", archive_name(SERVER, triple)));
        // The program is at the top of the archive.
        assert_eq!(
            (binstall.text("pkg-fmt"), binstall.text("bin-dir")),
            (Ok("tgz"), Ok("{ bin }{ binary-ext }"))
        );
    }

    #[test]
    fn a_manifest_has_the_address_of_the_archives() {
        let metadata = metadata(&crate::root()).unwrap();
        let binstall = Binstall::new(server(&metadata).unwrap(), "1.2.3").unwrap();
        let folder = mesh_tests::TempDir::new();
        let made = binstall.make(folder.path(), "https://example.org/files").unwrap();
        let text = std::fs::read_to_string(made).unwrap();
        for line in [
            "version = \"1.2.3\"",
            "pkg-url = \"https://example.org/files/mesh-server-{ target }.tar.gz\"",
            "bin-dir = \"{ bin }{ binary-ext }\"",
        ] {
            assert!(text.lines().any(|it| it == line), "{line}: {text}");
        }
    }
}
