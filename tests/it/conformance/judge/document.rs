//! Documents: requests and responses as JSON, which faults test and edit.
//!
//! | part | contents |
//! |---|---|
//! | `method`, `target`, `hosts` | the request line; the values of `Host`, null if it is the address of the server |
//! | `path` | the segments of the path below the base path, as a list |
//! | `headers/NAME` | a header, whose name is in lower case; a list if it is repeated |
//! | `names` | the names of the headers as they were sent |
//! | `text`, `query` | the query from the header or the posted body: as text, and parsed if it is JSON |
//! | `statement` | the same of an upload, which has no `query` |
//! | `params` | the values of parameters from the header or the posted body |
//! | `body`, `raw` | the body, parsed if it is JSON; as text, with a character for each byte |
//! | `bearer/header`, `bearer/claims`, `bearer/token` | the parts of a bearer that is a token; the text of any |
//! | `bearer/left`, `bearer/ahead` | the seconds until it ends, and until it begins |
//! | `is` | what the request is: some of `list`, `point`, `upload`, `write` |
//! | `size` | the length of the body that is sent or announced |
//! | `form/hash`, `form/length`, `form/type`, `form/meta` | the file of an upload, and the hash of its fields |
//! | `settings` | the name of the server |
//! | `session` | whether the server has issued the token of the request |
//! | `issued/token`, `issued/tag`, `issued/first` | what the server has issued: the token and the tag that resemble those of the request, the first session |
//! | `seen` | whether the same request was sent before |
//! | `age`, `now` | the seconds since the request was signed, and since 1970 |
//! | `response/status`, `response/headers/NAME` | the status, a header |
//! | `response/body`, `response/raw` | the body, parsed if it is JSON; as text, with a character for each byte |
//! | `line` | a line of an event stream; the only part of its document |
//!
//! `names`, and parts of requests from `bearer/left` on, cannot be edited.

use std::time::UNIX_EPOCH;

use mesh_tests::kit::encoding;
use mesh_tests::kit::http::{Request, Response};
use serde_json::{Map, Value, json};

use super::bearer;
use super::proxy::{ProxyState, is_write};

/// The lengths from which a query is not parsed, and a body is not text. Longer ones test bounds.
const QUERY_MAX: usize = 40_000;
const RAW_MAX: usize = 4_000_000;

/// Returns the document of a request.
pub(crate) fn of_request(request: &Request, state: &ProxyState) -> Value {
    let is_upload = has_media_type(request, "multipart/");
    let body: Value = parsed(request.body.as_deref());
    let header = request.header_value("X-Mesh-Query").and_then(encoding::from_base64);
    let header = header.map(|text| String::from_utf8_lossy(&text).into_owned());
    let posted = || body.get("query").and_then(Value::as_str).map(str::to_owned);
    let text = header.or_else(posted).unwrap_or_default();
    let query = parsed(Some(text.as_bytes()).filter(|text| text.len() < QUERY_MAX));
    let params = request.header_value("X-Mesh-Params").and_then(encoding::from_base64);
    let mut document = json!({
        "method": request.method,
        "target": request.target,
        "path": segments(&request.target),
        "hosts": request.hosts,
        "headers": headers(request.headers.iter().map(|(name, value)| (name.as_str(), latin(value)))),
        "names": request.headers.iter().map(|(name, _)| name).collect::<Vec<_>>(),
        "params": params.map(|text| parsed(Some(&text))).or_else(|| body.get("params").cloned()),
        "settings": state.settings,
        "size": size(request),
        "seen": state.has_seen(request),
        "now": now(),
    });
    let is = is(request, &body, is_upload);
    let mut put = |name: &str, value: Value| {
        if !value.is_null() {
            document[name] = value;
        }
    };
    put(if is_upload { "statement" } else { "query" }, query);
    put("text", if is_upload { Value::Null } else { text.into() });
    put("is", is);
    put("body", body);
    put("raw", request.body.as_ref().filter(|body| body.len() < RAW_MAX).map(|body| latin(body)).into());
    put("bearer", bearer::read(request));
    put("form", if is_upload { form(request).unwrap_or_default() } else { Value::Null });
    let time = request.header_value("X-Mesh-Timestamp").and_then(|time| time.parse::<i64>().ok());
    put("age", time.map(|time| now() - time).into());
    let session = request.header_value("X-Mesh-Token").and_then(|token| state.signing_key(token));
    put("session", session.map(|_| true).into());
    put("issued", state.issued_like(request));
    document
}

