//! `mesh-server query`: a client that encodes, sends, pages and prints.

use std::io::{self, IsTerminal};

use bytes::Bytes;
use http_body_util::Full;
use mesh_ql::{Format, Limits, Page, SyntaxError};
use mesh_wire::client::{self, Endpoint, ReplyError};
use mesh_wire::{ErrorBody, ErrorKind, QuerySource};
use serde_json::Value;

use crate::cli::args::QueryArgs;
use crate::cli::client::http::Caller;
use crate::cli::client::session::{self, Login};
use crate::cli::failure::Failure;
use crate::cli::output::print;
use crate::cli::output::remark;
use crate::cli::terminal::{Colors, Fault, Waiting, excerpt_of, json, table};

/// What is asked of somebody whose path is unknown to the server.
const BASE: &str = "is the base path part of --url, as in http://127.0.0.1:4000/mesh?";

/// Queries up to this go into a header; longer ones are posted.
const HEADER_QUERY: usize = 8 * 1024;

pub(crate) fn run(args: &QueryArgs) -> Result<(), Failure> {
    let (format, text) = args.text.resolve(io::stdin()).map_err(Failure::start)?;
    let endpoint = Endpoint::parse(&args.url).map_err(Failure::start)?;
    let caller = Caller::new(&endpoint, args.ca.as_deref())?;
    let who = match &args.login {
        Some(login) => Some((login.as_str(), session::password(login)?)),
        None => None,
    };
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::start)?;
    runtime.block_on(async {
        let login = match who {
            Some((login, password)) => Some(Login::begin(&caller, &endpoint, login, password).await?),
            None => None,
        };
        let waiting = Waiting::on(format!("waiting for {}", endpoint.uri()));
        let asker = Asker { caller: &caller, endpoint: &endpoint, login, waiting };
        let answer = asker.answer(args, format.into(), &text).await;
        let Asker { login, waiting, .. } = asker;
        if let Some(login) = login {
            login.end().await;
        }
        drop(waiting);
        if args.table { show_table(&answer?) } else { show(&answer?) }
    })
}

/// Whom to ask, and on whose behalf.
struct Asker<'e> {
    caller: &'e Caller,
    endpoint: &'e Endpoint,
    login: Option<Login<'e>>,
    /// What is seen meanwhile.
    waiting: Waiting,
}

impl Asker<'_> {
    /// What the command prints.
    async fn answer(&self, args: &QueryArgs, format: Format, text: &str) -> Result<Value, Failure> {
        if args.all {
            return self.all_pages(format, text).await;
        }
        let body = self.ask(format, text, args.id.as_deref()).await.map_err(|why| why.told(format, text))?;
        serde_json::from_slice(&body).map_err(Failure::found)
    }

    /// Follows the cursors and collects the items of all pages in one array.
    async fn all_pages(&self, format: Format, text: &str) -> Result<Value, Failure> {
        let mut query = parse(format, text).map_err(|why| why.told(format, text))?;
        let mut items = Vec::new();
        loop {
            // What is sent says the same as what was typed, but in other places.
            let body = self.ask(Format::Json, &mesh_ql::print_json(&query), None).await;
            let body = body.map_err(|why| why.without_place().told(format, text))?;
            let mut page: Value = serde_json::from_slice(&body).map_err(Failure::found)?;
            if let Some(Value::Array(more)) = page.get_mut("items").map(Value::take) {
                items.extend(more);
            }
            let info = page.get("pageInfo").cloned().unwrap_or_default();
            if info.get("hasNextPage") != Some(&Value::Bool(true)) {
                return Ok(items.into());
            }
            self.waiting.say(format!("{} items so far", items.len()));
            let after = info.get("endCursor").and_then(Value::as_str).map(str::to_owned);
            let first = query.root.controls.page.as_ref().and_then(|page| page.first);
            query.root.controls.page = Some(Page { first, after });
        }
    }

    async fn ask(&self, format: Format, text: &str, id: Option<&str>) -> Result<Bytes, Why> {
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
        let mut request = request.map_err(|error| Why::Other(Failure::start(error)))?;
        if let Some(login) = &self.login {
            request = login.sign(request).map_err(Why::Other)?;
        }
        let reply = self.caller.send(request.map(Full::new)).await.map_err(Why::Other)?;
        client::result(reply).map_err(|error| match error {
            ReplyError::Refused { body, .. } => Why::Refused(body),
            error @ ReplyError::Foreign { .. } => Why::Other(Failure::found(error)),
        })
    }
}

/// The server checks the query; here it is only taken apart, so no bound but that on nesting matters.
fn parse(format: Format, text: &str) -> Result<mesh_ql::Query, Why> {
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
    mesh_ql::parse(format, text, &limits).map_err(Why::Syntax)
}

/// Why there is no answer.
enum Why {
    /// The query cannot be taken apart.
    Syntax(SyntaxError),
    /// The server does not take it.
    Refused(Box<ErrorBody>),
    /// Anything else.
    Other(Failure),
}

impl Why {
    /// The same where places are those of another text.
    fn without_place(self) -> Self {
        match self {
            Self::Refused(body) => Self::Refused(Box::new(ErrorBody { line: None, column: None, ..*body })),
            other => other,
        }
    }

    /// The failure, with the place in the query where there is one.
    fn told(self, format: Format, text: &str) -> Failure {
        let excerpt = |fault: Fault<'_>| excerpt_of(format, text, fault, Colors::of_errors());
        match self {
            Self::Syntax(error) => {
                let at = error.line.zip(error.column);
                let fault = Fault { message: &error.message, path: error.path.as_deref(), at };
                Failure::found(format_args!("{error}{}", excerpt(fault)))
            }
            Self::Refused(body) => {
                let at = body.line.zip(body.column);
                let fault = Fault { message: &body.message, path: body.path.as_deref(), at };
                // Where a query has nothing to do with it, a word in quotes is not one of the query's.
                let more = match ErrorKind::parse(&body.error) {
                    Some(ErrorKind::Validation) => excerpt(fault),
                    Some(ErrorKind::NotFound) => format!("\n{BASE}"),
                    _ => String::new(),
                };
                Failure::found(format_args!("{body}{more}"))
            }
            Self::Other(failure) => failure,
        }
    }
}

/// Indented for a person, on one line for a program.
fn show(value: &Value) -> Result<(), Failure> {
    if io::stdout().is_terminal() { print(json(value, Colors::of_output())) } else { print(value) }
}

/// Columns of one cell at a terminal.
const CELL: usize = 60;

/// The items of a list, or the one record.
fn show_table(value: &Value) -> Result<(), Failure> {
    let items = value.get("items").and_then(Value::as_array).or_else(|| value.as_array());
    let records: Vec<_> = match items {
        Some(items) => items.iter().filter_map(Value::as_object).collect(),
        None => value.as_object().into_iter().collect(),
    };
    if records.is_empty() {
        remark("nothing was found");
        return Ok(());
    }
    let widest = io::stdout().is_terminal().then_some(CELL);
    print(table(&records, widest, Colors::of_output()).trim_end())?;
    if value.pointer("/pageInfo/hasNextPage") == Some(&Value::Bool(true)) {
        remark("there is more: --all follows the cursors");
    }
    Ok(())
}
