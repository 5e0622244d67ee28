//! Writes whose clients leave, or whose server stops, while the storage works on them.

use std::collections::VecDeque;
use std::error::Error;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use mesh_server::mesh_plan::change::Listener;
use mesh_server::mesh_plan::memory::Tables;
use mesh_server::mesh_plan::{Changes, Context, Key, Mesh, Mutation, ResolveError, WriteError, Written};
use mesh_server::mesh_schema::{FieldType, Schema};
use mesh_server::{App, AuditEntry, AuditLog, AuditSink, ClientAddress, ClientLimits, Metrics, Server};
use mesh_tests::PATIENCE;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::Semaphore;

use super::frames::{ACK, DATA, END_HEADERS, END_STREAM, Frame, PING, RST_STREAM, Raw, pseudo};
use super::served::{Served, within};

const BODY: &str = r#"{"title": "x"}"#;

/// A storage whose writes pause before and after they begin to commit.
struct Storage {
    /// A permit for each write that has arrived.
    arrived: Semaphore,
    /// Permits to begin to commit.
    before: Semaphore,
    /// A permit for each write that has begun to commit.
    committing: Semaphore,
    /// Permits to end.
    after: Semaphore,
}

impl Storage {
    async fn write(&self, context: Context) -> Result<Written, WriteError> {
        self.arrived.add_permits(1);
        take(&self.before).await;
        if !context.begin_commit() {
            return Err(WriteError::Failed(ResolveError::Busy));
        }
        self.committing.add_permits(1);
        take(&self.after).await;
        Ok(Written::new(Key::from(7)))
    }
}

/// Takes a permit as soon as there is one.
async fn take(semaphore: &Semaphore) {
    within(PATIENCE, semaphore.acquire()).await.unwrap().forget();
}

struct Entries(Sender<AuditEntry>);

impl AuditSink for Entries {
    fn write(&mut self, entries: &mut VecDeque<AuditEntry>) -> Result<(), Box<dyn Error + Send + Sync>> {
        entries.drain(..).try_for_each(|entry| self.0.send(entry)).map_err(Into::into)
    }
}

/// An application with one writable entity, and what it reports.
struct Site {
    app: App,
    storage: Arc<Storage>,
    metrics: Metrics,
    audit: AuditLog,
    entries: Receiver<AuditEntry>,
    changes: Listener,
}

impl Site {
    fn new() -> Self {
        Self::with("x".to_owned(), ClientLimits::default())
    }

    /// Creates a site whose record has a title.
    fn with(title: String, limits: ClientLimits) -> Self {
        let none = || Semaphore::new(0);
        let storage =
            Arc::new(Storage { arrived: none(), before: none(), committing: none(), after: none() });
        let shared = Arc::clone(&storage);
        let mutator = move |_: Mutation, context: Context| {
            let storage = Arc::clone(&shared);
            async move { storage.write(context).await }
        };
        let schema = Schema::builder().entity("post", |post| {
            post.field("id", FieldType::Integer).field("title", FieldType::String).writable()
        });
        let tables = Tables::new().with("posts", ["id", "title"], [vec![7.into(), title.into()]]);
        let mesh = Mesh::builder(schema.build().unwrap()).default_resolver(tables).default_mutator(mutator);
        let (sender, entries) = channel();
        let (metrics, audit) = (Metrics::default(), AuditLog::start(Entries(sender)).unwrap());
        let changes = Changes::new();
        let listener = changes.listen();
        let mut app = App::builder(mesh.build().unwrap());
        app.options.mutations = true;
        app.options.changes = changes;
        app.options.client_limits = limits;
        app.options.metrics = Some(metrics.clone());
        app.options.audit = Some(audit.clone());
        let app = app.build().unwrap();
        Self { app, storage, metrics, audit, entries, changes: listener }
    }

    /// Checks that one write was reported, once and everywhere.
    fn assert_reported(&mut self, outcome: &str, status: u16) {
        assert_eq!(self.audit.flush(PATIENCE), 0);
        let entries: Vec<_> = self.entries.try_iter().map(|entry| entry.json).collect();
        assert_eq!(entries.len(), 1, "{entries:?}");
        let expected = format!(r#""event":"write","outcome":"{outcome}","status":{status}"#);
        assert!(entries[0].contains(&expected), "{entries:?}");
        let counted = self
            .metrics
            .text()
            .lines()
            .filter(|line| {
                line.starts_with("mesh_requests_total{")
                    && line.contains("/:entity\"")
                    && line.ends_with(" 1")
            })
            .count();
        assert_eq!(counted, 1, "{}", self.metrics.text());
        let mut changes = 0;
        while self.changes.try_next().is_some() {
            changes += 1;
        }
        assert_eq!(changes, usize::from(outcome == "ok"));
    }
}

/// Returns a write from one address.
fn write() -> Request<Full<Bytes>> {
    let request = Request::post("/mesh/post").header("Content-Type", "application/json");
    let request = request.extension(ClientAddress([192, 0, 2, 1].into()));
    request.body(Full::new(Bytes::from(BODY))).unwrap()
}

fn text() -> String {
    format!(
        "POST /mesh/post HTTP/1.1\r\nHost: mesh.test\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{BODY}",
        BODY.len()
    )
}

/// How a client leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Departure {
    Close,
    ResetStream,
    CloseHttp2,
    /// A server of another library drops the future of the request.
    DropFuture,
}