/// Adds a response to the document of its request.
pub(crate) fn add_response(document: &mut Value, response: &Response) {
    let fields = response.headers.iter().map(|(name, value)| (name.as_str(), value.clone()));
    document["response"] = json!({"status": response.status, "headers": headers(fields)});
    if let Ok(body) = serde_json::from_slice::<Value>(&response.body) {
        document["response"]["body"] = body;
    }
    if response.body.len() < RAW_MAX {
        document["response"]["raw"] = latin(&response.body).into();
    }
}

/// Applies the changes of a document to the request.
pub(crate) fn change_request(before: &Value, after: &Value, request: &mut Request, state: &ProxyState) {
    let changed = |name: &str| {
        let (before, after) = (&before[name], &after[name]);
        (!is_same(before, after)).then_some(after)
    };
    if let Some(method) = changed("method") {
        request.method = plain(method);
    }
    if let Some(target) = changed("target") {
        request.target = plain(target);
    } else if let Some(path) = changed("path").and_then(Value::as_array) {
        let rest = request.target.find('?').map_or("", |at| &request.target[at..]).to_owned();
        let base = if request.target.starts_with("/mesh") { "/mesh" } else { "" };
        let path: String = path.iter().map(|segment| format!("/{}", plain(segment))).collect();
        request.target = format!("{base}{path}{rest}");
    }
    if let Some(hosts) = changed("hosts") {
        request.hosts = hosts.as_array().map(|hosts| hosts.iter().map(plain).collect());
    }
    if changed("headers").is_some() {
        change_headers(&before["headers"], &after["headers"], |name, values| {
            request.headers.retain(|(header, _)| !header.eq_ignore_ascii_case(name));
            request.headers.extend(values.into_iter().map(|value| (name.to_owned(), bytes(&value))));
        });
    }
    if let Some(raw) = changed("raw") {
        request.body = raw.as_str().map(bytes);
    }
    if let Some(body) = changed("body") {
        request.body = Some(body.to_string().into_bytes());
    }
    if let Some(query) = changed("text").or_else(|| changed("query")).or_else(|| changed("statement")) {
        replace_part(request, "X-Mesh-Query", "query", plain(query).into());
    }
    if let Some(params) = changed("params") {
        replace_part(request, "X-Mesh-Params", "params", params.clone());
    }
    if let Some(bearer) = changed("bearer") {
        bearer::issue(request, state, Some(bearer));
    }
}

/// Applies the changes of a document to the response.
pub(crate) fn change_response(before: &Value, after: &Value, response: &mut Response) {
    let (before, after) = (&before["response"], &after["response"]);
    if let Some(status) = after["status"].as_u64().and_then(|status| u16::try_from(status).ok()) {
        response.status = status;
    }
    change_headers(&before["headers"], &after["headers"], |name, values| {
        response.headers.retain(|(header, _)| header != name);
        response.headers.extend(values.into_iter().map(|value| (name.to_owned(), value)));
    });
    if after["raw"] != before["raw"] {
        response.body = after["raw"].as_str().map(bytes).unwrap_or_default();
    } else if after.get("body").is_some() && !is_same(&after["body"], &before["body"]) {
        response.body = after["body"].to_string().into_bytes();
    }
}

/// Replaces what is sent either in the posted body or in a header as base64.
fn replace_part(request: &mut Request, header: &str, member: &str, value: Value) {
    let is_header = |(name, _): &&(String, Vec<u8>)| name.eq_ignore_ascii_case(header);
    let count = request.headers.iter().filter(is_header).count();
    let mut body = parsed(request.body.as_deref());
    if count == 0 && body.is_object() {
        body[member] = value;
        request.body = Some(body.to_string().into_bytes());
    } else if count < 2 {
        request.headers.retain(|(name, _)| !name.eq_ignore_ascii_case(header));
        request.add_header(header, encoding::base64(plain(&value)));
    }
}

