//! How often may somebody ask, and whose word on addresses counts?

use mesh_server::{Proxies, Rate};

use crate::config::load::Reader;
use crate::config::parse;
use crate::config::sources::Value;

/// Rates and proxies: `limits.per_address`, `limits.per_session` and `trusted_proxies`. `SPEC §12.6`
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rates {
    /// Requests of one client address.
    pub(crate) per_address: Option<Rate>,
    /// Requests of one session.
    pub(crate) per_session: Option<Rate>,
    /// Proxies whose `X-Forwarded-For` counts.
    pub(crate) trusted_proxies: Proxies,
}

impl Rates {
    pub(in crate::config) fn read(reader: &mut Reader<'_>) -> Self {
        Self {
            per_address: reader.read("limits.per_address", rate, None),
            per_session: reader.read("limits.per_session", rate, None),
            trusted_proxies: reader.read("trusted_proxies", proxies, Proxies::default()),
        }
    }
}

fn rate(value: &Value) -> Result<Option<Rate>, String> {
    let text = parse::text(value)
        .map_err(|_| format!("must be a rate in quotes, such as '100/s', or '0/s' for none, not {value}"))?;
    Rate::parse(&text).map_err(|error| format!("cannot be so: {error}"))
}

fn proxies(value: &Value) -> Result<Proxies, String> {
    Proxies::parse(parse::list(value)?).map_err(|error| format!("cannot be so: {error}"))
}
