//! `GET {base}/:entity` with `Accept: application/x-ndjson` or `text/csv`: all records of a collection. `SPEC §16`

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use futures_util::stream;
use http::{Method, Response};
use http_body_util::StreamBody;
use hyper::body::Frame;
use mesh_plan::backend::{Export, ExportFormat, ExportSink};
use mesh_plan::{BoxFuture, Error, ResolveError};
use mesh_wire::{WireError, response};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

use crate::app::exports::Exports;
use crate::identity::caller::Caller;
use crate::observability::error_log;
use crate::pipeline::body::{Body, BoxError};
use crate::pipeline::context::RequestContext;
use crate::pipeline::query::{Purpose, RequestQuery, Target};

/// Starts an export. The reply starts when the first piece is ready, so that an earlier failure is sent as an error.
pub(crate) async fn answer(
    cx: &RequestContext<'_>,
    caller: &Caller,
    query: RequestQuery<'_>,
    entity: &str,
    exports: &Exports,
    format: ExportFormat,
) -> Result<Response<Body>, WireError> {
    let target = Target::at(entity, None);
    let plan = cx.shared.queries.plan_for(Purpose::Export, &cx.parts(), caller, query, target)?;
    plan.check_export(format).map_err(Error::from)?;
    let head = response::export(&cx.head, content_type(format), entity, format.as_str());
    if *cx.head.method == Method::HEAD {
        return Ok(head.map(|()| Body::from(Bytes::new())));
    }
    let count_guard = cx.shared.options.client_limits.begin_export(cx.address)?;
    let running = exports.running.acquire((), exports.at_once).ok_or_else(WireError::unavailable)?;
    let mut task = ExportTask::start(cx, caller, plan, format, exports);
    let Some(first) = task.pieces.recv().await else {
        let Err(error) = task.outcome().await else { return Ok(head.map(|()| Body::from(Bytes::new()))) };
        return Err(error_log::logged(cx.request_id(), error));
    };
    let body = stream::unfold((Some(first), task), |(ready, mut task)| async move {
        let piece = match ready {
            Some(piece) => Some(piece),
            None => task.pieces.recv().await,
        };
        let piece: Option<Result<_, BoxError>> = match piece {
            Some(piece) => Some(Ok(Frame::data(Bytes::from(piece)))),
            None => task.outcome().await.err().map(|_| Err("the export has failed".into())),
        };
        piece.map(|piece| (piece, (None, task)))
    });
    Ok(head.map(|()| Body::stream(StreamBody::new(body)).until_sent((running, count_guard))))
}

/// Returns the content type of a format.
fn content_type(format: ExportFormat) -> &'static str {
    match format {
        ExportFormat::Ndjson => "application/x-ndjson",
        ExportFormat::Csv => "text/csv; charset=utf-8; header=present",
    }
}

/// An export in progress. It is aborted when this value is dropped.
struct ExportTask {
    pieces: mpsc::Receiver<Vec<u8>>,
    /// The one task of the export.
    tasks: JoinSet<Result<u64, ResolveError>>,
}

impl ExportTask {
    /// Starts an export as a task. It ends at its deadline even if its pieces are not received.
    fn start(
        cx: &RequestContext<'_>,
        caller: &Caller,
        plan: mesh_plan::Plan,
        format: ExportFormat,
        exports: &Exports,
    ) -> Self {
        let (sender, pieces) = mpsc::channel(1);
        let (deadline_sender, deadline_signal) = watch::channel(());
        let export = Export::new(format, PieceSender { sender: sender.clone(), deadline_signal });
        let deadline = Instant::now() + exports.timeout;
        let context = cx.resolver_context(caller).with_deadline(deadline);
        let mesh = Arc::clone(&cx.shared.mesh);
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let exporting = tokio::time::timeout_at(deadline.into(), mesh.export(&plan, &context, export));
            let result = exporting.await.unwrap_or(Err(ResolveError::TimedOut));
            match &result {
                Ok(records) => tracing::debug!(request = context.request_id(), records, "exported"),
                Err(error) if !sender.is_closed() => {
                    tracing::warn!(request = context.request_id(), "an export has failed: {error}");
                }
                Err(_) => tracing::debug!(request = context.request_id(), "the client of an export is gone"),
            }
            drop(deadline_sender);
            result
        });
        Self { pieces, tasks }
    }

    /// Waits for the end of the export, after its last piece. Must be called only once.
    async fn outcome(&mut self) -> Result<u64, ResolveError> {
        match self.tasks.join_next().await {
            Some(Ok(result)) => result,
            _ => Err(ResolveError::Panicked("an export".to_owned())),
        }
    }
}

/// Passes pieces on to the reply.
struct PieceSender {
    sender: mpsc::Sender<Vec<u8>>,
    /// Closed at the deadline, because a back end may wait here on a separate thread.
    deadline_signal: watch::Receiver<()>,
}

impl ExportSink for PieceSender {
    fn send(&mut self, piece: Vec<u8>) -> BoxFuture<'_, Result<(), ResolveError>> {
        Box::pin(async {
            tokio::select! {
                sent = self.sender.send(piece) => sent.map_err(|_| ResolveError::TimedOut),
                _ = self.deadline_signal.changed() => Err(ResolveError::TimedOut),
            }
        })
    }
}
