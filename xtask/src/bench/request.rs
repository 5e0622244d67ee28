//! Requests to the measured servers.

use std::fmt;

use mesh_tests::Request;
use mesh_tests::kit::http;
use serde_json::Value;

/// A kind of server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The fastest of the hand-written servers.
    Limit,
    /// A hand-written server.
    Hand(Variant),
    /// mesh-server.
    Mesh,
    /// hyper with constant bytes.
    Constant,
    /// async-graphql on axum.
    GraphQl,
    /// The statement that PostgREST sends, from a hand-written server.
    PostgRest,
    /// PostGraphile on Node.js.
    PostGraphile,
    /// Datasette on Python.
    Datasette,
}

/// How a hand-written server reads relations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Variant {
    /// One statement per relation and parent.
    Nested,
    /// To-one relations joined into the statement of their parent.
    Joined,
    /// One statement per level of relations.
    Levels,
    /// One statement, with a row per record of the innermost relation.
    Rows,
    /// One statement, in which the database builds the JSON.
    Json,
    /// Writes that have arrived are committed together, on a separate thread.
    Group,
}

impl Kind {
    const ALL: [Self; 13] = [
        Self::Limit,
        Self::Hand(Variant::Nested),
        Self::Hand(Variant::Joined),
        Self::Hand(Variant::Levels),
        Self::Hand(Variant::Rows),
        Self::Hand(Variant::Json),
        Self::Hand(Variant::Group),
        Self::Mesh,
        Self::Constant,
        Self::GraphQl,
        Self::PostgRest,
        Self::PostGraphile,
        Self::Datasette,
    ];

    /// Whether the server's responses have the form of mesh-server's responses.
    pub(crate) fn is_comparable(self) -> bool {
        !matches!(self, Self::Constant | Self::PostgRest | Self::PostGraphile | Self::Datasette)
    }

    pub(crate) fn parse(name: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|kind| kind.name() == name);
        found.ok_or_else(|| {
            let all = Self::ALL.map(Self::name).join(", ");
            format!("unknown server '{name}'; the servers are {all}")
        })
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Limit => "limit",
            Self::Hand(Variant::Nested) => "nested",
            Self::Hand(Variant::Joined) => "joined",
            Self::Hand(Variant::Levels) => "levels",
            Self::Hand(Variant::Rows) => "rows",
            Self::Hand(Variant::Json) => "json",
            Self::Hand(Variant::Group) => "group",
            Self::Mesh => "mesh",
            Self::Constant => "constant",
            Self::GraphQl => "graphql",
            Self::PostgRest => "postgrest",
            Self::PostGraphile => "postgraphile",
            Self::Datasette => "datasette",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Sends a request to an address and returns the body of the reply. The lines of an export become a list.
pub(crate) fn fetch_json(address: &str, request: &Request) -> Result<Value, String> {
    let reply = http::send(address, request)?;
    if !(200..300).contains(&reply.status) {
        return Err(format!("unexpected reply: {} {}", reply.status, reply.text()));
    }
    let lines =
        serde_json::Deserializer::from_slice(&reply.body).into_iter().collect::<Result<Vec<Value>, _>>();
    let mut lines = lines.map_err(|error| format!("not JSON: {error}: {}", reply.text()))?;
    Ok(if lines.len() == 1 { lines.remove(0) } else { lines.into() })
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
