//! What does the server do where the protocol leaves a choice? Every setting, complete and checked.
//!
//! A setting stands in one line of its section's `read`: its path, its check and its default. The allowed
//! names, the environment variables and the suggestions all follow from those lines, so a new section is one
//! struct and one line in [`Config::read`].

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use mesh_wire::Base;

use crate::config::load::Reader;
pub(crate) use crate::config::load::{FILE_VARIABLE, PASSWORD_VARIABLE, SettingsFile};
pub(crate) use crate::config::sections::admin::Admin;
pub(crate) use crate::config::sections::features::{
    Cors, Docs, DocsAuth, Events, Integrity, Mutations, Persisted, State, Store, Uploads, Users,
};
pub(crate) use crate::config::sections::observability::Telling;
pub(crate) use crate::config::sections::postgres::Postgres;
pub(crate) use crate::config::sections::rate_limits::Rates;
pub(crate) use crate::config::sections::sqlite::Sqlite;
pub(crate) use crate::config::sections::tls::Tls;
pub(crate) use crate::config::sources::{Flags, Place};

mod load;
mod parse;
mod print;
#[cfg(test)]
mod reference_page;
mod sections;
mod sources;

#[cfg(test)]
mod tests;

/// An age as a flag has it, such as `7d`.
pub(crate) fn age(text: &str) -> Result<Duration, String> {
    parse::duration(Duration::ZERO, 100_000 * 24 * HOUR)(&sources::Value::Text(text.to_owned()))
}

const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(3_600);

/// All settings of one server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Config {
    /// The address to listen on; port 0 takes a free one.
    pub(crate) listen: SocketAddr,
    /// The path that all routes lie under.
    pub(crate) base: Base,
    /// Where the data is; some commands do without.
    pub(crate) database: Option<String>,
    /// The schema document; left out, the schema is inferred from the database.
    pub(crate) schema: Option<PathBuf>,
    /// Threads that serve; 0 is one per core.
    pub(crate) threads: usize,
    /// Whether each of them stays on one processor.
    pub(crate) pin_threads: bool,
    /// How long one request may take.
    pub(crate) request_timeout: Duration,
    /// How long a client may keep the server waiting for a body.
    pub(crate) body_timeout: Duration,
    /// How long a connection is kept open for the next request.
    pub(crate) idle_timeout: Duration,
    /// How long a stopping server waits for the requests under way.
    pub(crate) shutdown_timeout: Duration,
    /// Which log lines are written: a filter such as `info` or `mesh_server=debug`.
    pub(crate) log: String,
    /// How log lines look.
    pub(crate) log_format: LogFormat,
    /// Bounds on requests and replies.
    pub(crate) limits: Limits,
    /// How often somebody may ask.
    pub(crate) rates: Rates,
    /// What clients and collectors learn of each request.
    pub(crate) telling: Telling,
    /// Health and metrics.
    pub(crate) admin: Admin,
    /// What is kept in memory between requests.
    pub(crate) cache: Cache,
    /// Sessions and signed requests.
    pub(crate) integrity: Integrity,
    /// Queries that are known by an id.
    pub(crate) persisted: Persisted,
    /// Files.
    pub(crate) uploads: Uploads,
    /// Streams of changes.
    pub(crate) events: Events,
    /// Write routes.
    pub(crate) mutations: Mutations,
    /// The playground.
    pub(crate) docs: Docs,
    /// Pages of other origins.
    pub(crate) cors: Cors,
    /// What outlives a restart.
    pub(crate) state: State,
    /// Connections to a PostgreSQL database.
    pub(crate) postgres: Postgres,
    /// Reads of a SQLite file.
    pub(crate) sqlite: Sqlite,
    /// The certificate.
    pub(crate) tls: Tls,
}

