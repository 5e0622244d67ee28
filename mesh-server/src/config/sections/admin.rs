//! Where is the server watched?

use std::net::SocketAddr;

use crate::config::load::Reader;
use crate::config::parse;
use crate::config::sources::Value;

/// Health and metrics: the section `[admin]`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Admin {
    /// An address of their own; left out, they are on the main one.
    pub(crate) listen: Option<SocketAddr>,
}

impl Admin {
    pub(in crate::config) fn read(reader: &mut Reader<'_>) -> Self {
        Self { listen: reader.read("admin.listen", address, None) }
    }
}

fn address(value: &Value) -> Result<Option<SocketAddr>, String> {
    match value {
        Value::Text(text) if text.trim().is_empty() => Ok(None),
        value => parse::address(value).map(Some),
    }
}
