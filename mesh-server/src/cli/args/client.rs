//! Arguments of commands that take a query or send requests: `query`, `upload`, `explain`.

use std::io::{self, Read};
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::shared::SourceArgs;
use crate::config::Flags;

/// Bytes of a query that are read from standard input at most, far above what a server accepts.
const INPUT_BYTES: u64 = 16 << 20;

/// Arguments of `query`.
#[derive(Debug, Args)]
pub(crate) struct QueryArgs {
    /// URL of the server, with the base path
    #[arg(long, value_name = "BASE", default_value = "http://127.0.0.1:4000/mesh")]
    pub(crate) url: String,
    /// The query.
    #[command(flatten)]
    pub(crate) text: QueryTextArgs,
    /// Read the record with this id instead of the collection
    #[arg(long, allow_negative_numbers = true)]
    pub(crate) id: Option<String>,
    /// Read all pages and print their items
    #[arg(long, conflicts_with = "id")]
    pub(crate) all: bool,
    /// Print a table; nested values are JSON
    #[arg(long)]
    pub(crate) table: bool,
    /// Trust the certificates in this PEM file instead of those of the system
    #[arg(long, value_name = "FILE")]
    pub(crate) ca: Option<PathBuf>,
    /// Log in with this name, sign the requests, and log out
    #[arg(long, value_name = "NAME")]
    pub(crate) login: Option<String>,
}

/// Arguments of `upload`.
#[derive(Debug, Args)]
pub(crate) struct UploadArgs {
    /// URL of the server, with the base path
    #[arg(long, value_name = "BASE", default_value = "http://127.0.0.1:4000/mesh")]
    pub(crate) url: String,
    /// Trust the certificates in this PEM file instead of those of the system
    #[arg(long, value_name = "FILE")]
    pub(crate) ca: Option<PathBuf>,
    /// Log in with this name first
    #[arg(long, value_name = "NAME")]
    pub(crate) login: Option<String>,
    /// Further fields of the record to write, as a JSON object
    #[arg(long, value_name = "JSON")]
    pub(crate) meta: Option<String>,
    /// Content type of the file [default: by the extension]
    #[arg(long = "type", value_name = "TYPE")]
    pub(crate) content_type: Option<String>,
    /// Entity of the record
    pub(crate) entity: String,
    /// Id of the record
    #[arg(allow_negative_numbers = true)]
    pub(crate) id: String,
    /// Field that the file is attached to
    pub(crate) field: String,
    /// The file
    pub(crate) file: PathBuf,
}

/// Arguments of `explain`.
#[derive(Debug, Args)]
pub(crate) struct ExplainArgs {
    /// TOML file with settings [variable: MESH_CONFIG]
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    #[command(flatten)]
    source: SourceArgs,
    /// The query.
    #[command(flatten)]
    pub(crate) text: QueryTextArgs,
    /// Explain the point read of this id instead of the collection read
    #[arg(long, allow_negative_numbers = true)]
    pub(crate) id: Option<String>,
}

impl ExplainArgs {
    /// Returns the flags that are settings.
    pub(crate) fn settings(&self) -> Flags {
        self.source.settings().collect()
    }
}

/// A query and its format.
#[derive(Debug, Args)]
pub(crate) struct QueryTextArgs {
    /// Format of the query [default: detected]
    #[arg(long)]
    format: Option<QueryFormat>,
    /// The query, or '-' to read it from standard input
    query: String,
}

impl QueryTextArgs {
    /// Returns the format and the text of the query; `input` is read if the query is `-`.
    pub(crate) fn resolve(&self, input: impl Read) -> io::Result<(QueryFormat, String)> {
        let text = if self.query == "-" {
            let mut text = String::new();
            input.take(INPUT_BYTES).read_to_string(&mut text)?;
            text
        } else {
            self.query.clone()
        };
        if !text.trim_start().starts_with('{') {
            let why = match text.trim().is_empty() {
                true => "the query is empty; write one such as '{ post title }'",
                false => "a query begins with a brace, as in '{ post title }'",
            };
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        Ok((self.format.unwrap_or_else(|| QueryFormat::detect(&text)), text))
    }
}

/// The two query formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum QueryFormat {
    /// A JSON object with selection, filters, order and pages
    Json,
    /// Braces and names, for selections only
    Ql,
}

impl QueryFormat {
    /// Returns the only format that the text can be in: in QL a name follows the first brace, in JSON it does not.
    /// `SPEC §4`
    pub(crate) fn detect(text: &str) -> Self {
        let blank = [' ', '\t', '\r', '\n'];
        let inner = text.trim_start_matches(blank).strip_prefix('{');
        let first = inner.and_then(|inner| inner.trim_start_matches(blank).chars().next());
        match first {
            Some(letter) if letter.is_ascii_alphabetic() || letter == '_' => Self::Ql,
            _ => Self::Json,
        }
    }
}

impl From<QueryFormat> for mesh_ql::Format {
    fn from(format: QueryFormat) -> Self {
        match format {
            QueryFormat::Json => Self::Json,
            QueryFormat::Ql => Self::Ql,
        }
    }
}
