//! The playground: `[docs]`. `SPEC §13`

use mesh_docs::{Sql, Theme};

use crate::config::define::settings;
use crate::config::parse;

settings! {
    /// The playground: the section `[docs]`.
    Docs["docs."] {
        /// Whether the playground is offered.
        enabled: bool = false, parse::boolean;
        /// Path of the playground, outside the base path.
        path: String = "/docs".to_owned(), parse::path;
        /// Title in the header of the page.
        title: String = String::new(), parse::text;
        /// Initial theme: `dark` or `light`.
        theme: Theme = Theme::default(), parse::choice;
        /// Who may use the playground: `false` for everyone, `admin` for sessions with that role.
        auth: DocsAuth = DocsAuth::Open, parse::choice;
        /// Whether the playground shows SQL: `dev` or `false`.
        sql: Sql = Sql::default(), parse::choice;
        /// Entities in the playground; empty: all.
        entities: Vec<String> = Vec::new(), parse::list;
    }
    sections {}
}

/// Who may use the playground.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DocsAuth {
    /// Everyone.
    Open,
    /// Sessions with the role `admin`.
    Admin,
}

impl parse::Choice for DocsAuth {
    const CHOICES: &[(&'static str, Self)] = &[("false", Self::Open), ("admin", Self::Admin)];
}

impl parse::Choice for Sql {
    const CHOICES: &[(&'static str, Self)] = &[("dev", Self::Dev), ("false", Self::Hidden)];
}

impl parse::Choice for Theme {
    const CHOICES: &[(&'static str, Self)] = &[("dark", Self::Dark), ("light", Self::Light)];
}
