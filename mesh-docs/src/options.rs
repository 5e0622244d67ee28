//! What can be set about the docs surface? The options of the protocol, and what the server around it offers.

use std::fmt;

use crate::Access;

/// The options of the docs surface. `SPEC §13.2`
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// The URL prefix, `/docs` unless set.
    pub path: String,
    /// Shown in the page's header and in the introspection.
    pub title: Option<String>,
    /// The theme that the page starts in.
    pub theme: Theme,
    /// Who may see the schema and run queries.
    pub auth: Access,
    /// Whether replies tell the statements that ran.
    pub sql: Sql,
    /// The entities that can be seen and read; `None` is all of them.
    pub entities: Option<Vec<String>>,
    /// What the page may use of the server that it is mounted in.
    pub offers: Offers,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            path: "/docs".to_owned(),
            title: None,
            theme: Theme::default(),
            auth: Access::default(),
            sql: Sql::default(),
            entities: None,
            offers: Offers::default(),
        }
    }
}

impl Options {
    /// Sets the prefix. `docs`, `/docs` and `/docs/` are the same; the empty path is the root.
    #[must_use]
    pub fn at(mut self, path: &str) -> Self {
        let path = path.trim_matches('/');
        self.path = if path.is_empty() { String::new() } else { format!("/{path}") };
        self
    }

    /// Sets the title; an empty one is none.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into()).filter(|title| !title.is_empty());
        self
    }

    /// Sets the theme that the page starts in.
    #[must_use]
    pub fn theme(mut self, theme: Theme) -> Self {
        self.theme = theme;
        self
    }

    /// Sets who may use the surface.
    #[must_use]
    pub fn auth(mut self, auth: Access) -> Self {
        self.auth = auth;
        self
    }

    /// Sets whether replies tell the statements that ran.
    #[must_use]
    pub fn sql(mut self, sql: Sql) -> Self {
        self.sql = sql;
        self
    }

    /// Sets the entities that can be seen and read.
    #[must_use]
    pub fn entities<N: Into<String>>(mut self, entities: impl IntoIterator<Item = N>) -> Self {
        self.entities = Some(entities.into_iter().map(Into::into).collect());
        self
    }

    /// Sets what the page may use of the server around it.
    #[must_use]
    pub fn offers(mut self, offers: Offers) -> Self {
        self.offers = offers;
        self
    }
}

/// The page's colors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Theme {
    /// Light text on a dark ground.
    #[default]
    Dark,
    /// Dark text on a light ground.
    Light,
}

impl Theme {
    /// The name in settings and in the page.
    pub fn name(self) -> &'static str {
        match self {
            Self::Dark => "dark",
            Self::Light => "light",
        }
    }

    /// The theme of that name.
    pub fn parse(name: &str) -> Option<Self> {
        [Self::Dark, Self::Light].into_iter().find(|theme| theme.name() == name)
    }
}

impl fmt::Display for Theme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Whether replies tell the statements that ran.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sql {
    /// They do: for development, since statements name tables and columns.
    #[default]
    Dev,
    /// They do not.
    Hidden,
}

impl Sql {
    /// The name in settings.
    pub fn name(self) -> &'static str {
        match self {
            Self::Dev => "dev",
            Self::Hidden => "false",
        }
    }

    /// The choice of that name.
    pub fn parse(name: &str) -> Option<Self> {
        [Self::Dev, Self::Hidden].into_iter().find(|sql| sql.name() == name)
    }
}

/// What the server around the surface offers, so that the page shows no button that cannot work.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a profile of the protocol, on or off")]
pub struct Offers {
    /// The base path of the reads, empty for the root.
    pub base: String,
    /// Login and signed requests.
    pub integrity: bool,
    /// Whether a read needs a signature that covers method and path as well.
    pub binding: bool,
    /// Persisted queries that clients may register.
    pub persisted: bool,
    /// Event streams of point reads.
    pub events: bool,
}

impl Offers {
    /// A server at that base path with none of the optional profiles.
    pub fn at(base: impl Into<String>) -> Self {
        Self { base: base.into(), ..Self::default() }
    }

    /// The profiles as the page is told of them.
    pub(crate) fn words(&self) -> String {
        let all = [
            (self.integrity, "integrity"),
            (self.binding, "binding"),
            (self.persisted, "persisted"),
            (self.events, "events"),
        ];
        let words: Vec<_> = all.into_iter().filter_map(|(on, word)| on.then_some(word)).collect();
        words.join(" ")
    }
}