fn change_headers(before: &Value, after: &Value, mut replace: impl FnMut(&str, Vec<String>)) {
    let none = Map::new();
    let (before, after) = (before.as_object().unwrap_or(&none), after.as_object().unwrap_or(&none));
    let names = before.keys().chain(after.keys().filter(|name| !before.contains_key(*name)));
    for name in names.filter(|name| before.get(*name) != after.get(*name)) {
        let values = match after.get(name) {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Array(values)) => values.iter().map(plain).collect(),
            Some(value) => vec![plain(value)],
        };
        replace(name, values);
    }
}

fn headers<'h>(all: impl Iterator<Item = (&'h str, String)>) -> Value {
    let mut headers = Map::new();
    for (name, value) in all {
        match headers.entry(name.to_ascii_lowercase()).or_insert(Value::Null) {
            Value::Array(values) => values.push(value.into()),
            first @ Value::String(_) => *first = json!([first.take(), value]),
            empty => *empty = value.into(),
        }
    }
    headers.into()
}

/// Returns the segments of a path below the base path.
pub(crate) fn segments(target: &str) -> Vec<&str> {
    let path = target.split('?').next().unwrap_or_default();
    path.trim_start_matches("/mesh").split('/').filter(|segment| !segment.is_empty()).collect()
}

fn is(request: &Request, body: &Value, is_upload: bool) -> Value {
    let path = segments(&request.target);
    let is_posted = request.method == "POST" && path.is_empty();
    let is_point = path.len() == 2 || body.get("id").is_some();
    let is_read = ["GET", "HEAD"].contains(&request.method.as_str());
    let is_list = is_posted && !is_point || is_read && path.len() == 1;
    let all = [("list", is_list), ("point", is_point), ("upload", is_upload), ("write", is_write(request))];
    all.iter().filter(|(_, is_so)| *is_so).map(|(name, _)| *name).collect()
}

fn size(request: &Request) -> usize {
    match request.header_value("Content-Length") {
        Some(length) => length.parse().unwrap_or_default(),
        None => request.body.as_ref().map_or(0, Vec::len),
    }
}

/// Returns what the statement of an upload may say about its form.
fn form(request: &Request) -> Option<Value> {
    let body = latin(request.body.as_deref()?);
    let boundary = format!("\r\n--{}", request.header_value("Content-Type")?.split_once("boundary=")?.1);
    let part = |mark: &str| {
        let (head, rest) = body.get(body.find(mark)?..)?.split_once("\r\n\r\n")?;
        Some((head, rest.split_once(boundary.as_str())?.0))
    };
    let hash = |text: &str| format!("sha256:{}", encoding::sha256(bytes(text)));
    let file = part("filename=\"");
    Some(json!({
        "hash": file.map(|(_, file)| hash(file)),
        "length": file.map_or(0, |(_, file)| bytes(file).len()),
        "type": file.and_then(|(head, _)| Some(head.split_once("Content-Type: ")?.1.to_owned())),
        "meta": part("name=\"meta\"").map(|(_, fields)| hash(fields)),
    }))
}

pub(crate) fn has_media_type(request: &Request, start: &str) -> bool {
    request.header_value("Content-Type").is_some_and(|media| media.starts_with(start))
}

fn parsed(text: Option<&[u8]>) -> Value {
    text.and_then(|text| serde_json::from_slice(text).ok()).unwrap_or_default()
}

/// Returns whether two values are equal, the order of members included.
fn is_same(one: &Value, other: &Value) -> bool {
    let (one, other) = (one.to_string(), other.to_string());
    one == other
}

/// Returns a text itself, and other values as JSON.
pub(crate) fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn latin(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| char::from(*byte)).collect()
}

fn bytes(text: impl AsRef<str>) -> Vec<u8> {
    let encode = |character: char| match u8::try_from(character) {
        Ok(byte) => vec![byte],
        Err(_) => character.to_string().into_bytes(),
    };
    text.as_ref().chars().flat_map(encode).collect()
}

/// Returns the seconds since 1970.
pub(crate) fn now() -> i64 {
    UNIX_EPOCH.elapsed().ok().and_then(|since| i64::try_from(since.as_secs()).ok()).unwrap_or_default()
}