impl Config {
    fn read(reader: &mut Reader<'_>) -> Self {
        let default = Self::default();
        let read = Self {
            listen: reader.read("listen", parse::address, default.listen),
            base: reader.read("base", parse::base, default.base),
            database: reader.read("database", parse::present, default.database),
            schema: reader.read("schema", parse::present, default.schema),
            threads: reader.read("threads", parse::count(0, 1_024), default.threads),
            pin_threads: reader.read("pin_threads", parse::boolean, default.pin_threads),
            request_timeout: reader.read(
                "request_timeout",
                parse::duration(Duration::from_millis(1), 24 * HOUR),
                default.request_timeout,
            ),
            body_timeout: reader.read(
                "body_timeout",
                parse::duration(Duration::from_millis(1), HOUR),
                default.body_timeout,
            ),
            idle_timeout: reader.read(
                "idle_timeout",
                parse::duration(Duration::from_millis(1), 24 * HOUR),
                default.idle_timeout,
            ),
            shutdown_timeout: reader.read(
                "shutdown_timeout",
                parse::duration(Duration::ZERO, HOUR),
                default.shutdown_timeout,
            ),
            log: reader.read("log", parse::text, default.log),
            log_format: reader.read("log_format", parse::choice(&LogFormat::ALL), default.log_format),
            limits: Limits::read(reader),
            rates: Rates::read(reader),
            telling: Telling::read(reader),
            admin: Admin::read(reader),
            cache: Cache::read(reader),
            integrity: Integrity::read(reader),
            persisted: Persisted::read(reader),
            uploads: Uploads::read(reader),
            events: Events::read(reader),
            mutations: Mutations::read(reader),
            docs: Docs::read(reader),
            cors: Cors::read(reader),
            state: State::read(reader),
            postgres: Postgres::read(reader),
            sqlite: Sqlite::read(reader),
            tls: Tls::read(reader),
        };
        if read.docs.path == read.base.as_str() {
            let message = format!("cannot be '{}', where the base path is", read.docs.path);
            reader.conflict(["docs.path", "base"], message);
        }
        read
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 4_000)),
            base: Base::default(),
            database: None,
            schema: None,
            threads: 0,
            pin_threads: false,
            request_timeout: 10 * SECOND,
            body_timeout: 15 * SECOND,
            idle_timeout: 60 * SECOND,
            shutdown_timeout: 10 * SECOND,
            log: "info".to_owned(),
            log_format: LogFormat::Pretty,
            limits: Limits::default(),
            rates: Rates::default(),
            telling: Telling::default(),
            admin: Admin::default(),
            cache: Cache::default(),
            integrity: Integrity::default(),
            persisted: Persisted::default(),
            uploads: Uploads::default(),
            events: Events::default(),
            mutations: Mutations::default(),
            docs: Docs::default(),
            cors: Cors::default(),
            state: State::default(),
            postgres: Postgres::default(),
            sqlite: Sqlite::default(),
            tls: Tls::default(),
        }
    }
}

/// How log lines look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LogFormat {
    /// For people.
    Pretty,
    /// One JSON object a line.
    Json,
}

