//! Uploads and downloads of an application, with columns and with a custom handler. Writes are recorded in memory.

mod recovery;
mod redirects;
mod refusals;

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{HeaderMap, Request};
use http_body_util::{BodyExt as _, Full};
use mesh_server::mesh_plan::memory::Tables;
use mesh_server::mesh_plan::mutation::{Assignment, Outcome};
use mesh_server::mesh_plan::{BoxFuture, Context, Mesh, MeshBuilder, Mutation, Value, WriteError, Written};
use mesh_server::mesh_schema::{Document, Schema};
use mesh_server::mesh_uploads::{ContentHash, FileStore, RecoveryReport, StorageKey};
use mesh_server::mesh_wire::{WireError, base64};
use mesh_server::{App, Upload, UploadHandler, Uploads};
use serde_json::{Value as Json, json};

const SCHEMA: &str = r#"{"entities": {
    "user": {"fields": ["id", "name", "age", "avatar", "banner"], "writable": ["name", "age"],
             "types": {"id": "integer", "age": "integer"},
             "uploads": {"avatar": {"maxBytes": 1000, "contentTypes": ["text/plain", "image/*"]}, "banner": {}}},
    "file": {"fields": ["id", "url"], "uploads": {"url": {}}, "types": {"id": "integer"}},
    "note": {"fields": ["id", "text"], "writable": true}
}}"#;

/// Headers of a request.
type Sent<'a> = &'a [(&'a str, &'a str)];

struct Fixture {
    app: App,
    folder: PathBuf,
    written: Arc<Mutex<Vec<String>>>,
    handled: Arc<Mutex<Vec<Upload>>>,
}

impl Fixture {
    fn new() -> Self {
        Self::with(Value::Null, |mesh| mesh, |uploads| uploads)
    }

    /// Creates an application with an avatar in the record, and with changes to its parts.
    fn with(
        avatar: Value,
        of_mesh: impl FnOnce(MeshBuilder) -> MeshBuilder,
        of_uploads: impl FnOnce(Uploads) -> Uploads,
    ) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name =
            format!("mesh-server-uploads-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let folder = std::env::temp_dir().join(name);
        let schema: Schema = Document::parse(SCHEMA).unwrap().load(None).unwrap();
        let users = [vec![7.into(), "Ada".into(), 36.into(), avatar, Value::Null]];
        let tables = Tables::new().with("users", ["id", "name", "age", "avatar", "banner"], users).with(
            "files",
            ["id", "url"],
            [vec![8.into(), Value::Null]],
        );
        let written = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&written);
        let mutator = move |mutation: Mutation, _: Context| {
            let log = Arc::clone(&log);
            async move {
                let show = |Assignment { field, value, .. }: &Assignment| format!("{field}={value:?}");
                let values: Vec<String> = mutation.action().values().iter().map(show).collect();
                if values.iter().any(|value| value.contains("impossible")) {
                    return Outcome::NotCommitted(WriteError::conflict(mesh_plan::error::Rule::Check));
                }
                if values.iter().any(|value| value.contains("broken")) {
                    return Outcome::unknown("secret=1");
                }
                let id = mutation.action().id().cloned().unwrap_or_else(|| 8.into());
                log.lock().unwrap().push(format!(
                    "{} {:?} {}",
                    mutation.subject().key(),
                    id[0],
                    values.join(" ")
                ));
                Outcome::Committed(Written::new(id))
            }
        };
        let mesh = Mesh::builder(schema).default_resolver(tables).default_mutator(mutator);
        let handled = Arc::new(Mutex::new(Vec::new()));
        let mut uploads = Uploads::new(FileStore::open(&folder).unwrap());
        uploads.policy.max_bytes = 2000;
        let uploads = uploads.handler("user", "banner", Own(Arc::clone(&handled)));
        let mut app = App::builder(of_mesh(mesh).build().unwrap());
        app.uploads = Some(of_uploads(uploads));
        let app = app.build().unwrap();
        Self { app, folder, written, handled }
    }

    async fn send(&self, request: Request<Full<Bytes>>) -> (u16, HeaderMap, Bytes) {
        let (head, body) = self.app.handle(request).await.into_parts();
        (head.status.as_u16(), head.headers, body.collect().await.unwrap().to_bytes())
    }

    async fn upload(&self, path: &str, statement: &str, parts: &str) -> (u16, HeaderMap, Json) {
        let request = Request::post(format!("/mesh/{path}"))
            .header("Content-Type", "multipart/form-data; boundary=b")
            .header("X-Mesh-Query", base64::encode(statement))
            .body(Full::from(format!("{parts}--b--\r\n")))
            .unwrap();
        let (status, headers, body) = self.send(request).await;
        (status, headers, serde_json::from_slice(&body).unwrap())
    }

    async fn get(&self, path: &str, headers: &[(&str, &str)]) -> (u16, HeaderMap, Bytes) {
        let mut request = Request::get(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        self.send(request.body(Full::default()).unwrap()).await
    }

    /// Recovers the one unpublished file. A process that another test starts has its lock until it executes its program, so
    /// recovery may have to be tried again.
    async fn recovered(&self) -> RecoveryReport {
        loop {
            let report = self.app.recover_uploads().await.unwrap();
            if report != RecoveryReport::default() {
                return report;
            }
            tokio::task::yield_now().await;
        }
    }

    /// Returns the number of unpublished files.
    fn pending(&self) -> usize {
        std::fs::read_dir(self.folder.join("pending")).unwrap().count()
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// A handler of the application.
struct Own(Arc<Mutex<Vec<Upload>>>);

impl UploadHandler for Own {
    fn record(&self, upload: Upload, _: Context) -> BoxFuture<'_, Result<Option<String>, WireError>> {
        Box::pin(async move {
            if upload.meta.text("refuse").is_some() {
                return Err(WireError::validation("not today"));
            }
            let id = upload.id.is_none().then(|| "new/one".to_owned());
            self.0.lock().unwrap().push(upload);
            Ok(id)
        })
    }

    fn is_recorded(&self, key: StorageKey) -> BoxFuture<'_, Result<bool, WireError>> {
        let recorded = self.0.lock().unwrap().iter().any(|upload| upload.file.key == key);
        Box::pin(async move { Ok(recorded) })
    }
}

