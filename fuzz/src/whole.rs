//! Complete requests to a server over SQLite: the status is allowed, the server does not fail, bodies have exactly the
//! selected shape, and a repeated read gives an equal reply.

use std::path::PathBuf;
use std::sync::{Mutex, OnceLock};

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Method, Request, Uri};
use http_body_util::{BodyExt as _, Full};
use mesh_plan::Mesh;
use mesh_plan::persisted::{Persisted, Registration};
use mesh_ql::{Format, Limits, ReadNode, Selection, parse};
use mesh_server::{App, Events, mesh_docs};
use mesh_sqlite::Database;
use mesh_wire::{ErrorKind, base64};
use serde_json::Value;
use tokio::runtime::Runtime;

use super::identifiers;

/// The statuses of allowed replies. There are no accounts, and nothing is slow or broken.
const STATUSES: [u16; 15] = [200, 201, 204, 304, 400, 403, 404, 405, 409, 413, 414, 415, 431, 307, 308];

/// Sends a request. The input has the lines of a head, an empty line, and a body. A value of `X-Mesh-Query` that begins
/// with `=` is an unencoded query.
pub fn whole(data: &[u8]) {
    static SITE: OnceLock<Mutex<Site>> = OnceLock::new();
    let Some(input) = Input::parse(data) else { return };
    let site = SITE.get_or_init(|| Mutex::new(Site::new()));
    // An earlier violation must not prevent further inputs.
    let mut site = site.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let first = site.answer(&input);
    input.check(&first);
    if matches!(input.method, Method::GET | Method::HEAD) {
        let again = site.answer(&input);
        assert_eq!(
            (again.status, &again.body),
            (first.status, &first.body),
            "a repeated read gives another reply"
        );
    } else {
        site.writes += 1;
    }
    if site.writes > 2_000 {
        *site = Site::new();
    }
}

struct Input {
    method: Method,
    uri: Uri,
    headers: Vec<(HeaderName, HeaderValue)>,
    body: Vec<u8>,
}

struct Answer {
    status: u16,
    has_id: bool,
    is_json: bool,
    body: Bytes,
}

impl Input {
    fn parse(data: &[u8]) -> Option<Self> {
        let end = data.windows(2).position(|two| two == b"\n\n").unwrap_or(data.len());
        let (head, body) = data.split_at(end);
        let mut lines = head.split(|byte| *byte == b'\n');
        let mut words = lines.next()?.splitn(2, |byte| *byte == b' ');
        let method = Method::from_bytes(words.next()?).ok()?;
        let uri = Uri::try_from(words.next()?).ok()?;
        let mut headers = Vec::new();
        for line in lines.take(50) {
            let Some(colon) = line.iter().position(|byte| *byte == b':') else { continue };
            let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
            let Ok(name) = HeaderName::from_bytes(name) else { continue };
            let plain = value.strip_prefix(b"=").filter(|_| name == "x-mesh-query");
            let encoded = plain.map(|text| base64::encode(&String::from_utf8_lossy(text)));
            let value = encoded.as_ref().map_or(value, |text| text.as_bytes());
            if let Ok(value) = HeaderValue::from_bytes(value) {
                headers.push((name, value));
            }
        }
        Some(Self { method, uri, headers, body: body.get(2..).unwrap_or_default().to_vec() })
    }

    fn request(&self) -> Request<Full<Bytes>> {
        let mut request = Request::new(Full::new(Bytes::from(self.body.clone())));
        *request.method_mut() = self.method.clone();
        *request.uri_mut() = self.uri.clone();
        for (name, value) in &self.headers {
            request.headers_mut().append(name, value.clone());
        }
        request
    }

    fn header(&self, name: &str) -> Option<&[u8]> {
        self.headers.iter().find(|(header, _)| header == name).map(|(_, value)| value.as_bytes())
    }

    /// Returns whether a part of the request contains a text.
    fn contains(&self, text: &str) -> bool {
        let texts =
            self.headers.iter().map(|(_, value)| base64::decode(value.as_bytes()).unwrap_or_default());
        let others =
            [self.method.to_string(), self.uri.to_string(), String::from_utf8_lossy(&self.body).into_owned()];
        texts.chain(others).any(|part| part.contains(text))
    }

