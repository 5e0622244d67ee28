//! The application that these tests serve, and clients for it.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::header::HOST;
use http::{HeaderValue, Request, Version};
use http_body_util::{BodyExt as _, Empty};
use hyper_util::rt::{TokioExecutor, TokioIo};
use mesh_server::mesh_plan::{Applied, Context, Mesh, Plan, ResolveError, Rows};
use mesh_server::mesh_schema::{FieldType, Schema};
use mesh_server::{App, AppBuilder, Server, TransportLimits, mesh_wire};
use mesh_tests::PATIENCE;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// The reply of `quick`.
pub(crate) const ANSWER: &str = r#"{"id":7}"#;

/// A running server.
pub(crate) struct Served {
    pub(crate) address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    serving: JoinHandle<std::io::Result<()>>,
}

impl Served {
    /// Starts a server at a free port.
    pub(crate) async fn start(server: Server) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel();
        let serving = tokio::spawn(server.serve(listener, async {
            let _ = stopped.await;
        }));
        Self { address, stop: Some(stop), serving }
    }

    pub(crate) async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    /// Starts the shutdown.
    pub(crate) fn stop(&mut self) {
        let _ = self.stop.take().unwrap().send(());
    }

    /// Returns whether the shutdown has ended.
    pub(crate) fn has_ended(&self) -> bool {
        self.serving.is_finished()
    }

    /// Waits for the end of the shutdown.
    pub(crate) async fn ended(&mut self) {
        within(PATIENCE, &mut self.serving).await.unwrap().unwrap();
    }
}

static RUNNING: AtomicUsize = AtomicUsize::new(0);

/// Returns the number of active reads of `stuck`.
pub(crate) fn running() -> usize {
    RUNNING.load(Ordering::SeqCst)
}

/// A guard that counts an active read until it is dropped.
struct Run;

impl Run {
    fn begin() -> Self {
        RUNNING.fetch_add(1, Ordering::SeqCst);
        Self
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        RUNNING.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Returns an application with four entities: `quick`, `slow` (200 ms), `stuck` (never answers) and `large` (16 MiB).
pub(crate) fn app() -> App {
    app_with(|_| {})
}

pub(crate) fn app_with_limits(limits: TransportLimits) -> App {
    app_with(|app| app.options.limits = limits)
}

pub(crate) fn app_with(change: impl FnOnce(&mut AppBuilder)) -> App {
    let builder = ["quick", "slow", "stuck", "large"].into_iter().fold(Schema::builder(), |schema, name| {
        schema.entity(name, |entity| {
            entity.field("id", if name == "large" { FieldType::String } else { FieldType::Integer })
        })
    });
    let mesh = Mesh::builder(builder.build().unwrap())
        .resolver("quick", |plan: Plan, _: Context| async move { Ok::<_, ResolveError>(row(&plan)) })
        .resolver("slow", |plan: Plan, _: Context| async move {
            tokio::time::sleep(Duration::from_millis(200)).await;
            Ok::<_, ResolveError>(row(&plan))
        })
        .resolver("stuck", |_: Plan, _: Context| {
            let run = Run::begin();
            async move {
                std::future::pending::<()>().await;
                drop(run);
                Err::<Rows, _>(ResolveError::Busy)
            }
        })
        .resolver("large", |plan: Plan, _: Context| async move {
            let mut rows = Rows::new(&plan);
            rows.root().push_with(|_| "x".repeat(16 << 20).into());
            Ok::<_, ResolveError>(rows.applied(Applied::FILTER))
        });
    let mut app = App::builder(mesh.build().unwrap());
    change(&mut app);
    app.build().unwrap()
}

/// Returns the row of `quick` and `slow`.
pub(crate) fn row(plan: &Plan) -> Rows {
    let mut rows = Rows::new(plan);
    rows.root().push_with(|_| 7.into());
    rows.applied(Applied::FILTER)
}

/// Returns a point read of an entity.
pub(crate) fn read(entity: &str) -> Request<Empty<Bytes>> {
    let query = mesh_wire::base64::encode(&format!("{{ {entity} id }}"));
    let request = Request::get(format!("http://mesh.test/mesh/{entity}/1"));
    request.header("X-Mesh-Query", query).header("X-Mesh-Format", "ql").body(Empty::new()).unwrap()
}

/// Returns a point read as HTTP/1.1 text.
pub(crate) fn text(entity: &str) -> String {
    let query = mesh_wire::base64::encode(&format!("{{ {entity} id }}"));
    format!(
        "GET /mesh/{entity}/1 HTTP/1.1\r\nHost: mesh.test\r\nX-Mesh-Format: ql\r\nX-Mesh-Query: {query}\r\n\r\n"
    )
}

/// Sends a point read over a stream.
pub(crate) async fn ask<S>(stream: S, version: Version, entity: &str) -> (u16, String)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let stream = TokioIo::new(stream);
    let mut request = read(entity);
    let reply = if version == Version::HTTP_2 {
        let handshake = hyper::client::conn::http2::handshake(TokioExecutor::new(), stream);
        let (mut sender, connection) = handshake.await.unwrap();
        tokio::spawn(connection);
        sender.send_request(request).await.unwrap()
    } else {
        request.headers_mut().insert(HOST, HeaderValue::from_static("mesh.test"));
        let (mut sender, connection) = hyper::client::conn::http1::handshake(stream).await.unwrap();
        tokio::spawn(connection);
        sender.send_request(request).await.unwrap()
    };
    assert_eq!(reply.version(), version);
    let status = reply.status().as_u16();
    let body = reply.into_body().collect().await.unwrap().to_bytes();
    (status, String::from_utf8(body.to_vec()).unwrap())
}

/// Waits for a future, at most for the given time.
pub(crate) async fn within<T>(time: Duration, what: impl Future<Output = T>) -> T {
    tokio::time::timeout(time, what).await.expect("done in time")
}