fn part(name: &str, content_type: &str, text: &str) -> String {
    format!(
        "--b\r\nContent-Disposition: form-data; name=\"{name}\"; filename=\"x\"\r\n\
         Content-Type: {content_type}\r\n\r\n{text}\r\n"
    )
}

fn file(text: &str) -> String {
    part("file", "text/plain", text)
}

const AVATAR: &str = r#"{"user":{"avatar":{"upload":true}}}"#;
const BANNER: &str = r#"{"user":{"banner":{"upload":true}}}"#;

#[tokio::test]
async fn a_file_is_attached_and_served() {
    let fixture = Fixture::new();
    let parts = part("meta", "application/json", r#"{"age": 37}"#) + &file("hello");
    let (status, _, body) = fixture.upload("user/7/avatar", AVATAR, &parts).await;
    let key = ContentHash::digest(b"hello").key().to_string();
    let url = format!("/mesh/files/{key}");
    let wanted = json!({
        "contentHash": ContentHash::digest(b"hello").to_string(), "size": 5, "contentType": "text/plain",
        "url": url, "avatar": key,
    });
    assert_eq!((status, body), (200, wanted));
    let written = fixture.written.lock().unwrap().clone();
    assert_eq!(written, [format!("user Integer(7) age=Integer(37) avatar=Text({key:?})")]);

    let (status, headers, body) = fixture.get(&url, &[]).await;
    assert_eq!((status, &body[..]), (200, &b"hello"[..]));
    assert_eq!(headers["content-type"], "text/plain");
    assert_eq!(headers["x-content-type-options"], "nosniff");
    assert_eq!(headers["content-length"], "5");
    assert_eq!(headers["accept-ranges"], "bytes");
    assert!(!headers.contains_key("content-disposition"));
    assert!(headers.contains_key("x-request-id") && headers.contains_key("content-security-policy"));

    let tag = headers["etag"].to_str().unwrap();
    let (status, headers, body) = fixture.get(&url, &[("If-None-Match", tag)]).await;
    assert_eq!((status, body.len()), (304, 0));
    assert_eq!(headers["etag"], tag);

    let head = Request::head(&url).body(Full::default()).unwrap();
    let (status, headers, body) = fixture.send(head).await;
    assert_eq!((status, body.len(), headers["content-length"].to_str().unwrap()), (200, 0, "5"));
}

#[tokio::test]
async fn ranges_are_served() {
    let fixture = Fixture::new();
    let (_, _, body) = fixture.upload("user/7/avatar", AVATAR, &file("0123456789")).await;
    let url = body["url"].as_str().unwrap();
    let tag = fixture.get(url, &[]).await.1["etag"].to_str().unwrap().to_owned();
    let cases: [(Sent<'_>, u16, &str, Option<&str>); 8] = [
        (&[("Range", "bytes=2-4")], 206, "234", Some("bytes 2-4/10")),
        (&[("Range", "bytes=7-")], 206, "789", Some("bytes 7-9/10")),
        (&[("Range", "bytes=-1")], 206, "9", Some("bytes 9-9/10")),
        (&[("Range", "bytes=0-1,4-5")], 200, "0123456789", None),
        (&[("Range", "lines=1-2")], 200, "0123456789", None),
        (&[("Range", "bytes=2-4"), ("If-Range", &tag)], 206, "234", Some("bytes 2-4/10")),
        (&[("Range", "bytes=2-4"), ("If-Range", "\"other\"")], 200, "0123456789", None),
        (&[("Range", "bytes=2-4"), ("If-None-Match", &tag)], 304, "", None),
    ];
    for (sent, wanted, bytes, span) in cases {
        let (status, headers, body) = fixture.get(url, sent).await;
        assert_eq!((status, &body[..]), (wanted, bytes.as_bytes()), "{sent:?}");
        let found = headers.get("content-range").map(|value| value.to_str().unwrap());
        assert_eq!(found, span, "{sent:?}");
    }
    let (status, headers, body) = fixture.get(url, &[("Range", "bytes=10-")]).await;
    let body: Json = serde_json::from_slice(&body).unwrap();
    assert_eq!((status, body["error"].as_str()), (416, Some("TransportError")));
    assert_eq!(headers["content-range"], "bytes */10");
    let head = Request::head(url).header("Range", "bytes=2-4").body(Full::default()).unwrap();
    let (status, headers, _) = fixture.send(head).await;
    assert_eq!(
        (status, headers["content-length"].to_str().unwrap()),
        (200, "10"),
        "ranges apply to GET only"
    );
}

#[tokio::test]
async fn content_that_a_browser_could_run_is_an_attachment() {
    let fixture = Fixture::new();
    for content_type in ["text/html", "image/svg+xml", "application/pdf", "application/octet-stream"] {
        let (_, _, body) = fixture
            .upload(
                "file/8/url",
                r#"{"file":{"url":{"upload":true}}}"#,
                &part("file", content_type, content_type),
            )
            .await;
        // The field has the name of a member of the reply, which then shows the key.
        let url = format!("/mesh/files/{}", body["url"].as_str().unwrap());
        let (status, headers, _) = fixture.get(&url, &[]).await;
        assert_eq!((status, headers["content-type"].to_str().unwrap()), (200, content_type));
        assert_eq!(headers["content-disposition"], "attachment");
    }
}

#[tokio::test]
async fn a_record_is_created() {
    let fixture = Fixture::new();
    for statement in [r#"{"file":{"url":{"upload":true}}}"#, r#"{"file":{"upload":true}}"#] {
        let (status, headers, body) = fixture.upload("file", statement, &file("x")).await;
        assert_eq!((status, &body["id"]), (201, &json!(8)));
        assert_eq!(headers["location"], "/mesh/file/8");
    }
    let several = fixture.upload("user", r#"{"user":{"upload":true}}"#, &file("x")).await;
    assert_eq!(several.0, 400);
    assert!(several.2["message"].as_str().unwrap().contains("several fields"), "{}", several.2);
}

#[tokio::test]
async fn a_custom_handler_is_given_all_details() {
    let fixture = Fixture::new();
    let meta = part("meta", "application/json", r#"{"free": 1.50}"#);
    let (status, headers, body) = fixture.upload("user", BANNER, &(file("hi") + &meta)).await;
    assert_eq!((status, &body["id"]), (201, &json!("new/one")));
    assert_eq!(headers["location"], "/mesh/user/new%2Fone");
    let (status, _, _) = fixture.upload("user/no-such/banner", BANNER, &file("hi")).await;
    assert_eq!(status, 200);
    {
        let handled = fixture.handled.lock().unwrap();
        assert_eq!((handled[0].entity.as_str(), handled[0].field.as_str()), ("user", "banner"));
        assert_eq!((handled[0].id.as_deref(), handled[0].meta.text("free")), (None, Some("1.50")));
        assert_eq!((handled[0].file.size, handled[0].file.hash), (2, ContentHash::digest(b"hi")));
        assert_eq!(handled[1].id.as_deref(), Some("no-such"));
    }
    let refuse = part("meta", "application/json", r#"{"refuse": true}"#);
    let (status, _, body) = fixture.upload("user/7/banner", BANNER, &(file("no") + &refuse)).await;
    assert_eq!((status, body["message"].as_str()), (400, Some("not today")));
    assert_eq!(fixture.get(&format!("/mesh/files/{}", ContentHash::digest(b"no").key()), &[]).await.0, 404);
    assert_eq!(fixture.pending(), 0);
}
