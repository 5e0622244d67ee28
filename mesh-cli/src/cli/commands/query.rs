//! `mesh-server query`: sends a query to a server and prints the answer.

mod export;

use std::io::{self, IsTerminal};
use std::mem;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use clap::Args;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use mesh_plan::backend::ExportFormat;
use mesh_ql::{Format, Limits, ParamValues, Position, Query};
use mesh_wire::client::{self as wire, RecordId, ReplyError};
use mesh_wire::{ErrorKind, QuerySource};
use serde_json::Value;

use crate::cli::args::QueryTextArgs;
use crate::cli::client::{Client, ServerArgs};
use crate::cli::failure::Failure;
use crate::cli::output::{print, print_stderr};
use crate::cli::terminal::{Colors, Spinner, escaped, excerpt, json, table};

/// The hint for a path that the server does not have.
const BASE_HINT: &str = "does --url include the base path, as in http://127.0.0.1:4000/mesh?";

/// Maximum length in bytes of a query that is sent in a header; longer queries are sent by POST.
const HEADER_QUERY: usize = 8 * 1024;

/// Arguments of `query`.
#[derive(Debug, Args)]
pub(crate) struct QueryArgs {
    #[command(flatten)]
    pub(crate) server: ServerArgs,
    #[command(flatten)]
    pub(crate) text: QueryTextArgs,
    /// Read the record with this id, as it stands in a path (2,a%2Cb), instead of the collection
    #[arg(long, allow_negative_numbers = true)]
    pub(crate) id: Option<String>,
    /// Read all pages and print their items
    #[arg(long, conflicts_with = "id")]
    pub(crate) all: bool,
    /// Print a table; nested values are JSON
    #[arg(long)]
    table: bool,
    /// Read all records as lines, from one snapshot: csv or ndjson
    #[arg(long, value_name = "FORMAT", value_parser = export::format, conflicts_with_all = ["id", "all", "table"])]
    export: Option<ExportFormat>,
    /// Write the export to this file instead of standard output
    #[arg(short, long, value_name = "FILE", requires = "export")]
    output: Option<PathBuf>,
}

pub(crate) fn run(args: &QueryArgs) -> Result<(), Failure> {
    let (format, text) = args.text.resolve(io::stdin())?;
    let params = args.text.params()?;
    let answer = Client::run(&args.server, async |client| {
        let spinner = Spinner::start(format!("waiting for {}", client.endpoint.uri()));
        let reader = QueryReader { client, typed: &text, params, spinner };
        match args.export {
            Some(wanted) => reader.export(format, wanted, args.output.as_deref()).await.map(|()| None),
            None if args.all => reader.all_pages(format).await.map(Some),
            None => reader.read(format, args.id.as_deref()).await.map(Some),
        }
    })?;
    match &answer {
        Some(answer) if args.table => show_table(answer),
        Some(answer) => show(answer),
        None => Ok(()),
    }
}

/// Sends queries and decodes the answers.
struct QueryReader<'c> {
    client: &'c Client,
    /// The query of the command line, which positions in errors refer to.
    typed: &'c str,
    params: ParamValues,
    spinner: Spinner,
}

