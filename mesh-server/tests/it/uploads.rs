//! Uploads and downloads of an application, with columns and with a custom handler. Writes are recorded in memory.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::{self, StreamExt as _};
use http::{HeaderMap, Request};
use http_body_util::{BodyExt as _, Full, StreamBody};
use hyper::body::Frame;
use mesh_server::mesh_plan::policy::{Access, Condition};
use mesh_server::mesh_plan::{
    Assignment, BoxFuture, Context, Mesh, MeshBuilder, Mutation, ResolveError, Value, WriteError,
    WriteOutcome, memory::Tables,
};
use mesh_server::mesh_schema::{Document, Entity, Schema};
use mesh_server::mesh_uploads::{
    Blob, BlobInfo, BlobStore, ContentHash, ContentType, FileStore, Sealed, Staged, StorageKey, StoreError,
};
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

    /// Creates an application with an avatar in the record, after changes to its parts.
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
                    return Err(WriteError::conflict(mesh_plan::Rule::Check));
                }
                if values.iter().any(|value| value.contains("broken")) {
                    return Err(WriteError::Failed(ResolveError::new("secret=1")));
                }
                let id = mutation.action().id().cloned().unwrap_or(Value::Integer(8));
                log.lock().unwrap().push(format!(
                    "{} {:?} {}",
                    mutation.subject().key(),
                    id,
                    values.join(" ")
                ));
                Ok(WriteOutcome { id, body: None })
            }
        };
        let mesh = Mesh::builder(schema).default_resolver(tables).default_mutator(mutator);
        let handled = Arc::new(Mutex::new(Vec::new()));
        let uploads = Uploads::new(FileStore::open(&folder).unwrap()).max_bytes(2000).handler(
            "user",
            "banner",
            Own(Arc::clone(&handled)),
        );
        let app = App::builder(of_mesh(mesh).build().unwrap()).uploads(of_uploads(uploads)).build().unwrap();
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

