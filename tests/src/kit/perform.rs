//! How is a case carried out? Step by step, up to the first one that does not do what it should.

use std::collections::HashMap;
use std::time::Duration;

use serde_json::{Value, json};

use super::case::{Case, Expect, Level, Step, Walk};
use super::compose;
use super::expect::{self, Seen};
use super::expression::Scope;
use super::http::{self, Request, Response};
use super::matcher::differences;
use super::stream::{Next, Stream};
use super::target::Target;
use super::trouble::Trouble;

/// How long an event may take; servers have one second, machines that test may be busy.
const EVENT_PATIENCE: Duration = Duration::from_secs(4);

/// More pages than this is a walk in a circle.
const PAGES_MAX: usize = 500;

/// A request that was sent, and what came back.
#[derive(Debug, Clone)]
pub struct Logged {
    /// A line for a shell that sends the same.
    pub curl: String,
    /// Method and target, with the query as text where there is one.
    pub request: String,
    /// Status and body; what went wrong where there was no response.
    pub response: String,
}

/// Carries a case out. The log has what was sent, whatever the outcome.
pub fn perform(case: &Case, target: &Target) -> (Result<(), Vec<Trouble>>, Vec<Logged>) {
    let settings = match target.settings(case) {
        Ok(settings) => settings,
        Err(trouble) => return (Err(vec![trouble]), Vec::new()),
    };
    let scope = Scope::new(&target.profile);
    let mut performer = Performer { case, target, settings, scope, streams: HashMap::new(), log: Vec::new() };
    let outcome = case.steps.iter().try_for_each(|step| performer.step(step));
    (outcome, performer.log)
}

struct Performer<'t> {
    case: &'t Case,
    target: &'t Target,
    settings: String,
    scope: Scope<'t>,
    streams: HashMap<String, Stream>,
    log: Vec<Logged>,
}

type Outcome<T = ()> = Result<T, Vec<Trouble>>;

