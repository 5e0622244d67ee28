//! Requests to the measured servers.

use std::fmt;

use mesh_tests::Request;
use mesh_tests::kit::http;
use serde_json::Value;

/// A kind of server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The hand-written server over hyper and SQLite.
    Limit,
    /// mesh-server.
    Mesh,
    /// hyper with constant bytes.
    Constant,
    /// async-graphql on axum.
    GraphQl,
}

impl Kind {
    const ALL: [Self; 4] = [Self::Limit, Self::Mesh, Self::Constant, Self::GraphQl];

    pub(crate) fn named(name: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|kind| kind.name() == name);
        found.ok_or_else(|| {
            format!("unknown server '{name}'; the servers are limit, mesh, constant and graphql")
        })
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Limit => "limit",
            Self::Mesh => "mesh",
            Self::Constant => "constant",
            Self::GraphQl => "graphql",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Sends a request to an address and returns the body of the reply.
pub(crate) fn ask(address: &str, request: &Request) -> Result<Value, String> {
    let reply = http::send(address, request)?;
    if reply.status != 200 {
        return Err(format!("unexpected reply: {} {}", reply.status, reply.text()));
    }
    serde_json::from_slice(&reply.body).map_err(|error| format!("not JSON: {error}: {}", reply.text()))
}

/// Serializes requests for the load generators, each terminated by a NUL byte.
pub(crate) fn file_of(requests: impl IntoIterator<Item = Request>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for request in requests {
        bytes.extend(request.bytes_for("localhost"));
        bytes.push(0);
    }
    bytes
}
