//! Rules of faults: a condition, and what happens to an exchange that meets it.

use std::collections::BTreeMap;

use mesh_tests::kit::http::{Request, Response};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::bearer;
use super::condition::When;
use super::document::{self, plain};
use super::path::{Glob, Path};
use super::proxy::{ProxyState, TRUNCATED_MARK};

/// A rule of a fault. As data it is an object with a member for each clause; edits are applied in the order of the members.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rule {
    when: When,
    edits: Vec<Clause>,
    phase: Phase,
}

/// When a rule applies, by the parts of the document that it refers to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Before the request is forwarded.
    #[default]
    Request,
    /// When there is a response.
    Response,
    /// At each line of an event stream.
    Line,
}

/// A member of a rule. Where a clause maps paths to values, it concerns the values at each path.
///
/// Values that are sent may contain references, texts that begin with `@`: `@` is the value that is replaced, `@/a` a value
/// within it, and `@a/b` one of the document. A reference to nothing is left out.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Clause {
    /// Which exchanges the rule is about; all if it is left out.
    When(When),
    /// Removes values.
    Remove(Vec<Path>),
    /// Replaces values that are there.
    Set(Places<Value>),
    /// Adds values, in place of those that are there. In a list, the name `+` is a further item.
    Add(Places<Value>),
    /// Replaces parts of texts, wherever they occur.
    Replace(Places<BTreeMap<String, String>>),
    /// Replaces texts that match a pattern as a whole, in which each `*` is any text. In the other text, `*1` is what the first
    /// `*` was.
    Rewrite(Places<BTreeMap<String, String>>),
    /// Adds to numbers.
    Increase(Places<i64>),
    /// Keeps the first items of lists and the first characters of texts; if the number is negative, drops the last ones.
    Take(Places<i64>),
    /// Reverses lists, and the members of objects.
    Reverse(Vec<Path>),
    /// Sorts the members of objects by name.
    Sort(Vec<Path>),
    /// Replaces texts by the JSON values that they contain.
    Parse(Vec<Path>),
    /// Replaces values by their JSON text.
    Stringify(Vec<Path>),
    /// Makes values wrong, whatever they are.
    Spoil(Vec<Path>),
    /// Calls a function.
    Call(Function),
    /// Replaces the credential by a token of the issuer: `same` with the same parts, `admin` of an admin.
    Issue(Issued),
    /// Signs the request correctly, with the session of its token or of the proxy, if there are logins.
    Sign(bool),
    /// Answers in place of the server.
    Reply(Reply),
    /// Answers like a server that finds nothing wrong.
    Accept(bool),
}

/// Pairs of a path and what a clause does there.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "Map<String, Value>")]
#[serde(bound(deserialize = "T: serde::de::DeserializeOwned"))]
struct Places<T>(Vec<(Path, T)>);

/// A changed exchange that needs code.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Function {
    /// Completes the form of an upload that was interrupted.
    CompleteForm,
    /// Indents the body of the response.
    Indent,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Issued {
    Same,
    Admin,
}

/// A response of the proxy: an error of a kind, or a body, which may contain references.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Reply {
    status: u16,
    error: Option<String>,
    code: Option<String>,
    #[serde(default)]
    body: Value,
    #[serde(default)]
    headers: BTreeMap<String, String>,
}

impl<T: serde::de::DeserializeOwned> TryFrom<Map<String, Value>> for Places<T> {
    type Error = String;

    fn try_from(members: Map<String, Value>) -> Result<Self, String> {
        let pair = |(path, value)| {
            let value = serde_json::from_value(value).map_err(|error| format!("at '{path}': {error}"))?;
            Ok((Path::try_from(path)?, value))
        };
        members.into_iter().map(pair).collect::<Result<_, String>>().map(Self)
    }
}

