//! Execution of a case: its steps in order, up to the first failure.

mod load;
mod page;

use std::collections::HashMap;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::case::{Case, Expect, Level, Silent, Step, Walk};
use crate::compose;
use crate::expect::{self, ParsedResponse};
use crate::expression::Scope;
use crate::failure::Failure;
use crate::http::{self, Connection, Endpoint, Exchange, Request, Response};
use crate::matcher::differences;
use crate::report;
use crate::stream::{Event, Next, Stream};
use crate::target::Target;

/// The largest number of pages of a collection, which detects cursors that form a cycle.
const PAGES_MAX: usize = 500;

/// The longest request or response in a report.
const LENGTH_MAX: usize = 2_000;

/// The longest header in a report.
const HEADER_MAX: usize = 100;

/// An exchange of a case, which reports render as text.
#[derive(Debug, Clone)]
pub enum LoggedExchange {
    /// A request and its response.
    Http {
        /// The server.
        authority: Endpoint,
        /// The request.
        request: Request,
        /// The response, or the error if there was none.
        response: Result<Response, String>,
    },
    /// An event of a stream.
    Event {
        /// The name of the stream.
        stream: String,
        /// The event.
        event: Event,
    },
}

impl LoggedExchange {
    /// Returns a curl command that sends the request.
    #[must_use]
    pub fn curl(&self) -> Option<String> {
        match self {
            Self::Http { authority, request, .. } => Some(http::curl(request, authority)),
            Self::Event { .. } => None,
        }
    }

    /// Returns method and target, followed by the headers, with decoded query and parameters, and by the body.
    #[must_use]
    pub fn request(&self) -> String {
        let request = match self {
            Self::Http { request, .. } => request,
            Self::Event { stream, .. } => return format!("(stream '{stream}')"),
        };
        let mut text = format!("{} {}", request.method, request.target);
        let hosts = request.hosts.iter().flatten().map(|host| ("Host", host.as_bytes()));
        let headers = request.headers.iter().map(|(name, value)| (name.as_str(), value.as_slice()));
        for (name, value) in hosts.chain(headers) {
            let value = String::from_utf8_lossy(value);
            let part = match (name, crate::encoding::from_base64(&value)) {
                ("X-Mesh-Query", Some(query)) => format!("  query {}", String::from_utf8_lossy(&query)),
                ("X-Mesh-Params", Some(params)) => format!("  params {}", String::from_utf8_lossy(&params)),
                _ => format!("  {name}: {}", report::shortened(&value, HEADER_MAX)),
            };
            text.push_str(&part);
        }
        if let Some(body) = &request.body {
            text.push_str(&format!("  body {}", String::from_utf8_lossy(body)));
        }
        report::shortened(&text, LENGTH_MAX)
    }

    /// Returns status and body, or the error if there was no response.
    #[must_use]
    pub fn response(&self) -> String {
        let text = match self {
            Self::Http { response: Ok(response), .. } => format!("{} {}", response.status, response.text()),
            Self::Http { response: Err(error), .. } => error.clone(),
            Self::Event { event, .. } => {
                format!("event {} id {:?} data {}", event.kind, event.id, event.data)
            }
        };
        report::shortened(&text, LENGTH_MAX)
    }
}

/// Executes a case. The log contains all exchanges, whether the case passes or fails.
pub fn execute(case: &Case, target: &Target) -> (Result<(), Vec<Failure>>, Vec<LoggedExchange>) {
    let settings = match target.settings(case) {
        Ok(settings) => settings,
        Err(failure) => return (Err(vec![failure]), Vec::new()),
    };
    let scope = Scope::new(&target.profile);
    let mut executor = Executor {
        case,
        target,
        settings,
        scope,
        streams: HashMap::new(),
        held: Vec::new(),
        log: Vec::new(),
    };
    let outcome = case.steps.iter().try_for_each(|step| executor.step(step));
    (outcome, executor.log)
}

