//! Settings of the server. Each is defined once, with its default, its parser and its description; see
//! [`settings!`](define).

use std::net::{Ipv4Addr, SocketAddr};
use std::num::NonZero;
use std::path::PathBuf;
use std::time::Duration;

use mesh_plan::persisted::Registration;
use mesh_server::{ClientLimits, HttpUrl, Proxies};
use mesh_wire::BasePath;
use mesh_wire::request::AllowedHosts;
use mesh_wire::response::CacheControl;

use define::settings;
pub(crate) use location::{Location, Pooler, split_scheme};
use parse::{HOUR, MILLISECOND, SECOND};
pub(crate) use print::EffectiveSettings;
use reader::Reader;
pub(crate) use reader::{BEARER_VARIABLE, FILE_VARIABLE, LoadedConfig, PASSWORD_VARIABLE};
use sections::{
    Admin, ApiKeys, Audit, Bearer, Cache, Caching, Cors, Docs, Events, Export, Integrity, Limits, Mcp,
    Mutations, Otlp, Persisted, Postgres, State, Tls, Uploads,
};
pub(crate) use sections::{DocsAuth, McpTools, Store, Users};
pub(crate) use sources::{Flags, SettingsFile, variable};

mod define;
mod location;
pub(crate) mod parse;
mod print;
mod reader;
mod removed;
mod sections;
mod sources;

#[cfg(test)]
mod tests;

settings! {
    /// All settings of one server.
    Config[""] {
        /// Address and port to listen on; port 0 picks a free one.
        listen: SocketAddr = SocketAddr::from((Ipv4Addr::LOCALHOST, 4_000)), parse::address;
        /// Path that all routes are under; empty: the root.
        base: BasePath = BasePath::default(), parse::base;
        /// URL of the database, such as `sqlite:blog.db`; with `?mmap=false` at its end, a SQLite file is not mapped into memory.
        database: Option<Location> = None, parse::optional_text;
        /// URLs of PostgreSQL servers that replicate `database`; reads go to them.
        replicas: Vec<Location> = Vec::new(), parse::list;
        /// PostgreSQL schemas to infer the entities from; empty: the first schema of the search path that exists.
        schemas: Vec<String> = Vec::new(), parse::list;
        /// Schema document; without one the schema is inferred from the database.
        schema: Option<PathBuf> = None, parse::optional_text;
        /// Threads that serve connections; 0: one per core.
        threads: usize = 0, parse::count(0, 1_024);
        /// Time limit of a request.
        request_timeout: Duration = mesh_server::TransportLimits::default().request_timeout, parse::duration(MILLISECOND, 24 * HOUR);
        /// Time that a stopping server waits for running requests.
        shutdown_timeout: Duration = 10 * SECOND, parse::duration(Duration::ZERO, HOUR);
        /// Log filter: a level, or levels by target such as `info,mesh_server=debug`.
        log: String = "info".to_owned(), parse::log_filter;
        /// Format of log lines: `pretty` or `json`.
        log_format: LogFormat = LogFormat::Pretty, parse::choice;
        /// Proxies whose `X-Forwarded-For` is trusted: addresses and networks.
        trusted_proxies: Proxies = Proxies::default(), parse::parsed_list(Proxies::parse);
        /// Names accepted as `Host`; empty: loopback names at a loopback address if callers do not identify themselves, else any.
        allowed_hosts: Vec<String> = Vec::new(), parse::checked_list(AllowedHosts::parse);
    }
    sections {
        limits: Limits;
        otlp: Otlp;
        admin: Admin;
        cache: Cache;
        caching: Caching;
        integrity: Integrity;
        bearer: Bearer;
        api_keys: ApiKeys;
        audit: Audit;
        persisted: Persisted;
        uploads: Uploads;
        events: Events;
        export: Export;
        mutations: Mutations;
        mcp: Mcp;
        docs: Docs;
        cors: Cors;
        state: State;
        postgres: Postgres;
        tls: Tls;
    }
}

/// The paths of the admin pages, which are served before all others.
const ADMIN_PAGES: [&str; 3] = ["/healthz", "/readyz", "/metrics"];

/// Format of log lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LogFormat {
    /// Text for people.
    Pretty,
    /// One JSON object per line.
    Json,
}

