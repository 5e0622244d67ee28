//! What do clients and collectors learn of each request?

use crate::config::load::Reader;
use crate::config::parse;

/// Times and traces: `server_timing` and the section `[otlp]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Telling {
    /// Whether replies to reads say what they took.
    pub(crate) server_timing: bool,
    /// A collector of traces.
    pub(crate) endpoint: Option<String>,
    /// What this server is called there.
    pub(crate) service: String,
}

impl Telling {
    pub(in crate::config) fn read(reader: &mut Reader<'_>) -> Self {
        let default = Self::default();
        Self {
            server_timing: reader.read("server_timing", parse::boolean, default.server_timing),
            endpoint: reader.read("otlp.endpoint", parse::present, default.endpoint),
            service: reader.read("otlp.service", parse::filled, default.service),
        }
    }
}

impl Default for Telling {
    fn default() -> Self {
        Self { server_timing: true, endpoint: None, service: "mesh-server".to_owned() }
    }
}