struct Executor<'t> {
    case: &'t Case,
    target: &'t Target,
    settings: String,
    scope: Scope<'t>,
    streams: HashMap<String, Stream>,
    /// Connections that stay open until the end of the case.
    held: Vec<Connection>,
    log: Vec<LoggedExchange>,
}

type Outcome<T = ()> = Result<T, Vec<Failure>>;

impl Executor<'_> {
    fn step(&mut self, step: &Step) -> Outcome {
        for (name, value) in &step.bind {
            let value = self.scope.eval(value).map_err(single)?;
            self.scope.values.insert(name.clone(), value);
        }
        if let Some(milliseconds) = step.wait {
            std::thread::sleep(Duration::from_millis(milliseconds));
        }
        if let Some(login) = &step.login {
            self.login(&login.account, &login.name)?;
        }
        if let Some(value) = &step.check {
            let got = self.scope.eval(value).map_err(single)?;
            let expected = self.scope.fill(&step.is.clone().unwrap_or_default()).map_err(single)?;
            check_empty(differences(&expected, Some(&got)))?;
        }
        if let Some(load) = &step.load {
            load::load(load, &self.target.profile).map_err(single)?;
        }
        if let Some(path) = &step.page {
            let path = self.scope.text(&path.clone().into()).map_err(single)?;
            let url = self.target.base_url(&self.settings).map_err(single)?;
            let request = Request::new("GET", &path);
            let faults = page::faults(url, &path).map_err(|error| single(Failure::Mismatch(error)))?;
            let response = Err("a page with what it refers to".to_owned());
            self.log.push(LoggedExchange::Http { authority: url.authority.clone(), request, response });
            check_empty(faults)?;
        }
        if let Some(walk) = &step.walk {
            self.walk(walk)?;
        }
        if let Some(silent) = &step.silent {
            self.silent(silent)?;
        }
        if let Some(name) = &step.ended {
            let patience = self.target.timeouts.event;
            let next = self.stream(name)?.next(patience);
            if !matches!(next, Next::End | Next::Broken) {
                return mismatch(format!("the stream '{name}' should end, got {next:?}"));
            }
        }
        if let Some(name) = &step.read {
            self.read(name, step)?;
        }
        if step.send.is_some() { self.send(step) } else { Ok(()) }
    }

    fn login(&mut self, account: &str, name: &str) -> Outcome {
        let (request, response) = self.target.login(&self.settings, account).map_err(single)?;
        let authority = self.target.base_url(&self.settings).map_err(single)?.authority.clone();
        let response = self.log(authority, request, Ok(response))?;
        let body: Value = serde_json::from_slice(&response.body).unwrap_or_default();
        if response.status != 200 {
            return mismatch(format!(
                "'{account}' cannot log in: status {}, {}",
                response.status,
                response.text()
            ));
        }
        self.scope.values.insert(name.to_owned(), body);
        Ok(())
    }

    fn stream(&mut self, name: &str) -> Outcome<&mut Stream> {
        self.streams
            .get_mut(name)
            .ok_or_else(|| single(Failure::Setup(format!("the case is broken: there is no stream '{name}'"))))
    }

    /// Checks that a stream sends no event for some time, or until it has sent the given number of comments.
    fn silent(&mut self, silent: &Silent) -> Outcome {
        const SLICE: Duration = Duration::from_millis(50);
        let deadline = Instant::now() + Duration::from_millis(silent.ms);
        let stream = self.stream(&silent.stream)?;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let next = stream.next(if silent.comments == 0 { left } else { left.min(SLICE) });
            if !matches!(next, Next::Silence) {
                return mismatch(format!("the stream '{}' should be silent, got {next:?}", silent.stream));
            }
            let has_all = stream.comments >= silent.comments;
            if Instant::now() >= deadline || (has_all && silent.comments > 0) {
                let (got, wanted) = (stream.comments, silent.comments);
                let what = format!("{got} comment lines on '{}', expected {wanted}", silent.stream);
                return if has_all { Ok(()) } else { mismatch(what) };
            }
        }
    }

    fn read(&mut self, name: &str, step: &Step) -> Outcome {
        let patience = self.target.timeouts.event;
        let deadline = Instant::now() + patience;
        let (event, retries) = loop {
            let stream = self.stream(name)?;
            match stream.next(deadline.saturating_duration_since(Instant::now())) {
                Next::Event(event) if step.past.as_ref() == Some(&event.kind) => {}
                Next::Event(event) => break (event, json!(stream.retries)),
                Next::Silence => {
                    return mismatch(format!("no event on the stream '{name}' within {patience:?}"));
                }
                Next::End | Next::Broken => return mismatch(format!("the stream '{name}' ended")),
            }
        };
        self.log.push(LoggedExchange::Event { stream: name.to_owned(), event: event.clone() });
        let data: Value = serde_json::from_str(&event.data).unwrap_or_default();
        let seen =
            json!({"event": event.kind, "data": data, "id": event.id, "text": event.data, "retry": retries});
        if let Some(expect) = &step.expect {
            let mut mismatches = Vec::new();
            for (name, expected) in
                [("event", &expect.event), ("data", &expect.data), ("id", &expect.event_id)]
            {
                if let Some(expected) = expected {
                    let expected = self.scope.fill(expected).map_err(single)?;
                    let differences = differences(&expected, seen.get(name));
                    mismatches.extend(differences.into_iter().map(|what| format!("{name}: {what}")));
                }
            }
            check_empty(mismatches)?;
        }
        for (name, place) in &step.capture {
            let place = crate::expression::plain(place);
            let value = crate::expression::part(&seen, &place).cloned();
            self.scope.values.insert(name.clone(), value.unwrap_or_default());
        }
        Ok(())
    }

    fn send(&mut self, step: &Step) -> Outcome {
        let Some(send) = &step.send else { return Ok(()) };
        let settings = send.server.clone().unwrap_or_else(|| self.settings.clone());
        let request = compose::request(send, &settings, self.target, &self.scope).map_err(single)?;
        if let Some(cut) = &send.cut {
            let cut = self.scope.eval(cut).map_err(single)?.as_u64().unwrap_or_default();
            let connection = self.send_part(request, &settings, usize::try_from(cut).unwrap_or_default())?;
            drop(connection);
            return Ok(());
        }
        if send.hold {
            let connection = self.send_part(request, &settings, usize::MAX)?;
            self.held.push(connection);
            return Ok(());
        }
        let Some(name) = &step.open else {
            let response = self.exchange(request, &settings)?;
            return self.check(step, &response);
        };
        let authority = self.target.base_url(&settings).map_err(single)?.authority.clone();
        let (head, stream) = match Exchange::begin(&authority, &request) {
            Ok(exchange) => (Ok(exchange.head.clone()), Some(Stream::new(exchange))),
            Err(error) => (Err(error), None),
        };
        let head = self.log(authority, request, head)?;
        self.streams.extend(stream.map(|stream| (name.clone(), stream)));
        self.check(step, &head)
    }

    fn check(&mut self, step: &Step, response: &Response) -> Outcome {
        let seen = ParsedResponse::new(response);
        if let Some(expect) = &step.expect {
            check_empty(self.mismatches(expect, &seen)?)?;
        }
        for (name, place) in &step.capture {
            let place = crate::expression::plain(place);
            let value = seen.part(&place);
            let value =
                value.ok_or_else(|| single(Failure::Mismatch(format!("the response has no {place}"))))?;
            self.scope.values.insert(name.clone(), value);
        }
        Ok(())
    }

    fn mismatches(&self, expect: &Expect, seen: &ParsedResponse<'_>) -> Outcome<Vec<String>> {
        expect::mismatches(expect, seen, self.case.level == Level::L1, &self.scope).map_err(single)
    }

    /// Follows `endCursor` from page to page and compares the items of all pages with the expected ones.
    fn walk(&mut self, walk: &Walk) -> Outcome {
        let mut query = self.scope.eval(&walk.query).map_err(single)?;
        let (mut items, mut from, mut pages) = (Vec::new(), Value::Null, 0);
        let [size, bound, has_more, next] = match walk.back {
            false => ["first", "after", "hasNextPage", "endCursor"],
            true => ["last", "before", "hasPreviousPage", "startCursor"],
        };
        loop {
            let root = query.as_object_mut().and_then(|query| query.values_mut().next());
            if let Some(root) = root.and_then(Value::as_object_mut) {
                root.insert("$page".to_owned(), json!({size: walk.first, bound: from}));
            }
            let send = crate::case::Send {
                path: walk.path.clone(),
                query: Some(query.clone()),
                ..crate::case::Send::default()
            };
            let request =
                compose::request(&send, &self.settings, self.target, &self.scope).map_err(single)?;
            let settings = self.settings.clone();
            let response = self.exchange(request, &settings)?;
            let body: Value = serde_json::from_slice(&response.body).unwrap_or_default();
            let page = body.get("items").and_then(Value::as_array).cloned();
            let info = |name: &str| {
                body.get("pageInfo").and_then(|info| info.get(name)).cloned().unwrap_or_default()
            };
            let (Some(page), Value::Bool(more)) = (page, info(has_more)) else {
                return mismatch(format!(
                    "page {}: no items or no {has_more}: {}",
                    pages + 1,
                    response.text()
                ));
            };
            let full = page.len() as u64 == walk.first;
            if page.len() as u64 > walk.first || (more && !full) {
                return mismatch(format!("page {}: {} items with {has_more} {more}", pages + 1, page.len()));
            }
            if page.is_empty() != info("endCursor").is_null()
                || page.is_empty() != info("startCursor").is_null()
            {
                return mismatch(format!("page {}: {} items, {}", pages + 1, page.len(), response.text()));
            }
            if walk.back {
                items.splice(..0, page);
            } else {
                items.extend(page);
            }
            pages += 1;
            if !more {
                break;
            }
            from = info(next);
            if pages > PAGES_MAX {
                return mismatch(format!("more than {pages} pages"));
            }
        }
        let expected = self.scope.fill(&walk.items).map_err(single)?;
        let differences = differences(&expected, Some(&Value::Array(items)));
        check_empty(differences.into_iter().map(|what| format!("after {pages} pages: {what}")).collect())
    }

    /// Sends a request with at most `most` bytes of its body, and does not wait for a response.
    fn send_part(&mut self, request: Request, settings: &str, most: usize) -> Outcome<Connection> {
        let authority = self.target.base_url(settings).map_err(single)?.authority.clone();
        let body = request.body.as_deref().map_or(0, <[u8]>::len);
        let mut bytes = request.bytes_for(&authority);
        bytes.truncate(bytes.len() - body + most.min(body));
        let mut connection = Connection::open(&authority).map_err(|error| single(Failure::Setup(error)))?;
        connection.write(&bytes);
        let response = Err(format!("no response awaited after {} bytes", bytes.len()));
        self.log.push(LoggedExchange::Http { authority, request, response });
        Ok(connection)
    }

    /// Sends a request and logs the exchange.
    fn exchange(&mut self, request: Request, settings: &str) -> Outcome<Response> {
        let authority = self.target.base_url(settings).map_err(single)?.authority.clone();
        let response = http::send(&authority, &request);
        self.log(authority, request, response)
    }

    fn log(
        &mut self,
        authority: Endpoint,
        request: Request,
        response: Result<Response, String>,
    ) -> Outcome<Response> {
        self.log.push(LoggedExchange::Http { authority, request, response: response.clone() });
        response.map_err(|error| {
            let is_setup = error.starts_with("cannot connect");
            single(if is_setup { Failure::Setup(error) } else { Failure::Mismatch(error) })
        })
    }
}

fn single(failure: Failure) -> Vec<Failure> {
    vec![failure]
}

fn mismatch<T>(what: String) -> Outcome<T> {
    Err(single(Failure::Mismatch(what)))
}

fn check_empty(mismatches: Vec<String>) -> Outcome {
    if mismatches.is_empty() { Ok(()) } else { Err(mismatches.into_iter().map(Failure::Mismatch).collect()) }
}
