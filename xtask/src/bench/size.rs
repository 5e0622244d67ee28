//! How large is a sample? A size in bytes, as it is written in options, and the rows that make a file of it.

use std::fmt;

/// Bytes of the file for one post with its comments, its part of a user, and the indexes.
const BYTES_PER_POST: u64 = 1_453;

const UNITS: [(&str, u64); 3] = [("GB", 1_000_000_000), ("MB", 1_000_000), ("KB", 1_000)];

/// About so many bytes of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Size(u64);

impl Size {
    /// Reads `124MB`, from 100 kilobytes to 100 gigabytes.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let written = UNITS.iter().find_map(|(unit, bytes)| {
            let number: f64 = text.strip_suffix(unit)?.trim().parse().ok()?;
            Some(number * *bytes as f64)
        });
        match written {
            Some(bytes) if (1e5..=1e11).contains(&bytes) => Ok(Self(bytes as u64)),
            _ => Err(format!("a size is such as 1MB, 124MB or 10GB, from 100KB to 100GB, not '{text}'")),
        }
    }

    /// The size of a sample of so many posts.
    pub(crate) fn of(posts: u32) -> Self {
        Self(u64::from(posts) * BYTES_PER_POST)
    }

    /// The posts of a sample of this size.
    pub(crate) fn posts(self) -> u32 {
        u32::try_from(self.0 / BYTES_PER_POST).unwrap_or(u32::MAX)
    }

    /// What has to be free while it is made: indexes are sorted beside it.
    pub(crate) fn room(self) -> u64 {
        self.0 + self.0 / 4
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, bytes) = UNITS.into_iter().find(|(_, bytes)| self.0 >= *bytes).unwrap_or(("B", 1));
        // To a tenth of the unit, without a `.0`.
        let tenths = (self.0 * 10 + bytes / 2) / bytes;
        match tenths % 10 {
            0 => write!(f, "{}{unit}", tenths / 10),
            tenth => write!(f, "{}.{tenth}{unit}", tenths / 10),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Size;

    #[test]
    fn sizes_are_read_as_they_are_written() {
        for text in ["1MB", "124MB", "10GB", "1.5GB", "500KB"] {
            assert_eq!(Size::parse(text).unwrap().to_string(), text);
        }
        for wrong in ["", "10", "GB", "1TB", "-1MB", "1KB", "1000GB", "NaNGB"] {
            assert!(Size::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_usual_sample_has_145_megabytes() {
        assert_eq!(
            (Size::of(100_000).to_string(), Size::of(100_000).posts()),
            ("145.3MB".to_owned(), 100_000)
        );
    }
}