impl QueryReader<'_> {
    /// Reads a record, or one page of a list.
    async fn read(&self, format: Format, id: Option<&str>) -> Result<Value, Failure> {
        let reply = self.client.send(self.request(format, id)?, Full::new).await?;
        let body = wire::result(reply).map_err(|error| self.refused(error, true))?;
        serde_json::from_slice(&body).map_err(Failure::check_failed)
    }

    /// Builds the request of a record, or of the first page of a list, with the query as typed.
    fn request(&self, format: Format, id: Option<&str>) -> Result<Request<Bytes>, Failure> {
        let (endpoint, text) = (&self.client.endpoint, self.typed);
        let params = serde_json::to_string(&self.params)?;
        let id = id.map(RecordId::from_segment);
        let request = if text.len() + params.len() > HEADER_QUERY {
            wire::post(endpoint, format, text, id)
        } else {
            let entity = parse(format, text)?.entity;
            let source = QuerySource::Text { format, text: text.to_owned() };
            match id {
                Some(id) => wire::point(endpoint, &entity, id, &source),
                None => wire::collection(endpoint, &entity, &source),
            }
        };
        Ok(wire::with_params(request?, &self.params))
    }

    /// Follows the cursors and returns the items of all pages in one array, in the order of the list.
    async fn all_pages(&self, format: Format) -> Result<Value, Failure> {
        let client = wire::Client::new(self.client.endpoint.clone());
        let mut pages = client.pages(parse(format, self.typed)?).with_params(self.params.clone());
        let mut items = Vec::new();
        let mut request = Some(self.request(format, None)?);
        let mut is_typed = true;
        while let Some(next) = request {
            let reply = self.client.send(next, Full::new).await?;
            let page = pages.receive(reply).map_err(|error| self.refused(error, is_typed))?;
            if let Some(page) = page {
                let mut more = page.items::<Value>().map_err(Failure::check_failed)?;
                // Pages that are read from the end come last page first.
                let later = if page.has_previous.is_some() { mem::take(&mut items) } else { Vec::new() };
                more.extend(later);
                items.extend(more);
            }
            self.spinner.set_message(format!("{} items so far", items.len()));
            is_typed = false;
            request = pages.request().transpose()?;
        }
        Ok(items.into())
    }

    /// Writes all records of a list while they arrive.
    async fn export(
        self,
        format: Format,
        wanted: ExportFormat,
        output: Option<&Path>,
    ) -> Result<(), Failure> {
        let reply = self.client.open(export::request(self.request(format, None)?, wanted)?).await?;
        if reply.status() == StatusCode::OK {
            return export::save(reply, wanted, output, self.spinner).await;
        }
        let (head, body) = reply.into_parts();
        let body = body.collect().await.map_err(Failure::check_failed)?.to_bytes();
        Err(match wire::result(Response::from_parts(head, body)) {
            Err(error) => self.refused(error, true),
            Ok(_) => Failure::check_failed("the server has no exports"),
        })
    }

    /// Describes an error with an excerpt of the query, if the request contained the query as typed.
    fn refused(&self, error: ReplyError, is_typed: bool) -> Failure {
        let ReplyError::Refused { mut body, .. } = error else { return Failure::check_failed(error) };
        if !is_typed {
            (body.line, body.column) = (None, None);
        }
        let more = match (body.error.parse(), body.line.zip(body.column)) {
            (Ok(ErrorKind::NotFound), _) => format!("\n{BASE_HINT}"),
            (_, Some((line, column))) => {
                excerpt(self.typed, Position { line, column }, Colors::for_stream(&io::stderr()))
            }
            (_, None) => String::new(),
        };
        Failure::check_failed(escaped(&body.to_string())).with_excerpt(&more)
    }
}

/// Parses a query with the highest limits, because the server applies its own.
fn parse(format: Format, text: &str) -> Result<Query, Failure> {
    let limits = Limits {
        query_bytes: usize::MAX,
        depth: Limits::MAX_DEPTH,
        filter_depth: Limits::MAX_FILTER_DEPTH,
        fields: usize::MAX,
        relations: usize::MAX,
        filter_nodes: usize::MAX,
        in_values: usize::MAX,
        group_keys: usize::MAX,
        aggregates: usize::MAX,
        relation_conditions: usize::MAX,
        aggregate_sorts: usize::MAX,
        search_words: usize::MAX,
        page_max: u32::MAX,
        skip: u32::MAX,
    };
    mesh_ql::parse(format, text, &limits).map_err(|error| {
        let excerpt = excerpt(text, error.position, Colors::for_stream(&io::stderr()));
        Failure::check_failed(error).with_excerpt(&excerpt)
    })
}

/// Prints JSON: indented on a terminal, else on one line.
fn show(value: &Value) -> Result<(), Failure> {
    let out = io::stdout();
    if out.is_terminal() { print(json(value, Colors::for_stream(&out))) } else { print(value) }
}

/// Maximum width of a cell on a terminal.
const CELL_WIDTH: u16 = 60;

/// Prints the items of a list, or the one record, as a table.
fn show_table(value: &Value) -> Result<(), Failure> {
    let items = value.get("items").and_then(Value::as_array).or_else(|| value.as_array());
    let records: Vec<_> = match items {
        Some(items) => items.iter().filter_map(Value::as_object).collect(),
        None => value.as_object().into_iter().collect(),
    };
    if records.is_empty() {
        print_stderr("no records were found");
        return Ok(());
    }
    let max_width = io::stdout().is_terminal().then_some(CELL_WIDTH);
    print(table(&records, max_width))?;
    if value.pointer("/pageInfo/hasNextPage") == Some(&Value::Bool(true)) {
        print_stderr("there are more pages; --all reads all of them");
    }
    Ok(())
}