impl Rule {
    /// Parses a rule.
    pub(crate) fn parse(members: Map<String, Value>) -> Result<Self, String> {
        let mut rule = Self::default();
        for (name, value) in members {
            let clause = json!({name.as_str(): value});
            match serde_json::from_value(clause).map_err(|error| format!("in '{name}': {error}"))? {
                Clause::When(when) => rule.when = when,
                clause => rule.edits.push(clause),
            }
        }
        let parts: Vec<&str> =
            rule.when.paths().chain(rule.edits.iter().flat_map(Clause::paths)).map(Path::part).collect();
        rule.phase = match () {
            () if parts.contains(&"line") => Phase::Line,
            () if parts.contains(&"response") => Phase::Response,
            () => Phase::Request,
        };
        let edited = rule.edits.iter().flat_map(Clause::paths).map(Path::part);
        let mut wrong = edited.filter(|part| match rule.phase {
            Phase::Line => *part != "line",
            Phase::Response => *part != "response",
            Phase::Request => false,
        });
        match wrong.next() {
            None => Ok(rule),
            Some(part) => Err(format!("'{part}' is edited, but not before there is a response or line")),
        }
    }

    pub(crate) fn is_of(&self, phase: Phase) -> bool {
        self.phase == phase
    }

    /// Returns whether the rule changes the exchange of a document.
    pub(crate) fn changes(&self, document: &Value) -> bool {
        if !self.when.matches(document) {
            return false;
        }
        let is_found = |edit: &Clause| {
            matches!(edit, Clause::Add(_)) || edit.paths().iter().any(|path| !path.find(document).is_empty())
        };
        !self.edits_document() || self.edits.iter().any(is_found) && self.edit(&mut document.clone())
    }

    /// Returns whether the rule edits the document, rather than the exchange as a whole.
    fn edits_document(&self) -> bool {
        self.edits.iter().any(|edit| !edit.paths().is_empty())
    }

    /// Edits a document. Returns whether it has changed.
    fn edit(&self, document: &mut Value) -> bool {
        // As text, because the order of members is significant. Parts that the rule does not edit may be long.
        let parts = |document: &Value| -> String {
            let paths = self.edits.iter().flat_map(Clause::paths);
            paths.flat_map(|path| path.trunk(document)).map(Value::to_string).collect()
        };
        let before = parts(document);
        self.edits.iter().for_each(|edit| edit.apply(document));
        parts(document) != before
    }

    /// Applies the rule to a request. Returns the response if it is answered.
    pub(crate) fn on_request(
        &self,
        document: &mut Value,
        request: &mut Request,
        state: &ProxyState,
    ) -> Option<Response> {
        if !self.when.matches(document) {
            return None;
        }
        let before = document.clone();
        if !self.edit(document) && self.edits_document() {
            return None;
        }
        document::change_request(&before, document, request, state);
        for edit in &self.edits {
            match edit {
                Clause::Reply(reply) => return Some(reply.response(document)),
                Clause::Accept(true) => return Some(accepted(request)),
                Clause::Sign(true) => state.sign(request),
                Clause::Issue(Issued::Admin) => bearer::issue(request, state, None),
                Clause::Issue(Issued::Same) => bearer::issue(request, state, Some(&document["bearer"])),
                Clause::Call(Function::CompleteForm) => complete_form(request),
                _ => {}
            }
        }
        None
    }

    /// Applies the rule to a response.
    pub(crate) fn on_response(&self, document: &mut Value, request: &Request, response: &mut Response) {
        if !self.when.matches(document) {
            return;
        }
        let before = document.clone();
        self.edits.iter().for_each(|edit| edit.apply(document));
        document::change_response(&before, document, response);
        for edit in &self.edits {
            match edit {
                Clause::Reply(reply) => *response = reply.response(document),
                Clause::Accept(true) => *response = accepted(request),
                Clause::Call(Function::Indent) => {
                    response.body = format!("{:#}\n", document["response"]["body"]).into_bytes();
                }
                _ => {}
            }
        }
    }

