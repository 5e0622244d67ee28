//! `mesh-server query`: sends a query to a server and prints the answer.

use std::io::{self, IsTerminal};

use bytes::Bytes;
use http_body_util::Full;
use mesh_ql::{Format, Limits, Position, SyntaxError};
use mesh_wire::client::{self, Endpoint, ReplyError};
use mesh_wire::{ErrorBody, ErrorKind, QuerySource};
use serde_json::Value;

use crate::cli::args::QueryArgs;
use crate::cli::client::http::HttpClient;
use crate::cli::client::session::{self, UserSession};
use crate::cli::failure::Failure;
use crate::cli::output::print;
use crate::cli::output::remark;
use crate::cli::terminal::{Colors, Spinner, excerpt, json, table};

/// The hint for a path that the server does not know.
const BASE_HINT: &str = "does --url include the base path, as in http://127.0.0.1:4000/mesh?";

/// Bytes of a query that is sent in a header; longer ones are posted.
const HEADER_QUERY: usize = 8 * 1024;

pub(crate) fn run(args: &QueryArgs) -> Result<(), Failure> {
    let (format, text) = args.text.resolve(io::stdin()).map_err(Failure::start)?;
    let endpoint = Endpoint::parse(&args.url).map_err(Failure::start)?;
    let http = HttpClient::new(&endpoint, args.ca.as_deref())?;
    let credentials = match &args.login {
        Some(login) => Some((login.as_str(), session::password(login)?)),
        None => None,
    };
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::start)?;
    runtime.block_on(async {
        let session = match credentials {
            Some((login, password)) => Some(UserSession::log_in(&http, &endpoint, login, password).await?),
            None => None,
        };
        let spinner = Spinner::start(format!("waiting for {}", endpoint.uri()));
        let sender = QuerySender { http: &http, endpoint: &endpoint, session, spinner };
        let answer = sender.answer(args, format.into(), &text).await;
        let QuerySender { session, spinner, .. } = sender;
        if let Some(session) = session {
            session.log_out().await;
        }
        drop(spinner);
        if args.table { show_table(&answer?) } else { show(&answer?) }
    })
}

/// Sends queries to one server, signed if there is a session.
struct QuerySender<'e> {
    http: &'e HttpClient,
    endpoint: &'e Endpoint,
    session: Option<UserSession<'e>>,
    spinner: Spinner,
}

impl QuerySender<'_> {
    /// Returns what the command prints.
    async fn answer(&self, args: &QueryArgs, format: Format, text: &str) -> Result<Value, Failure> {
        if args.all {
            return self.all_pages(format, text).await;
        }
        let body = self.send(format, text, args.id.as_deref()).await;
        let body = body.map_err(|error| error.into_failure(text))?;
        serde_json::from_slice(&body).map_err(Failure::found)
    }

    /// Follows the cursors and returns the items of all pages in one array.
    async fn all_pages(&self, format: Format, text: &str) -> Result<Value, Failure> {
        let mut query = parse(format, text).map_err(|error| error.into_failure(text))?;
        let mut items = Vec::new();
        // Positions in errors are those of the text, which is sent unchanged for the first page.
        let mut body = self.send(format, text, None).await;
        loop {
            let bytes = body.map_err(|error| error.into_failure(text))?;
            let mut page: Value = serde_json::from_slice(&bytes).map_err(Failure::found)?;
            if let Some(Value::Array(more)) = page.get_mut("items").map(Value::take) {
                items.extend(more);
            }
            let info = page.get("pageInfo").cloned().unwrap_or_default();
            if info.get("hasNextPage") != Some(&Value::Bool(true)) {
                return Ok(items.into());
            }
            self.spinner.set_message(format!("{} items so far", items.len()));
            let page = query.root.controls.page.get_or_insert_default();
            page.after = info.get("endCursor").and_then(Value::as_str).map(Into::into);
            let next = self.send(Format::Json, &mesh_ql::print_json(&query), None).await;
            body = next.map_err(QueryError::without_position);
        }
    }

    async fn send(&self, format: Format, text: &str, id: Option<&str>) -> Result<Bytes, QueryError> {
        let request = if text.len() > HEADER_QUERY {
            client::post(self.endpoint, format, text, id)
        } else {
            let entity = parse(format, text)?.entity;
            let source = QuerySource::Text { format, text: text.to_owned() };
            match id {
                Some(id) => client::point(self.endpoint, &entity, id, &source),
                None => client::collection(self.endpoint, &entity, &source),
            }
        };
        let mut request = request.map_err(|error| QueryError::Other(Failure::start(error)))?;
        if let Some(session) = &self.session {
            request = session.sign(request).map_err(QueryError::Other)?;
        }
        let reply = self.http.send(request.map(Full::new)).await.map_err(QueryError::Other)?;
        client::result(reply).map_err(|error| match error {
            ReplyError::Refused { body, .. } => QueryError::Refused(body),
            error => QueryError::Other(Failure::found(error)),
        })
    }
}