    fn check(&self, answer: &Answer) {
        assert!(STATUSES.contains(&answer.status), "{} {}: {}", self.method, self.uri, answer.status);
        assert!(answer.has_id, "a reply without an id");
        if !answer.is_json || answer.body.is_empty() {
            return;
        }
        let body: Value = serde_json::from_slice(&answer.body).expect("JSON");
        if answer.status >= 400 {
            let kind =
                body.get("error").and_then(Value::as_str).and_then(|name| name.parse::<ErrorKind>().ok());
            assert!(kind.is_some(), "{body}");
            let message = body.get("message").and_then(Value::as_str).expect("a message");
            assert!(!message.is_empty() && body.get("requestId").is_some_and(Value::is_string), "{body}");
            // Text of the client may be repeated; internals of the server must not appear.
            let internals = ["SQLite", "SELECT \"", "data.db"];
            let leak = internals.into_iter().find(|text| message.contains(text) && !self.contains(text));
            assert_eq!(leak, None, "{message}");
        } else if answer.status == 200 && self.method == Method::GET && self.uri.path().starts_with("/mesh/")
        {
            self.check_read(&body);
        }
    }

    /// Checks that the body of a read has the keys of the selection, in its order.
    fn check_read(&self, body: &Value) {
        let Some(text) = self.header("x-mesh-query").and_then(|value| base64::decode(value).ok()) else {
            return;
        };
        let format = match self.header("x-mesh-format") {
            Some(b"ql") => Format::Ql,
            _ => Format::Json,
        };
        let query = parse(format, &text, &Limits::default()).expect("a query that was answered");
        let segments = self.uri.path().trim_matches('/').split('/').count();
        if segments == 2 {
            let page: Vec<&str> = body.as_object().expect("a page").keys().map(String::as_str).collect();
            assert_eq!(page, ["items", "pageInfo"]);
            let items = body["items"].as_array().expect("a list");
            items.iter().for_each(|item| check_shape(&query.root, item));
        } else if !body.is_null() {
            check_shape(&query.root, body);
        }
    }
}

fn check_shape(node: &ReadNode, value: &Value) {
    let object = value.as_object().unwrap_or_else(|| panic!("not an object: {value}"));
    let names = node.select.iter().map(|selection| match selection {
        Selection::Field { name, .. } | Selection::Relation { name, .. } => name.as_str(),
    });
    let aliases = node.controls.aggregates.iter().map(|aggregate| aggregate.alias.as_str());
    let keys: Vec<&str> = object.keys().map(String::as_str).collect();
    assert_eq!(keys, names.chain(aliases).collect::<Vec<_>>());
    for selection in &node.select {
        let Selection::Relation { name, node: below, .. } = selection else { continue };
        match &object[name.as_str()] {
            Value::Null => {}
            Value::Array(items) => items.iter().for_each(|item| check_shape(below, item)),
            item => check_shape(below, item),
        }
    }
}

/// A server with all profiles that need no secret.
struct Site {
    app: App,
    runtime: Runtime,
    folder: PathBuf,
    writes: usize,
}

impl Site {
    fn new() -> Self {
        static NEXT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let number = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("mesh-fuzz-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let path = folder.join("data.db");
        rusqlite::Connection::open(&path)
            .and_then(|it| it.execute_batch(identifiers::TABLES))
            .expect("tables");
        let sqlite = Database::open(&path).expect("a database");
        let writer = sqlite.writer().expect("a writer");
        let mesh = Mesh::builder(identifiers::schema())
            .default_resolver(sqlite)
            .default_mutator(writer)
            .build()
            .unwrap();
        let mut app = App::builder(mesh);
        app.options.mutations = true;
        app.options.persisted = Some(Persisted::new(Registration::Open).into());
        app.options.events = Some(Events::default());
        app.options.docs = Some(mesh_docs::Options::default());
        let app = app.build().expect("an application");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        Self { app, runtime, folder, writes: 0 }
    }

    fn answer(&self, input: &Input) -> Answer {
        self.runtime.block_on(async {
            let (head, body) = self.app.handle(input.request()).await.into_parts();
            let kind = head.headers.get("content-type").map_or(&b""[..], |value| value.as_bytes());
            // A stream of events has no end.
            let body = match kind == b"text/event-stream" {
                true => Bytes::new(),
                false => body.collect().await.unwrap_or_else(|_| panic!("the body is incomplete")).to_bytes(),
            };
            // Each error body has another request id, unless the client sent one.
            let id = head.headers.get("x-request-id").and_then(|value| value.to_str().ok());
            let text =
                id.filter(|id| id.len() > 8).map(|id| String::from_utf8_lossy(&body).replace(id, "id"));
            let kind = kind.starts_with(b"application/json");
            let packed = head.headers.contains_key("content-encoding");
            let (status, has_id) = (head.status.as_u16(), id.is_some());
            let body = text.filter(|_| kind && !packed && status >= 400).map_or(body, Bytes::from);
            Answer { status, has_id, is_json: kind && !packed, body }
        })
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
