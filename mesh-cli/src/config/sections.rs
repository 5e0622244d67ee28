//! The sections of the settings file, in the order of [`Config`](super::Config).

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use mesh_docs::{Sql, Theme};
use mesh_integrity::Binding;
use mesh_plan::persisted::Registration;
use mesh_server::{ClientLimits, HttpUrl, Rate};
use mesh_wire::response::{CacheControl, TagHeader};

use super::define::settings;
use super::location::{Location, Pooler};
use super::parse::{self, Choice, GIBIBYTE, HOUR, MEBIBYTE, SECOND, SecretText};

settings! {
    /// Limits of requests, queries and replies.
    Limits["limits."] {
        /// Largest `first` of a page
        page_max: u32 = mesh_ql::Limits::default().page_max, parse::count(1, 1_000_000);
        /// Records of a page without `first`; at most `page_max`
        page_default: u32 = page_max.min(mesh_plan::Limits::default().page_default), parse::count(1, 1_000_000);
        /// Largest `skip` of a page
        skip: u32 = mesh_ql::Limits::default().skip, parse::count(0, 1_000_000_000);
        /// Levels of nested relations
        depth: usize = mesh_ql::Limits::default().depth, parse::count(0, mesh_ql::Limits::MAX_DEPTH as u64);
        /// Selected fields and relations of a query
        fields: usize = mesh_ql::Limits::default().fields, parse::count(1, 100_000);
        /// Objects of one answer
        rows: usize = mesh_plan::Limits::default().rows, parse::count(1, 100_000_000);
        /// Bytes of one answer, before compression
        response_bytes: usize = mesh_plan::Limits::default().response_bytes, parse::size(1, 16 * GIBIBYTE);
        /// Bytes of query text
        query_bytes: usize = mesh_ql::Limits::default().query_bytes, parse::size(1, GIBIBYTE);
        /// Bytes of a JSON body
        body_bytes: usize = mesh_server::TransportLimits::default().body_bytes, parse::size(1, GIBIBYTE);
        /// Bytes of request line and headers
        header_bytes: usize = mesh_server::TransportLimits::default().header_bytes, parse::size(1_024, 16 * MEBIBYTE);
        /// Connections that are open at a time
        connections: usize = 10_000, parse::count(1, 1_000_000);
        /// Connections to one PostgreSQL or MariaDB server, for reads and as many for writes
        database_connections: usize = mesh_postgres::Settings::default().connections, parse::count(1, 10_000);
        /// Connections of one client address (IPv6: /64); of a client behind a trusted proxy, requests under way
        connections_per_address: usize = ClientLimits::default().connections_per_address, parse::count(1, 1_000_000);
        /// Event streams of one client address (IPv6: /64)
        streams_per_address: usize = ClientLimits::default().streams_per_address, parse::count(1, 1_000_000);
        /// Event streams of one session
        streams_per_session: usize = ClientLimits::default().streams_per_session, parse::count(1, 1_000_000);
        /// Requests that wait for a database or a resolver at a time; one export for each thirty, a quarter of them for one address
        requests: usize = ClientLimits::default().requests, parse::count(1, 1_000_000);
        /// Nonces that are remembered for one session
        nonces_per_session: usize = mesh_integrity::Gate::NONCES_PER_SESSION, parse::count(1, 1_000_000);
        /// Failed logins per minute for one account from one address; ten times as many for one account and for one address; sixty times as many invalid bearer tokens and API keys of one address (IPv6: /64)
        login_per_minute: u32 = mesh_server::Integrity::LOGIN_PER_MINUTE, parse::count(1, 1_000_000);
        /// Conditions on relations in one query
        relation_conditions: usize = mesh_ql::Limits::default().relation_conditions, parse::count(0, 100);
        /// Keys of `$orderBy` that are aggregates of relations, in one query
        aggregate_sorts: usize = mesh_ql::Limits::default().aggregate_sorts, parse::count(0, 64);
        /// Words, prefixes and phrases of one search text
        search_words: usize = mesh_ql::Limits::default().search_words, parse::count(1, 1_000);
        /// Rows that the database scans, by its estimate, for an order by values of related records
        related_sort_rows: u64 = mesh_plan::Limits::default().related_sort_rows, parse::count(0, 1_000_000_000_000);
        /// Requests of one client address, such as `100/s`
        per_address: Option<Rate> = None, parse::rate;
        /// Requests of one session, such as `30/m`
        per_session: Option<Rate> = None, parse::rate;
    }

    /// Traces.
    Otlp["otlp."] {
        /// URL of an OpenTelemetry collector that spans are sent to, such as `http://127.0.0.1:4318`; also `OTEL_EXPORTER_OTLP_ENDPOINT`.
        endpoint: Option<HttpUrl> = None, parse::optional(parse::collector);
        /// Headers for the collector, such as `["X-Api-Key: KEY"]`; also `OTEL_EXPORTER_OTLP_HEADERS`.
        headers: Vec<SecretText> = Vec::new(), parse::headers;
    }

    /// Health checks and metrics.
    Admin["admin."] {
        /// Address for health checks and metrics only; without it they are served at `listen`.
        listen: Option<SocketAddr> = None, parse::optional(parse::address);
    }

    /// Caches in memory.
    Cache["cache."] {
        /// Bytes of cached responses of a SQLite database, which are valid until it changes; 0 turns the cache off.
        responses: usize = mesh_sqlite::Settings::default().response_cache, parse::size(0, 64 * GIBIBYTE);
    }

    /// How long HTTP caches may keep answers to reads by GET. `SPEC §12.3`
    Caching["caching."] {
        /// `Cache-Control` of reads by GET; answers that depend on the caller are always `private`.
        control: CacheControl = CacheControl::default(), parse::cache_control;
        /// `Cache-Control` of reads by GET whose root is the entity, a line for each; in a variable `post = max-age=60; user = no-store`.
        entities: BTreeMap<String, CacheControl> = BTreeMap::new(), parse::cache_controls;
        /// Header with the tags by which CDNs purge these replies: `surrogate-key`, `cache-tag` or `off`.
        tags: Option<TagHeader> = None, parse::choice;
    }
    sections {
        purge: CachingPurge;
    }

    /// Shared caches that are notified of changes.
    CachingPurge["caching.purge."] {
        /// URLs that changes are sent to, one for each shared cache.
        urls: Vec<HttpUrl> = Vec::new(), parse::purge_urls;
        /// Header of each purge, such as `Fastly-Key: KEY`; sent only over https, or to this machine.
        header: Option<SecretText> = None, parse::header;
    }

    /// Sessions and signed requests.
    Integrity["integrity."] {
        /// Whether requests must be signed.
        enabled: bool = false, parse::boolean;
        /// Secret that all keys are derived from, at least 32 random bytes.
        secret: Option<SecretText> = None, parse::secret;
        /// File with the secret; excludes `integrity.secret`.
        secret_file: Option<PathBuf> = None, parse::optional_text;
        /// Earlier secrets, whose tokens remain valid.
        previous_secrets: Vec<SecretText> = Vec::new(), parse::secrets;
        /// Lifetime of a token.
        ttl: Duration = 900 * SECOND, parse::duration(SECOND, 24 * 366 * HOUR);
        /// Timestamps and nonces of requests: `off`, `accept` or `require`.
        binding: Binding = Binding::Accept, parse::choice;
        /// How far a timestamp may be from the server's clock.
        replay_window: Duration = 60 * SECOND, parse::duration(SECOND, HOUR);
    }
    sections {
        users: Users;
    }

    /// The table of accounts and its columns.
    Users["integrity.users."] {
        /// Table of accounts; empty: no logins, for servers whose sessions begin with bearer tokens or API keys.
        table: String = "users".to_owned(), parse::text;
        /// Column with the user's id.
        id: String = "id".to_owned(), parse::required_text;
        /// Column that a login is compared with.
        login: String = "email".to_owned(), parse::required_text;
        /// Column of argon2id hashes.
        password: String = "password_hash".to_owned(), parse::required_text;
        /// Column of roles; empty: no roles.
        role: String = "role".to_owned(), parse::text;
        /// Column of tenants; empty: no tenants.
        tenant: String = String::new(), parse::text;
    }

    /// Callers identified by JWTs of an issuer; off unless `jwks` or a secret is set. `SPEC §17`
    Bearer["bearer."] {
        /// Key set of the issuer: `https://…` or `file:…`.
        jwks: Option<Location> = None, parse::jwks;
        /// Secret shared with the issuer, at least 32 bytes, for HS256; excludes `bearer.jwks`.
        secret: Option<SecretText> = None, parse::secret;
        /// File with the secret; excludes `bearer.secret`.
        secret_file: Option<PathBuf> = None, parse::optional_text;
        /// Expected issuer, the claim `iss`; empty: any.
        issuer: String = String::new(), parse::text;
        /// Expected audiences, of which the claim `aud` must have one; empty: any.
        audience: Vec<String> = Vec::new(), parse::list;
        /// Claim with the user's id: the name of a member or a path such as `user.id`.
        id: String = "sub".to_owned(), parse::required_text;
        /// Claim with the role, or with a list of roles; empty: no roles.
        role: String = "role".to_owned(), parse::text;
        /// Roles that count, by rank: the role is the first of them in the claim; empty: the first in the claim.
        roles: Vec<String> = Vec::new(), parse::list;
        /// Claim with the tenant; empty: no tenants.
        tenant: String = String::new(), parse::text;
        /// Claims that policies may use as `claim.NAME`.
        claims: Vec<String> = Vec::new(), parse::list;
        /// How far the issuer's clock may differ.
        leeway: Duration = 30 * SECOND, parse::duration(Duration::ZERO, HOUR);
        /// Time between two reads of the key set.
        refresh: Duration = HOUR, parse::duration(SECOND, 30 * 24 * HOUR);
        /// Whether a bearer token suffices for reads while requests must be signed.
        unsigned: bool = true, parse::boolean;
        /// Role of requests without any credential; empty: they are refused.
        anonymous: String = String::new(), parse::text;
    }

    /// API keys. `SPEC §17.3`
    ApiKeys["api_keys."] {
        /// Table of API keys, with the columns `hash`, `owner`, `role` and `expires`; empty: no keys.
        table: String = String::new(), parse::text;
    }

    /// The audit log.
    Audit["audit."] {
        /// Where the audit log is kept: `file:PATH`, one JSON object per line, or `table:NAME`, a table of the database with the columns `time`, `event` and `entry`; empty: none.
        store: Option<Location> = None, parse::optional(parse::audit_store);
        /// Whether the entries of writes have the values of fields, and not only their names.
        values: bool = false, parse::boolean;
    }

    /// Queries that are known by an id.
    Persisted["persisted."] {
        /// Whether queries can be sent by id.
        enabled: bool = true, parse::boolean;
        /// Who may register queries: `open`, `signed` or `closed`; without it, `signed` if callers identify themselves, else `open`.
        registration: Option<Registration> = None, parse::optional(parse::choice);
        /// Whether only registered queries are answered.
        only: bool = false, parse::boolean;
        /// JSON file of queries that are registered at start.
        preload: Option<PathBuf> = None, parse::optional_text;
        /// Maximum number of registered queries.
        max_entries: usize = mesh_plan::persisted::Persisted::ENTRIES, parse::count(1, 10_000_000);
    }

    /// Files. `SPEC §9`
    Uploads["uploads."] {
        /// Whether files are accepted and served.
        enabled: bool = false, parse::boolean;
        /// Where files are kept: `file:FOLDER`, `s3://bucket/prefix`, or `s3://bucket/prefix?links=false` if the server sends the files itself.
        store: Location = "file:uploads".to_owned().into(), parse::required_text;
        /// Path segment under the base at which files are served.
        path: String = "files".to_owned(), parse::segment;
        /// Largest file, unless the schema sets another limit for the field.
        max_bytes: u64 = mesh_uploads::DEFAULT_MAX_BYTES, parse::size(1, 1 << 50);
        /// Accepted content types, unless the schema lists others for the field; empty: any.
        content_types: Vec<String> = Vec::new(), parse::content_types;
    }

    /// Streams of changes. `SPEC §10`
    Events["events."] {
        /// Whether streams are offered.
        enabled: bool = true, parse::boolean;
        /// Time between two heartbeats of a stream.
        heartbeat: Duration = mesh_server::Events::default().heartbeat, parse::duration(SECOND, HOUR);
    }

    /// Exports of collections as NDJSON or CSV. `SPEC §16`
    Export["export."] {
        /// Whether collections can be exported.
        enabled: bool = false, parse::boolean;
        /// Records of one export.
        rows: u32 = mesh_plan::Limits::default().export_rows, parse::count(1, u32::MAX as u64 - 1);
        /// Time limit of an export, which keeps a snapshot of the database until it ends.
        timeout: Duration = mesh_server::Exports::default().timeout, parse::duration(SECOND, 24 * HOUR);
    }

    /// Writes. `SPEC §11`
    Mutations["mutations."] {
        /// Whether write routes are offered.
        enabled: bool = false, parse::boolean;
    }

    /// Tools for agents, with the Model Context Protocol.
    Mcp["mcp."] {
        /// Whether the tools are served at `mcp` under the base path: `false`, `true`, or `writes` with a tool for writes, if `mutations.enabled` is set.
        enabled: McpTools = McpTools::Off, parse::choice;
    }

    /// The playground.
    Docs["docs."] {
        /// Whether the playground is offered.
        enabled: bool = false, parse::boolean;
        /// Path of the playground, outside the base path.
        path: String = "/docs".to_owned(), parse::path;
        /// Title in the header of the page.
        title: String = String::new(), parse::text;
        /// Initial theme: `dark`, `light` or `system` (what the reader's system prefers).
        theme: Theme = Theme::default(), parse::choice;
        /// Who may use the playground: `false` for everyone, `admin` for sessions with that role.
        auth: DocsAuth = DocsAuth::Open, parse::choice;
        /// Whether the playground shows SQL: `dev` or `false`.
        sql: Sql = Sql::default(), parse::choice;
        /// Entities in the playground; empty: all.
        entities: Vec<String> = Vec::new(), parse::list;
        /// Roles that sessions with the role `admin` can view the data as in the playground; empty: none. Needs an audit log.
        view_as: Vec<String> = Vec::new(), parse::list;
    }

    /// Pages of other origins. `SPEC §12.5`
    Cors["cors."] {
        /// Origins that may send requests from a browser; empty: none.
        origins: Vec<String> = Vec::new(), parse::checked_list(mesh_wire::Cors::new);
    }

    /// State that outlives a restart.
    State["state."] {
        /// Where registered queries and ended sessions are kept: `database` or `memory`.
        store: Store = Store::Database, parse::choice;
        /// SQLite file for the state; without it, a file beside the database.
        path: Option<PathBuf> = None, parse::optional_text;
    }

    /// Connections to a PostgreSQL database.
    Postgres["postgres."] {
        /// Whether a pooler assigns a connection to each transaction: `false`, `true`, or the URL of the primary itself, for connections that listen for changes past the pooler.
        pooler: Pooler = Pooler::None, parse::pooler;
    }

    /// The server's certificate.
    Tls["tls."] {
        /// PEM file with the certificate chain.
        cert: Option<PathBuf> = None, parse::optional_text;
        /// PEM file with the private key.
        key: Option<PathBuf> = None, parse::optional_text;
    }
}