#[tokio::test]
async fn a_write_is_completed_and_reported_once_whose_client_has_left() {
    use Departure::{Close, CloseHttp2, DropFuture, ResetStream};
    for departure in [Close, ResetStream, CloseHttp2, DropFuture] {
        let mut site = Site::new();
        let mut served = Served::start(Server::new(site.app.clone())).await;
        let open = |site: &Site, count: usize| {
            site.metrics.text().contains(&format!("mesh_connections_open {count}\n"))
        };
        match departure {
            Close => {
                let mut stream = served.connect().await;
                stream.write_all(text().as_bytes()).await.unwrap();
                take(&site.storage.arrived).await;
                drop(stream);
                while !open(&site, 0) {
                    tokio::task::yield_now().await;
                }
            }
            ResetStream | CloseHttp2 => {
                let mut raw = Raw::open(&served).await;
                let mut fields = pseudo("/mesh/post").to_vec();
                fields[0].1 = "POST";
                fields.push(("content-type", "application/json"));
                raw.send(&Frame { flags: END_HEADERS, ..Frame::head(1, &fields) }).await;
                raw.send(&Frame::new(DATA, END_STREAM, 1, BODY.as_bytes())).await;
                take(&site.storage.arrived).await;
                if departure == ResetStream {
                    raw.send(&Frame::new(RST_STREAM, 0, 1, &8_u32.to_be_bytes())).await;
                    // The answer to the ping shows that the reset has arrived.
                    raw.send(&Frame::new(PING, 0, 0, &[7; 8])).await;
                    while !raw.next().await.is_some_and(|frame| frame.kind == PING && frame.flags == ACK) {}
                } else {
                    drop(raw);
                    while !open(&site, 0) {
                        tokio::task::yield_now().await;
                    }
                }
            }
            DropFuture => {
                tokio::select! {
                    biased;
                    _ = site.app.handle(write()) => unreachable!("the storage waits"),
                    () = take(&site.storage.arrived) => {}
                }
            }
        }
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        site.storage.before.add_permits(1);
        site.storage.after.add_permits(1);
        within(PATIENCE, site.app.effects_ended()).await;
        site.assert_reported("ok", 201);
        served.stop();
        served.ended().await;
    }
}

#[tokio::test]
async fn a_write_whose_body_has_not_arrived_is_not_begun() {
    let site = Site::new();
    let mut served = Served::start(Server::new(site.app.clone())).await;
    let mut stream = served.connect().await;
    let text = text();
    stream.write_all(&text.as_bytes()[..text.len() - 1]).await.unwrap();
    drop(stream);
    served.stop();
    served.ended().await;
    assert_eq!(site.storage.arrived.available_permits(), 0);
    assert_eq!(site.audit.flush(PATIENCE), 0);
}

/// Unread answers change no other answer, and refuse no write.
#[tokio::test]
async fn unread_answers_change_no_other_answer() {
    let mut limits = ClientLimits::default();
    limits.unread_bytes = 1;
    let site = Site::with("x".repeat(40_000), limits);
    site.storage.before.add_permits(9);
    site.storage.after.add_permits(9);
    let mut unread = Vec::new();
    for _ in 0..9 {
        let reply = site.app.handle(write()).await;
        assert_eq!(reply.status(), 201);
        unread.push(reply);
    }
}

/// After the timeout, a shutdown gives up a write that waits for a lock, and awaits one whose COMMIT was sent.
#[tokio::test]
async fn a_shutdown_awaits_writes_that_have_begun_to_commit() {
    for commits in [true, false] {
        let mut site = Site::new();
        let server = Server { shutdown_timeout: Duration::ZERO, ..Server::new(site.app.clone()) };
        let mut served = Served::start(server).await;
        let mut stream = served.connect().await;
        stream.write_all(text().as_bytes()).await.unwrap();
        take(&site.storage.arrived).await;
        if commits {
            site.storage.before.add_permits(1);
            take(&site.storage.committing).await;
        }
        served.stop();
        // The connection is given up.
        let mut rest = Vec::new();
        let _ = within(PATIENCE, stream.read_to_end(&mut rest)).await;
        if commits {
            assert!(!served.has_ended());
            site.storage.after.add_permits(1);
        }
        served.ended().await;
        let (outcome, status) = if commits { ("ok", 201) } else { ("failed", 503) };
        site.assert_reported(outcome, status);
    }
}