#[tokio::test]
async fn every_refusal_of_the_table() {
    let fixture = Fixture::new();
    let other = ContentHash::digest(b"other");
    let wrong_hash = format!(r#"{{"user":{{"avatar":{{"upload":true}}}},"contentHash":"{other}"}}"#);
    let meta = |text: &str| part("meta", "application/json", text) + &file("x");
    let large = "x".repeat(1001);
    let cases: Vec<(&str, &str, String, u16, &str)> = vec![
        ("user/7/avatar", &wrong_hash, file("x"), 403, "CONTENT_HASH_MISMATCH"),
        ("user/7/avatar", BANNER, file("x"), 400, "ValidationError"),
        ("user/7/avatar", r#"{"file":{"url":{"upload":true}}}"#, file("x"), 400, "ValidationError"),
        ("user/7/avatar", "{user avatar}", file("x"), 400, "ValidationError"),
        ("user/7/name", r#"{"user":{"name":{"upload":true}}}"#, file("x"), 400, "takes no files"),
        (
            "user/7/nam",
            r#"{"user":{"nam":{"upload":true}}}"#,
            file("x"),
            400,
            "Field 'nam' not found on entity 'user'; did you mean 'name'?",
        ),
        ("nobody/7/x", r#"{"nobody":{"x":{"upload":true}}}"#, file("x"), 400, "ValidationError"),
        ("note", r#"{"note":{"upload":true}}"#, file("x"), 400, "takes files"),
        ("user/8/avatar", AVATAR, file("x"), 404, "NotFound"),
        ("user/x/avatar", AVATAR, file("x"), 404, "NotFound"),
        ("user/7/avatar", AVATAR, file(&large), 413, "TransportError"),
        ("user/7/avatar", AVATAR, part("file", "text/html", "x"), 415, "TransportError"),
        ("user/7/avatar", AVATAR, String::new(), 400, "TransportError"),
        ("user/7/avatar", AVATAR, file("x") + &file("y"), 400, "TransportError"),
        ("user/7/avatar", AVATAR, part("other", "text/plain", "x"), 400, "TransportError"),
        ("user/7/avatar", AVATAR, meta("[]"), 400, "TransportError"),
        ("user/7/avatar", AVATAR, meta(r#"{"banner": "x"}"#), 400, "ValidationError"),
        ("user/7/avatar", AVATAR, meta(r#"{"avatar": "x"}"#), 400, "ValidationError"),
        ("user/7/avatar", AVATAR, meta(r#"{"nope": 1}"#), 400, "ValidationError"),
        ("user/7/avatar", AVATAR, meta(r#"{"age": "x"}"#), 400, "ValidationError"),
        ("user/7/avatar", AVATAR, meta(r#"{"name": "impossible"}"#), 409, "ConflictError"),
        (
            "user/7/avatar",
            AVATAR,
            meta(&format!(r#"{{"name": "{}"}}"#, "x".repeat(70_000))),
            413,
            "TransportError",
        ),
    ];
    for (path, statement, parts, wanted, word) in cases {
        let (status, _, body) = fixture.upload(path, statement, &parts).await;
        let text = body.to_string();
        assert!(
            status == wanted && text.contains(word),
            "{path} {statement}: {status} {text}, not {wanted} {word}"
        );
        assert_eq!(fixture.pending(), 0, "{text}");
    }
    assert!(fixture.written.lock().unwrap().is_empty());
    assert_eq!(fixture.get(&format!("/mesh/files/{}", ContentHash::digest(b"x").key()), &[]).await.0, 404);
}

#[tokio::test]
async fn after_an_internal_failure_the_file_is_hidden_and_the_cause_not_sent() {
    let fixture = Fixture::new();
    let parts = part("meta", "application/json", r#"{"name": "broken"}"#) + &file("x");
    let (status, _, body) = fixture.upload("user/7/avatar", AVATAR, &parts).await;
    assert_eq!(status, 500);
    assert!(!body.to_string().contains("secret"), "{body}");
    assert_eq!(fixture.pending(), 1, "the record may have been written");
    assert_eq!(fixture.get(&format!("/mesh/files/{}", ContentHash::digest(b"x").key()), &[]).await.0, 404);
    let recovered = fixture.app.recover_uploads().await.unwrap();
    assert_eq!((recovered.discarded, fixture.pending()), (1, 0));
}

const BROKEN: &str = r#"{"name": "broken"}"#;

#[tokio::test]
async fn a_written_record_publishes_its_file_later() {
    let key = ContentHash::digest(b"x").key().to_string();
    let fixture = Fixture::with(key.as_str().into(), |mesh| mesh, |uploads| uploads);
    let parts = part("meta", "application/json", BROKEN) + &file("x");
    assert_eq!(fixture.upload("user/7/avatar", AVATAR, &parts).await.0, 500);
    assert_eq!(fixture.pending(), 1);
    let (status, _, body) = fixture.get(&format!("/mesh/files/{key}"), &[]).await;
    assert_eq!((status, &body[..], fixture.pending()), (200, &b"x"[..], 0));

    // Recovery at the next start does the same.
    let parts = part("meta", "application/json", BROKEN) + &file("x");
    std::fs::remove_file(fixture.folder.join(&key)).unwrap();
    assert_eq!(fixture.upload("user/7/avatar", AVATAR, &parts).await.0, 500);
    assert_eq!(fixture.app.recover_uploads().await.unwrap().published, 1);
    assert_eq!(fixture.get(&format!("/mesh/files/{key}"), &[]).await.0, 200);
}

#[tokio::test]
async fn records_hidden_by_a_policy_are_not_considered_missing() {
    let hidden = |_: &str, entity: &Entity| match entity.key.as_str() {
        "user" => Access::all().when(Condition::equal("name", "Somebody")),
        _ => Access::all(),
    };
    // The record was written by a caller of another class; this one cannot see it.
    let fixture = Fixture::with(Value::Null, |mesh| mesh.policy(hidden), |uploads| uploads);
    let parts = part("meta", "application/json", BROKEN) + &file("x");
    let (status, _, _) = fixture.upload("user", AVATAR, &parts).await;
    assert_eq!((status, fixture.pending()), (500, 1));
    // The caller of the download sees too little to decide.
    let (status, ..) = fixture.get(&format!("/mesh/files/{}", ContentHash::digest(b"x").key()), &[]).await;
    assert!(status != 200 && fixture.pending() == 1, "{status}");
    // The server itself sees all records.
    let recovered = fixture.app.recover_uploads().await.unwrap();
    assert_eq!((recovered.undecided, recovered.discarded, fixture.pending()), (0, 1, 0));
}

#[tokio::test]
async fn a_read_only_field_accepts_no_file() {
    let readers = |_: &str, entity: &Entity| match entity.key.as_str() {
        "user" => Access::all().read_only(),
        "file" => Access::none(),
        _ => Access::all(),
    };
    let fixture = Fixture::with(Value::Null, |mesh| mesh.policy(readers), |uploads| uploads);
    let (status, _, body) = fixture.upload("user/7/avatar", AVATAR, &file("x")).await;
    assert_eq!((status, body["error"].as_str()), (400, Some("ValidationError")), "{body}");
    let (status, _, body) =
        fixture.upload("file/8/url", r#"{"file":{"url":{"upload":true}}}"#, &file("x")).await;
    assert_eq!((status, body["message"].as_str()), (400, Some("Entity 'file' not found")));
    assert!(fixture.written.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_stalled_body_is_refused() {
    let fixture =
        Fixture::with(Value::Null, |mesh| mesh, |uploads| uploads.pace(1000, Duration::from_millis(300)));
    let begin = Frame::data(Bytes::from(part("file", "text/plain", "begun")));
    let body = stream::iter([Ok::<_, std::io::Error>(begin)]).chain(stream::pending());
    let request = Request::post("/mesh/user/7/avatar")
        .header("Content-Type", "multipart/form-data; boundary=b")
        .header("X-Mesh-Query", base64::encode(AVATAR))
        .body(StreamBody::new(body))
        .unwrap();
    let reply = fixture.app.handle(request).await;
    assert_eq!(reply.status(), 400);
    let body = reply.into_body().collect().await.unwrap().to_bytes();
    assert!(String::from_utf8_lossy(&body).contains("too slowly"), "{body:?}");
    assert_eq!(fixture.pending(), 0);
}

/// A store that redirects downloads.
#[derive(Debug)]
struct Elsewhere(FileStore);

impl BlobStore for Elsewhere {
    fn stage<'a>(
        &'a self,
        content_type: &'a ContentType,
    ) -> BoxFuture<'a, Result<Box<dyn Staged>, StoreError>> {
        self.0.stage(content_type)
    }

    fn find(&self, key: StorageKey) -> BoxFuture<'_, Result<Option<BlobInfo>, StoreError>> {
        self.0.find(key)
    }

    fn open(
        &self,
        key: StorageKey,
        range: Option<Range<u64>>,
    ) -> BoxFuture<'_, Result<Option<Blob>, StoreError>> {
        BlobStore::open(&self.0, key, range)
    }

    fn location(&self, key: StorageKey) -> BoxFuture<'_, Result<Option<String>, StoreError>> {
        Box::pin(async move { Ok(Some(format!("https://files.example/{key}?signature=1"))) })
    }

    fn sealed(&self, key: StorageKey) -> BoxFuture<'_, Result<Option<Box<dyn Sealed>>, StoreError>> {
        self.0.sealed(key)
    }

    fn abandoned(&self) -> BoxFuture<'_, Result<Vec<Box<dyn Sealed>>, StoreError>> {
        self.0.abandoned()
    }
}

#[tokio::test]
async fn downloads_are_redirected_to_a_remote_store() {
    let folder = std::env::temp_dir().join(format!("mesh-server-elsewhere-{}", std::process::id()));
    let store = Elsewhere(FileStore::open(&folder).unwrap());
    let fixture = Fixture::with(Value::Null, |mesh| mesh, |_| Uploads::new(store));
    let (_, _, body) = fixture.upload("user/7/avatar", AVATAR, &file("x")).await;
    let url = body["url"].as_str().unwrap();
    let (status, headers, body) = fixture.get(url, &[]).await;
    assert_eq!((status, body.len()), (302, 0));
    let key = ContentHash::digest(b"x").key();
    assert_eq!(headers["location"], format!("https://files.example/{key}?signature=1"));
    assert_eq!(headers["cache-control"], "no-store");
    let missing = ContentHash::digest(b"other").key();
    assert_eq!(fixture.get(&format!("/mesh/files/{missing}"), &[]).await.0, 404);
    std::fs::remove_dir_all(folder).unwrap();
}

#[tokio::test]
async fn an_upload_needs_its_header_and_a_valid_form() {
    let fixture = Fixture::new();
    let send = async |headers: &[(&str, &str)]| {
        let mut request = Request::post("/mesh/user/7/avatar");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let (status, _, body) = fixture.send(request.body(Full::from(file("x") + "--b--")).unwrap()).await;
        (status, String::from_utf8(body.to_vec()).unwrap())
    };
    let query = base64::encode(AVATAR);
    let form = ("Content-Type", "multipart/form-data; boundary=b");
    let long = format!("multipart/form-data; boundary={}", "b".repeat(1024));
    let cases: [(Sent<'_>, u16, &str); 8] = [
        (&[form], 400, "needs its statement in X-Mesh-Query"),
        (&[form, ("X-Mesh-Query-Id", "q_1")], 400, "needs its statement"),
        (&[form, ("X-Mesh-Query", "")], 400, "empty"),
        (&[form, ("X-Mesh-Query", &query), ("X-Mesh-Format", "ql")], 400, "JSON"),
        (&[("X-Mesh-Query", &query), ("Content-Type", "application/json")], 415, "multipart/form-data"),
        (&[("X-Mesh-Query", &query)], 415, "multipart/form-data"),
        (&[("X-Mesh-Query", &query), ("Content-Type", "multipart/form-data")], 400, "boundary"),
        (&[("X-Mesh-Query", &query), ("Content-Type", &long)], 400, "boundary"),
    ];
    for (headers, wanted, word) in cases {
        let (status, text) = send(headers).await;
        assert!(status == wanted && text.contains(word), "{headers:?}: {status} {text}");
    }
}

#[tokio::test]
async fn files_have_no_other_paths() {
    let fixture = Fixture::new();
    fixture.upload("user/7/avatar", AVATAR, &file("x")).await;
    let key = ContentHash::digest(b"x").key().to_string();
    for path in [
        "/mesh/files/".to_owned() + &key.to_uppercase(),
        format!("/mesh/files/{key}.type"),
        "/mesh/files/sha256/..%2f..%2fpending/x".to_owned(),
        "/mesh/files/sha256/../../etc/passwd".to_owned(),
        "/mesh/files/pending/1-1.part".to_owned(),
        "/mesh/files/sha256/00/00".to_owned(),
        "/mesh/files".to_owned(),
    ] {
        let status = fixture.get(&path, &[]).await.0;
        assert!((400..500).contains(&status), "{path}: {status}");
    }
}