/// Parses a query with the highest limits, because the server applies its limits.
fn parse(format: Format, text: &str) -> Result<mesh_ql::Query, QueryError> {
    let limits = Limits {
        query_bytes: usize::MAX,
        depth: Limits::MAX_DEPTH,
        filter_depth: Limits::MAX_FILTER_DEPTH,
        fields: usize::MAX,
        filter_nodes: usize::MAX,
        in_values: usize::MAX,
        group_keys: usize::MAX,
        aggregates: usize::MAX,
        page_max: u32::MAX,
    };
    mesh_ql::parse(format, text, &limits).map_err(QueryError::Syntax)
}

/// Why there is no answer.
enum QueryError {
    /// The query has a syntax error.
    Syntax(SyntaxError),
    /// The server refused the query.
    Refused(Box<ErrorBody>),
    /// Anything else.
    Other(Failure),
}

impl QueryError {
    /// Removes the position, for an error of another text.
    fn without_position(self) -> Self {
        match self {
            Self::Refused(body) => Self::Refused(Box::new(ErrorBody { line: None, column: None, ..*body })),
            other => other,
        }
    }

    /// Returns the failure, with an excerpt of the query if the error has a position in it.
    fn into_failure(self, text: &str) -> Failure {
        let excerpt = |position| excerpt(text, position, Colors::of_errors());
        match self {
            Self::Syntax(error) => Failure::found(format_args!("{error}{}", excerpt(error.position))),
            Self::Refused(body) => {
                let position = body.line.zip(body.column).map(|(line, column)| Position { line, column });
                let more = match ErrorKind::parse(&body.error) {
                    Some(ErrorKind::NotFound) => format!("\n{BASE_HINT}"),
                    _ => position.map(excerpt).unwrap_or_default(),
                };
                Failure::found(format_args!("{body}{more}"))
            }
            Self::Other(failure) => failure,
        }
    }
}

/// Prints JSON: indented on a terminal, else on one line.
fn show(value: &Value) -> Result<(), Failure> {
    if io::stdout().is_terminal() { print(json(value, Colors::of_output())) } else { print(value) }
}

/// Width of a cell on a terminal.
const CELL_WIDTH: u16 = 60;

/// Prints the items of a list, or the one record, as a table.
fn show_table(value: &Value) -> Result<(), Failure> {
    let items = value.get("items").and_then(Value::as_array).or_else(|| value.as_array());
    let records: Vec<_> = match items {
        Some(items) => items.iter().filter_map(Value::as_object).collect(),
        None => value.as_object().into_iter().collect(),
    };
    if records.is_empty() {
        remark("no records were found");
        return Ok(());
    }
    let max_width = io::stdout().is_terminal().then_some(CELL_WIDTH);
    print(table(&records, max_width))?;
    if value.pointer("/pageInfo/hasNextPage") == Some(&Value::Bool(true)) {
        remark("there are more pages; --all reads all of them");
    }
    Ok(())
}
