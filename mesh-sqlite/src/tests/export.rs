//! Exports of a file: all rows of one snapshot, piece by piece.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use mesh_plan::backend::{Export, ExportFormat, ExportSink};
use mesh_plan::{BoxFuture, Context, Mesh, Plan, Request, ResolveError};
use mesh_ql::Format;
use tokio::sync::mpsc;

use super::File;

/// 50,000 rows of about 100 bytes each.
const MANY: &str = "PRAGMA journal_mode = wal; CREATE TABLE t (id INTEGER PRIMARY KEY, text TEXT);
    WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 50000)
        INSERT INTO t SELECT i, printf('%080d', i) FROM c;";

/// A channel that passes pieces to a reader, which may be slow, and counts the pieces that were sent.
struct Channel {
    pieces: mpsc::Sender<Vec<u8>>,
    sent: Arc<AtomicUsize>,
}

impl ExportSink for Channel {
    fn send(&mut self, piece: Vec<u8>) -> BoxFuture<'_, Result<(), ResolveError>> {
        Box::pin(async move {
            self.sent.fetch_add(1, Ordering::SeqCst);
            self.pieces.send(piece).await.map_err(|_| ResolveError::TimedOut)
        })
    }
}

struct Exporting {
    pieces: mpsc::Receiver<Vec<u8>>,
    sent: Arc<AtomicUsize>,
    task: tokio::task::JoinHandle<Result<u64, ResolveError>>,
}

fn plan(mesh: &Mesh, text: &str) -> Plan {
    mesh.plan(&Request::collection(Format::Ql, text).exported()).unwrap()
}

fn start(mesh: &Arc<Mesh>, text: &str, context: Context) -> Exporting {
    let (sender, pieces) = mpsc::channel(1);
    let sent = Arc::new(AtomicUsize::new(0));
    let export = Export::new(ExportFormat::Ndjson, Channel { pieces: sender, sent: Arc::clone(&sent) });
    let (mesh, plan) = (Arc::clone(mesh), plan(mesh, text));
    let task = tokio::spawn(async move { mesh.export(&plan, &context, export).await });
    Exporting { pieces, sent, task }
}

#[tokio::test]
async fn an_export_waits_for_its_reader_and_has_the_rows_of_one_snapshot() {
    let file = File::new(MANY);
    let mesh = Arc::new(file.mesh());
    let mut export = start(&mesh, "{ t id text }", Context::new("test"));
    let mut text = export.pieces.recv().await.unwrap();
    // One piece waits in the channel, and another waits to enter it.
    assert!(export.sent.load(Ordering::SeqCst) <= 3 && text.len() < 200_000);
    file.write("DELETE FROM t WHERE id > 10; UPDATE t SET text = 'changed'");
    while let Some(piece) = export.pieces.recv().await {
        text.extend(piece);
    }
    assert_eq!(export.task.await.unwrap().unwrap(), 50_000);
    let text = String::from_utf8(text).unwrap();
    let expected = (1..=50_000).map(|id| format!(r#"{{"id":{id},"text":"{id:080}"}}"#));
    assert!(text.lines().eq(expected));
}

#[tokio::test]
async fn an_export_whose_reader_is_gone_ends() {
    let file = File::new(MANY);
    let mesh = Arc::new(file.mesh());
    let Exporting { mut pieces, task, .. } = start(&mesh, "{ t id text }", Context::new("test"));
    pieces.recv().await.unwrap();
    drop(pieces);
    assert!(matches!(task.await.unwrap(), Err(ResolveError::TimedOut)));
    // The transaction of the export has ended.
    let connection = file.connect();
    connection.execute_batch("DELETE FROM t").unwrap();
    let busy: i64 = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0)).unwrap();
    assert_eq!(busy, 0);
}

#[tokio::test]
async fn an_export_past_its_deadline_is_interrupted() {
    let file = File::new("CREATE TABLE t (id INTEGER PRIMARY KEY); CREATE VIEW endless AS WITH RECURSIVE
        c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 300000000) SELECT i FROM c WHERE i % 100000000 = 0;");
    let mesh = Arc::new(file.mesh());
    let context = Context::new("test").with_deadline(Instant::now() + Duration::from_millis(50));
    let Exporting { mut pieces, task, .. } = start(&mesh, "{ endless i }", context);
    assert!(pieces.recv().await.is_none());
    assert!(matches!(task.await.unwrap(), Err(ResolveError::TimedOut)));
}