impl parse::Choice for LogFormat {
    const CHOICES: &[(&'static str, Self)] = &[("pretty", Self::Pretty), ("json", Self::Json)];
}

impl Config {
    /// Reports settings that do not fit together.
    fn check(&self, reader: &mut Reader<'_>) {
        self.check_pairs(reader);
        self.check_caching(reader);
        self.check_docs_path(reader);
        let Self { limits, otlp, .. } = self;
        if limits.page_default > limits.page_max {
            let message =
                format!("is {}, above 'limits.page_max', which is {}", limits.page_default, limits.page_max);
            reader.conflict(["limits.page_default", "limits.page_max"], &message);
        }
        if !self.integrity.enabled {
            for path in ["integrity.secret", "integrity.secret_file"] {
                let message =
                    "has no effect, because 'integrity.enabled' is not set: requests need no signature";
                reader.warn(path, message);
            }
        }
        if !otlp.headers.is_empty() && otlp.endpoint.as_ref().is_some_and(HttpUrl::is_unencrypted) {
            reader.warn("otlp.headers", "can be read on the way, because 'otlp.endpoint' is not 'https://…'");
        }
    }

    /// Reports a setting that excludes another one, or that has no effect without another one.
    fn check_pairs(&self, reader: &mut Reader<'_>) {
        let Self { integrity, bearer, docs, tls, persisted, .. } = self;
        let has_callers = self.identifies_callers();
        let excluding = [
            ["integrity.secret", "integrity.secret_file"],
            ["bearer.secret", "bearer.secret_file"],
            ["bearer.jwks", "bearer.secret"],
            ["bearer.jwks", "bearer.secret_file"],
        ];
        for paths in excluding {
            if paths.iter().all(|path| reader.has_value(path)) {
                let message = format!("and '{}' are mutually exclusive; set only one of them", paths[1]);
                reader.conflict(paths, &message);
            }
        }
        let callers = "'integrity.enabled', 'bearer.jwks', 'bearer.secret' or 'api_keys.table'";
        let tokens = "'bearer.jwks' or 'bearer.secret'";
        let admin = "otherwise there would be no administrator";
        let recorded = "each use is recorded";
        let registered = "otherwise no query could be registered";
        let is_guarded = docs.enabled && docs.auth == DocsAuth::Admin;
        let requirements = [
            (["bearer.anonymous", "bearer.jwks"], has_callers, callers, ""),
            (["bearer.issuer", "bearer.jwks"], bearer.is_on(), tokens, ""),
            (["bearer.audience", "bearer.jwks"], bearer.is_on(), tokens, ""),
            (["docs.auth", "integrity.enabled"], !is_guarded || has_callers, callers, admin),
            (["docs.view_as", "integrity.enabled"], has_callers, callers, admin),
            (["docs.view_as", "audit.store"], self.audit.store.is_some(), "'audit.store'", recorded),
            (["persisted.only", "persisted.enabled"], persisted.enabled, "'persisted.enabled'", registered),
            (["tls.cert", "tls.key"], tls.key.is_some(), "'tls.key'", ""),
            (["tls.key", "tls.cert"], tls.cert.is_some(), "'tls.cert'", ""),
        ];
        for (paths, is_met, needed, why) in requirements {
            if !is_met && reader.has_value(paths[0]) {
                let why = if why.is_empty() { String::new() } else { format!(": {why}") };
                reader.conflict(paths, &format!("requires {needed}{why}"));
            }
        }
        if integrity.enabled
            && integrity.users.table.is_empty()
            && !bearer.is_on()
            && self.api_keys.table.is_empty()
        {
            let message = "must not be empty without 'bearer.jwks', 'bearer.secret' or 'api_keys.table': no session could begin";
            reader.conflict(["integrity.users.table", "bearer.jwks"], message);
        }
    }

    /// Reports a path of the playground that belongs to other routes.
    fn check_docs_path(&self, reader: &mut Reader<'_>) {
        let Self { docs, base, mcp, .. } = self;
        let surface = mesh_docs::Options::default().path(&docs.path);
        if surface.claims(base.as_str()) {
            let message = format!("must not be the base path '{base}' or a path above it");
            reader.conflict(["docs.path", "base"], &message);
        } else if mcp.enabled != McpTools::Off && surface.claims(&format!("{base}/mcp")) {
            let message = format!("must not be '{base}/mcp', which is the path of the tools for agents");
            reader.conflict(["docs.path", "mcp.enabled"], &message);
        } else if self.admin.listen.is_none() && ADMIN_PAGES.contains(&docs.path.as_str()) {
            let message =
                "is the path of an admin page, unless 'admin.listen' serves those at another address";
            reader.conflict(["docs.path", "admin.listen"], message);
        }
    }

    /// Reports settings of shared caches that have no effect, and a credential that others could read.
    fn check_caching(&self, reader: &mut Reader<'_>) {
        let Self { caching, .. } = self;
        let any_entity = |is_such: fn(&CacheControl) -> bool| caching.entities.values().any(is_such);
        if self.identifies_callers() && (caching.control.is_shared() || any_entity(CacheControl::is_shared)) {
            let path = if caching.control.is_shared() { "caching.control" } else { "caching.entities" };
            let cause = match self.integrity.enabled {
                true => "integrity.enabled",
                false => self.bearer.source().unwrap_or("api_keys.table"),
            };
            let message = format!(
                "allows shared caches to store answers ('public', 's-maxage'), but answers to identified callers are \
                 private: remove that, or '{cause}'"
            );
            reader.conflict([path, cause], &message);
        }
        let cause = match (caching.purge.urls.is_empty(), caching.tags) {
            (false, _) => "caching.purge.urls",
            (true, Some(_)) => "caching.tags",
            (true, None) => return,
        };
        if self.identifies_callers() {
            let message = "is for shared caches, which do not store answers to identified callers: remove it";
            reader.conflict([cause, "integrity.enabled"], message);
        } else if !caching.control.is_reusable() && !any_entity(CacheControl::is_reusable) {
            let message = "requires 'caching.control' or 'caching.entities', with a value that lets caches answer, such as \
                           'public, max-age=60'";
            reader.conflict([cause, "caching.control"], message);
        }
        if caching.purge.header.is_some() && caching.purge.urls.iter().any(HttpUrl::is_unencrypted) {
            let message = "must be 'https://…', or 'http://…' with a loopback address: others could read \
                           'caching.purge.header'";
            reader.conflict(["caching.purge.urls", "caching.purge.header"], message);
        }
    }

    /// Returns whether callers have to identify themselves.
    pub(crate) fn identifies_callers(&self) -> bool {
        self.integrity.enabled || self.bearer.is_on() || !self.api_keys.table.is_empty()
    }

    /// Returns whether something listens for changes of the database.
    pub(crate) fn follows_changes(&self) -> bool {
        self.events.enabled || !self.caching.purge.urls.is_empty()
    }

    /// Returns who may register queries.
    pub(crate) fn registration(&self) -> Registration {
        let default = if self.identifies_callers() { Registration::Signed } else { Registration::Open };
        self.persisted.registration.unwrap_or(default)
    }

    /// Returns the server names that requests may have in `Host`.
    pub(crate) fn hosts(&self) -> AllowedHosts {
        if !self.allowed_hosts.is_empty() {
            // The names were validated when the settings were read.
            return AllowedHosts::parse(&self.allowed_hosts).unwrap_or(AllowedHosts::Loopback);
        }
        // If callers identify themselves, any name is safe: a page of another origin has no credentials.
        if self.listen.ip().is_loopback() && !self.identifies_callers() {
            AllowedHosts::Loopback
        } else {
            AllowedHosts::Any
        }
    }

    /// Returns the number of threads that serve connections.
    pub(crate) fn thread_count(&self) -> usize {
        match self.threads {
            0 => std::thread::available_parallelism().map_or(1, NonZero::get),
            threads => threads,
        }
    }

    /// Returns the limits of queries and answers.
    pub(crate) fn plan_limits(&self) -> mesh_plan::Limits {
        let limits = &self.limits;
        mesh_plan::Limits {
            query: mesh_ql::Limits {
                query_bytes: limits.query_bytes,
                depth: limits.depth,
                fields: limits.fields,
                relation_conditions: limits.relation_conditions,
                aggregate_sorts: limits.aggregate_sorts,
                search_words: limits.search_words,
                page_max: limits.page_max,
                skip: limits.skip,
                ..mesh_ql::Limits::default()
            },
            page_default: limits.page_default,
            related_sort_rows: limits.related_sort_rows,
            rows: limits.rows,
            response_bytes: limits.response_bytes,
            export_rows: self.export.rows,
            ..mesh_plan::Limits::default()
        }
    }

    /// Returns the limits on the resources that clients may hold.
    pub(crate) fn client_limits(&self) -> ClientLimits {
        let limits = &self.limits;
        let mut clients = ClientLimits::default();
        clients.requests = limits.requests;
        clients.connections_per_address = limits.connections_per_address;
        clients.exports_per_address = self.exports_at_once() / 4;
        clients.streams_per_address = limits.streams_per_address;
        clients.streams_per_session = limits.streams_per_session;
        clients
    }

    /// Returns the number of concurrent exports. An export keeps a snapshot of the database for minutes, so few of the
    /// requests that the database can serve may be exports.
    pub(crate) fn exports_at_once(&self) -> usize {
        (self.limits.requests / 30).max(1)
    }

    /// Returns the time that a request waits for a connection to the database: a part of its time limit, so that some of it
    /// is left for the database, and clients can try again early.
    pub(crate) fn connection_wait(&self) -> Duration {
        mesh_postgres::Settings::default().wait.min(self.request_timeout / 2)
    }

    /// Returns the limits of requests.
    pub(crate) fn transport_limits(&self) -> mesh_server::TransportLimits {
        mesh_server::TransportLimits {
            header_bytes: self.limits.header_bytes,
            body_bytes: self.limits.body_bytes,
            request_timeout: self.request_timeout,
            ..mesh_server::TransportLimits::default()
        }
    }
}
