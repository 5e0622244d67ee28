//! Names of pending files. After a crash, only the name describes the file.

use std::path::{Path, PathBuf};

use crate::content_hash::{ContentHash, StorageKey};
use crate::content_type::ContentType;

/// The kind of a pending file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Pending {
    /// Bytes are being written.
    Part,
    /// All bytes are written.
    Sealed { key: StorageKey, content_type: ContentType },
}

impl Pending {
    pub(super) fn part_path(folder: &Path, unique: &str) -> PathBuf {
        folder.join(format!("{unique}.part"))
    }

    /// Returns the path of a sealed file. A content type has one slash and no comma, so a comma replaces the slash.
    pub(super) fn sealed_path(
        folder: &Path,
        key: StorageKey,
        unique: &str,
        content_type: &ContentType,
    ) -> PathBuf {
        let content_type = content_type.as_str().replace('/', ",");
        folder.join(format!("{}.{unique}.{content_type}", key.hash().hex()))
    }

    /// Parses the name of a file. Returns `None` for other files.
    pub(super) fn parse(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?;
        if let Some(unique) = name.strip_suffix(".part")
            && is_unique(unique)
        {
            return Some(Self::Part);
        }
        let mut pieces = name.splitn(3, '.');
        let key = ContentHash::from_hex(pieces.next()?)?.key();
        pieces.next().filter(|unique| is_unique(unique))?;
        let content_type = ContentType::parse(&pieces.next()?.replace(',', "/"))?;
        Some(Self::Sealed { key, content_type })
    }
}

/// Returns whether a text has the form `<process>-<number>`.
fn is_unique(text: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.split_once('-').is_some_and(|(process, number)| is_number(process) && is_number(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_parse_to_their_parts() {
        let key = ContentHash::digest(b"x").key();
        for text in ["image/png", "application/vnd.oasis.opendocument.text", "application/x-part"] {
            let content_type = ContentType::parse(text).unwrap();
            let path = Pending::sealed_path(Path::new("/p"), key, "12-3", &content_type);
            assert_eq!(path.parent(), Some(Path::new("/p")), "{path:?}");
            assert_eq!(Pending::parse(&path), Some(Pending::Sealed { key, content_type }));
        }
        assert_eq!(Pending::parse(&Pending::part_path(Path::new("/p"), "12-3")), Some(Pending::Part));
    }

    #[test]
    fn other_names_are_ignored() {
        for name in ["readme.txt", "x.part", ".part", "1-.part", "12-3", "..", "00.1-2.image,png"] {
            assert_eq!(Pending::parse(&Path::new("/p").join(name)), None, "{name}");
        }
    }
}
