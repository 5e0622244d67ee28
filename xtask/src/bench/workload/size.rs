//! Sizes of samples: parsing, printing, and conversion to rows.

use std::fmt;

/// Bytes per post, including its comments, its share of users, and indexes.
const BYTES_PER_POST: u64 = 1_453;

const UNITS: [(&str, u64); 3] = [("GB", 1_000_000_000), ("MB", 1_000_000), ("KB", 1_000)];

/// An approximate file size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Size(u64);

impl Size {
    /// Parses a size such as `124MB`, from 100 kB to 100 GB.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let written = UNITS.iter().find_map(|(unit, bytes)| {
            let number: f64 = text.strip_suffix(unit)?.trim().parse().ok()?;
            Some(number * *bytes as f64)
        });
        match written {
            Some(bytes) if (1e5..=1e11).contains(&bytes) => Ok(Self(bytes as u64)),
            _ => {
                Err(format!("expected a size from 100KB to 100GB, such as 1MB, 124MB or 10GB, not '{text}'"))
            }
        }
    }

    /// Returns the size of a sample with this number of posts.
    pub(crate) fn from_posts(posts: u32) -> Self {
        Self(u64::from(posts) * BYTES_PER_POST)
    }

    /// Returns the number of posts of a sample of this size.
    pub(crate) fn posts(self) -> u32 {
        u32::try_from(self.0 / BYTES_PER_POST).unwrap_or(u32::MAX)
    }

    /// Returns the disk space needed to create it, including temporary files for sorting indexes.
    pub(crate) fn disk_space(self) -> u64 {
        self.0 + self.0 / 4
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, bytes) = UNITS.into_iter().find(|(_, bytes)| self.0 >= *bytes).unwrap_or(("B", 1));
        // One decimal, without a `.0`.
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
    fn printed_sizes_are_parsed_back() {
        for text in ["1MB", "124MB", "10GB", "1.5GB", "500KB"] {
            assert_eq!(Size::parse(text).unwrap().to_string(), text);
        }
        for wrong in ["", "10", "GB", "1TB", "-1MB", "1KB", "1000GB", "NaNGB"] {
            assert!(Size::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn default_sample_has_145_megabytes() {
        assert_eq!(
            (Size::from_posts(100_000).to_string(), Size::from_posts(100_000).posts()),
            ("145.3MB".to_owned(), 100_000)
        );
    }
}
