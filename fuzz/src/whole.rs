//! Whole requests against a whole server over SQLite: a status that such a request may have, never a failure of
//! the server's own, bodies of exactly the selected shape, and the same answer when asked again.

use std::path::PathBuf;
use std::sync::{Mutex, OnceLock};

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Method, Request, Uri};
use http_body_util::{BodyExt as _, Full};
use mesh_plan::{Mesh, Persisted, Registration};
use mesh_ql::{Format, Limits, ReadNode, Selection, parse};
use mesh_server::{App, Events, mesh_docs};
use mesh_sqlite::Database;
use mesh_wire::{ErrorKind, base64};
use serde_json::Value;
use tokio::runtime::Runtime;

use super::identifiers;

/// What a request may be answered with. There are no accounts, and nothing is slow or broken.
const STATUSES: [u16; 15] = [200, 201, 204, 304, 400, 403, 404, 405, 409, 413, 414, 415, 431, 307, 308];

/// The lines of a head, an empty line, and a body. A value of `X-Mesh-Query` that begins with `=` is the query
/// itself, to be encoded.
pub fn whole(data: &[u8]) {
    static SITE: OnceLock<Mutex<Site>> = OnceLock::new();
    let Some(sent) = Sent::read(data) else { return };
    let site = SITE.get_or_init(|| Mutex::new(Site::new()));
    // What broke a promise once does not keep others from being tried.
    let mut site = site.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let first = site.answer(&sent);
    sent.check(&first);
    if matches!(sent.method, Method::GET | Method::HEAD) {
        let again = site.answer(&sent);
        assert_eq!(
            (again.status, &again.body),
            (first.status, &first.body),
            "another answer the second time"
        );
    } else {
        site.writes += 1;
    }
    if site.writes > 2_000 {
        *site = Site::new();
    }
}

struct Sent {
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

impl Sent {
    fn read(data: &[u8]) -> Option<Self> {
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
        self.headers.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_bytes())
    }

    fn wrote(&self, word: &str) -> bool {
        let texts =
            self.headers.iter().map(|(_, value)| base64::decode(value.as_bytes()).unwrap_or_default());
        let places =
            [self.method.to_string(), self.uri.to_string(), String::from_utf8_lossy(&self.body).into_owned()];
        texts.chain(places).any(|text| text.contains(word))
    }

    fn check(&self, answer: &Answer) {
        assert!(STATUSES.contains(&answer.status), "{} {}: {}", self.method, self.uri, answer.status);
        assert!(answer.has_id, "a reply without an id");
        if !answer.is_json || answer.body.is_empty() {
            return;
        }
        let body: Value = serde_json::from_slice(&answer.body).expect("JSON");
        if answer.status >= 400 {
            let word = body.get("error").and_then(Value::as_str).and_then(ErrorKind::parse);
            assert!(word.is_some(), "{body}");
            let words = body.get("message").and_then(Value::as_str).expect("a message");
            assert!(!words.is_empty() && body.get("requestId").is_some_and(Value::is_string), "{body}");
            // Text of the client may be repeated; internals of the server must not appear.
            let told = ["SQLite", "SELECT \"", "data.db"].into_iter().find(|word| words.contains(word));
            assert!(told.is_none_or(|word| self.wrote(word)), "{words}");
        } else if answer.status == 200 && self.method == Method::GET && self.uri.path().starts_with("/mesh/")
        {
            self.check_read(&body);
        }
    }

    /// The body of a read has the keys of the selection, in its order.
    fn check_read(&self, body: &Value) {
        let Some(text) = self.header("x-mesh-query").and_then(|value| base64::decode(value).ok()) else {
            return;
        };
        let format = match self.header("x-mesh-format") {
            Some(b"ql") => Format::Ql,
            _ => Format::Json,
        };
        let query = parse(format, &text, &Limits::default()).expect("what was answered is a query");
        let segments = self.uri.path().trim_matches('/').split('/').count();
        if segments == 2 {
            let page: Vec<&str> = body.as_object().expect("a page").keys().map(String::as_str).collect();
            assert_eq!(page, ["items", "pageInfo"]);
            let items = body["items"].as_array().expect("a list");
            items.iter().for_each(|item| shaped(&query.root, item));
        } else if !body.is_null() {
            shaped(&query.root, body);
        }
    }
}

fn shaped(node: &ReadNode, value: &Value) {
    let object = value.as_object().unwrap_or_else(|| panic!("no object: {value}"));
    let names = node.select.iter().map(|selection| match selection {
        Selection::Field(name) | Selection::Relation(name, _) => name.as_str(),
    });
    let aliases = node.controls.aggregates.iter().map(|aggregate| aggregate.alias.as_str());
    let keys: Vec<&str> = object.keys().map(String::as_str).collect();
    assert_eq!(keys, names.chain(aliases).collect::<Vec<_>>());
    for selection in &node.select {
        let Selection::Relation(name, below) = selection else { continue };
        match &object[name.as_str()] {
            Value::Null => {}
            Value::Array(items) => items.iter().for_each(|item| shaped(below, item)),
            item => shaped(below, item),
        }
    }
}

/// A server with everything on that needs no secret.
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
        let app = App::builder(mesh)
            .mutations(true)
            .persisted(Persisted::new(Registration::Open))
            .events(Events::new())
            .docs(mesh_docs::Options::default())
            .build()
            .expect("an application");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        Self { app, runtime, folder, writes: 0 }
    }

    fn answer(&self, sent: &Sent) -> Answer {
        self.runtime.block_on(async {
            let (head, body) = self.app.handle(sent.request()).await.into_parts();
            let kind = head.headers.get("content-type").map_or(&b""[..], |value| value.as_bytes());
            // A stream of events has no end.
            let body = match kind == b"text/event-stream" {
                true => Bytes::new(),
                false => body.collect().await.unwrap_or_else(|_| panic!("the body broke off")).to_bytes(),
            };
            // Error bodies have an id of their own each time, unless the client gave one.
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
        // Files left behind do no harm.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
