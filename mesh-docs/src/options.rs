//! Options of the docs surface, and the features of the server that it is mounted in.

use std::fmt;

use crate::Access;

/// The options of the docs surface. `SPEC §13.2`
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// The URL prefix; `/docs` by default.
    pub path: String,
    /// The title in the page header and in introspection.
    pub title: Option<String>,
    /// The initial theme of the page.
    pub theme: Theme,
    /// Who may see the schema and run queries.
    pub auth: Access,
    /// Whether replies contain the SQL statements.
    pub sql: Sql,
    /// The visible entities; `None` for all.
    pub entities: Option<Vec<String>>,
    /// The roles that an administrator can view the data as; none by default.
    pub view_as: Vec<String>,
    /// The features of the server that the page may use.
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
            view_as: Vec::new(),
            offers: Offers::default(),
        }
    }
}

impl Options {
    /// Sets the URL prefix. `docs`, `/docs` and `/docs/` are equivalent; the empty path is the root.
    #[must_use]
    pub fn path(mut self, path: &str) -> Self {
        let path = path.trim_matches('/');
        self.path = if path.is_empty() { String::new() } else { format!("/{path}") };
        self
    }

    /// Returns whether a path belongs to the surface. The few paths of a surface at the root are not included.
    pub fn claims(&self, path: &str) -> bool {
        let is_below = |rest: &str| rest.is_empty() || (rest.starts_with('/') && !self.path.is_empty());
        path.strip_prefix(self.path.as_str()).is_some_and(is_below)
    }

    /// Sets the title. An empty title is ignored.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into()).filter(|title| !title.is_empty());
        self
    }

    /// Sets the initial theme of the page.
    #[must_use]
    pub fn theme(mut self, theme: Theme) -> Self {
        self.theme = theme;
        self
    }

    /// Sets who may see the schema and run queries.
    #[must_use]
    pub fn auth(mut self, auth: Access) -> Self {
        self.auth = auth;
        self
    }

    /// Sets whether replies contain the SQL statements.
    #[must_use]
    pub fn sql(mut self, sql: Sql) -> Self {
        self.sql = sql;
        self
    }

    /// Sets the visible entities.
    #[must_use]
    pub fn entities<N: Into<String>>(mut self, entities: impl IntoIterator<Item = N>) -> Self {
        self.entities = Some(entities.into_iter().map(Into::into).collect());
        self
    }

    /// Sets the roles that an administrator, a session with the role `admin`, can view the data as. The administrator
    /// then reads everything that the policies permit to the role, which can be more than they permit to the
    /// administrator.
    #[must_use]
    pub fn view_as<N: Into<String>>(mut self, roles: impl IntoIterator<Item = N>) -> Self {
        self.view_as = roles.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the features of the server that the page may use.
    #[must_use]
    pub fn offers(mut self, offers: Offers) -> Self {
        self.offers = offers;
        self
    }
}

/// The colors of the page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Theme {
    /// The theme that the reader's system prefers.
    System,
    /// Light text on a dark background.
    #[default]
    Dark,
    /// Dark text on a light background.
    Light,
}

impl Theme {
    /// Returns the name used in settings and in the page.
    pub fn name(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::Dark => "dark",
            Self::Light => "light",
        }
    }

    /// Returns the theme with that name.
    pub fn parse(name: &str) -> Option<Self> {
        [Self::System, Self::Dark, Self::Light].into_iter().find(|theme| theme.name() == name)
    }
}

impl fmt::Display for Theme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Whether replies contain the SQL statements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sql {
    /// Replies contain them. For development only, because statements reveal tables and columns.
    #[default]
    Dev,
    /// Replies do not contain them.
    Hidden,
}

impl Sql {
    /// Returns the name used in settings.
    pub fn name(self) -> &'static str {
        match self {
            Self::Dev => "dev",
            Self::Hidden => "false",
        }
    }

    /// Returns the option with that name.
    pub fn parse(name: &str) -> Option<Self> {
        [Self::Dev, Self::Hidden].into_iter().find(|sql| sql.name() == name)
    }
}

/// The features of the server, so that the page shows no controls that cannot work.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a profile of the protocol, on or off")]
pub struct Offers {
    /// The base path of reads; empty for the root.
    pub base: String,
    /// Whether there are logins and signed requests.
    pub integrity: bool,
    /// Whether there are bearers.
    pub bearer: bool,
    /// Whether signatures must cover method and path.
    pub binding: bool,
    /// Whether signatures of writes must cover method and path.
    pub bound_writes: bool,
    /// Whether clients may register queries.
    pub persisted: bool,
    /// Whether there are event streams.
    pub events: bool,
    /// Whether collections can be exported.
    pub exports: bool,
    /// Whether there are write routes.
    pub mutations: bool,
    /// Whether other origins have access.
    pub cors: bool,
}

impl Offers {
    /// Creates the features of a server at a base path without optional profiles.
    pub fn new(base: impl Into<String>) -> Self {
        Self { base: base.into(), ..Self::default() }
    }

    /// Returns the features that remain when an administrator views the data as another role: only reads, which the
    /// docs surface runs.
    pub(crate) fn for_views(&self) -> Self {
        Self { persisted: false, events: false, exports: false, mutations: false, ..self.clone() }
    }

    /// Returns the enabled profiles, separated by blanks.
    pub(crate) fn profile_list(&self) -> String {
        let all = [
            (self.integrity, "integrity"),
            (self.bearer, "bearer"),
            (self.binding, "binding"),
            (self.bound_writes, "bound-writes"),
            (self.persisted, "persisted"),
            (self.events, "events"),
        ];
        let enabled: Vec<_> = all.into_iter().filter_map(|(on, name)| on.then_some(name)).collect();
        enabled.join(" ")
    }

    /// Returns the optional profiles of the protocol that are on. `SPEC §1`
    pub(crate) fn optional_profiles(&self) -> Vec<&'static str> {
        let all = [
            (true, "batch"),
            (self.bearer, "bearer"),
            (true, "buckets"),
            (true, "caching"),
            (true, "computed"),
            (self.cors, "cors"),
            (true, "docs"),
            (self.events, "events"),
            (self.exports, "export"),
            (true, "json"),
            (true, "keys"),
            (self.mutations, "mutations"),
            (true, "params"),
            (self.persisted, "persisted"),
            (true, "relational"),
            (true, "search"),
        ];
        all.into_iter().filter_map(|(on, name)| on.then_some(name)).collect()
    }
}