    /// Applies the rule to a line of an event stream. Returns `None` if the line is left out.
    pub(crate) fn on_line(&self, line: String) -> Option<String> {
        let mut document = json!({"line": line});
        if self.when.matches(&document) {
            self.edits.iter().for_each(|edit| edit.apply(&mut document));
        }
        document.get("line").map(plain)
    }
}

impl Clause {
    fn paths(&self) -> Vec<&Path> {
        match self {
            Self::Set(places) | Self::Add(places) => places.paths(),
            Self::Replace(places) | Self::Rewrite(places) => places.paths(),
            Self::Increase(places) | Self::Take(places) => places.paths(),
            Self::Remove(paths) | Self::Reverse(paths) | Self::Sort(paths) => paths.iter().collect(),
            Self::Parse(paths) | Self::Stringify(paths) | Self::Spoil(paths) => paths.iter().collect(),
            _ => Vec::new(),
        }
    }

    /// Edits a document.
    fn apply(&self, document: &mut Value) {
        match self {
            Self::Remove(paths) => paths.iter().for_each(|path| path.remove(document)),
            Self::Set(places) => {
                let whole = document.clone();
                places.edit(document, |value, template| {
                    if let Some(set) = resolve(template, value, &whole) {
                        *value = set;
                    }
                });
            }
            Self::Add(places) => places.0.iter().for_each(|(path, template)| {
                if let Some(added) = resolve(template, &Value::Null, document) {
                    path.add(document, &added);
                }
            }),
            Self::Replace(places) => places.edit_texts(document, |text, pairs| {
                pairs.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
            }),
            Self::Rewrite(places) => places.edit_texts(document, rewrite),
            Self::Increase(places) => places.edit(document, |value, by| match value.as_i64() {
                Some(number) => *value = (number + by).into(),
                None => *value = value.as_f64().map(|number| number + *by as f64).into(),
            }),
            Self::Take(places) => places.edit(document, |value, count| take(value, *count)),
            Self::Reverse(paths) => edit_each(paths, document, reverse),
            Self::Sort(paths) => edit_each(paths, document, |value| {
                value.as_object_mut().into_iter().for_each(Map::sort_keys);
            }),
            Self::Parse(paths) => edit_each(paths, document, |value| {
                if let Some(parsed) = value.as_str().and_then(|text| serde_json::from_str(text).ok()) {
                    *value = parsed;
                }
            }),
            Self::Stringify(paths) => edit_each(paths, document, |value| *value = value.to_string().into()),
            Self::Spoil(paths) => edit_each(paths, document, spoil),
            Self::When(_)
            | Self::Call(_)
            | Self::Issue(_)
            | Self::Sign(_)
            | Self::Reply(_)
            | Self::Accept(_) => {}
        }
    }
}

impl<T> Places<T> {
    fn paths(&self) -> Vec<&Path> {
        self.0.iter().map(|(path, _)| path).collect()
    }

    fn edit(&self, document: &mut Value, edit: impl Fn(&mut Value, &T)) {
        for (path, by) in &self.0 {
            path.edit(document, &mut |value| edit(value, by));
        }
    }

    fn edit_texts(&self, document: &mut Value, edit: impl Fn(&str, &T) -> String) {
        self.edit(document, |value, by| {
            if let Value::String(text) = value {
                *text = edit(text, by);
            }
        });
    }
}

impl Reply {
    fn response(&self, document: &Value) -> Response {
        let body = match &self.error {
            Some(error) => {
                let mut body =
                    json!({"error": error, "message": "of the proxy", "requestId": "of-the-proxy"});
                if let Some(code) = &self.code {
                    body["code"] = code.as_str().into();
                }
                body
            }
            None => resolve(&self.body, &Value::Null, document).unwrap_or_default(),
        };
        let mut response = reply(self.status, &body);
        response.headers.extend(self.headers.iter().map(|(name, value)| (name.clone(), value.clone())));
        response
    }
}

