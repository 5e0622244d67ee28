//! A query as an argument: `query`, `explain`.

use std::io::Read;

use clap::Args;
use mesh_ql::{Format, ParamValues};

use crate::cli::failure::{Failure, WithContext as _};

/// Maximum length in bytes of a query on standard input, far more than a server accepts.
const INPUT_BYTES: u64 = 16 << 20;

/// A query and its format.
#[derive(Debug, Args)]
pub(crate) struct QueryTextArgs {
    /// Format of the query; 'ql' has selections only [default: detected]
    #[arg(long, value_name = "FORMAT", value_parser = ["json", "ql"])]
    format: Option<String>,
    /// Values of the query's parameters, as a JSON object
    #[arg(long, value_name = "JSON")]
    params: Option<String>,
    /// The query, or '-' to read it from standard input
    query: String,
}

impl QueryTextArgs {
    /// Returns the values of the parameters.
    pub(crate) fn params(&self) -> Result<ParamValues, Failure> {
        let Some(text) = &self.params else { return Ok(ParamValues::new()) };
        ParamValues::parse(text)
            .context("--params takes a JSON object of values, such as '{\"city\": \"Berlin\"}'")
    }

    /// Returns the format and the text of the query; `input` is read if the query is `-`.
    pub(crate) fn resolve(&self, input: impl Read) -> Result<(Format, String), Failure> {
        let mut text = self.query.clone();
        if text == "-" {
            text.clear();
            input.take(INPUT_BYTES).read_to_string(&mut text)?;
        }
        if text.trim().is_empty() {
            return Err(Failure::usage_error("the query is empty; write one such as '{ post title }'"));
        }
        if !text.trim_start().starts_with('{') {
            return Err(Failure::usage_error("a query begins with a brace, as in '{ post title }'"));
        }
        let format = self.format.as_deref().and_then(|name| name.parse::<Format>().ok());
        Ok((format.unwrap_or_else(|| Format::detect(&text)), text))
    }
}