impl Performer<'_> {
    fn step(&mut self, step: &Step) -> Outcome {
        for (name, value) in &step.bind {
            let value = self.scope.eval(value).map_err(one)?;
            self.scope.values.insert(name.clone(), value);
        }
        if let Some(milliseconds) = step.wait {
            std::thread::sleep(Duration::from_millis(milliseconds));
        }
        if let Some(login) = &step.login {
            self.login(&login.account, &login.name)?;
        }
        if let Some(value) = &step.check {
            let got = self.scope.eval(value).map_err(one)?;
            let expected = self.scope.fill(&step.is.clone().unwrap_or_default()).map_err(one)?;
            found(differences(&expected, Some(&got)))?;
        }
        if let Some(walk) = &step.walk {
            self.walk(walk)?;
        }
        if let Some(silent) = &step.silent {
            let stream = self.stream(&silent.stream)?;
            let (next, comments) = (stream.next(Duration::from_millis(silent.ms)), stream.comments);
            if !matches!(next, Next::Silence) {
                return fault(format!("the stream '{}' was to be silent, but: {next:?}", silent.stream));
            }
            if comments < silent.comments {
                return fault(format!(
                    "{comments} comment lines on '{}', not {}",
                    silent.stream, silent.comments
                ));
            }
        }
        if let Some(name) = &step.ended {
            let next = self.stream(name)?.next(EVENT_PATIENCE);
            if !matches!(next, Next::End) {
                return fault(format!("the stream '{name}' was to end, but: {next:?}"));
            }
        }
        if let Some(name) = &step.read {
            self.read(name, step)?;
        }
        if step.send.is_some() { self.send(step) } else { Ok(()) }
    }

    fn login(&mut self, account: &str, name: &str) -> Outcome {
        let (request, response) = self.target.login(&self.settings, account).map_err(one)?;
        self.log(&request, Ok(&response));
        let body: Value = serde_json::from_slice(&response.body).unwrap_or_default();
        if response.status != 200 {
            return fault(format!(
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
            .ok_or_else(|| one(Trouble::Setup(format!("the case is broken: there is no stream '{name}'"))))
    }

    fn read(&mut self, name: &str, step: &Step) -> Outcome {
        let stream = self.stream(name)?;
        let (next, retries) = (stream.next(EVENT_PATIENCE), json!(stream.retries));
        let event = match next {
            Next::Event(event) => event,
            Next::Silence => {
                return fault(format!("no event came on the stream '{name}' in {EVENT_PATIENCE:?}"));
            }
            Next::End => return fault(format!("the stream '{name}' ended")),
        };
        let response = format!("event {} id {:?} data {}", event.kind, event.id, event.data);
        self.log.push(Logged { curl: String::new(), request: format!("(stream '{name}')"), response });
        let data: Value = serde_json::from_str(&event.data).unwrap_or_default();
        let seen =
            json!({"event": event.kind, "data": data, "id": event.id, "text": event.data, "retry": retries});
        if let Some(expect) = &step.expect {
            let mut faults = Vec::new();
            for (name, expected) in
                [("event", &expect.event), ("data", &expect.data), ("id", &expect.event_id)]
            {
                if let Some(expected) = expected {
                    let expected = self.scope.fill(expected).map_err(one)?;
                    let differences = differences(&expected, seen.get(name));
                    faults.extend(differences.into_iter().map(|what| format!("{name}: {what}")));
                }
            }
            found(faults)?;
        }
        for (name, place) in &step.capture {
            let place = super::expression::plain(place);
            let value = super::expression::part(&seen, &place).cloned();
            self.scope.values.insert(name.clone(), value.unwrap_or_default());
        }
        Ok(())
    }

    fn send(&mut self, step: &Step) -> Outcome {
        let Some(send) = &step.send else { return Ok(()) };
        let settings = send.server.clone().unwrap_or_else(|| self.settings.clone());
        let request = compose::request(send, &settings, self.target, &self.scope).map_err(one)?;
        let authority = self.target.place(&settings).map_err(one)?.authority.clone();
        if let Some(name) = &step.open {
            let exchange = http::begin(&authority, &request);
            let exchange = exchange.map_err(|error| self.unanswered(&request, error))?;
            self.log(&request, Ok(&exchange.head));
            let head = exchange.head.clone();
            self.streams.insert(name.clone(), Stream::new(exchange));
            return self.check(step, &head);
        }
        let response = http::send(&authority, &request).map_err(|error| self.unanswered(&request, error))?;
        self.log(&request, Ok(&response));
        self.check(step, &response)
    }

    fn check(&mut self, step: &Step, response: &Response) -> Outcome {
        let seen = Seen::of(response);
        if let Some(expect) = &step.expect {
            found(self.faults(expect, &seen)?)?;
        }
        for (name, place) in &step.capture {
            let place = super::expression::plain(place);
            let value = seen.part(&place);
            let value = value.ok_or_else(|| one(Trouble::Fault(format!("the response has no {place}"))))?;
            self.scope.values.insert(name.clone(), value);
        }
        Ok(())
    }

    fn faults(&self, expect: &Expect, seen: &Seen<'_>) -> Outcome<Vec<String>> {
        expect::faults(expect, seen, self.case.level == Level::L1, &self.scope).map_err(one)
    }

    /// Follows `endCursor` from page to page and holds all items together against what they must be.
    fn walk(&mut self, walk: &Walk) -> Outcome {
        let mut query = self.scope.eval(&walk.query).map_err(one)?;
        let (mut items, mut after, mut pages) = (Vec::new(), Value::Null, 0);
        loop {
            let root = query.as_object_mut().and_then(|query| query.values_mut().next());
            if let Some(root) = root.and_then(Value::as_object_mut) {
                root.insert("$page".to_owned(), json!({"first": walk.first, "after": after}));
            }
            let send = super::case::Send {
                path: walk.path.clone(),
                query: Some(query.clone()),
                ..super::case::Send::default()
            };
            let request = compose::request(&send, &self.settings, self.target, &self.scope).map_err(one)?;
            let authority = self.target.place(&self.settings).map_err(one)?.authority.clone();
            let response =
                http::send(&authority, &request).map_err(|error| self.unanswered(&request, error))?;
            self.log(&request, Ok(&response));
            let body: Value = serde_json::from_slice(&response.body).unwrap_or_default();
            let page = body.get("items").and_then(Value::as_array).cloned();
            let info = |name: &str| {
                body.get("pageInfo").and_then(|info| info.get(name)).cloned().unwrap_or_default()
            };
            let (Some(page), Value::Bool(more)) = (page, info("hasNextPage")) else {
                return fault(format!("page {}: no items or no hasNextPage: {}", pages + 1, response.text()));
            };
            let full = page.len() as u64 == walk.first;
            if page.len() as u64 > walk.first || (more && !full) {
                return fault(format!("page {}: {} items with hasNextPage {more}", pages + 1, page.len()));
            }
            if page.is_empty() != info("endCursor").is_null()
                || page.is_empty() != info("startCursor").is_null()
            {
                return fault(format!("page {}: {} items, {}", pages + 1, page.len(), response.text()));
            }
            items.extend(page);
            pages += 1;
            if !more {
                break;
            }
            after = info("endCursor");
            if pages > PAGES_MAX {
                return fault(format!("still not at the end after {pages} pages"));
            }
        }
        let expected = self.scope.fill(&walk.items).map_err(one)?;
        let differences = differences(&expected, Some(&Value::Array(items)));
        found(differences.into_iter().map(|what| format!("after {pages} pages: {what}")).collect())
    }

    fn unanswered(&mut self, request: &Request, error: String) -> Vec<Trouble> {
        self.log(request, Err(&error));
        let trouble = if error.starts_with("cannot connect") { Trouble::Setup } else { Trouble::Fault };
        one(trouble(error))
    }

    fn log(&mut self, request: &Request, response: Result<&Response, &String>) {
        const MOST: usize = 2_000;
        let authority = self.target.place(&self.settings).map_or("", |place| place.authority.as_str());
        let mut said = format!("{} {}", request.method, request.target);
        if let Some(query) = request.header("X-Mesh-Query").and_then(super::wire::from_base64) {
            said.push_str(&format!("  query {}", String::from_utf8_lossy(&query)));
        }
        let got = match response {
            Ok(response) => format!("{} {}", response.status, response.text()),
            Err(error) => error.clone(),
        };
        let got: String = got.chars().take(MOST).collect();
        said = said.chars().take(MOST).collect();
        self.log.push(Logged { curl: request.curl(authority), request: said, response: got });
    }
}

fn one(trouble: Trouble) -> Vec<Trouble> {
    vec![trouble]
}

fn fault<T>(what: String) -> Outcome<T> {
    Err(one(Trouble::Fault(what)))
}

fn found(faults: Vec<String>) -> Outcome {
    if faults.is_empty() { Ok(()) } else { Err(faults.into_iter().map(Trouble::Fault).collect()) }
}
