//! `mesh-server query`: a client that encodes, sends, pages and prints.

use std::io::{self, IsTerminal};

use bytes::Bytes;
use http_body_util::Full;
use mesh_ql::{Format, Limits, Page};
use mesh_wire::Source;
use mesh_wire::client::{self, Endpoint};
use serde_json::Value;

use super::args::QueryArgs;
use super::caller::{Caller, answer};
use super::login::{self, Login};
use super::{Failure, print, remark};

/// Queries up to this go into a header; longer ones are posted.
const HEADER_QUERY: usize = 8 * 1024;

pub(crate) fn run(args: &QueryArgs) -> Result<(), Failure> {
    let (format, text) = args.text.resolve(io::stdin()).map_err(Failure::start)?;
    let endpoint = Endpoint::parse(&args.url).map_err(Failure::start)?;
    let caller = Caller::new(&endpoint, args.ca.as_deref())?;
    let who = match &args.login {
        Some(login) => Some((login.as_str(), login::password(login)?)),
        None => None,
    };
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::start)?;
    runtime.block_on(async {
        let login = match who {
            Some((login, password)) => Some(Login::begin(&caller, &endpoint, login, password).await?),
            None => None,
        };
        let asker = Asker { caller: &caller, endpoint: &endpoint, login };
        let answer = asker.answer(args, format.into(), &text).await;
        if let Some(login) = asker.login {
            login.end().await;
        }
        show(&answer?)
    })
}

/// Whom to ask, and on whose behalf.
struct Asker<'e> {
    caller: &'e Caller,
    endpoint: &'e Endpoint,
    login: Option<Login<'e>>,
}

impl Asker<'_> {
    /// What the command prints.
    async fn answer(&self, args: &QueryArgs, format: Format, text: &str) -> Result<Value, Failure> {
        if args.all {
            return self.all_pages(format, text).await;
        }
        let body = self.ask(format, text, args.id.as_deref()).await?;
        serde_json::from_slice(&body).map_err(Failure::found)
    }

    /// Follows the cursors and collects the items of all pages in one array.
    async fn all_pages(&self, format: Format, text: &str) -> Result<Value, Failure> {
        let mut query = parse(format, text)?;
        let mut items = Vec::new();
        loop {
            let body = self.ask(Format::Json, &mesh_ql::print_json(&query), None).await?;
            let mut page: Value = serde_json::from_slice(&body).map_err(Failure::found)?;
            if let Some(Value::Array(more)) = page.get_mut("items").map(Value::take) {
                items.extend(more);
            }
            let info = page.get("pageInfo").cloned().unwrap_or_default();
            if info.get("hasNextPage") != Some(&Value::Bool(true)) {
                return Ok(items.into());
            }
            if io::stderr().is_terminal() {
                remark(format_args!("{} items …", items.len()));
            }
            let after = info.get("endCursor").and_then(Value::as_str).map(str::to_owned);
            let first = query.root.controls.page.as_ref().and_then(|page| page.first);
            query.root.controls.page = Some(Page { first, after });
        }
    }

    async fn ask(&self, format: Format, text: &str, id: Option<&str>) -> Result<Bytes, Failure> {
        let request = if text.len() > HEADER_QUERY {
            client::post(self.endpoint, format, text, id)
        } else {
            let entity = parse(format, text)?.entity;
            let source = Source::Text { format, text: text.to_owned() };
            match id {
                Some(id) => client::point(self.endpoint, &entity, id, &source),
                None => client::collection(self.endpoint, &entity, &source),
            }
        };
        let mut request = request.map_err(Failure::start)?;
        if let Some(login) = &self.login {
            request = login.sign(request)?;
        }
        let reply = self.caller.send(request.map(Full::new)).await?;
        answer(reply, "NotFound", "is the base path part of --url, as in http://127.0.0.1:4000/mesh?")
    }
}

/// The server checks the query; here it is only taken apart, so no bound but that on nesting matters.
fn parse(format: Format, text: &str) -> Result<mesh_ql::Query, Failure> {
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
    mesh_ql::parse(format, text, &limits).map_err(Failure::found)
}

/// Indented for a person, on one line for a program.
fn show(value: &Value) -> Result<(), Failure> {
    if io::stdout().is_terminal() { print(format_args!("{value:#}")) } else { print(value) }
}
