//! Uploads and downloads of an application, with columns and with a custom handler. Writes are recorded in memory.

mod recovery;
mod redirects;

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::{self, StreamExt as _};
use http::{HeaderMap, Request};
use http_body_util::{BodyExt as _, Full, StreamBody};
use hyper::body::Frame;
use mesh_server::mesh_plan::memory::Tables;
use mesh_server::mesh_plan::mutation::{Assignment, Outcome};
use mesh_server::mesh_plan::{BoxFuture, Context, Mesh, MeshBuilder, Mutation, Value, Written};
use mesh_server::mesh_schema::{Document, Schema};
use mesh_server::mesh_uploads::{ContentHash, FileStore, RecoveryReport, StorageKey};
use mesh_server::mesh_wire::{WireError, base64};
use mesh_server::{App, Pace, Upload, UploadHandler, Uploads};
use serde_json::{Value as Json, json};

const SCHEMA: &str = r#"{"entities": {
    "user": {"fields": ["id", "name", "avatar", "banner"], "writable": ["name"], "types": {"id": "integer"},
             "uploads": {"avatar": {}, "banner": {}}}
}}"#;

struct Fixture {
    app: App,
    folder: PathBuf,
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
        let users = [vec![7.into(), "Ada".into(), avatar, Value::Null]];
        let tables = Tables::new().with("users", ["id", "name", "avatar", "banner"], users);
        let mutator = |mutation: Mutation, _: Context| async move {
            let broken = |it: &Assignment| it.value == Value::from("broken");
            if mutation.action().values().iter().any(broken) {
                return Outcome::unknown("secret=1");
            }
            let id = mutation.action().id().cloned().unwrap_or_else(|| 8.into());
            Outcome::Committed(Written::new(id))
        };
        let mesh = Mesh::builder(schema).default_resolver(tables).default_mutator(mutator);
        let handled = Arc::new(Mutex::new(Vec::new()));
        let mut uploads = Uploads::new(FileStore::open(&folder).unwrap());
        uploads.policy.max_bytes = 2000;
        let uploads = uploads.handler("user", "banner", Own(Arc::clone(&handled)));
        let mut app = App::builder(of_mesh(mesh).build().unwrap());
        app.options.uploads = Some(of_uploads(uploads));
        let app = app.build().unwrap();
        Self { app, folder, handled }
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

    async fn get(&self, path: &str) -> (u16, HeaderMap, Bytes) {
        self.send(Request::get(path).body(Full::default()).unwrap()).await
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
async fn a_custom_handler_is_given_all_details() {
    let fixture = Fixture::new();
    let meta = part("meta", "application/json", r#"{"free": 1.50}"#);
    let (status, headers, body) = fixture.upload("user", BANNER, &(file("hi") + meta.as_str())).await;
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
    let (status, _, body) = fixture.upload("user/7/banner", BANNER, &(file("no") + refuse.as_str())).await;
    assert_eq!((status, body["message"].as_str()), (400, Some("not today")));
    assert_eq!(fixture.get(&format!("/mesh/files/{}", ContentHash::digest(b"no").key())).await.0, 404);
    assert_eq!(fixture.pending(), 0);
}

#[tokio::test]
async fn a_new_record_with_several_fields_for_files_names_one() {
    let (status, _, body) = Fixture::new().upload("user", r#"{"user":{"upload":true}}"#, &file("x")).await;
    assert_eq!(status, 400);
    assert!(body["message"].as_str().unwrap().contains("several fields"), "{body}");
}

#[tokio::test]
async fn a_stalled_body_is_refused() {
    let pace = Pace { bytes_per_second: 1000, grace: Duration::from_millis(300) };
    let with_pace = |mut uploads: Uploads| {
        uploads.pace = Some(pace);
        uploads
    };
    let fixture = Fixture::with(Value::Null, |mesh| mesh, with_pace);
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