impl LogFormat {
    const ALL: [(&'static str, Self); 2] = [("pretty", Self::Pretty), ("json", Self::Json)];
}

/// Bounds on requests and replies: the section `[limits]`. `SPEC §3.5`, `SPEC §3.11`, `SPEC §12.2`
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    /// Page size where a query leaves `first` out; follows `page_max` down unless given.
    pub(crate) page_default: u32,
    /// The largest `first`.
    pub(crate) page_max: u32,
    /// Levels of nested relations.
    pub(crate) depth: usize,
    /// Selected fields and relations in all.
    pub(crate) fields: usize,
    /// Objects built for one response.
    pub(crate) rows: usize,
    /// Bytes of query text.
    pub(crate) query_bytes: usize,
    /// Bytes of a JSON body.
    pub(crate) body_bytes: usize,
    /// Bytes of a header block, request line included.
    pub(crate) header_bytes: usize,
    /// Connections open at one time.
    pub(crate) connections: usize,
    /// Requests that wait to be answered at one time.
    pub(crate) requests: usize,
    /// Attempts to log in, per account and per address.
    pub(crate) login_per_minute: u32,
    /// Levels of a filter tree.
    pub(crate) filter_depth: usize,
    /// Combinators and conditions of one filter tree.
    pub(crate) filter_nodes: usize,
    /// Values of one `in` or `nin` list.
    pub(crate) in_values: usize,
    /// Fields of `$groupBy`, and of what is bounded like it.
    pub(crate) group_keys: usize,
    /// Entries of `$aggregate`.
    pub(crate) aggregates: usize,
}

impl Limits {
    fn read(reader: &mut Reader<'_>) -> Self {
        let default = Self::default();
        let depth = u64::try_from(mesh_ql::Limits::MAX_DEPTH).unwrap_or(u64::MAX);
        let filter_depth = u64::try_from(mesh_ql::Limits::MAX_FILTER_DEPTH).unwrap_or(u64::MAX);
        let page_max = reader.read("limits.page_max", parse::count(1, 1_000_000), default.page_max);
        let read = Self {
            page_max,
            page_default: reader.read(
                "limits.page_default",
                parse::count(1, 1_000_000),
                default.page_default.min(page_max),
            ),
            depth: reader.read("limits.depth", parse::count(0, depth), default.depth),
            fields: reader.read("limits.fields", parse::count(1, 100_000), default.fields),
            rows: reader.read("limits.rows", parse::count(1, 100_000_000), default.rows),
            query_bytes: reader.read("limits.query_bytes", parse::size(1, GIBIBYTE), default.query_bytes),
            body_bytes: reader.read("limits.body_bytes", parse::size(1, GIBIBYTE), default.body_bytes),
            header_bytes: reader.read(
                "limits.header_bytes",
                parse::size(1_024, 16 * MEBIBYTE),
                default.header_bytes,
            ),
            connections: reader.read("limits.connections", parse::count(1, 1_000_000), default.connections),
            requests: reader.read("limits.requests", parse::count(1, 1_000_000), default.requests),
            login_per_minute: reader.read(
                "limits.login_per_minute",
                parse::count(1, 1_000_000),
                default.login_per_minute,
            ),
            filter_depth: reader.read(
                "limits.filter_depth",
                parse::count(1, filter_depth),
                default.filter_depth,
            ),
            filter_nodes: reader.read("limits.filter_nodes", parse::count(1, 1_000), default.filter_nodes),
            in_values: reader.read("limits.in_values", parse::count(1, 10_000), default.in_values),
            group_keys: reader.read("limits.group_keys", parse::count(1, 64), default.group_keys),
            aggregates: reader.read("limits.aggregates", parse::count(1, 1_000), default.aggregates),
        };
        if read.page_default > read.page_max {
            reader.conflict(
                ["limits.page_default", "limits.page_max"],
                format!("is {}, above 'limits.page_max', which is {}", read.page_default, read.page_max),
            );
        }
        read
    }
}

const MEBIBYTE: u64 = 1 << 20;
const GIBIBYTE: u64 = 1 << 30;

impl Default for Limits {
    fn default() -> Self {
        let query = mesh_ql::Limits::default();
        Self {
            page_default: 50,
            page_max: query.page_max,
            depth: query.depth,
            fields: query.fields,
            rows: 100_000,
            query_bytes: query.query_bytes,
            body_bytes: 1 << 20,
            header_bytes: 32 << 10,
            connections: 10_000,
            requests: 500,
            login_per_minute: 10,
            filter_depth: query.filter_depth,
            filter_nodes: query.filter_nodes,
            in_values: query.in_values,
            group_keys: query.group_keys,
            aggregates: query.aggregates,
        }
    }
}

/// What is kept in memory between requests: the section `[cache]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cache {
    /// Plans of queries seen before; 0 keeps none.
    pub(crate) plans: usize,
    /// Bytes of answers that are served again while a SQLite database does not change; 0 keeps none.
    pub(crate) responses: usize,
}

impl Cache {
    fn read(reader: &mut Reader<'_>) -> Self {
        let default = Self::default();
        Self {
            plans: reader.read("cache.plans", parse::count(0, 1_000_000), default.plans),
            responses: reader.read("cache.responses", parse::size(0, 64 * GIBIBYTE), default.responses),
        }
    }
}

impl Default for Cache {
    fn default() -> Self {
        Self { plans: 1_024, responses: 64 << 20 }
    }
}

/// One thing that is wrong with the configuration.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ConfigFault {
    /// Where it is written.
    pub(crate) place: Place,
    /// What is wrong and what to do.
    pub(crate) message: String,
}

impl fmt::Display for ConfigFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.message)
    }
}