/// Returns a JSON response.
pub(crate) fn reply(status: u16, body: &Value) -> Response {
    let headers = [
        ("content-type", "application/json; charset=utf-8"),
        ("x-request-id", "of-the-proxy"),
        ("cache-control", "no-store"),
    ];
    let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    Response { status, headers, body: body.to_string().into_bytes() }
}

/// Returns the response of a server that finds nothing wrong with a request.
pub(crate) fn accepted(request: &Request) -> Response {
    let is_list = document::segments(&request.target).len() == 1 && request.method == "GET";
    let info = json!({"hasNextPage": false, "startCursor": null, "endCursor": null});
    let body = match () {
        () if request.target.ends_with("/queries") => json!({"id": "q_0123456789abcdef0123456789abcdef"}),
        () if is_list => json!({"items": [], "pageInfo": info}),
        () => json!({}),
    };
    let mut response = reply(200, &body);
    let id = request.header_value("X-Request-Id").unwrap_or("of-the-proxy");
    response.headers[1].1 = id.to_owned();
    response
}

/// Returns a value with its references resolved, or `None` if it is a reference to nothing.
fn resolve(template: &Value, own: &Value, document: &Value) -> Option<Value> {
    Some(match template {
        Value::String(text) => match text.strip_prefix('@') {
            None => template.clone(),
            Some("") => own.clone(),
            Some(path) => {
                let (root, path) = path.strip_prefix('/').map_or((document, path), |path| (own, path));
                (*Path::try_from(path.to_owned()).ok()?.find(root).first()?).clone()
            }
        },
        Value::Array(items) => items.iter().filter_map(|item| resolve(item, own, document)).collect(),
        Value::Object(members) => {
            let resolved =
                |(name, value): (&String, &Value)| Some((name.clone(), resolve(value, own, document)?));
            members.iter().filter_map(resolved).collect()
        }
        scalar => scalar.clone(),
    })
}

fn rewrite(text: &str, pairs: &BTreeMap<String, String>) -> String {
    let matching = pairs.iter().find_map(|(from, to)| Some((Glob::new(from).stars(text)?, to)));
    let Some((stars, to)) = matching else { return text.to_owned() };
    let numbered = stars.iter().enumerate();
    numbered.fold(to.clone(), |text, (index, star)| text.replace(&format!("*{}", index + 1), star))
}

fn take(value: &mut Value, count: i64) {
    let kept = |length: usize| {
        let most = usize::try_from(count.unsigned_abs()).unwrap_or(usize::MAX);
        if count < 0 { length.saturating_sub(most) } else { most }
    };
    match value {
        Value::Array(items) => items.truncate(kept(items.len())),
        Value::String(text) => *text = text.chars().take(kept(text.chars().count())).collect(),
        _ => {}
    }
}

fn reverse(value: &mut Value) {
    match value {
        Value::Array(items) => items.reverse(),
        Value::Object(members) => *members = std::mem::take(members).into_iter().rev().collect(),
        _ => {}
    }
}

fn spoil(value: &mut Value) {
    *value = match value.take() {
        Value::Null => 0.into(),
        Value::Bool(flag) => (!flag).into(),
        Value::Number(number) => (number.as_f64().unwrap_or_default() + 1.0).into(),
        Value::String(text) => format!("{text}~").into(),
        Value::Array(mut items) => {
            items.pop();
            items.into()
        }
        Value::Object(_) => Value::Null,
    };
}

fn edit_each(paths: &[Path], document: &mut Value, mut edit: impl FnMut(&mut Value)) {
    paths.iter().for_each(|path| path.edit(document, &mut edit));
}

/// Completes the form of an upload that was interrupted.
fn complete_form(request: &mut Request) {
    let media = request.header_value("Content-Type").unwrap_or_default();
    let boundary = media.split_once("boundary=").map(|(_, boundary)| boundary.to_owned());
    if let (Some(boundary), Some(body)) = (boundary, &mut request.body) {
        body.extend(format!("\r\n--{boundary}--\r\n").into_bytes());
        request.headers.retain(|(name, _)| name != TRUNCATED_MARK);
    }
}