impl Bearer {
    /// Returns whether bearers identify callers.
    pub(crate) fn is_on(&self) -> bool {
        self.source().is_some()
    }

    /// Returns the path of the setting that turns bearers on.
    pub(crate) fn source(&self) -> Option<&'static str> {
        match (&self.jwks, &self.secret, &self.secret_file) {
            (Some(_), ..) => Some("bearer.jwks"),
            (None, Some(_), _) => Some("bearer.secret"),
            (None, None, Some(_)) => Some("bearer.secret_file"),
            (None, None, None) => None,
        }
    }
}

impl Audit {
    /// Returns the file that the log is appended to.
    pub(crate) fn file(&self) -> Option<&str> {
        self.store.as_ref()?.strip_prefix("file:")
    }

    /// Returns the table of the database that the log is written to.
    pub(crate) fn table(&self) -> Option<&str> {
        self.store.as_ref()?.strip_prefix("table:")
    }
}

impl Tls {
    /// Returns the files of the certificate and the key, if both are set.
    pub(crate) fn files(&self) -> Option<(&PathBuf, &PathBuf)> {
        self.cert.as_ref().zip(self.key.as_ref())
    }
}

/// The tools that agents are offered over HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum McpTools {
    /// None.
    Off,
    /// Tools that read.
    Reads,
    /// Tools that read, and one that writes.
    Writes,
}

