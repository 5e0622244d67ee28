//! A listener that serves the admin pages on a separate address.

use std::convert::Infallible;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use http::{Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use crate::Current;
use crate::app::shared::Shared;
use crate::observability::admin::{Admin, Page, not_found};
use crate::pipeline::body::Body;
use crate::routes::admin::write_gauges;

/// Maximum number of open connections.
const CONNECTIONS: usize = 64;
/// The time limit for the head of a request.
const HEAD_TIMEOUT: Duration = Duration::from_secs(5);
/// Pause after the system failed to accept a connection.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

impl Admin {
    /// Serves the pages about an application until `shutdown` completes.
    pub async fn serve(
        self,
        app: impl Into<Current>,
        listener: TcpListener,
        shutdown: impl Future<Output = ()>,
    ) {
        let app = app.into();
        let slots = Arc::new(Semaphore::new(CONNECTIONS));
        let mut shutdown = std::pin::pin!(shutdown);
        loop {
            let accepting = async {
                let slot = Arc::clone(&slots).acquire_owned().await.ok();
                (slot, listener.accept().await)
            };
            let (slot, accepted) = tokio::select! {
                () = &mut shutdown => return,
                accepted = accepting => accepted,
            };
            let Ok((stream, _)) = accepted else {
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            };
            let (admin, app) = (self.clone(), app.clone());
            tokio::spawn(async move {
                let service = service_fn(move |request: Request<Incoming>| {
                    let (admin, app) = (admin.clone(), app.get());
                    async move { Ok::<_, Infallible>(answer(&admin, &request, &app.shared).await) }
                });
                let mut builder = http1::Builder::new();
                builder.timer(TokioTimer::new()).header_read_timeout(HEAD_TIMEOUT).max_buf_size(16 * 1024);
                if let Err(error) = builder.serve_connection(TokioIo::new(stream), service).await {
                    tracing::debug!("connection to the admin address: {error}");
                }
                drop(slot);
            });
        }
    }
}

/// Answers a request to the listener. Paths without a page get 404.
async fn answer(admin: &Admin, request: &Request<Incoming>, shared: &Shared) -> Response<Body> {
    match Page::from_path(request.uri().path()) {
        Some(page) => admin.show(page, request.method(), |out| write_gauges(shared, out)).await,
        None => not_found(),
    }
}
