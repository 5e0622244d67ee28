//! Which of the optional parts are on, and how are they set? One struct for each section of the file.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use mesh_docs::{Sql, Theme};
use mesh_integrity::Binding;
use mesh_plan::Registration;

use crate::config::load::Reader;
use crate::config::{HOUR, SECOND, parse};

/// Sessions and signed requests: the section `[integrity]`. `SPEC §7`
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Integrity {
    /// Whether requests must be signed.
    pub(crate) enabled: bool,
    /// What all keys are derived from.
    pub(crate) secret: Option<Hidden>,
    /// A file that holds the secret, in its place.
    pub(crate) secret_file: Option<PathBuf>,
    /// Secrets of before, whose tokens are still good.
    pub(crate) previous_secrets: Vec<Hidden>,
    /// How long a token lives.
    pub(crate) ttl: Duration,
    /// What is done about timestamp and nonce.
    pub(crate) binding: Binding,
    /// How far a timestamp may be from the clock.
    pub(crate) replay_window: Duration,
    /// Where accounts are.
    pub(crate) users: Users,
}

impl Integrity {
    pub(in crate::config) const BINDINGS: [(&'static str, Binding); 3] =
        [("off", Binding::Off), ("accept", Binding::Accept), ("require", Binding::Require)];

    pub(in crate::config) fn read(reader: &mut Reader<'_>) -> Self {
        let default = Self::default();
        let read = Self {
            enabled: reader.read("integrity.enabled", parse::boolean, default.enabled),
            secret: reader.read("integrity.secret", parse::secret, default.secret),
            secret_file: reader.read("integrity.secret_file", parse::present, default.secret_file),
            previous_secrets: reader.read("integrity.previous_secrets", parse::secrets, Vec::new()),
            ttl: reader.read("integrity.ttl", parse::duration(SECOND, 24 * 366 * HOUR), default.ttl),
            binding: reader.read("integrity.binding", parse::choice(&Self::BINDINGS), default.binding),
            replay_window: reader.read(
                "integrity.replay_window",
                parse::duration(SECOND, HOUR),
                default.replay_window,
            ),
            users: Users::read(reader),
        };
        if read.secret.is_some() && read.secret_file.is_some() {
            reader.conflict(
                ["integrity.secret", "integrity.secret_file"],
                "and 'integrity.secret_file' exclude each other; write one of them".to_owned(),
            );
        }
        read
    }
}

impl Default for Integrity {
    fn default() -> Self {
        Self {
            enabled: false,
            secret: None,
            secret_file: None,
            previous_secrets: Vec::new(),
            ttl: 900 * SECOND,
            binding: Binding::Accept,
            replay_window: 60 * SECOND,
            users: Users::default(),
        }
    }
}

/// The table of accounts and its columns: the section `[integrity.users]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Users {
    /// The table.
    pub(crate) table: String,
    /// The column that a session's user is named by.
    pub(crate) id: String,
    /// The column of what is typed at a login.
    pub(crate) login: String,
    /// The column of argon2id hashes.
    pub(crate) password: String,
    /// The column of roles; empty where there are none.
    pub(crate) role: String,
    /// The column of tenants; empty where there are none.
    pub(crate) tenant: String,
}

impl Users {
    fn read(reader: &mut Reader<'_>) -> Self {
        let default = Self::default();
        Self {
            table: reader.read("integrity.users.table", parse::filled, default.table),
            id: reader.read("integrity.users.id", parse::filled, default.id),
            login: reader.read("integrity.users.login", parse::filled, default.login),
            password: reader.read("integrity.users.password", parse::filled, default.password),
            role: reader.read("integrity.users.role", parse::text, default.role),
            tenant: reader.read("integrity.users.tenant", parse::text, default.tenant),
        }
    }
}

impl Default for Users {
    fn default() -> Self {
        Self {
            table: "users".to_owned(),
            id: "id".to_owned(),
            login: "email".to_owned(),
            password: "password_hash".to_owned(),
            role: "role".to_owned(),
            tenant: String::new(),
        }
    }
}

/// Queries that are known by an id: the section `[persisted]`. `SPEC §8`
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Persisted {
    /// Whether queries can be read by id.
    pub(crate) enabled: bool,
    /// Who may register queries; left out, who signs where requests are signed, else everybody.
    pub(crate) registration: Option<Registration>,
    /// Whether nothing but registered queries is answered.
    pub(crate) only: bool,
    /// A file of queries that are known from the start.
    pub(crate) preload: Option<PathBuf>,
    /// How many registered queries are kept.
    pub(crate) max_entries: usize,
}

impl Persisted {
    pub(in crate::config) const REGISTRATIONS: [(&'static str, Option<Registration>); 3] = [
        ("open", Some(Registration::Open)),
        ("signed", Some(Registration::Signed)),
        ("closed", Some(Registration::Closed)),
    ];

    pub(in crate::config) fn read(reader: &mut Reader<'_>) -> Self {
        let default = Self::default();
        Self {
            enabled: reader.read("persisted.enabled", parse::boolean, default.enabled),
            registration: reader.read(
                "persisted.registration",
                parse::choice(&Self::REGISTRATIONS),
                default.registration,
            ),
            only: reader.read("persisted.only", parse::boolean, default.only),
            preload: reader.read("persisted.preload", parse::present, default.preload),
            max_entries: reader.read(
                "persisted.max_entries",
                parse::count(1, 10_000_000),
                default.max_entries,
            ),
        }
    }
}

impl Default for Persisted {
    fn default() -> Self {
        Self { enabled: true, registration: None, only: false, preload: None, max_entries: 10_000 }
    }
}

/// Files: the section `[uploads]`. `SPEC §9`
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Uploads {
    /// Whether files are taken.
    pub(crate) enabled: bool,
    /// Where they are kept: `file:FOLDER` or `s3://bucket/prefix`.
    pub(crate) store: String,
    /// The segment under the base where they are served.
    pub(crate) path: String,
    /// How large one may be, where its field says nothing else.
    pub(crate) max_bytes: usize,
    /// Which types are taken, where the field says nothing else; empty: any.
    pub(crate) content_types: Vec<String>,
}

impl Uploads {
    pub(in crate::config) fn read(reader: &mut Reader<'_>) -> Self {
        let default = Self::default();
        Self {
            enabled: reader.read("uploads.enabled", parse::boolean, default.enabled),
            store: reader.read("uploads.store", parse::filled, default.store),
            path: reader.read("uploads.path", parse::segment, default.path),
            max_bytes: reader.read("uploads.max_bytes", parse::size(1, 1 << 50), default.max_bytes),
            content_types: reader.read("uploads.content_types", parse::list, default.content_types),
        }
    }
}

impl Default for Uploads {
    fn default() -> Self {
        Self {
            enabled: false,
            store: "file:uploads".to_owned(),
            path: "files".to_owned(),
            max_bytes: 25 << 20,
            content_types: Vec::new(),
        }
    }
}

/// Streams of changes: the section `[events]`. `SPEC §10`
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Events {
    /// Whether they are offered.
    pub(crate) enabled: bool,
    /// Time between two signs of life.
    pub(crate) heartbeat: Duration,
}

impl Events {
    pub(in crate::config) fn read(reader: &mut Reader<'_>) -> Self {
        let default = Self::default();
        Self {
            enabled: reader.read("events.enabled", parse::boolean, default.enabled),
            heartbeat: reader.read("events.heartbeat", parse::duration(SECOND, HOUR), default.heartbeat),
        }
    }
}

impl Default for Events {
    fn default() -> Self {
        Self { enabled: true, heartbeat: 15 * SECOND }
    }
}

/// Write routes: the section `[mutations]`. `SPEC §11`
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mutations {
    /// Whether they are offered.
    pub(crate) enabled: bool,
}

impl Mutations {
    pub(in crate::config) fn read(reader: &mut Reader<'_>) -> Self {
        Self { enabled: reader.read("mutations.enabled", parse::boolean, false) }
    }
}

/// The playground: the section `[docs]`. `SPEC §13`
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Docs {
    /// Whether it is offered.
    pub(crate) enabled: bool,
    /// Where; not under the base.
    pub(crate) path: String,
    /// What stands in its header.
    pub(crate) title: String,
    /// How it looks at first.
    pub(crate) theme: Theme,
    /// Who may use it.
    pub(crate) auth: DocsAuth,
    /// Whether it shows SQL.
    pub(crate) sql: Sql,
    /// The entities that it shows; empty: all.
    pub(crate) entities: Vec<String>,
}

impl Docs {
    pub(in crate::config) const AUTHS: [(&'static str, DocsAuth); 2] =
        [("false", DocsAuth::Open), ("admin", DocsAuth::Admin)];
    pub(in crate::config) const SQL: [(&'static str, Sql); 2] = [("dev", Sql::Dev), ("false", Sql::Hidden)];
    pub(in crate::config) const THEMES: [(&'static str, Theme); 2] =
        [("dark", Theme::Dark), ("light", Theme::Light)];

    pub(in crate::config) fn read(reader: &mut Reader<'_>) -> Self {
        let default = Self::default();
        Self {
            enabled: reader.read("docs.enabled", parse::boolean, default.enabled),
            path: reader.read("docs.path", parse::path, default.path),
            title: reader.read("docs.title", parse::text, default.title),
            theme: reader.read("docs.theme", parse::choice(&Self::THEMES), default.theme),
            auth: reader.read("docs.auth", parse::choice(&Self::AUTHS), default.auth),
            sql: reader.read("docs.sql", parse::choice(&Self::SQL), default.sql),
            entities: reader.read("docs.entities", parse::list, default.entities),
        }
    }
}

impl Default for Docs {
    fn default() -> Self {
        Self {
            enabled: false,
            path: "/docs".to_owned(),
            title: String::new(),
            theme: Theme::Dark,
            auth: DocsAuth::Open,
            sql: Sql::Dev,
            entities: Vec::new(),
        }
    }
}

/// Who may use the playground.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DocsAuth {
    /// Everybody.
    Open,
    /// Sessions of the role `admin`.
    Admin,
}

/// Pages of other origins: the section `[cors]`. `SPEC §12.5`
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cors {
    /// Their origins; empty: none may ask.
    pub(crate) origins: Vec<String>,
}

impl Cors {
    pub(in crate::config) fn read(reader: &mut Reader<'_>) -> Self {
        Self { origins: reader.read("cors.origins", parse::origins, Vec::new()) }
    }
}

/// What outlives a restart: the section `[state]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct State {
    /// Where it is kept.
    pub(crate) store: Store,
    /// The file, where the database is SQLite; left out, one beside it.
    pub(crate) path: Option<PathBuf>,
}

impl State {
    pub(in crate::config) const STORES: [(&'static str, Store); 2] =
        [("memory", Store::Memory), ("database", Store::Database)];

    pub(in crate::config) fn read(reader: &mut Reader<'_>) -> Self {
        Self {
            store: reader.read("state.store", parse::choice(&Self::STORES), Store::Database),
            path: reader.read("state.path", parse::present, None),
        }
    }
}

impl Default for State {
    fn default() -> Self {
        Self { store: Store::Database, path: None }
    }
}

/// Where registered queries and ended sessions are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Store {
    /// In the process, and gone with it.
    Memory,
    /// In a database that other servers may share.
    Database,
}

/// A text that no log or message may show.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Hidden(pub(crate) String);

impl From<String> for Hidden {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl fmt::Debug for Hidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(hidden)")
    }
}