/// The store of registered queries and ended sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Store {
    /// In the process; a restart loses them.
    Memory,
    /// In a database that other servers may share.
    Database,
}

/// Who may use the playground.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DocsAuth {
    /// Everyone.
    Open,
    /// Sessions with the role `admin`.
    Admin,
}

impl Choice for Binding {
    const CHOICES: &[(&'static str, Self)] =
        &[("off", Self::Off), ("accept", Self::Accept), ("require", Self::Require)];
}

impl Choice for Registration {
    const CHOICES: &[(&'static str, Self)] =
        &[("open", Self::Open), ("signed", Self::Signed), ("closed", Self::Closed)];
}

impl Choice for Option<TagHeader> {
    const CHOICES: &[(&'static str, Self)] = &[
        ("off", None),
        ("surrogate-key", Some(TagHeader::SurrogateKey)),
        ("cache-tag", Some(TagHeader::CacheTag)),
    ];
}

impl Choice for McpTools {
    const CHOICES: &[(&'static str, Self)] =
        &[("false", Self::Off), ("true", Self::Reads), ("writes", Self::Writes)];
}

impl Choice for Store {
    const CHOICES: &[(&'static str, Self)] = &[("memory", Self::Memory), ("database", Self::Database)];
}

impl Choice for DocsAuth {
    const CHOICES: &[(&'static str, Self)] = &[("false", Self::Open), ("admin", Self::Admin)];
}

impl Choice for Sql {
    const CHOICES: &[(&'static str, Self)] = &[("dev", Self::Dev), ("false", Self::Hidden)];
}

impl Choice for Theme {
    const CHOICES: &[(&'static str, Self)] =
        &[("system", Self::System), ("dark", Self::Dark), ("light", Self::Light)];
}

#[cfg(test)]
mod tests;
