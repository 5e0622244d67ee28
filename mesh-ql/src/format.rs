//! The names of the two query formats.

/// The format of a query's text. `SPEC §2.5`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Format {
    /// Selection and controls, as one JSON object.
    #[default]
    Json,
    /// The brace format: selection only.
    Ql,
}

impl Format {
    /// Both formats, the default first.
    pub const ALL: [Self; 2] = [Self::Json, Self::Ql];

    /// Returns the format's name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Ql => "ql",
        }
    }

    /// Returns the format with exactly that name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.name() == name)
    }
}
